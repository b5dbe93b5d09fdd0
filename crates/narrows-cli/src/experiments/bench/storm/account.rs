//! Whether every message and call of a life is accounted for: what the survivor was told, and what
//! it was handed back, beside what the dead one was told.

use serde::{Deserialize, Serialize};

use crate::experiments::bench::traffic::{BEYOND, Count, Counts, INBOX};

/// What came back to the survivor as not taken, in the order in which it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Returned {
    /// The numbers of messages; none for one that is not what was sent.
    pub messages: Vec<Option<u64>>,
    /// The numbers of requests; none for one that is not what was sent.
    pub requests: Vec<Option<u64>>,
    /// Responses.
    pub responses: u64,
    /// How many the stack said there were.
    pub said: u64,
}

/// What became of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages that the survivor was told are sent.
    pub sent: u64,
    /// Of those, messages that the other application was handed.
    pub delivered: u64,
    /// Of those, messages that came back to the survivor.
    pub returned: u64,
    /// Of those, messages that the other stack had taken and its application was not handed.
    pub died_with_peer: u64,
    /// Messages that the other side was told are sent.
    pub sent_here: u64,
    /// Messages that the survivor was handed.
    pub delivered_here: u64,
    /// Of those, messages whose sender died before it was told that they are sent.
    pub untold: u64,
    /// Calls that the survivor started.
    pub calls: u64,
    /// Of those, calls that were answered.
    pub answered: u64,
    /// Of those, calls whose request came back: the function did not run.
    pub calls_returned: u64,
    /// Of those, calls that ended with the peer: the function may have run.
    pub calls_lost: u64,
    /// Calls that the survivor answered.
    pub served: u64,
    /// Sends of either side that found ring or pool full.
    pub full: u64,
}

impl Tally {
    /// Adds another life.
    pub fn add(&mut self, other: &Tally) {
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.returned += other.returned;
        self.died_with_peer += other.died_with_peer;
        self.sent_here += other.sent_here;
        self.delivered_here += other.delivered_here;
        self.untold += other.untold;
        self.calls += other.calls;
        self.answered += other.answered;
        self.calls_returned += other.calls_returned;
        self.calls_lost += other.calls_lost;
        self.served += other.served;
        self.full += other.full;
    }
}

