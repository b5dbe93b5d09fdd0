//! Services that this node offers: notes in the directory, for as long as the node lives.

use narrows::link::Name;
use rustix::io::{self, Errno};

use super::Rendezvous;
use super::notes::Offer;

impl Rendezvous {
    /// Offers a service, with what is to be known of it.
    pub(crate) fn offer_service(&mut self, service: &Name, text: &str) -> io::Result<()> {
        if self.is_copy() {
            return Err(Errno::CHILD);
        }
        self.directory.offer(service, &self.me.name, text)?;
        self.directory.tell_offers();
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

    /// As [`Directory::offers`](super::directory::Directory::offers).
    pub(crate) fn offers(&self) -> Vec<Offer> {
        self.directory.offers()
    }

    /// Makes the notes again, in a directory from which they are gone.
    pub(super) fn offer_again(&self) {
        for (service, text) in &self.offers {
            // What cannot be noted now is noted when the name is lost again.
            let _ = self.directory.offer(service, &self.me.name, text);
        }
        if !self.offers.is_empty() {
            self.directory.tell_offers();
        }
    }

    /// Removes all notes that this node made.
    pub(super) fn withdraw_all(&self) {
        for (service, _) in &self.offers {
            self.directory.withdraw(service, &self.me.name);
        }
    }
}
