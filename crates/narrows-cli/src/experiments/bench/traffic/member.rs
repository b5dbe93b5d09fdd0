//! A member of a mesh: a process that is linked with each of the others, and sends to all of them.
//!
//! Of two members the one with the smaller number hunts the other, again after each of its deaths.

use std::time::Duration;

use narrows::endpoint::{Address, LinkError, Select, SendError, What};
use narrows::link::{LinkId, Name};
use narrows::memory::{Class, Layout};
use narrows::platform::Lost;
use narrows::strategy::Placement;
use narrows_host::{Node, Options};

use super::flags::Partner as Args;
use super::payload::number;
use super::sheet::{Cell, Phase, Sheet};
use super::{LONGEST, Longest, PATIENCE, PORT, Payloads, Record, STARTER, node};
use crate::base::failure::{Failure, Kind};

/// The longest wait for anything: a member sees at most this much later that its phase is another.
const IDLE: Duration = Duration::from_millis(2);
/// The longest run of messages to one peer, and of those taken, without a look at anything else.
const BURST: usize = 32;

/// The name of a member.
pub fn named(number: u16) -> String {
    format!("member-{number}")
}

/// Small regions: each member has one for each of the others.
fn layout() -> Option<Layout> {
    let class = |placement, size, count| Class { placement, size, count };
    let classes = [
        class(Placement::Internal, 256, 16),
        class(Placement::Internal, 4096, 4),
        class(Placement::External, 256, 16),
        class(Placement::External, 4096, 4),
    ];
    Layout::new(narrows_host::LINE, 64, &classes).ok()
}

/// Opens a member's node.
///
/// # Errors
/// What the machine refused.
fn open(args: &Args, members: u16) -> Result<Node, Failure> {
    let options = Options::new(args.name.as_str()).directory(&args.directory).core(args.core);
    let layout = layout().ok_or_else(|| internal("the layout of a member is none"))?;
    // As many again: a peer may be back before its last link was closed here.
    node(options.layout(layout), 2 * usize::from(members) + 2)
}

fn internal(sentence: impl Into<String>) -> Failure {
    Failure::new(Kind::Internal, sentence)
}

/// A link with another member.
struct Friend {
    link: LinkId,
    name: Name,
    row: usize,
    longest: usize,
    /// Why it ended, once that was told behind all messages.
    ended: Option<Lost>,
}

struct Member<'a> {
    node: Node,
    home: LinkId,
    sheet: Sheet<'a>,
    /// Those that this one hunts.
    hunted: Vec<Name>,
    friends: Vec<Friend>,
    placement: Placement,
    random: fastrand::Rng,
    payloads: Payloads,
    into: Vec<u8>,
}

/// Sends to all others until the starter says otherwise or is gone.
///
/// # Errors
/// It cannot begin, or the stack said what it must not say.
pub fn run(args: &Args, record: &Record, number: u16, members: u16) -> Result<(), Failure> {
    let mut node = open(args, members)?;
    node.set_strategy(args.strategy);
    node.set_notification(args.strategy.notification);
    let name = |text: &str| text.parse().map_err(|_| internal("no name of a node"));
    let home = node.hunt(&name(STARTER)?, Some(PATIENCE));
    let home = home.map_err(|_| internal("who started this does not answer"))?;
    let hunted: Result<Vec<Name>, Failure> =
        (number + 1..members).map(|other| name(&named(other))).collect();
    let mut member = Member {
        node,
        home,
        sheet: Sheet::new(record.sheet()),
        hunted: hunted?,
        friends: Vec::new(),
        placement: args.strategy.placement,
        random: fastrand::Rng::with_seed(args.seed),
        payloads: Payloads::default(),
        into: vec![0; LONGEST],
    };
    while member.sheet.phase() != Phase::Leave && member.node.link(home).check().is_ok() {
        if !member.turn().map_err(internal)? {
            member.node.wait_any(Some(IDLE));
        }
    }
    Ok(())
}

