//! How channels are closed and disconnected, and what becomes of them when a node is gone.

use narrows::link::LinkId;
use narrows::platform::Lost;

use super::super::control::{Kind, Said};
use super::super::endpoint::Direction;
use super::super::home::Home;
use super::super::id::Handle;
use super::super::status::{Outcome, Status};
use super::Node;
use super::channel::{Channel, Stage};

impl<H: Home> Node<H> {
    /// Closes this side of a channel.
    pub fn close_channel(&mut self, handle: Handle, kind: Kind, way: Direction) -> Outcome<()> {
        let channel = self.channels.get_mut(handle).ok_or(Status::ChanInvalid)?;
        if (channel.kind, channel.direction) != (kind, way) || !channel.connected() {
            return Err(Status::ChanInvalid);
        }
        if channel.closed {
            return Err(Status::ChanNotOpen);
        }
        channel.closed = true;
        channel.open = false;
        let (theirs, lost, ring) = (channel.theirs, channel.lost, channel.ring);
        let inner = channel.inner;
        let both = channel.closed_there || lost.is_some();
        self.leave(inner, handle);
        self.lengthen(handle);
        self.fail_pending(handle, Status::ChanClosePending);
        if way == Direction::Receive {
            self.discard(handle);
        }
        if let (Some(ring), None) = (ring, lost) {
            self.say(ring.link, Said::Close, &[theirs]);
        }
        if both {
            self.disconnect(handle);
        }
        Ok(())
    }

    /// An endpoint is not an end of a channel any more, if it still was: when its own side has
    /// closed, it need not wait for the other to be deleted or opened anew.
    fn leave(&mut self, inner: u16, handle: Handle) {
        let endpoint = self.endpoints.get_mut(inner);
        if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.channel == Some(handle)) {
            endpoint.channel = None;
        }
    }

    /// The other side has closed.
    pub fn closed_there(&mut self, link: LinkId, handle: Handle) {
        let Some(channel) = self.channels.get_mut(handle) else { return };
        if channel.ring.is_none_or(|ring| ring.link != link) || !channel.connected() {
            return;
        }
        channel.closed_there = true;
        let (closed, direction) = (channel.closed, channel.direction);
        self.lengthen(handle);
        if direction == Direction::Send {
            self.fail_pending(handle, Status::ChanClosePending);
        }
        self.news = true;
        if closed {
            self.disconnect(handle);
        }
    }

    /// The receiver has taken all off the ring of a channel that both have closed.
    pub fn freed(&mut self, link: LinkId, handle: Handle) {
        let Some(channel) = self.channels.get(handle) else { return };
        let Some(ring) = channel.ring.filter(|ring| ring.link == link) else { return };
        if matches!(channel.stage, Stage::Draining) && channel.direction == Direction::Send {
            self.peers.give_ring(ring.link, ring.ring);
            self.channels.remove(handle);
        }
    }

    /// Both sides have closed, or the other is gone.
    fn disconnect(&mut self, handle: Handle) {
        let Some(channel) = self.channels.get_mut(handle) else { return };
        let (direction, lost, ring) = (channel.direction, channel.lost, channel.ring);
        let (inner, theirs) = (channel.inner, channel.theirs);
        channel.stage = Stage::Draining;
        self.leave(inner, handle);
        if direction == Direction::Receive {
            self.discard(handle);
        }
        match (lost, direction, ring) {
            (None, Direction::Send, _) => {}
            (None, Direction::Receive, Some(ring)) => {
                self.channels.remove(handle);
                self.say(ring.link, Said::Free, &[theirs]);
            }
            _ => {
                self.channels.remove(handle);
            }
        }
    }

    /// Takes all off the ring of a channel.
    fn discard(&mut self, handle: Handle) {
        let Some(channel) = self.channels.get_mut(handle) else { return };
        channel.stash = None;
        let Some(ring) = channel.ring else { return };
        while let Ok(Some(arrival)) = self.stack.channel(ring).try_take() {
            if let Some(block) = arrival.block {
                self.stack.channel(ring).release(block);
            }
        }
    }

    /// Ends what waits for a channel.
    fn fail_pending(&mut self, handle: Handle, status: Status) {
        self.end_those(status, &mut |operation| operation.channel() == Some(handle));
    }

    /// The link of some channels has ended.
    pub fn lose_channels(&mut self, link: LinkId, reason: Lost) {
        let over = |channel: &Channel| channel.ring.is_some_and(|ring| ring.link == link);
        for place in 0..Handle::PLACES {
            let Some(handle) = self.channels.at(place) else { continue };
            let channel = self.channels.get_mut(handle).filter(|channel| over(channel));
            let Some(channel) = channel else { continue };
            match channel.stage {
                Stage::Hunting(_) | Stage::Offered(_) => {
                    self.not_connected(handle, Status::Transmission);
                }
                Stage::Draining => {
                    self.channels.remove(handle);
                }
                Stage::Connected => {
                    channel.lost = Some(reason);
                    let (closed, open, direction) =
                        (channel.closed, channel.open, channel.direction);
                    let (closed_there, ring) = (channel.closed_there, channel.ring);
                    let status = channel.check().err().unwrap_or(Status::Transmission);
                    self.lengthen(handle);
                    if direction == Direction::Send {
                        self.fail_pending(handle, status);
                    }
                    // Nobody has its handle, so nobody would close it, unless a receiver is yet to
                    // open it for what was sent and closed.
                    let left = direction == Direction::Receive
                        && (closed_there
                            || ring.is_some_and(|ring| self.stack.channel(ring).is_ready()));
                    if closed || !(open || left) {
                        self.disconnect(handle);
                    }
                }
            }
        }
    }
}
