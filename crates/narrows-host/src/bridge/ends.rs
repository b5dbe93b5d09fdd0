//! The two ends of a bridge: stand-ins for nodes that are elsewhere, and a listener for other
//! bridges. Each that comes is answered by a thread of its own.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use narrows::link::Name;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::{self, Errno};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, recv, send};

use super::Shared;
use super::event::{Event, Who, Why};
use super::line::{Ended, Kind, Line};
use super::link::Link;
use super::open::{NotOpen, Open};
use crate::bells::Bell;
use crate::carrier;
use crate::error::OpenError;
use crate::memory::HEADER;
use crate::rendezvous::directory::{Bound, Directory};
use crate::rendezvous::packet::{self, Received, Refusal, Said};
use crate::system::{self, peer_user};

/// How long a greeting may take, here and over the line.
const GREETING: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(3);
/// How often it is seen to that the stand-ins have their names.
const KEEP: Duration = Duration::from_secs(5);
/// Connections answered at once that have not said which node they look for, and all together.
const STRANGERS: usize = 16;
const THREADS: usize = 512;

/// Stands for a node that is elsewhere.
pub(super) struct StandIn {
    name: Name,
    address: SocketAddr,
    directory: Directory,
    bound: Bound,
}

impl StandIn {
    pub(super) fn new(
        shared: &Shared,
        name: Name,
        address: SocketAddr,
    ) -> Result<StandIn, OpenError> {
        let (directory, lock) = shared.directory()?;
        let bound = directory.bind(&lock, &name, false);
        let bound = bound.inspect_err(|_| directory.remove_if_empty(&lock))?;
        Ok(StandIn { name, address, directory, bound })
    }

