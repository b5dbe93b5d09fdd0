//! Every message of a domain, and every entry of its channels, as it passes: read where it lies, by
//! a process that is neither end.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::link::Name;
use narrows::memory::{Descriptor, Glimpse, IN_SLOT, MAX_SLOTS, Ring};

use super::memory::Sheet;
use super::{Observer, Seen};

/// Messages of one direction that are handed out before the next has its turn.
const TURN: u32 = 256;

/// Turns after which all that was on a ring has been handed out, whatever came meanwhile.
const TURNS: u32 = MAX_SLOTS / TURN;

/// What passes.
#[derive(Clone, Copy, Debug)]
pub enum Passed<'a> {
    /// A message was sent: its number on its ring in this direction, from 1, and what it says of
    /// itself; what it carries, if that was asked for and could be read as it was sent.
    Sent(u32, &'a Descriptor, Option<&'a [u8]>),
    /// Its receiver has taken all messages up to this number.
    Taken(u32),
    /// This many messages had been overwritten before they were read.
    Missed(u32),
}

/// A ring of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tapped {
    /// The sender.
    pub node: Name,
    /// Which life of the sender's.
    pub incarnation: u64,
    /// The receiver.
    pub peer: Name,
    /// Which life of the receiver's.
    pub peer_incarnation: u64,
    /// The sender's number for the link.
    pub link: u32,
    /// The link's messages, or one of its channels.
    pub ring: Ring,
}

/// A ring, and how far it was read.
struct Place {
    /// The sender's memory, and the receiver's if that is to be seen.
    sheet: Arc<Sheet>,
    peer: Option<Arc<Sheet>>,
    /// Whether its link is there no longer: nothing more is sent.
    ended: bool,
    /// The number of the last message that was read.
    sent: u32,
    /// Messages that its receiver had taken when that was looked at last.
    taken: u32,
}

/// See the module page. It begins with what is sent after it is made.
pub struct Tap {
    observer: Observer,
    with_payload: bool,
    places: BTreeMap<Tapped, Place>,
    buffer: Vec<u8>,
}

impl Tap {
    /// A tap of the domain of an observer, that reads payloads too if that is wanted.
    #[must_use]
    pub fn new(observer: Observer, with_payload: bool) -> Tap {
        let mut tap = Tap { observer, with_payload, places: BTreeMap::new(), buffer: Vec::new() };
        tap.look();
        for (of, place) in &mut tap.places {
            place.sent = sent(&place.sheet, of.ring).unwrap_or(0);
            place.taken = place.peer.as_ref().and_then(|peer| peer.taken(of.ring)).unwrap_or(0);
        }
        tap
    }

    /// Looks for nodes and links that have come or gone since: what a link that is new carries is
    /// seen from here on, from its first message if that is still there, and what one that has
    /// ended carried is seen to its last.
    pub fn look(&mut self) -> Vec<Seen> {
        let Tap { observer, places, .. } = self;
        let all = observer.look();
        places.values_mut().for_each(|place| place.ended = true);
        observer.directions(|of, sheet, peer| {
            let (sent, taken) = places.get(&of).map_or((0, 0), |place| (place.sent, place.taken));
            let (sheet, peer) = (Arc::clone(sheet), peer.cloned());
            places.insert(of, Place { sheet, peer, ended: false, sent, taken });
        });
        all
    }

    /// Hands out all that has passed until now, as [`Tap::take`] does.
    pub fn take_all(&mut self, mut each: impl FnMut(&Tapped, Passed<'_>)) {
        for _ in 0..TURNS {
            if !self.take(&mut each) {
                break;
            }
        }
    }

    /// Hands out what has passed since, each direction's in order. True if any ring was so full
    /// that the next look cannot be soon enough.
    pub fn take(&mut self, mut each: impl FnMut(&Tapped, Passed<'_>)) -> bool {
        let Tap { with_payload, places, buffer, .. } = self;
        let mut busy = false;
        places.retain(|of, place| {
            let (sheet, peer) = (&*place.sheet, place.peer.as_deref());
            let (ring, slots) = (of.ring, sheet.slots(of.ring));
            let mut in_slot = [0; IN_SLOT];
            let mut count = 0;
            while count < TURN {
                let number = place.sent.wrapping_add(1);
                match sheet.entry(ring, number, &mut in_slot) {
                    Glimpse::NotYet => break,
                    Glimpse::Overwritten => {
                        // Far enough behind the newest not to be overtaken at once.
                        let sent = sent(sheet, ring).unwrap_or(number);
                        let beyond = sent.wrapping_sub(number).saturating_sub(slots / 2);
                        let missed = if beyond > u32::MAX / 2 { 1 } else { beyond.max(1) };
                        each(of, Passed::Missed(missed));
                        place.sent = place.sent.wrapping_add(missed);
                    }
                    Glimpse::Nonsense => place.sent = number,
                    Glimpse::There(descriptor) => {
                        let wanted = *with_payload;
                        let payload = wanted.then(|| {
                            payload(&descriptor, (ring, number), &in_slot, sheet, peer, buffer)
                        });
                        each(of, Passed::Sent(number, &descriptor, payload.flatten()));
                        place.sent = number;
                    }
                }
                count += 1;
            }
            busy |= count > slots / 4 || count == TURN;
            let taken = peer.and_then(|peer| peer.taken(ring)).unwrap_or(place.taken);
            if taken != place.taken {
                // Of what has not been handed out nothing is said yet.
                let ahead = taken.wrapping_sub(place.sent);
                let taken = if ahead <= u32::MAX / 2 { place.sent } else { taken };
                if taken != place.taken {
                    each(of, Passed::Taken(taken));
                    place.taken = taken;
                }
            }
            !place.ended || count == TURN
        });
        busy
    }
}

/// Entries that a node has sent on a ring.
fn sent(sheet: &Sheet, ring: Ring) -> Option<u32> {
    sheet.counts(ring).map(|counts| counts.sent)
}

/// What a message carries; none if its block may have been used again.
fn payload<'a>(
    descriptor: &Descriptor,
    (ring, number): (Ring, u32),
    in_slot: &'a [u8; IN_SLOT],
    sheet: &Sheet,
    peer: Option<&Sheet>,
    buffer: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    let len = descriptor.len as usize;
    let Some(block) = descriptor.block else { return in_slot.get(..len) };
    buffer.resize(len, 0);
    let read = sheet.block(block, buffer);
    // A block that was sent with a message that is not taken is its receiver's still.
    let taken = peer?.taken(ring)?;
    let lent = number.wrapping_sub(taken).wrapping_sub(1) < u32::MAX / 2;
    (read && lent).then_some(&**buffer)
}
