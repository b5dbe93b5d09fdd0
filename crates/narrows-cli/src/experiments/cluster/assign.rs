//! Which task goes to which processor, so that messages hold processors for the least time: all
//! ways are weighed up, those that cannot become better than the best so far only as a whole.

/// What a message stream holds processors for, as shares of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Of the sender's processor.
    pub sender: f64,
    /// Of the receiver's, which may be the same.
    pub receiver: f64,
    /// Of each processor between.
    pub between: f64,
}

/// The same, of processors that have nothing else to do, and what comes on top of that for each
/// share of its time for which a processor works: going back to its work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    idle: Share,
    more: Share,
}

impl Shares {
    /// Of `per_second` messages a second. One message holds a processor for the seconds of `idle`
    /// where nothing else is done, and for those of `working` where something always is.
    pub fn new(idle: Share, working: Share, per_second: f64) -> Shares {
        let more = |of: fn(&Share) -> f64| (of(&working) - of(&idle)).max(0.0) * per_second;
        Shares {
            idle: Share {
                sender: idle.sender * per_second,
                receiver: idle.receiver * per_second,
                between: idle.between * per_second,
            },
            more: Share {
                sender: more(|share| share.sender),
                receiver: more(|share| share.receiver),
                between: more(|share| share.between),
            },
        }
    }
}

/// A stream of messages from a task to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// By how many transfers there are from one to the other; first none.
    pub shares: Vec<Shares>,
}

/// What is to be placed, and where.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The share of each processor that each task takes there beside its messages.
    pub loads: Vec<Vec<f64>>,
    pub edges: Vec<Edge>,
    /// The processors that a message comes to from one to another, the other being the last; none
    /// if no way leads there.
    pub ways: Vec<Vec<Option<Vec<usize>>>>,
    /// The most that a processor may be busy.
    pub capacity: f64,
    /// Whether it does not matter which processor is which.
    pub alike: bool,
}

/// What a placement comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// What messages hold processors for, all together.
    pub messages: f64,
    /// How busy each processor is.
    pub busy: Vec<f64>,
}

/// Less than any difference that counts.
const NOTHING: f64 = 1e-9;

impl Problem {
    fn processors(&self) -> usize {
        self.ways.len()
    }

    /// What a placement comes to, whether processors can do that or not; tasks without a processor
    /// are left out. `None` if no way leads from one to another.
    pub fn sum(&self, at: &[Option<usize>]) -> Option<Sum> {
        let mut work = vec![0.0; self.processors()];
        for (task, processor) in at.iter().enumerate() {
            if let Some(processor) = processor {
                work[*processor] += self.loads[task][*processor];
            }
        }
        let mut sum = Sum { messages: 0.0, busy: work.clone() };
        let mut add = |processor: usize, idle: f64, more: f64| {
            let held = idle + more * work[processor].min(1.0);
            sum.busy[processor] += held;
            sum.messages += held;
        };
        for edge in &self.edges {
            let (Some(from), Some(to)) = (at[edge.from], at[edge.to]) else { continue };
            let way = self.ways[from][to].as_ref()?;
            let Shares { idle, more } = edge.shares.get(way.len())?;
            add(from, idle.sender, more.sender);
            add(to, idle.receiver, more.receiver);
            for between in way.iter().take(way.len().saturating_sub(1)) {
                add(*between, idle.between, more.between);
            }
        }
        Some(sum)
    }

    /// Whether each processor can do what it is given.
    pub fn fits(&self, sum: &Sum) -> bool {
        sum.busy.iter().all(|busy| *busy <= self.capacity + NOTHING)
    }

    /// The placement by which messages hold processors least, of those in which each processor can
    /// do what it is given. `None` if there is none.
    pub fn solve(&self) -> Option<Vec<usize>> {
        let tasks = self.loads.len();
        let least = |edge: &Edge| {
            let of = |(hops, Shares { idle: share, .. }): (usize, &Shares)| {
                share.sender + share.receiver + share.between * hops.saturating_sub(1) as f64
            };
            edge.shares.iter().enumerate().map(of).fold(f64::INFINITY, f64::min)
        };
        // Those that talk most come first: what they cost is known early.
        let talk = |task: usize| {
            let mine = self.edges.iter().filter(|edge| edge.from == task || edge.to == task);
            let most = |edge: &Edge| {
                let all = edge.shares.iter().map(|of| of.idle.sender + of.idle.receiver);
                all.fold(0.0, f64::max)
            };
            mine.map(most).sum::<f64>()
        };
        let mut order: Vec<usize> = (0..tasks).collect();
        order.sort_by(|one, other| talk(*other).total_cmp(&talk(*one)));
        let mut place = vec![0; tasks];
        order.iter().enumerate().for_each(|(at, task)| place[*task] = at);
        // What is left of the edges whose later end is placed at each step or behind it.
        let mut left = vec![0.0; tasks + 1];
        for edge in &self.edges {
            let known = place[edge.from].max(place[edge.to]);
            left[..=known].iter_mut().for_each(|left| *left += least(edge));
        }
        let mut search =
            Search { problem: self, order: &order, left: &left, at: vec![None; tasks], best: None };
        search.step(0, 0, 0.0);
        search.best.map(|(_, at)| at.into_iter().flatten().collect())
    }
}

struct Search<'a> {
    problem: &'a Problem,
    order: &'a [usize],
    left: &'a [f64],
    at: Vec<Option<usize>>,
    best: Option<(f64, Vec<Option<usize>>)>,
}

