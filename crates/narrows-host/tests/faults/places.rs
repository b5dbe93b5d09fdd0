//! Which calls fail, and with what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::common::process::Random;

/// The calls that fail, and the errors that each can have. Not there: `close` and `munmap`, which
/// free what they were given whatever they answer, and what the allocator asks for.
pub const ERRORS: [(&str, &[&str]); 39] = [
    ("accept4", &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "ECONNABORTED", "EINTR", "EAGAIN"]),
    ("access", &["ENOENT", "EACCES", "ENOMEM"]),
    ("bind", &["EACCES", "ENOSPC", "ENOMEM", "EROFS"]),
    ("chmod", &["EPERM", "EROFS", "EIO"]),
    ("clone3", &["EAGAIN", "ENOMEM"]),
    ("connect", &["EAGAIN", "EINTR", "ENOMEM", "EACCES"]),
    ("epoll_create1", &["EMFILE", "ENFILE", "ENOMEM"]),
    ("epoll_ctl", &["ENOMEM", "ENOSPC"]),
    ("epoll_pwait", &["EINTR"]),
    ("epoll_wait", &["EINTR"]),
    ("eventfd2", &["EMFILE", "ENFILE", "ENOMEM"]),
    ("fchmod", &["EPERM", "EROFS", "EIO"]),
    ("fcntl", &["EMFILE", "ENOMEM", "EPERM", "EINTR"]),
    ("flock", &["EINTR", "EAGAIN", "ENOLCK"]),
    ("fstat", &["ENOMEM", "EIO"]),
    ("fstatfs", &["EINTR", "ENOMEM", "EIO"]),
    ("ftruncate", &["EINTR", "EFBIG", "ENOSPC", "ENOMEM"]),
    ("getdents64", &["EIO"]),
    ("getrandom", &["EINTR", "EAGAIN"]),
    ("getsockopt", &["ENOBUFS", "ENOMEM"]),
    ("listen", &["ENOMEM"]),
    ("madvise", &["EINTR", "ENOMEM", "EINVAL"]),
    ("memfd_create", &["EMFILE", "ENFILE", "ENOMEM"]),
    ("mkdir", &["ENOSPC", "EACCES", "EROFS", "ENOMEM", "EMLINK"]),
    ("mkdirat", &["ENOSPC", "EACCES", "EROFS", "ENOMEM", "EMLINK"]),
    ("mmap", &["ENOMEM", "EAGAIN", "ENFILE"]),
    ("newfstatat", &["ENOMEM", "EIO", "EACCES"]),
    ("openat", &["EMFILE", "ENFILE", "ENOMEM", "EACCES", "EINTR"]),
    ("poll", &["EINTR", "ENOMEM"]),
    ("ppoll", &["EINTR", "ENOMEM"]),
    ("read", &["EINTR", "EAGAIN"]),
    ("readlinkat", &["EACCES", "ENOMEM", "EIO"]),
    ("recvfrom", &["EINTR", "ENOMEM", "EAGAIN"]),
    ("recvmsg", &["EINTR", "ENOMEM", "EAGAIN"]),
    ("sendmsg", &["EINTR", "ENOBUFS", "ENOMEM", "EAGAIN", "EPIPE", "ETOOMANYREFS"]),
    ("sendto", &["EINTR", "ENOBUFS", "ENOMEM", "EAGAIN", "EPIPE"]),
    ("socket", &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]),
    ("socketpair", &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]),
    ("timerfd_create", &["EMFILE", "ENFILE", "ENOMEM"]),
];

/// Further calls, which clean up: what one of them does not remove may stay until the next node.
pub const CLEANING: [(&str, &[&str]); 3] = [
    ("timerfd_settime", &["ENOMEM"]),
    ("unlinkat", &["EACCES", "EBUSY", "EROFS", "EIO"]),
    ("write", &["EINTR"]),
];

/// Calls that make a descriptor: they may go on failing once none is left.
const MAKING: [&str; 8] = [
    "accept4",
    "epoll_create1",
    "eventfd2",
    "memfd_create",
    "openat",
    "socket",
    "socketpair",
    "timerfd_create",
];

/// Calls of the thread that carries frames. A thread counts its calls from 1 on, so the same one
/// fails again in the thread of the next link.
const CARRYING: [&str; 5] = ["poll", "read", "recvfrom", "sendto", "write"];

/// The calls and their errors.
pub fn errors() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    ERRORS.into_iter().chain(CLEANING)
}

/// Whether a call fails once, or this one and all that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lasting {
    Once,
    FromThenOn,
}

/// A call that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub call: String,
    /// Which of the calls of that name, from 1 on.
    pub number: u32,
    pub error: String,
    pub lasting: Lasting,
}

/// What fails in one life: a call, or two that fail apart from each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    pub scene: String,
    pub calls: Vec<Fault>,
}

impl Faults {
    /// What is counted together: the call that fails, or that it is two.
    pub fn kind(&self) -> &str {
        match &self.calls[..] {
            [one] => &one.call,
            _ => "two calls",
        }
    }

    /// Whether what failed may fail again however often it is tried.
    pub fn come_again(&self) -> bool {
        let carries = |fault: &Fault| CARRYING.contains(&fault.call.as_str());
        self.last() || (self.scene == "framed" && self.calls.iter().any(carries))
    }

