//! One end of a link over frames: for its thread, and for the node that waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use narrows::connection::Closed;
use narrows::connection::replica::{Lane, Replica};
use narrows::driver::NotSent;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io;
use rustix::net::{Shutdown, shutdown};

use super::stream::Stream;
use crate::bells::Bell;
use crate::bells::carry::{ByNode, Came, Carries};
use crate::memory::{Region, sync};
use crate::{clock, system};

/// What has to be done in one piece.
struct End {
    replica: Replica<Region, Box<[Lane<Region>]>>,
    stream: Stream<Region>,
    /// The node that waits has left some of what came to the thread.
    behind: bool,
    /// Why the link has ended, if it has.
    ended: Option<Closed>,
}

/// An end, and which thread carries it.
pub(super) struct Link {
    end: Mutex<End>,
    stream: Arc<OwnedFd>,
    /// Wakes the thread.
    pub bell: Bell,
    /// Wakes the node.
    node: Bell,
    socket: OwnedFd,
    by_node: ByNode,
    /// The thread takes what comes, whether the node does or not.
    attend: AtomicBool,
    finish: AtomicBool,
}

/// Rounds of taking what came, after which the thread goes on: a peer that never stops does not
/// keep a node that waits.
const ROUNDS: usize = 16;

/// What the thread does next.
enum Next {
    Again,
    /// Sleeps until it is rung, or something of this is true of the stream.
    Sleep(PollFlags),
    Nothing,
}

impl End {
    /// Sends what the node has published. False if something is left.
    fn send(&mut self) -> Result<bool, Closed> {
        let sent = self.replica.send(&mut self.stream, clock::now())?;
        self.stream.flush().map_err(|_: NotSent| Closed::Lost)?;
        Ok(sent && !self.stream.is_waiting())
    }

    /// Takes some of what came: whether there was any, or why nothing will come; and whether the
    /// node asked to be rung for it.
    fn receive(&mut self) -> (Result<bool, Closed>, bool) {
        let came = self.replica.receive(&mut self.stream, clock::now());
        if came == Ok(false) {
            return (came, false);
        }
        sync::full_fence();
        (came, self.replica.rings())
    }
}