/// What became of everything in one life, and each promise that was broken, as a sentence.
pub fn account(survivor: &Counts, victim: &Counts, returned: &Returned) -> (Tally, Vec<String>) {
    let mut broken = Vec::new();
    let mut hold = |held: bool, sentence: String| {
        if !held {
            broken.push(sentence);
        }
    };
    let (ours, theirs) = (|what| survivor.get(what), |what| victim.get(what));
    for (who, wrong) in [("survivor", ours(Count::Wrong)), ("victim", theirs(Count::Wrong))] {
        hold(
            wrong == 0,
            format!("the {who} was handed {wrong} payloads damaged, doubled or out of order"),
        );
    }
    for (who, unrung) in [("survivor", ours(Count::Unrung)), ("victim", theirs(Count::Unrung))] {
        hold(
            unrung == 0,
            format!("the {who} was not rung for what was there: {unrung} waits ended by deadline"),
        );
    }

    // From the survivor to the victim.
    let (sent, handed) = (ours(Count::Sent), theirs(Count::Received));
    let back = returned.messages.len() as u64;
    let taken = sent.saturating_sub(back);
    hold(
        (taken..sent).map(Some).eq(returned.messages.iter().copied()),
        format!("of {sent} messages, those that came back are not the last {back} in order, whole"),
    );
    hold(
        handed <= taken,
        format!("of {sent} messages {handed} were delivered and {back} came back: some did both"),
    );
    hold(
        taken.saturating_sub(handed) <= (INBOX + BEYOND) as u64,
        format!("{taken} messages were taken and {handed} delivered: more between than wait there"),
    );

    // From the victim to the survivor: killed between sending and being told, it may know of one
    // less than it sent.
    let (told, tried, came) = (theirs(Count::Sent), theirs(Count::Tried), ours(Count::Received));
    hold(
        (told..=tried.max(told)).contains(&came),
        format!("the victim was told of {told} messages, tried {tried}, and {came} arrived"),
    );

    // Calls of the survivor.
    let (started, answered) = (ours(Count::Started), ours(Count::Finished));
    let unrun = returned.requests.len() as u64;
    let taken_calls = started.saturating_sub(unrun);
    let (begun, made) = (theirs(Count::Begun), theirs(Count::Served));
    hold(
        (taken_calls..started).map(Some).eq(returned.requests.iter().copied()),
        format!(
            "of {started} calls, those that came back are not the last {unrun} in order, whole"
        ),
    );
    hold(
        begun <= taken_calls,
        format!("of {started} calls {begun} were run and {unrun} came back: some did both"),
    );
    hold(
        answered <= made,
        format!("{answered} calls were answered, but only {made} had made their response"),
    );

    // Calls of the victim.
    let (begun, finished) = (theirs(Count::CallsTried), theirs(Count::Finished));
    let served = ours(Count::Served);
    hold(
        (finished..=begun).contains(&served),
        format!("the victim began {begun} calls and finished {finished}, but {served} were run"),
    );
    hold(
        returned.said == back + unrun + returned.responses,
        format!("the stack said that {} messages came back, and handed over others", returned.said),
    );

    let tally = Tally {
        sent,
        delivered: handed,
        returned: back,
        died_with_peer: taken.saturating_sub(handed),
        sent_here: told,
        delivered_here: came,
        untold: came.saturating_sub(told),
        calls: started,
        answered,
        calls_returned: unrun,
        calls_lost: taken_calls.saturating_sub(answered),
        served,
        full: ours(Count::Full) + theirs(Count::Full),
    };
    (tally, broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(Count, u64)]) -> Counts {
        let counts = Counts::default();
        of.iter().for_each(|(what, value)| counts.set(*what, *value));
        counts
    }

    /// A life in which nothing went wrong: what the survivor and the victim were told.
    const OURS: [(Count, u64); 6] = [
        (Count::Sent, 500),
        (Count::Tried, 500),
        (Count::Received, 41),
        (Count::Started, 20),
        (Count::Finished, 10),
        (Count::Served, 7),
    ];
    const THEIRS: [(Count, u64); 9] = [
        (Count::Sent, 40),
        (Count::Tried, 41),
        (Count::Received, 490),
        (Count::CallsTried, 8),
        (Count::Started, 8),
        (Count::Finished, 6),
        (Count::Begun, 12),
        (Count::Served, 11),
        (Count::Full, 3),
    ];

    fn back() -> Returned {
        let messages = (495..500).map(Some).collect();
        let requests = (18..20).map(Some).collect();
        Returned { messages, requests, responses: 1, said: 8 }
    }

    #[test]
    fn a_life_that_is_as_promised_adds_up() {
        let (tally, broken) = account(&counts(&OURS), &counts(&THEIRS), &back());
        assert_eq!(broken, [""; 0]);
        assert_eq!(tally.sent, tally.delivered + tally.died_with_peer + tally.returned);
        assert_eq!((tally.delivered, tally.died_with_peer, tally.returned), (490, 5, 5));
        assert_eq!((tally.delivered_here, tally.untold), (41, 1));
        assert_eq!(tally.calls, tally.answered + tally.calls_returned + tally.calls_lost);
        assert_eq!((tally.calls_returned, tally.calls_lost, tally.full), (2, 8, 3));
        let mut sum = tally.clone();
        sum.add(&tally);
        assert_eq!((sum.sent, sum.delivered_here, sum.calls_lost), (1000, 82, 16));
    }

    /// The promises that one changed count breaks.
    fn with(ours: Option<(Count, u64)>, theirs: Option<(Count, u64)>) -> usize {
        let (survivor, victim) = (counts(&OURS), counts(&THEIRS));
        ours.into_iter().for_each(|(what, value)| survivor.set(what, value));
        theirs.into_iter().for_each(|(what, value)| victim.set(what, value));
        account(&survivor, &victim, &back()).1.len()
    }

    #[test]
    fn every_lie_is_noticed() {
        for ours in [
            (Count::Wrong, 1),
            (Count::Unrung, 1),
            (Count::Received, 39),
            (Count::Received, 42),
            (Count::Sent, 501),
            (Count::Started, 21),
            (Count::Finished, 12),
            (Count::Served, 5),
            (Count::Served, 9),
        ] {
            assert!(with(Some(ours), None) > 0, "{ours:?}");
        }
        for theirs in [
            (Count::Wrong, 1),
            (Count::Unrung, 1),
            (Count::Received, 496),
            (Count::Received, 170),
            (Count::Begun, 19),
            (Count::Sent, 42),
            (Count::Tried, 40),
        ] {
            assert!(with(None, Some(theirs)) > 0, "{theirs:?}");
        }
        assert_eq!(with(None, None), 0);
    }

    #[test]
    fn what_came_back_is_the_end_of_what_was_sent_as_it_was_sent() {
        let with = |change: fn(&mut Returned)| {
            let mut back = back();
            change(&mut back);
            account(&counts(&OURS), &counts(&THEIRS), &back).1.len()
        };
        assert!(with(|back| back.messages[2] = None) > 0, "damaged");
        assert!(with(|back| back.messages.swap(0, 1)) > 0, "out of order");
        assert!(with(|back| back.messages[4] = Some(498)) > 0, "doubled");
        assert!(with(|back| back.requests[0] = Some(17)) > 0, "another call");
        assert!(with(|back| back.said = 9) > 0, "another number");
    }
}
