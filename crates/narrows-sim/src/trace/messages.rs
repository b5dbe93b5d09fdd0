//! Messages, at both ends of their links.

use super::tracer::{Tracer, counter};
use crate::time::Time;
use narrows::span::{Carried, Note, Passage};
use narrows_trace::{Category, Message, Value, state};
use std::collections::HashMap;

/// Messages on their way.
#[derive(Default)]
pub(super) struct Messages {
    /// When each process began to send what it sends next.
    begun: HashMap<usize, u64>,
    /// Those that wait in an entry of the inbox of an end of a link.
    kept: HashMap<(u32, u16), u64>,
}

/// A signal of an application.
#[derive(Clone, Copy, Debug)]
pub struct Signal<'a> {
    /// Tells it from all others of the simulation.
    pub id: u64,
    /// When it was begun to be sent, and when it had been.
    pub times: (Time, Time),
    /// Its number among those that its sender has sent.
    pub number: u32,
    /// Bytes of payload.
    pub bytes: u32,
    /// Whom it is for.
    pub peer: &'a str,
}

impl Tracer {
    /// A message's number in the trace: both ends find the same.
    fn message_id(&self, sender: u32, passage: &Passage) -> u64 {
        // Of each channel entries are numbered apart.
        let ring = match passage.kind {
            Carried::Packet | Carried::Scalar => 1 + u64::from(passage.target & 0x3f),
            Carried::Message | Carried::Request | Carried::Response | Carried::Control => 0,
        };
        let sender = u64::from(sender & 0x0001_ffff) << 32;
        self.number << 56 | ring << 49 | sender | u64::from(passage.number)
    }

    /// The stack notes something. Ends of links are numbered in pairs; `peer` is the node at the
    /// other end of the one that something is sent on.
    pub fn noted(&mut self, process: usize, note: &Note, peer: &str, now: Time) {
        match *note {
            Note::Begins => {
                let at = self.at(now);
                self.messages.begun.insert(process, at);
            }
            Note::Sent(ref passage) => self.sends(process, passage, peer, now),
            Note::Taken(ref passage, entry) => {
                let id = self.message_id(passage.link ^ 1, passage);
                let (row, at) = (self.row(process), self.at(now));
                self.file.write(at, |out| out.taken(row, at, id));
                match entry {
                    Some(entry) => {
                        self.messages.kept.insert((passage.link, entry), id);
                        self.waiting(process, 1, at);
                    }
                    None => self.receives(process, id, at),
                }
            }
            Note::Used { link, entry } => {
                if let Some(id) = self.messages.kept.remove(&(link, entry)) {
                    let at = self.at(now);
                    self.receives(process, id, at);
                    self.waiting(process, -1, at);
                }
            }
            Note::Waits(what) => {
                self.states(process).waits = Some(state::of_sender(what));
            }
        }
    }

    fn sends(&mut self, process: usize, passage: &Passage, peer: &str, now: Time) {
        let (row, at) = (self.row(process), self.at(now));
        // What the stacks say to each other is on the way of nothing that was begun.
        let began = match passage.kind {
            Carried::Control => at,
            _ => self.messages.begun.remove(&process).unwrap_or(at),
        };
        let id = self.message_id(passage.link, passage);
        let message = Message::of(passage, id, began, peer.to_owned());
        self.file.write(at, |out| out.sent(row, at, &message));
    }

    fn receives(&mut self, process: usize, id: u64, at: u64) {
        let row = self.row(process);
        self.file.write(at, |out| out.received(row, at, id));
    }

    /// More or fewer messages wait at a process that it has taken.
    fn waiting(&mut self, process: usize, more: i64, at: u64) {
        let parent = self.row(process);
        let file = self.file.clone();
        let (count, row) = &mut self.processes[process].waiting;
        *count += more;
        let row =
            *row.get_or_insert_with(|| counter(&file, parent.0, "messages waiting", "messages"));
        let count = *count;
        file.write(at, |out| out.count(row, at, count));
    }

    /// A flow travels by a strategy from now on.
    pub fn decided(&mut self, process: usize, flow: u16, strategy: &str, now: Time) {
        let (row, at) = (self.row(process), self.at(now));
        let values = [("flow", Value::Number(flow.into())), ("strategy", Value::Text(strategy))];
        self.file.write(at, |out| out.instant(row, at, Category::Decision, "strategy", &values));
    }

    /// An application says that it has sent a signal.
    pub fn signal_sent(&mut self, process: usize, signal: &Signal<'_>) {
        let (began, sent) = signal.times;
        let (row, at) = (self.row(process), self.at(sent));
        let message = Message {
            id: self.signal_id(signal.id),
            began: self.at(began),
            number: signal.number,
            bytes: signal.bytes,
            kind: "signal".to_owned(),
            peer: signal.peer.to_owned(),
            ..Message::default()
        };
        self.file.write(at, |out| out.sent(row, at, &message));
    }

    /// An application says that it has a signal.
    pub fn signal_received(&mut self, process: usize, id: u64, at: Time) {
        let at = self.at(at);
        let id = self.signal_id(id);
        self.receives(process, id, at);
    }

    /// Signals are numbered apart from what is on links.
    fn signal_id(&self, id: u64) -> u64 {
        self.number << 56 | 0xff << 48 | id & 0xffff_ffff_ffff
    }
}
