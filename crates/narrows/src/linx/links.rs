//! Links of a link handler: their names, and what follows when one comes up or ends.

use super::addresses::bit;
use super::hunts::{Hunt, Owner};
use super::table::What;
use super::{Adaption, Handler, HandlerError, Spid};
use crate::name::Name;
use crate::platform::Platform;

pub(super) struct Unit {
    pub name: Name,
    pub up: bool,
    /// Who sent last, by the address there and by that here, while it is there: most likely the
    /// next who does.
    pub last: Option<[Spid; 2]>,
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
            *place = Some(Unit { name, up: false, last: None });
        }
        Ok(free as u16)
    }

    /// Notes that the connection of a link is established. Hunts that waited for it go on.
    pub fn link_up<A: Adaption<Buffer = B>>(&mut self, around: &mut A, link: u16) {
        if let Some(Some(unit)) = self.units.get_mut(usize::from(link)) {
            unit.up = true;
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
            let Some(entry) = self.entries.get_mut(index) else { continue };
            entry.untold &= !bit(link);
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

    /// The link of a name; only if it is up, if so asked.
    pub(super) fn unit_named(&self, name: &Name, up: bool) -> Option<u16> {
        let meant = |unit: &Unit| unit.name == *name && (unit.up || !up);
        let found = self.units.iter().position(|unit| unit.as_ref().is_some_and(meant))?;
        Some(found as u16)
    }
}
