//! What a node noted, as rows of a trace.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use narrows::link::Name;
use narrows::platform::Wait;
use narrows::span::{Carried, Edge, For, Note, Passage, Span};
use narrows_trace::{Category, Message, Row, Value, Writer, state};

use super::event::Event;
use super::recorder::{Fact, passage_id};

/// Rows that a node may have.
const EACH: u64 = 8;

/// The rows of a node, and what is under way on them.
pub(super) struct Rows {
    name: String,
    thread: i32,
    /// The number of the first row.
    first: u64,
    calls: Vec<Span>,
    phase: Option<Span>,
    state: Option<&'static str>,
    /// What the next wait is for.
    wanted: Option<For>,
    began: Option<u64>,
    links: HashMap<u32, Fact>,
    /// Messages that wait in inboxes, by link and entry.
    waiting: HashMap<(u32, u16), u64>,
    /// Nanoseconds for which the thread has waited for a core.
    waited: Option<u64>,
}

impl Rows {
    /// The number of this process's group: those of its rows follow.
    pub fn group() -> u64 {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        u64::from(pid.unsigned_abs()) << 32
    }

    /// The rows of the node of this number, which this thread opened.
    pub fn new(number: u64, thread: i32, name: &Name) -> Rows {
        Rows {
            name: name.to_string(),
            thread,
            first: Rows::group() + number * EACH,
            calls: Vec::new(),
            phase: None,
            state: None,
            wanted: None,
            began: None,
            links: HashMap::new(),
            waiting: HashMap::new(),
            waited: None,
        }
    }

    /// The row of the node's calls and messages.
    pub fn row(&self) -> Row {
        Row(self.first)
    }

    fn states(&self) -> Row {
        Row(self.first + 1)
    }

    fn phases(&self) -> Row {
        Row(self.first + 2)
    }

    fn inbox(&self) -> Row {
        Row(self.first + 3)
    }

    fn cores(&self) -> Row {
        Row(self.first + 4)
    }

