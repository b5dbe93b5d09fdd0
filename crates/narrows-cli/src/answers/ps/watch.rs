//! Looks at the nodes of some domains, and what moved between two of them.

use super::flags::Whose;
use super::row::{NodeRow, node_row};
use crate::base::failure::{Failure, Kind};
use narrows::link::Name;
use narrows_host::observe::{ObserveError, Observer, Seen, domains};
use narrows_host::service::Offer;
use std::collections::BTreeMap;
use std::time::Instant;

/// A link: the domain, the life of the node that it is of, and its number there.
pub type Key<'a> = (&'a str, u64, u32);

/// What all nodes said at one moment.
pub struct Look {
    at: Instant,
    /// What the nodes said, by domain.
    pub seen: Vec<(String, Vec<Seen>)>,
    /// Services that nodes offer, by domain.
    offers: Vec<(String, Vec<Offer>)>,
    /// What went over each link until then, sent and received.
    counts: BTreeMap<(String, u64, u32), (u32, u32)>,
}

/// What went over a link, a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Sent.
    pub sent: f64,
    /// Received.
    pub received: f64,
}

impl Look {
    /// The services that a node of a domain offers.
    pub fn offers(&self, domain: &str, node: &Name) -> impl Iterator<Item = &Offer> {
        let of = self.offers.iter().filter(move |(of, _)| of == domain);
        of.flat_map(|(_, offers)| offers).filter(move |offer| offer.node == *node)
    }
}

/// What went over a link between two looks. Counts wrap round at 2^32.
pub fn wrapped(before: &Look, after: &Look, (domain, life, key): Key<'_>) -> Option<Moved> {
    let key = (domain.to_owned(), life, key);
    let (then, now) = (before.counts.get(&key)?, after.counts.get(&key)?);
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    // A word that is read just before the one that it is compared with may be a little older.
    let rate = |then: u32, now: u32| match now.wrapping_sub(then) as i32 {
        _ if seconds <= 0.0 => 0.0,
        back @ i32::MIN..0 if back > -(1 << 16) => 0.0,
        _ => f64::from(now.wrapping_sub(then)) / seconds,
    };
    Some(Moved { sent: rate(then.0, now.0), received: rate(then.1, now.1) })
}

/// The rows of all nodes, with the rates since an earlier look.
pub fn rows(before: &Look, after: &Look) -> Vec<NodeRow> {
    let nodes = after.seen.iter().flat_map(|(domain, seen)| seen.iter().map(move |n| (domain, n)));
    nodes.map(|(domain, seen)| node_row(domain, seen, before, after)).collect()
}

/// What looks.
pub struct Watcher {
    whose: Whose,
    observers: Vec<Observer>,
}

fn failure(error: ObserveError) -> Failure {
    let kind = match error {
        ObserveError::Name(_) | ObserveError::NoDomain(_) => Kind::Name,
        _ => Kind::Internal,
    };
    Failure::new(kind, error.to_string())
}

impl Watcher {
    /// Looks for the nodes that are asked for.
    ///
    /// # Errors
    /// [`Kind::Name`] if there is no such domain, [`Kind::Internal`] if it cannot be looked at.
    pub fn new(whose: &Whose) -> Result<Watcher, Failure> {
        let mut watcher = Watcher { whose: whose.clone(), observers: Vec::new() };
        match whose.all {
            true => watcher.find()?,
            false => {
                watcher.observers.push(Observer::new(&whose.domain, None).map_err(failure)?);
            }
        }
        Ok(watcher)
    }

    /// Finds the domains that are not watched yet.
    fn find(&mut self) -> Result<(), Failure> {
        for domain in domains(None).map_err(failure)? {
            if self.observers.iter().any(|observer| *observer.domain() == domain) {
                continue;
            }
            match Observer::new(domain.as_str(), None) {
                Ok(observer) => self.observers.push(observer),
                // Its last node has just left.
                Err(ObserveError::NoDomain(_)) => {}
                Err(error) => return Err(failure(error)),
            }
        }
        Ok(())
    }

    /// Looks once.
    ///
    /// # Errors
    /// As [`Watcher::new`].
    pub fn look(&mut self) -> Result<Look, Failure> {
        if self.whose.all {
            self.find()?;
        }
        let at = Instant::now();
        let (mut all, mut offers, mut counts) = (Vec::new(), Vec::new(), BTreeMap::new());
        for observer in &mut self.observers {
            let seen = observer.look();
            let domain = observer.domain().to_string();
            for status in seen.iter().filter_map(|seen| seen.status.as_ref().ok()) {
                for link in &status.links {
                    let Some(now) = link.counts else { continue };
                    let sent = now.sent.wrapping_add(now.channels_sent);
                    let received = now.received.wrapping_add(now.channels_received);
                    let key = (domain.clone(), status.incarnation, link.key);
                    counts.insert(key, (sent, received));
                }
            }
            offers.push((domain.clone(), observer.offers()));
            all.push((domain, seen));
        }
        Ok(Look { at, seen: all, offers, counts })
    }
}
