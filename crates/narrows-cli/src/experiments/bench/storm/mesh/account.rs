//! Whether every message between two lives of a mesh is accounted for: what was sent is what came
//! and what came back undelivered.

use serde::{Deserialize, Serialize};

use crate::experiments::bench::traffic::{BEYOND, Cell, INBOX, Sheet};

/// What one life was told of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    pub tried: u64,
    pub sent: u64,
    pub received: u64,
    pub back: u64,
    pub wrong: u64,
    pub ended: u64,
}

impl Side {
    /// What a sheet says of a peer's life; noughts if it never heard of it.
    pub fn of(sheet: Sheet<'_>, life: u64) -> Side {
        let Some(row) = sheet.find(life) else { return Side::default() };
        let of = |cell| sheet.get(row, cell);
        Side {
            tried: of(Cell::Tried),
            sent: of(Cell::Sent),
            received: of(Cell::Received),
            back: of(Cell::Back),
            wrong: of(Cell::Wrong),
            ended: of(Cell::Ended),
        }
    }
}

/// Which of two lives ended first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Neither has ended.
    Neither,
    /// The one that is named first.
    One,
    /// The one that is named second.
    Other,
}

/// What became of the messages of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages of which their senders were told that they are sent.
    pub sent: u64,
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that came back to their senders.
    pub returned: u64,
    /// Messages that a dead stack had taken and its application was not handed.
    pub died_with_peer: u64,
    /// Messages that were delivered though their sender died before it was told.
    pub untold: u64,
}

/// Whether all that went from one life to another is there. Each promise that was broken, as a
/// sentence.
fn one_way(from: &Side, to: &Side, first: First, tally: &mut Tally) -> Option<String> {
    tally.sent += from.sent;
    tally.delivered += to.received;
    match first {
        First::Neither => (from.sent != to.received || from.back > 0)
            .then(|| format!("of {} messages {} arrived", from.sent, to.received)),
        First::One => {
            tally.untold += to.received.saturating_sub(from.sent);
            let known = from.sent..=from.tried.max(from.sent);
            (!known.contains(&to.received)).then(|| {
                format!(
                    "the killed one was told of {} messages, tried {}, and {} arrived",
                    from.sent, from.tried, to.received
                )
            })
        }
        First::Other => {
            let taken = from.sent.saturating_sub(from.back);
            tally.returned += from.back;
            tally.died_with_peer += taken.saturating_sub(to.received);
            let inside = to.received..=to.received + (INBOX + BEYOND) as u64;
            (from.back > from.sent || !inside.contains(&taken)).then(|| {
                format!(
                    "of {} messages to the killed one {} arrived and {} came back",
                    from.sent, to.received, from.back
                )
            })
        }
    }
}

/// Compares what two lives were told of each other. Each promise that was broken, as a sentence.
pub fn compare(one: &Side, other: &Side, first: First, tally: &mut Tally) -> Vec<String> {
    let turned = match first {
        First::Neither => First::Neither,
        First::One => First::Other,
        First::Other => First::One,
    };
    let mut broken = Vec::new();
    broken.extend(one_way(one, other, first, tally));
    broken.extend(one_way(other, one, turned, tally));
    for side in [one, other] {
        if side.wrong > 0 {
            broken.push(format!("{} messages damaged, doubled or out of order", side.wrong));
        }
        if side.ended == 2 {
            broken.push("a link ended by something else than a death".into());
        }
    }
    if first == First::Neither && one.ended + other.ended > 0 {
        broken.push("a link ended between two that live".into());
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(sent: u64, received: u64) -> Side {
        Side { tried: sent, sent, received, ..Side::default() }
    }

    #[test]
    fn every_account_that_does_not_add_up_is_noticed() {
        use First::{Neither, One, Other};
        let dead = Side { ended: 1, ..side(10, 4) };
        let back = |back| Side { back, ended: 1, ..side(500, 10) };
        let cases: [(&str, Side, Side, First, usize); 11] = [
            ("alive", side(5, 7), side(7, 5), Neither, 0),
            ("alive, one lost", side(5, 7), side(7, 4), Neither, 1),
            ("alive, and ended", Side { ended: 1, ..side(5, 7) }, side(7, 5), Neither, 1),
            ("damaged", Side { wrong: 1, ..side(5, 7) }, side(7, 5), Neither, 1),
            ("sender died", side(4, 10), dead, One, 0),
            ("sender died untold", Side { tried: 5, ..side(3, 10) }, dead, One, 0),
            ("sender died, one lost", side(5, 10), dead, One, 1),
            ("receiver died", back(400), side(10, 100), Other, 0),
            ("receiver died, one doubled", back(401), side(10, 100), Other, 1),
            ("receiver died, many lost", back(79), side(10, 100), Other, 1),
            ("corrupt", Side { ended: 2, ..back(400) }, side(10, 100), Other, 1),
        ];
        for (what, one, other, first, broken) in cases {
            let mut tally = Tally::default();
            let found = compare(&one, &other, first, &mut tally);
            assert_eq!(found.len(), broken, "{what}: {found:?}");
        }
    }

    #[test]
    fn what_was_sent_is_what_came_what_came_back_and_what_died() {
        let mut tally = Tally::default();
        let survivor = Side { back: 390, ended: 1, ..side(500, 11) };
        let killed = Side { tried: 11, ..side(10, 100) };
        assert_eq!(compare(&survivor, &killed, First::Other, &mut tally), [""; 0]);
        let Tally { sent, delivered, returned, died_with_peer, untold } = tally;
        assert_eq!((sent, delivered, returned, died_with_peer, untold), (510, 111, 390, 10, 1));
        assert_eq!(sent + untold, delivered + returned + died_with_peer);
    }
}