impl Member<'_> {
    /// Does a bounded piece of everything. Whether there was anything to do.
    fn turn(&mut self) -> Result<bool, String> {
        self.node.poll();
        for name in &self.hunted {
            if !self.friends.iter().any(|friend| friend.name == *name) {
                // One that fails is begun again.
                let _ = self.node.try_hunt(name);
            }
        }
        let known = |link: LinkId| self.friends.iter().any(|friend| friend.link == link);
        let new: Vec<LinkId> = self.node.links().map(|(link, _)| link).collect();
        let new: Vec<LinkId> =
            new.into_iter().filter(|link| *link != self.home && !known(*link)).collect();
        for link in new {
            self.befriend(link)?;
        }
        let (mut busy, all) = self.receive()?;
        // What a peer had sent before its end is taken first.
        if all {
            self.part();
        }
        if self.sheet.phase() == Phase::Run {
            busy |= self.send()?;
        } else {
            self.sheet.be_quiet();
        }
        Ok(busy)
    }

    /// Opens a row for a link. Where it is.
    fn befriend(&mut self, link: LinkId) -> Result<usize, String> {
        let (name, life) = self.node.link(link).peer().map_err(|error| error.to_string())?;
        let row = self.sheet.find(life).or_else(|| self.sheet.add(life));
        let row = row.ok_or("there are more lives than a sheet has rows: ask for fewer rounds")?;
        let ended = match self.node.link(link).attach(PORT) {
            Ok(()) => None,
            Err(LinkError::Gone(reason)) => Some(reason),
            Err(error) => return Err(format!("cannot attach to a link: {error}")),
        };
        let longest = Longest::of(&mut self.node, link, self.placement).message;
        self.friends.push(Friend { link, name, row, longest, ended });
        Ok(self.friends.len() - 1)
    }

    fn count(&self, row: usize, cell: Cell) {
        self.sheet.set(row, cell, self.sheet.get(row, cell) + 1);
    }

    /// Takes messages. Whether there were any, and whether these were all.
    fn receive(&mut self) -> Result<(bool, bool), String> {
        for taken in 0..BURST {
            let lent = self.node.try_receive(PORT, &Select::default());
            let Some(lent) = lent.map_err(|error| error.to_string())? else {
                return Ok((taken > 0, true));
            };
            let found = self.friends.iter().position(|friend| friend.link == lent.from.link);
            let at = match found {
                Some(at) => at,
                None => self.befriend(lent.from.link)?,
            };
            let Some(friend) = self.friends.get_mut(at) else { return Err("no friend".into()) };
            let (row, longest) = (friend.row, friend.longest);
            match lent.what {
                What::PeerGone(reason) => friend.ended = Some(reason),
                What::Message => {
                    let expected = self.sheet.get(row, Cell::Received);
                    let bytes = self.into.get_mut(..lent.len);
                    let whole = bytes.is_some_and(|bytes| {
                        self.node.read(&lent, 0, bytes).is_ok()
                            && self.payloads.is(expected, longest, bytes)
                    });
                    if !whole {
                        self.count(row, Cell::Wrong);
                    }
                    // Before it is released, as in the storm of two.
                    self.count(row, Cell::Received);
                }
                _ => self.count(row, Cell::Wrong),
            }
            self.node.release(lent);
        }
        Ok((true, false))
    }

    /// Closes the links that have ended, with what came back.
    fn part(&mut self) {
        let over = |friend: &Friend| friend.ended.is_some();
        while let Some(at) = self.friends.iter().position(over) {
            let Friend { link, row, longest, ended, .. } = self.friends.swap_remove(at);
            let sent = self.sheet.get(row, Cell::Sent);
            let (payloads, mut buffer) = (&self.payloads, vec![0; LONGEST]);
            let mut back = Vec::new();
            let _ = self.node.link(link).undelivered(|_, source| {
                let mut whole = || {
                    let bytes = buffer.get_mut(..source.len())?;
                    source.read(0, bytes).ok()?;
                    let number = number(bytes)?;
                    payloads.is(number, longest, bytes).then_some(number)
                };
                back.push(whole());
            });
            let first = sent.saturating_sub(back.len() as u64);
            if !(first..sent).map(Some).eq(back.iter().copied()) {
                self.count(row, Cell::Wrong);
            }
            self.sheet.set(row, Cell::Back, back.len() as u64);
            self.sheet.set(row, Cell::Ended, if ended == Some(Lost::Died) { 1 } else { 2 });
            self.node.link(link).close();
        }
    }

    /// Sends some messages to one of the others. Whether there was room.
    fn send(&mut self) -> Result<bool, String> {
        let Some(friend) = self.random.choice(&self.friends) else { return Ok(false) };
        let to = Address { link: friend.link, port: PORT };
        let (row, longest) = (friend.row, friend.longest);
        for sent in 0..self.random.usize(1..=BURST) {
            let number = self.sheet.get(row, Cell::Sent);
            self.sheet.set(row, Cell::Tried, number + 1);
            match self.node.try_send(PORT, to, self.payloads.make(number, longest)) {
                Ok(()) => self.sheet.set(row, Cell::Sent, number + 1),
                Err(why) => {
                    self.sheet.set(row, Cell::Tried, number);
                    return match why {
                        // Its notice comes behind its messages.
                        SendError::RingFull | SendError::PoolEmpty | SendError::Gone(_) => {
                            Ok(sent > 0)
                        }
                        error => Err(format!("a message cannot be sent: {error}")),
                    };
                }
            }
        }
        Ok(true)
    }
}