    /// Takes its name again if that is gone from the directory.
    fn keep(&mut self) {
        if let Some(restored) = self.directory.restore(&self.name, &self.bound, false) {
            (self.directory, self.bound) = restored;
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.directory.leave(&self.name, &self.bound);
    }
}

/// Takes one of `most` places. Whether one was free.
fn take(taken: &AtomicUsize, most: usize) -> bool {
    let one_more = |taken: usize| (taken < most).then_some(taken + 1);
    taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
}

/// A place that was taken, until it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers connections, until the bridge stops and its links have ended.
pub(super) fn serve(
    shared: &Arc<Shared>,
    listener: Option<TcpListener>,
    mut stand_ins: Vec<StandIn>,
) {
    system::run_anywhere();
    let limit = Timespec::try_from(KEEP).ok();
    loop {
        let mut set = vec![PollFd::new(&shared.stop, PollFlags::IN)];
        set.extend(stand_ins.iter().map(|s| PollFd::new(&s.bound.listener, PollFlags::IN)));
        set.extend(listener.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
        let _ = poll(&mut set, limit.as_ref());
        if set.first().is_some_and(|stop| stop.revents().contains(PollFlags::IN)) {
            break;
        }
        for stand_in in &mut stand_ins {
            take_local(shared, stand_in);
            stand_in.keep();
        }
        listener.iter().for_each(|listener| take_line(shared, listener));
    }
    drop(stand_ins);
    // Each sees that the bridge stops.
    while shared.threads.load(Ordering::Relaxed) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Has one that came answered by a thread. False if there is none for it.
fn answer(shared: &Arc<Shared>, act: impl FnOnce(&Shared) + Send + 'static) -> bool {
    if !take(&shared.threads, THREADS) {
        return false;
    }
    let served = Arc::clone(shared);
    let thread = thread::Builder::new().name("narrows-bridge".into());
    let started = thread.spawn(move || {
        let _place = Place(&served.threads);
        act(&served);
    });
    if started.is_err() {
        drop(Place(&shared.threads));
    }
    started.is_ok()
}

/// Takes those that hunt for the node that is elsewhere.
fn take_local(shared: &Arc<Shared>, stand_in: &StandIn) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    while let Ok(local) = rustix::net::accept_with(&stand_in.bound.listener, flags) {
        let (target, address) = (stand_in.name, stand_in.address);
        let again = local.as_fd().try_clone_to_owned();
        if !answer(shared, move |shared| from_here(shared, local, target, address))
            && let Ok(local) = again
        {
            packet::refuse(local.as_fd(), Refusal::Again);
        }
    }
}

/// Takes other bridges.
fn take_line(shared: &Arc<Shared>, listener: &TcpListener) {
    while let Ok((socket, other)) = listener.accept() {
        if !answer(shared, move |shared| from_there(shared, socket, other)) {
            refused(shared, other, Why::Full);
        }
    }
}

fn refused(shared: &Shared, other: SocketAddr, why: Why) {
    shared.refused.fetch_add(1, Ordering::Relaxed);
    (shared.tell)(&Event::Refused(other, why));
}

/// A node here looks for one there.
fn from_here(shared: &Shared, local: OwnedFd, target: Name, address: SocketAddr) {
    let refuse = |why| packet::refuse(local.as_fd(), why);
    if peer_user(local.as_fd()) != Ok(rustix::process::geteuid().as_raw()) {
        return refuse(Refusal::Forbidden);
    }
    let limit = Timespec::try_from(GREETING).ok();
    let _ = poll(&mut [PollFd::new(&local, PollFlags::IN)], limit.as_ref());
    let (hello, memory) = match packet::receive(local.as_fd()) {
        Received::Hello(hello, memory, _) if hello.framed => (hello, memory),
        Received::Hello(..) => return refuse(Refusal::Framed),
        Received::Bad(why) => return refuse(why),
        _ => return,
    };
    let Ok(Some(stream)) = carrier::received(memory) else { return refuse(Refusal::Malformed) };
    let mut header = [0; HEADER];
    // The node sent it before its greeting.
    if !matches!(recv(&stream, &mut header, RecvFlags::DONTWAIT), Ok((HEADER, _))) {
        return refuse(Refusal::Malformed);
    }
    let who = Who { node: hello.name, peer: target, other: address };
    let until = Instant::now() + ANSWER;
    let first = Line::connect(address, shared.keys.as_ref(), until).and_then(|mut line| {
        line.put(Kind::Open, &Open { target, hello, header }.encode());
        line.receive(until).map(|first| (line, first))
    });
    let (line, first) = match first {
        Ok(answered) => answered,
        Err(ended) => {
            (shared.tell)(&Event::Unreached(who, Why::from(&ended)));
            return refuse(match ended {
                Ended::Key => Refusal::Forbidden,
                Ended::Garbage => Refusal::Incompatible,
                Ended::Gone(_) | Ended::Late => Refusal::Again,
            });
        }
    };
    let mut link = Link::new(shared, who, (local, stream), line);
    if link.take(first).is_ok() {
        link.run();
    }
}

/// Another bridge says whom it looks for.
fn from_there(shared: &Shared, socket: TcpStream, other: SocketAddr) {
    if !take(&shared.strangers, STRANGERS) {
        return refused(shared, other, Why::Full);
    }
    let stranger = Place(&shared.strangers);
    let until = Instant::now() + ANSWER;
    let opened = Line::accept(socket, shared.keys.as_ref(), until)
        .and_then(|mut line| line.receive(until).map(|first| (line, first)));
    drop(stranger);
    let (mut line, first) = match opened {
        Ok((line, (Kind::Open, body))) => (line, Open::decode(&body)),
        Ok(_) => return refused(shared, other, Why::Garbage),
        Err(ended) => return refused(shared, other, Why::from(&ended)),
    };
    let (why, answer) = match first {
        Err(NotOpen::Garbage) => return refused(shared, other, Why::Garbage),
        Err(NotOpen::Version) => (Why::Version, Refusal::Incompatible),
        Ok(open) if !shared.offered.contains(&open.target) => {
            (Why::NotOffered(open.target), Refusal::Forbidden)
        }
        Ok(open) => match greet(shared, &open) {
            Ok(ends) => {
                let who = Who { node: open.target, peer: open.hello.name, other };
                return Link::new(shared, who, ends, line).run();
            }
            Err(Errno::PERM) => (Why::Node(open.target), Refusal::Forbidden),
            Err(_) => (Why::Node(open.target), Refusal::Again),
        },
    };
    line.put(Kind::Packet, &Said::Refused(Some(answer)).encode());
    line.part(until);
    refused(shared, other, why);
}

/// Greets a node of this machine in the name of one that is elsewhere: what the rendezvous and the
/// stream are heard over.
fn greet(shared: &Shared, open: &Open) -> io::Result<(OwnedFd, OwnedFd)> {
    let (directory, lock) = shared.directory().map_err(|_| Errno::NOENT)?;
    let local = directory.connect(open.target.as_str());
    if local.is_err() {
        directory.remove_if_empty(&lock);
    }
    drop(lock);
    let local = local?;
    if peer_user(local.as_fd())? != rustix::process::geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    let (stream, theirs) = carrier::pair()?;
    send(&stream, &open.header, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    let bell = Bell::new()?;
    packet::greet(local.as_fd(), &open.hello, theirs.as_fd(), bell.as_fd())?;
    Ok((local, stream))
}
