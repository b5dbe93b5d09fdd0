//! Links of a link handler: their names, and what follows when one comes up or ends.

use super::hunts::{Hunt, Owner};
use super::table::What;
use super::words::Word;
use super::{Adaption, Handler, HandlerError, Spid};
use crate::name::Name;
use crate::platform::Platform;

pub(super) struct Unit {
    pub name: Name,
    pub up: bool,
    /// The endpoint that sent last, by the address there and by that here, while it is there: most
    /// likely the next that sends.
    pub last: Option<[Spid; 2]>,
    /// Its peer has been told of what is gone up to this number.
    pub told: u32,
    /// There was no room to tell it more.
    pub stuck: bool,
}

/// The number of what is gone next.
pub(super) fn after(number: u32) -> u32 {
    number.wrapping_add(1).max(1)
}

impl<P: Platform, B> Handler<P, B> {
    /// Adds a link, which is not up yet. Returns its number.
    ///
    /// # Errors
    /// [`HandlerError::Duplicate`] or [`HandlerError::Full`].
    pub fn add_link(&mut self, name: Name) -> Result<u16, HandlerError> {
        if self.unit_named(&name, false).is_some() {
            return Err(HandlerError::Duplicate);
        }
        let free = self.units.iter().position(Option::is_none).ok_or(HandlerError::Full)?;
        if let Some(place) = self.units.get_mut(free) {
            *place = Some(Unit { name, up: false, last: None, told: 0, stuck: false });
        }
        Ok(free as u16)
    }

    /// Notes that the connection of a link is established. Hunts that waited for it go on.
    pub fn link_up<A: Adaption<Buffer = B>>(&mut self, around: &mut A, link: u16) {
        if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            (unit.up, unit.told) = (true, self.gone);
            self.owes = true;
        }
        self.attend(around);
    }

    /// Notes that the connection of a link has ended: everybody behind it is gone, what was hunted
    /// through it is hunted again when it comes back, and what its peer hunted is not.
    pub fn link_down<A: Adaption<Buffer = B>>(&mut self, around: &mut A, link: u16) {
        if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            unit.up = false;
        }
        for place in self.hunts.iter_mut() {
            let of_peer = |hunt: &mut Hunt<B>| matches!(hunt.owner, Owner::Peer { link: of, .. } if of == link);
            place.take_if(of_peer);
            if let Some(hunt) = place
                && hunt.asked == Some(link)
            {
                hunt.asked = None;
                self.owes = true;
            }
        }
        for index in 0..self.entries.len() {
            let Some(entry) = self.entries.get(index) else { continue };
            let behind = match entry.what {
                What::Remote { link: of, .. } | What::Link(of) => of == link,
                _ => false,
            };
            if behind && let Some(spid) = self.address(index) {
                self.bury(around, spid, Some(link));
            }
        }
        self.attend(around);
    }

    /// Forgets a link that is down.
    pub fn remove_link(&mut self, link: u16) {
        if let Some(place) = self.units.get_mut(usize::from(link)) {
            place.take_if(|unit| !unit.up);
        }
    }

    /// Whether all peers have been told of what is gone up to a number.
    pub(super) fn is_told(&self, number: u32) -> bool {
        let since = self.gone.wrapping_sub(number);
        let up = self.units.iter().flatten().filter(|unit| unit.up);
        number == 0 || up.map(|unit| self.gone.wrapping_sub(unit.told)).all(|left| left <= since)
    }

    /// What is gone, by its number, and the link whose peer said so.
    fn gone(&self, number: u32) -> Option<(Spid, Option<u16>)> {
        let at = self.entries.iter().position(|entry| entry.untold == number)?;
        Some((self.address(at)?, self.entries.get(at)?.except))
    }

    /// Tells peers what is gone, in order, as far as there is room. True if nothing is left.
    pub(super) fn tell<A: Adaption<Buffer = B>>(&mut self, around: &mut A) -> bool {
        let gone = self.gone;
        loop {
            let units = self.units.iter().flatten();
            let behind = units.filter(|unit| unit.up && !unit.stuck && unit.told != gone);
            let Some(told) = behind.map(|u| u.told).max_by_key(|told| gone.wrapping_sub(*told))
            else {
                break;
            };
            let number = after(told);
            let found = self.gone(number);
            for link in 0..self.units.len() as u16 {
                let unit = self.units.get(usize::from(link)).and_then(Option::as_ref);
                if unit.is_none_or(|unit| !unit.up || unit.stuck || unit.told != told) {
                    continue;
                }
                let spid = found.filter(|(_, except)| *except != Some(link)).map(|(spid, _)| spid);
                let said = spid.is_none_or(|spid| self.say(around, link, Word::Gone { spid }));
                if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
                    (unit.told, unit.stuck) = (if said { number } else { told }, !said);
                }
            }
        }
        let units = self.units.iter_mut().flatten();
        units.filter_map(|unit| core::mem::take(&mut unit.stuck).then_some(())).count() == 0
    }

    /// The link of a name; only if it is up, if so asked.
    pub(super) fn unit_named(&self, name: &Name, up: bool) -> Option<u16> {
        let meant = |unit: &Unit| unit.name == *name && (unit.up || !up);
        let found = self.units.iter().position(|unit| unit.as_ref().is_some_and(meant))?;
        Some(found as u16)
    }
}