    /// Introduces the rows.
    pub fn describe<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let (group, thread) = (Rows::group(), self.row().0);
        // Two nodes of one thread are two rows: only the first of them can have its number.
        writer.thread(self.row(), group, pid, (self.first - group) as i32, &self.name)?;
        writer.row(self.states(), thread, "state")?;
        writer.row(self.phases(), thread, "phases")?;
        writer.counter(self.inbox(), thread, "waiting here", "messages")?;
        writer.counter(self.cores(), thread, "waited for a core", "ns")
    }

    /// Writes an event; `carried` is what a message carries that is sent, if that was kept.
    pub fn write<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        at: u64,
        event: &Event,
        carried: Option<Vec<u8>>,
        facts: &Mutex<Vec<Fact>>,
    ) -> io::Result<()> {
        if self.state.is_none() && !matches!(event, Event::Waits(_)) {
            self.enter(writer, at, state::RUNNING)?;
        }
        match *event {
            Event::Stamp(span, edge, _) => self.stamp(writer, at, span, edge),
            Event::Note(Note::Begins) => {
                self.began = Some(at);
                Ok(())
            }
            Event::Note(Note::Sent(passage)) => self.sent(writer, at, &passage, carried),
            Event::Note(Note::Taken(passage, entry)) => self.taken(writer, at, &passage, entry),
            Event::Note(Note::Used { link, entry }) => match self.waiting.remove(&(link, entry)) {
                Some(id) => {
                    writer.received(self.row(), at, id)?;
                    self.count(writer, at)
                }
                None => Ok(()),
            },
            Event::Note(Note::Waits(what)) => {
                self.wanted = Some(what);
                Ok(())
            }
            Event::Waits(how) => {
                let state = match (self.wanted.take(), how) {
                    (Some(what), _) => state::of_sender(what),
                    (None, Wait::Spin | Wait::Look | Wait::Yield) => state::SPINNING,
                    (None, Wait::Bell) => state::ASLEEP,
                    (None, Wait::Timer) => state::TIMER,
                };
                self.enter(writer, at, state)
            }
            Event::Woken(_) => self.enter(writer, at, state::RUNNING),
            Event::Linked(number) => {
                let facts = facts.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(fact) = facts.get(number as usize) {
                    self.links.insert(fact.key, *fact);
                }
                Ok(())
            }
            Event::Lost(key) => {
                let peer = self.links.get(&key).map(|fact| fact.peer.to_string());
                let peer = peer.unwrap_or_default();
                let values = [("peer", Value::Text(&peer))];
                writer.instant(self.row(), at, Category::Fault, "peer lost", &values)
            }
            Event::Rang => writer.instant(self.row(), at, Category::Interrupt, "ring", &[]),
        }
    }

    fn stamp<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        at: u64,
        span: Span,
        edge: Edge,
    ) -> io::Result<()> {
        let is_phase = span <= Span::PhaseE;
        match (is_phase, edge) {
            // It begins at the callee and ends at the caller: the message shows it.
            (true, _) if span == Span::PhaseD => Ok(()),
            (true, Edge::Enter) => {
                if self.phase.replace(span).is_some() {
                    writer.end(self.phases(), at)?;
                }
                writer.begin(self.phases(), at, Category::Phase, span.name())
            }
            (true, Edge::Leave) => match self.phase.take_if(|phase| *phase == span) {
                Some(_) => writer.end(self.phases(), at),
                None => Ok(()),
            },
            (false, Edge::Enter) => {
                self.calls.push(span);
                writer.begin(self.row(), at, Category::Call, span.name())
            }
            (false, Edge::Leave) => {
                // What began within it has ended too, though the event may have been dropped.
                let Some(place) = self.calls.iter().rposition(|open| *open == span) else {
                    return Ok(());
                };
                for _ in place..self.calls.len() {
                    writer.end(self.row(), at)?;
                }
                self.calls.truncate(place);
                Ok(())
            }
        }
    }

    fn sent<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        at: u64,
        passage: &Passage,
        carried: Option<Vec<u8>>,
    ) -> io::Result<()> {
        // What the stacks say to each other is on the way of nothing that was begun.
        let began = match passage.kind {
            Carried::Control => at,
            _ => self.began.take().unwrap_or(at),
        };
        let Some(fact) = self.links.get(&passage.link) else { return Ok(()) };
        let id = passage_id(fact.sends, passage);
        let message = Message::of(passage, id, began, fact.peer.to_string());
        let message = Message { payload: carried, ..message };
        writer.sent(self.row(), at, &message)
    }

    fn taken<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        at: u64,
        passage: &Passage,
        entry: Option<u16>,
    ) -> io::Result<()> {
        let Some(fact) = self.links.get(&passage.link) else { return Ok(()) };
        let id = passage_id(fact.receives, passage);
        writer.taken(self.row(), at, id)?;
        match entry {
            Some(entry) => {
                self.waiting.insert((passage.link, entry), id);
                self.count(writer, at)
            }
            None => writer.received(self.row(), at, id),
        }
    }

    fn count<W: Write>(&self, writer: &mut Writer<W>, at: u64) -> io::Result<()> {
        writer.count(self.inbox(), at, self.waiting.len() as i64)
    }

    fn enter<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        at: u64,
        state: &'static str,
    ) -> io::Result<()> {
        if self.state.replace(state).is_some() {
            writer.end(self.states(), at)?;
        }
        writer.begin(self.states(), at, Category::State, state)
    }

    /// Writes how long the thread has waited for a core since this was asked last.
    pub fn waited<W: Write>(&mut self, writer: &mut Writer<W>, at: u64) -> io::Result<()> {
        let path = format!("/proc/self/task/{}/schedstat", self.thread);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let waited = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        let Some(waited) = waited else { return Ok(()) };
        match self.waited.replace(waited) {
            Some(before) if before != waited => {
                let value = i64::try_from(waited.saturating_sub(before)).unwrap_or(i64::MAX);
                writer.count(self.cores(), at, value)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_is_the_applications_and_a_wait_is_for_what_was_wanted() {
        let name: Name = "peer".parse().unwrap();
        let facts = Mutex::new(vec![Fact { key: 1, peer: name, sends: 2, receives: 3 }]);
        let (mut rows, mut file) = (Rows::new(1, 1, &name), Vec::new());
        let mut writer = Writer::new(&mut file);
        let passage = |number, kind| Passage {
            link: 1,
            number,
            kind,
            bytes: 0,
            source: 0,
            target: 0,
            priority: 0,
            tag: 0,
        };
        let events = [
            Event::Linked(0),
            Event::Note(Note::Begins),
            Event::Note(Note::Sent(passage(1, Carried::Control))),
            Event::Note(Note::Waits(For::Switch)),
            Event::Waits(Wait::Bell),
            Event::Note(Note::Sent(passage(2, Carried::Message))),
        ];
        for (at, event) in (10..).step_by(10).zip(events) {
            rows.write(&mut writer, at, &event, None, &facts).unwrap();
        }
        let trace = narrows_trace::read(&file[..]).unwrap();
        let began = |number| trace.messages.iter().find(|m| m.number == number).unwrap().began;
        assert_eq!((began(1), began(2)), (30, 20));
        assert!(trace.names.iter().any(|name| name == state::SWITCHING), "{:?}", trace.names);
    }
}