impl Link {
    pub fn new(
        replica: Replica<Region, Box<[Lane<Region>]>>,
        stream: OwnedFd,
        (node, socket): (Bell, OwnedFd),
        by_node: ByNode,
    ) -> io::Result<Link> {
        let stream = Arc::new(stream);
        let end =
            End { replica, stream: Stream::new(Arc::clone(&stream)), behind: false, ended: None };
        Ok(Link {
            end: Mutex::new(end),
            stream,
            bell: Bell::new()?,
            node,
            socket,
            by_node,
            attend: AtomicBool::new(false),
            finish: AtomicBool::new(false),
        })
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end, unless another thread is at it.
    fn try_end(&self) -> Option<MutexGuard<'_, End>> {
        match self.end.try_lock() {
            Ok(end) => Some(end),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Why the link has ended, if it has.
    pub fn ended(&self) -> Option<Closed> {
        self.end().ended
    }

    /// Has the thread send what the node has published, and then end the link.
    pub fn finish(&self) {
        // Release: pairs with the acquire in `turn`. What the node stored comes before.
        self.finish.store(true, Ordering::Release);
        self.attend();
    }

    /// Has the thread take what comes from here on.
    pub fn attend(&self) {
        // Release: as above.
        self.attend.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// The thread's life.
    pub fn run(&self) {
        system::run_anywhere();
        loop {
            match self.turn() {
                Next::Again => {}
                Next::Sleep(awaited) => {
                    let stream = PollFd::from_borrowed_fd(self.stream(), awaited);
                    let mut both = [PollFd::new(&self.bell, PollFlags::IN), stream];
                    // A stream that is asked for nothing says all the same when it has ended.
                    let asked = if awaited.is_empty() { &mut both[..1] } else { &mut both[..] };
                    let _ = poll(asked, None);
                    self.bell.hear();
                }
                Next::Nothing => return,
            }
        }
    }

    /// Carries what there is.
    fn turn(&self) -> Next {
        let mut end = self.end();
        if end.ended.is_some() {
            return Next::Nothing;
        }
        // Acquire: pair with the releases in `finish` and `attend`.
        let finish = self.finish.load(Ordering::Acquire);
        let attend = self.attend.load(Ordering::Acquire);
        end.replica.disarm();
        let sent = end.send();
        // A peer that takes nothing any more may have sent more before.
        let attends = attend || end.behind || !self.by_node.get() || sent.is_err();
        if attends {
            let (came, rings) = end.receive();
            if rings {
                self.node.ring();
            }
            match came {
                Ok(true) => return Next::Again,
                Ok(false) => end.behind = false,
                Err(why) => return self.over(&mut end, why),
            }
        }
        match sent {
            Err(why) => return self.over(&mut end, why),
            Ok(true) if finish => {
                let end = &mut *end;
                end.replica.part(&mut end.stream, clock::now());
                let _ = end.stream.flush();
                return self.over(end, Closed::Here);
            }
            Ok(false) if !end.stream.is_waiting() => return Next::Again,
            Ok(_) => {}
        }
        end.replica.arm();
        sync::full_fence();
        let waiting = end.stream.is_waiting();
        if !waiting && !end.replica.is_quiet() {
            return Next::Again;
        }
        let flag = |flag, is| if is { flag } else { PollFlags::empty() };
        Next::Sleep(flag(PollFlags::IN, attends) | flag(PollFlags::OUT, waiting))
    }

    /// The link has ended.
    fn over(&self, end: &mut End, why: Closed) -> Next {
        end.ended = Some(why);
        // The node may have this end for longer.
        let _ = shutdown(&self.stream, Shutdown::Both);
        // What came last is there, and a node that sleeps looks.
        sync::full_fence();
        self.node.ring();
        // A stream that ended without a farewell: the socket of a peer that died says so as well,
        // but not that of one whose stream alone is gone.
        if matches!(why, Closed::Broken(_) | Closed::Lost) {
            let _ = shutdown(&self.socket, Shutdown::Both);
        }
        Next::Nothing
    }

    /// Sends what the node has published, as its own thread. What is left, and what goes wrong, is
    /// the link's thread's.
    fn send(&self, arm: impl Fn(&End)) {
        // The thread that is at it looks once more before it lets go, or is rung.
        let Some(mut end) = self.try_end() else { return self.bell.ring() };
        if end.ended.is_some() {
            return;
        }
        let sent = end.send();
        arm(&end);
        sync::full_fence();
        if sent != Ok(true) || !end.replica.is_quiet() {
            self.bell.ring();
        }
    }
}

impl Carries for Link {
    fn stream(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn prepare(&self) {
        self.send(|end| end.replica.arm());
    }

    fn push(&self) {
        match self.by_node.get() {
            true => self.send(|end| end.replica.arm_for_entries()),
            false => self.bell.ring(),
        }
    }

    fn carry(&self) -> Came {
        let mut end = self.end();
        if end.ended.is_some() {
            return Came::End;
        }
        // What the node gives credit for now goes with its next entry, or before its next wait.
        end.replica.disarm();
        end.replica.arm_for_entries();
        let mut asked = false;
        for _ in 0..ROUNDS {
            let (came, rings) = end.receive();
            asked |= rings;
            if let Err(why) = came {
                self.over(&mut end, why);
                // It ends as well.
                self.bell.ring();
                return Came::End;
            }
            if !end.stream.holds_frame() {
                return if asked { Came::Something } else { Came::Nothing };
            }
        }
        end.behind = true;
        self.bell.ring();
        Came::Something
    }

    fn hand_over(&self) {
        self.bell.ring();
    }
}

#[cfg(test)]
mod tests {
    use narrows::connection::replica::{Pulse, lanes};
    use narrows::memory::Layout;
    use rustix::net::{SendFlags, send};

    use super::super::pair;
    use super::*;
    use crate::memory::LINE;

    /// An end that no thread carries, and the other end of its stream.
    fn link() -> (Link, OwnedFd) {
        let layout = Layout::standard(LINE).unwrap();
        let [own, replica] = [(); 2].map(|()| Region::new(&layout).unwrap().0);
        let lanes: Box<[_]> =
            lanes(&own, &replica, LINE).unwrap().collect::<Result<_, _>>().unwrap();
        let replica = Replica::new((own, replica), lanes, LINE, Pulse::default(), clock::now());
        let (stream, peer) = pair().unwrap();
        let (socket, _) = pair().unwrap();
        let node = (Bell::new().unwrap(), socket);
        (Link::new(replica.unwrap(), stream, node, ByNode::always()).unwrap(), peer)
    }

    #[test]
    fn what_a_node_that_waits_leaves_of_very_much_its_thread_takes() {
        const SIGNS_OF_LIFE: u16 = 2000;
        let (link, peer) = link();
        let frame = |kind: u8, number: u16| {
            let [low, high] = number.to_le_bytes();
            [4, 0, 0, 0, kind, 0, low, high]
        };
        let bytes: Vec<u8> = (0..SIGNS_OF_LIFE).flat_map(|number| frame(5, number)).collect();
        assert_eq!(send(&peer, &bytes, SendFlags::empty()), Ok(bytes.len()));
        send(&peer, &frame(6, SIGNS_OF_LIFE), SendFlags::empty()).unwrap();
        assert_eq!(link.carry(), Came::Something);
        assert_eq!(link.ended(), None);
        while let Next::Again = link.turn() {}
        assert_eq!(link.ended(), Some(Closed::Peer));
        assert_eq!(link.carry(), Came::End);
    }
}