impl Search<'_> {
    /// Places the tasks from a step on. `used` processors have tasks, whose messages to each other
    /// take `so_far`: with more tasks they take no less.
    fn step(&mut self, step: usize, used: usize, so_far: f64) {
        let best = self.best.as_ref().map_or(f64::INFINITY, |(best, _)| *best);
        if so_far + self.left[step] >= best - NOTHING {
            return;
        }
        let Some(task) = self.order.get(step).copied() else {
            self.best = Some((so_far, self.at.clone()));
            return;
        };
        let problem = self.problem;
        // Of empty processors that are alike one is as good as the others.
        let most = if problem.alike { used + 1 } else { problem.processors() };
        for processor in 0..most.min(problem.processors()) {
            self.at[task] = Some(processor);
            let sum = problem.sum(&self.at).filter(|sum| problem.fits(sum));
            if let Some(sum) = sum {
                self.step(step + 1, used.max(processor + 1), sum.messages);
            }
            self.at[task] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processors that are all adjacent; a message takes ten times as much of another one's.
    fn problem(processors: usize, loads: &[f64], edges: &[(usize, usize, f64)]) -> Problem {
        let way = |from: usize, to: usize| Some(if from == to { vec![] } else { vec![to] });
        let of = |share: Share| {
            let working = Share { sender: 2.0 * share.sender, ..share };
            Shares::new(share, working, 1.0)
        };
        let edge = |(from, to, share): &(usize, usize, f64)| {
            let local = Share { sender: *share, receiver: *share, between: 0.0 };
            let far = Share { sender: 10.0 * share, receiver: 10.0 * share, between: 0.0 };
            Edge { from: *from, to: *to, shares: [local, far].map(of).into() }
        };
        Problem {
            loads: loads.iter().map(|load| vec![*load; processors]).collect(),
            edges: edges.iter().map(edge).collect(),
            ways: (0..processors)
                .map(|from| (0..processors).map(|to| way(from, to)).collect())
                .collect(),
            capacity: 1.0,
            alike: true,
        }
    }

    fn all(at: &[usize]) -> Vec<Option<usize>> {
        at.iter().map(|processor| Some(*processor)).collect()
    }

    #[test]
    fn chatty_tasks_end_on_one_processor() {
        let problem =
            problem(2, &[0.3, 0.3, 0.3, 0.3], &[(0, 2, 0.02), (1, 3, 0.02), (0, 1, 0.001)]);
        let at = problem.solve().unwrap();
        assert!(at[0] == at[2] && at[1] == at[3] && at[0] != at[1], "{at:?}");
        let sum = problem.sum(&all(&at)).unwrap();
        // Twice 0.04 and once 0.02, and senders' shares once more for the 0.6 of the time.
        let messages = 0.1 + 0.6 * 0.05;
        assert!((sum.messages - messages).abs() < 1e-9 && problem.fits(&sum), "{sum:?}");
    }

    #[test]
    fn capacity_forces_them_apart() {
        let apart = problem(2, &[0.6, 0.5], &[(0, 1, 0.01)]).solve().unwrap();
        assert_ne!(apart[0], apart[1]);
        assert_eq!(problem(2, &[0.6, 0.6], &[(0, 1, 0.05)]).solve(), None, "with their messages");
        assert_eq!(problem(2, &[1.1, 0.1], &[(0, 1, 0.01)]).solve(), None);
    }

    #[test]
    fn processors_between_are_held_as_well() {
        let mut problem = problem(3, &[0.6, 0.6], &[(0, 1, 0.01)]);
        let far = Share { sender: 0.01, receiver: 0.01, between: 0.5 };
        problem.edges[0].shares.push(Shares::new(far, far, 1.0));
        problem.ways[0][2] = Some(vec![1, 2]);
        problem.alike = false;
        let sum = problem.sum(&all(&[0, 2])).unwrap();
        assert!((sum.messages - 0.52).abs() < 1e-9 && sum.busy[1] == 0.5, "{sum:?}");
        problem.ways[2][0] = None;
        assert_eq!(problem.sum(&all(&[2, 0])), None, "no way leads there");
    }

    /// All placements, one after the other.
    fn least(problem: &Problem) -> Option<f64> {
        let (tasks, processors) = (problem.loads.len(), problem.processors());
        let each = (0..processors.pow(tasks as u32)).filter_map(|mut number| {
            let at: Vec<usize> = (0..tasks)
                .map(|_| {
                    let here = number % processors;
                    number /= processors;
                    here
                })
                .collect();
            problem.sum(&all(&at)).filter(|sum| problem.fits(sum)).map(|sum| sum.messages)
        });
        each.min_by(f64::total_cmp)
    }

    #[test]
    fn no_placement_is_better_than_the_one_that_is_found() {
        let mut dice = fastrand::Rng::with_seed(1);
        let mut impossible = 0;
        for case in 0..200 {
            let (tasks, processors) = (dice.usize(2..=6), dice.usize(1..=4));
            let loads: Vec<f64> = (0..tasks).map(|_| dice.f64() * 0.8).collect();
            let edges: Vec<(usize, usize, f64)> = (0..dice.usize(1..10))
                .map(|_| {
                    let from = dice.usize(..tasks);
                    (from, (from + dice.usize(1..tasks)) % tasks, dice.f64() * 0.02)
                })
                .collect();
            let mut problem = problem(processors, &loads, &edges);
            problem.alike = dice.bool();
            let found = problem.solve().map(|at| problem.sum(&all(&at)).unwrap());
            assert!(found.iter().all(|sum| problem.fits(sum)));
            impossible += usize::from(found.is_none());
            match (found.map(|sum| sum.messages), least(&problem)) {
                (None, None) => {}
                (Some(found), Some(least)) => assert!((found - least).abs() < 1e-6, "case {case}"),
                (found, least) => panic!("case {case}: {found:?}, {least:?}"),
            }
        }
        assert!((10..190).contains(&impossible), "{impossible}");
    }
}