    /// Whether calls fail to the end of the life.
    pub fn last(&self) -> bool {
        self.calls.iter().any(|fault| fault.lasting == Lasting::FromThenOn)
    }

    /// What `strace` is told. It takes one word for all calls of a name.
    pub fn injections(&self) -> Vec<String> {
        if let [first, then] = &self.calls[..]
            && first.call == then.call
        {
            let Fault { call, number, error, .. } = first;
            let [last, step] = [then.number, then.number - number];
            return vec![format!("--inject={call}:error={error}:when={number}..{last}+{step}")];
        }
        let one = |Fault { call, number, error, lasting }: &Fault| {
            let on = if *lasting == Lasting::FromThenOn { "+" } else { "" };
            format!("--inject={call}:error={error}:when={number}{on}")
        };
        self.calls.iter().map(one).collect()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.scene)?;
        for (at, Fault { call, number, error, lasting }) in self.calls.iter().enumerate() {
            let and = if at > 0 { "and " } else { "" };
            let lasting = if *lasting == Lasting::Once { "once" } else { "lasting" };
            write!(f, " {and}{call} {number} {error} {lasting}")?;
        }
        Ok(())
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Faults, String> {
        let (scene, calls) = text.split_once(' ').ok_or("no scene")?;
        let calls: Result<Vec<Fault>, String> = calls.split(" and ").map(str::parse).collect();
        let calls = calls?;
        match &calls[..] {
            [_] => {}
            [one, other] if together(one, other) => {}
            [_, _] => return Err("no two calls that can fail in one life".into()),
            _ => return Err("more than two calls".into()),
        }
        Ok(Faults { scene: scene.into(), calls })
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let [call, number, error, lasting] = text.split(' ').collect::<Vec<_>>()[..] else {
            return Err("no call, number, error and 'once' or 'lasting'".into());
        };
        Ok(Fault {
            call: call.into(),
            number: number.parse().map_err(|_| "no number")?,
            error: error.into(),
            lasting: match lasting {
                "once" => Lasting::Once,
                "lasting" => Lasting::FromThenOn,
                _ => return Err("neither 'once' nor 'lasting'".into()),
            },
        })
    }
}

/// Whether two calls can fail in one life, the first of them first: of calls of one name `strace`
/// makes two fail only in the same way.
fn together(first: &Fault, then: &Fault) -> bool {
    first.call != then.call
        || (first.number < then.number
            && first.error == then.error
            && [first, then].iter().all(|fault| fault.lasting == Lasting::Once))
}

/// The calls between the two marks of a trace: how many of each name there were before, and which
/// of those after it can fail.
pub fn calls(trace: &str, mark: &str) -> Vec<(String, u32)> {
    let (mut counts, mut found) = (BTreeMap::<String, u32>::new(), Vec::new());
    let marked = trace.lines().find(|line| line.contains(mark)).unwrap_or_default();
    // Calls are counted thread by thread, and the node is of the thread that set the marks.
    let node = marked.split_whitespace().next().unwrap_or_default();
    let mut marks = 0;
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if thread != node || !name.chars().all(plain) {
            continue;
        }
        let count = counts.entry(name.into()).or_default();
        *count += 1;
        if arguments.contains(mark) {
            marks += 1;
        } else if marks == 1 && (name != "mmap" || arguments.contains("MAP_SHARED")) {
            found.push((name.into(), *count));
        }
    }
    assert_eq!(marks, 2, "both marks are in the trace");
    found
}

/// What can go wrong in a life that makes these calls.
pub fn faults_of(calls: &[(String, u32)]) -> Vec<Fault> {
    let table: BTreeMap<&str, &[&str]> = errors().collect();
    let mut faults = Vec::new();
    for (call, number) in calls {
        let fault = |error: &str, lasting| Fault {
            call: call.clone(),
            number: *number,
            error: error.into(),
            lasting,
        };
        let errors = table.get(call.as_str()).copied().unwrap_or_default();
        faults.extend(errors.iter().map(|error| fault(error, Lasting::Once)));
        if MAKING.contains(&call.as_str()) {
            faults.push(fault("EMFILE", Lasting::FromThenOn));
        }
    }
    faults
}

/// One fault of each kind, as `kind` tells them apart: another error each time.
pub fn some_of<K: Ord>(all: Vec<Fault>, kind: impl Fn(&Fault) -> K) -> Vec<Fault> {
    let mut kinds = BTreeMap::<K, Vec<Fault>>::new();
    for fault in all {
        kinds.entry(kind(&fault)).or_default().push(fault);
    }
    let mut met = BTreeSet::new();
    let mut chosen = Vec::new();
    for mut same in kinds.into_values() {
        let new = |fault: &Fault| !met.contains(&(fault.call.clone(), fault.error.clone()));
        let at = same.iter().position(new).unwrap_or(0);
        let one = same.swap_remove(at);
        met.insert((one.call.clone(), one.error.clone()));
        chosen.push(one);
    }
    chosen
}

/// Two calls that fail in one life, drawn this many times.
pub fn pairs_of(all: &[Fault], count: usize, random: &mut Random) -> Vec<Vec<Fault>> {
    let mut pairs = Vec::new();
    while pairs.len() < count {
        let [first, then] = [0; 2].map(|_| &all[random.below(all.len() as u64) as usize]);
        if together(first, then) {
            pairs.push(vec![first.clone(), then.clone()]);
        }
    }
    pairs
}
