//! Services that this node offers: notes in the directory, for as long as the node lives.

use narrows::link::Name;
use rustix::io::{self, Errno};

use super::Rendezvous;
use super::directory::Pulse;

impl Rendezvous {
    /// Offers a service, with what is to be known of it.
    pub(crate) fn offer_service(&mut self, service: &Name, text: &str) -> io::Result<()> {
        if self.is_copy() {
            return Err(Errno::CHILD);
        }
        self.directory.offer(service, &self.me.name, text)?;
        self.offers.retain(|(offered, _)| offered != service);
        self.offers.push((*service, text.to_owned()));
        Ok(())
    }

    /// Offers a service no more.
    pub(crate) fn withdraw_service(&mut self, service: &Name) {
        if !self.is_copy() && self.offers.iter().any(|(offered, _)| offered == service) {
            self.offers.retain(|(offered, _)| offered != service);
            self.directory.withdraw(service, &self.me.name);
        }
    }

    /// The services of all nodes of the domain that live: each with its node and what is to be
    /// known of it.
    pub(crate) fn offers(&self) -> Vec<(Name, Name, String)> {
        let mut all = self.directory.offers();
        all.retain(|(_, node, _)| self.directory.pulse(node) != Pulse::Dead);
        all
    }

    /// Makes the notes again, in a directory from which they are gone.
    pub(super) fn offer_again(&self) {
        for (service, text) in &self.offers {
            // What cannot be noted now is noted when the name is lost again.
            let _ = self.directory.offer(service, &self.me.name, text);
        }
    }

    /// Removes all notes that this node made.
    pub(super) fn withdraw_all(&self) {
        for (service, _) in &self.offers {
            self.directory.withdraw(service, &self.me.name);
        }
    }
}
