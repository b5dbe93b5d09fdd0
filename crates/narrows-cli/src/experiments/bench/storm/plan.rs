//! What each life of a storm is like: drawn with its seed, the same each time.

use std::time::Duration;

use narrows::strategy::Strategy;

use crate::base::failure::Failure;
use crate::experiments::bench::choice;
use crate::experiments::bench::flags::Bench;

const TRANSFERS: [&str; 6] =
    ["copy", "copy_lazy", "copy_batched", "single_copy", "in_place", "copy_engine"];
const NOTIFICATIONS: [&str; 4] = ["interrupt", "spin", "hybrid", "poll=1ms"];
pub const PLACEMENTS: [&str; 2] = ["internal", "external"];
/// The latest moment of a kill.
const LATEST: u64 = 20_000;
/// The latest moment of one that comes while flows are being opened.
const EARLY: u64 = 500;

/// Which way the traffic goes. Both sides serve and receive in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// The survivor sends and calls: the callee is killed.
    ToVictim,
    /// The victim sends and calls: the caller is killed.
    ToSurvivor,
    /// Both do.
    Both,
}

impl Traffic {
    const ALL: [Traffic; 3] = [Traffic::ToVictim, Traffic::ToSurvivor, Traffic::Both];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Traffic::ToVictim => "to the killed",
            Traffic::ToSurvivor => "from the killed",
            Traffic::Both => "both ways",
        }
    }

    /// Whether the survivor sends.
    pub fn here(self) -> bool {
        self != Traffic::ToSurvivor
    }

    /// Whether the victim sends.
    pub fn there(self) -> bool {
        self != Traffic::ToVictim
    }
}

/// One life.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    /// Which way the traffic goes.
    pub traffic: Traffic,
    /// How both sides wait, as it is written in a strategy.
    pub notification: String,
    /// How everything travels.
    pub strategy: Strategy,
    /// Whether the victim hunts the survivor, rather than be hunted.
    pub victim_hunts: bool,
    /// When it is killed, from when its link is up.
    pub moment: Duration,
    /// What sizes are drawn with.
    pub seed: u64,
}

/// All lives of a storm.
pub struct Plan {
    axes: [Vec<String>; 3],
    seed: u64,
}

impl Plan {
    /// The lives that are asked for, or that are usual where they can be: with a copy engine or
    /// without, and in these placements.
    pub fn new(args: &Bench, seed: u64, engine: bool, placements: &[&str]) -> Plan {
        let transfers: Vec<&str> =
            TRANSFERS.into_iter().filter(|one| engine || *one != "copy_engine").collect();
        let axes = [
            choice::words(&args.transfer, &transfers),
            choice::words(&args.notify, &NOTIFICATIONS),
            choice::words(&args.placement, placements),
        ];
        Plan { axes, seed }
    }

    /// Whether any life needs a copy engine.
    pub fn engine(&self) -> bool {
        self.axes.iter().flatten().any(|word| word == "copy_engine")
    }

    /// How the nodes wait, one after the other.
    pub fn notifications(&self) -> &[String] {
        &self.axes[1]
    }

    /// Life number `round`. Notification and direction take turns, so that a short storm has all;
    /// the rest is drawn.
    ///
    /// # Errors
    /// The words do not make a strategy.
    pub fn life(&self, round: u64) -> Result<Life, Failure> {
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(round));
        let [transfers, notifications, placements] = &self.axes;
        let mut draw = |words: &[String]| random.choice(words).cloned().unwrap_or_default();
        let turn = |words: &[String]| {
            let at = round % words.len().max(1) as u64;
            words.get(at as usize).cloned().unwrap_or_default()
        };
        let (transfer, placement) = (draw(transfers), draw(placements));
        let notification = turn(notifications);
        let direction = round / notifications.len().max(1) as u64 % Traffic::ALL.len() as u64;
        let traffic = Traffic::ALL.get(direction as usize).copied().unwrap_or(Traffic::Both);
        let latest = if random.u8(..8) == 0 { EARLY } else { LATEST };
        Ok(Life {
            traffic,
            strategy: choice::strategy(&format!("{transfer}/{notification}/{placement}"))?,
            notification,
            victim_hunts: random.bool(),
            moment: Duration::from_micros(random.u64(..latest)),
            seed: random.u64(..),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Command, Flags};
    use clap::Parser;

    fn plan(line: &str, seed: u64) -> Plan {
        let flags = Flags::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Bench(args) = flags.command else { panic!("no bench") };
        Plan::new(&args, seed, true, &PLACEMENTS)
    }

    #[test]
    fn a_short_storm_has_every_direction_by_every_notification() {
        let plan = plan("narrows bench storm", 3);
        let lives: Vec<Life> = (0..12).map(|round| plan.life(round).unwrap()).collect();
        for notification in NOTIFICATIONS {
            for traffic in Traffic::ALL {
                let found = lives
                    .iter()
                    .filter(|life| life.notification == notification && life.traffic == traffic);
                assert_eq!(found.count(), 1, "{notification}, {traffic:?}");
            }
        }
        assert!(plan.engine());
    }

    #[test]
    fn a_seed_draws_the_same_lives_and_another_others() {
        let lives = |seed| {
            let plan = plan("narrows bench storm --transfer in_place --notify spin", seed);
            (0..20).map(|round| plan.life(round).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(lives(1), lives(1));
        assert_ne!(lives(1), lives(2));
        assert!(lives(1).iter().all(|life| life.strategy.to_string().starts_with("in_place/spin")));
        assert!(lives(1).iter().any(|life| life.victim_hunts));
    }
}
