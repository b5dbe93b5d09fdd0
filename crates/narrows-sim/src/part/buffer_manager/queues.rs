//! A queue for each CPU, served in turn.

use std::collections::VecDeque;

/// Requests of each CPU in their order.
pub(super) struct Queues<T> {
    all: Vec<VecDeque<T>>,
    depth: usize,
    /// The CPU that was served last.
    last: usize,
}

impl<T> Queues<T> {
    pub fn new(cpus: usize, depth: usize) -> Queues<T> {
        let all = (0..cpus).map(|_| VecDeque::with_capacity(depth)).collect();
        Queues { all, depth, last: cpus.saturating_sub(1) }
    }

    /// Whether a CPU's queue holds another.
    pub fn has_room(&self, cpu: usize) -> bool {
        self.all.get(cpu).is_some_and(|queue| queue.len() < self.depth)
    }

    pub fn push(&mut self, cpu: usize, one: T) {
        if let Some(queue) = self.all.get_mut(cpu) {
            queue.push_back(one);
        }
    }

    /// Takes the first request of the next CPU in turn whose first is `ready`. One that is not
    /// holds up its own CPU alone.
    pub fn next(&mut self, ready: impl Fn(&T) -> bool) -> Option<T> {
        let cpus = self.all.len();
        let mut turns = (1..=cpus).map(|step| (self.last + step) % cpus);
        let cpu = turns.find(|cpu| self.all[*cpu].front().is_some_and(&ready))?;
        self.last = cpu;
        self.all[cpu].pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_its_turn_and_one_that_is_not_ready_holds_up_itself_alone() {
        let mut queues = Queues::new(3, 2);
        for (cpu, one) in [(0, 1), (0, 2), (1, 10), (1, 11), (2, 20)] {
            assert!(queues.has_room(cpu));
            queues.push(cpu, one);
        }
        assert!(!queues.has_room(0) && queues.has_room(2) && !queues.has_room(3));
        let take = |queues: &mut Queues<i32>, not: i32| queues.next(|one| *one != not);
        assert_eq!([(); 3].map(|()| take(&mut queues, 10)), [Some(1), Some(20), Some(2)]);
        assert_eq!(take(&mut queues, 10), None, "what is behind 10 waits for it");
        assert_eq!([(); 3].map(|()| take(&mut queues, 0)), [Some(10), Some(11), None]);
    }

    #[test]
    fn without_cpus_there_is_nothing_to_choose() {
        assert_eq!(Queues::<u8>::new(0, 1).next(|_| true), None);
    }
}
