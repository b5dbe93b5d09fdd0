//! How a subscriber comes to a queue, a step at a time and without waiting: it finds the publisher,
//! asks it, and looks for the answer.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Port};
use narrows::link::Name;
use narrows::memory::{NOTE_WORDS, Subscription, Terms, leave, queue_words};
use narrows::platform::Memory as _;
use narrows_host::Exposed;

use crate::error::Error;
use crate::join::{Answer, Join, Refusal, Said, Shown};
use crate::node::Node;
use crate::sample::Joined;
use crate::typed::hash;

/// How often it is looked whether the topic is there.
const LOOK: Duration = Duration::from_millis(10);
/// How long a publisher has to let a subscriber in before it is asked again.
const ANSWER: Duration = Duration::from_millis(200);

/// Bytes of the longest message of a publisher.
pub(crate) const LONGEST: usize = 128;

/// How far it is.
enum Stage {
    /// It looks for a publisher again at this moment.
    Looks(Instant),
    /// It has asked one, and asks again at this moment.
    Asked(Box<Asked>, Instant),
}

/// What a publisher was asked with: it may have made a queue without this being known here.
struct Asked {
    publisher: Address,
    /// None once it is a queue's.
    note: Option<Exposed>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(words) = self.note.as_ref().map(|note| note.region().words(0, NOTE_WORDS)) {
            let _ = words.map(|words| leave(&words));
        }
    }
}

/// A subscriber that has no queue.
pub(crate) struct Seek {
    node: Node,
    topic: Name,
    types: String,
    port: Port,
    terms: Terms,
    history: u32,
    stage: Stage,
    /// The node that is hunted, if one is.
    hunted: Option<Name>,
}

impl Seek {
    pub(crate) fn new(
        node: Node,
        topic: Name,
        types: String,
        port: Port,
        terms: Terms,
        history: u32,
    ) -> Seek {
        let stage = Stage::Looks(Instant::now());
        Seek { node, topic, types, port, terms, history, stage, hunted: None }
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self) {
        self.stage = Stage::Looks(Instant::now());
    }

    /// When the next step is due, whatever comes.
    pub(crate) fn due(&self) -> Instant {
        match &self.stage {
            Stage::Looks(at) | Stage::Asked(.., at) => *at,
        }
    }

    /// Goes on. The queue, once there is one.
    ///
    /// # Errors
    /// There is none for this subscriber. The next step begins anew.
    #[cold]
    pub(crate) fn step(&mut self) -> Result<Option<Joined>, Error> {
        let now = Instant::now();
        if let Stage::Asked(asked, _) = &self.stage {
            if let Some(said) = self.answer(asked)? {
                return self.answered(said);
            }
            let there = self.node.below()?.link(asked.publisher.link).check().is_ok();
            if there && now < self.due() {
                return Ok(None);
            }
            self.stage = Stage::Looks(if there { now } else { now + LOOK });
        }
        if now >= self.due() {
            self.stage = Stage::Looks(now + LOOK);
            if let Some(publisher) = self.find()? {
                self.ask(publisher, now)?;
            }
        }
        Ok(None)
    }

    /// The port of the publisher, if there is one and a link to its node.
    fn find(&mut self) -> Result<Option<Address>, Error> {
        let mut node = self.node.below()?;
        for offer in node.platform().offers() {
            let Some(text) = offer.text.strip_prefix("publish ") else { continue };
            let Some((types, port)) = text.rsplit_once(' ') else { continue };
            if offer.service != self.topic {
                continue;
            }
            if types != self.types {
                return Err(Error::Types {
                    service: self.topic.to_string(),
                    node: offer.node.to_string(),
                    there: types.to_owned(),
                    here: self.types.clone(),
                });
            }
            let Ok(port) = port.parse() else { continue };
            let link = node.try_hunt(&offer.node);
            let link = link.map_err(|error| Error::Link(self.topic.to_string(), error))?;
            self.hunted = link.is_none().then_some(offer.node);
            return Ok(link.map(|link| Address { link, port }));
        }
        Ok(None)
    }

    /// Asks a publisher for a queue.
    fn ask(&mut self, publisher: Address, now: Instant) -> Result<(), Error> {
        let note = Exposed::new(4096).map_err(|error| self.failed(&error))?;
        let Seek { terms, history, .. } = *self;
        let join = Join { types: hash(&self.types), terms, history, note: note.place() };
        let mut node = self.node.below()?;
        // One that has no room for it is asked at the next look.
        if node.try_send(self.port, publisher, &join.encode()).is_ok() {
            let asked = Asked { publisher, note: Some(note) };
            self.stage = Stage::Asked(Box::new(asked), now + ANSWER);
        }
        Ok(())
    }

    /// What was said to the note that it was asked with. Of what else comes nothing is for it: an
    /// answer to a question before this one is of a queue that is no more.
    fn answer(&self, asked: &Asked) -> Result<Option<Said>, Error> {
        let own = asked.note.as_ref().map(Exposed::place);
        let mut node = self.node.below()?;
        node.poll();
        let mut bytes = [0; LONGEST];
        while let Ok(Some(message)) = node.try_receive_into(self.port, &mut bytes) {
            match Answer::decode(message.bytes(&bytes)) {
                Some(Answer { note, said })
                    if message.from == asked.publisher && Some(note) == own =>
                {
                    return Ok(Some(said));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn answered(&mut self, said: Said) -> Result<Option<Joined>, Error> {
        let later = Stage::Looks(Instant::now() + LOOK);
        let Stage::Asked(mut asked, _) = std::mem::replace(&mut self.stage, later) else {
            return Ok(None);
        };
        let shown = match said {
            Said::Joined(shown) => shown,
            Said::Refused(why) => return Err(self.refused(why)),
            Said::Ended => return Ok(None),
        };
        let Shown { place, queue, slots, count, size } = shown;
        let region = match place.map() {
            Ok(region) => region,
            // It was there, and has ended before it was found.
            Err(_) if self.has_ended(&asked)? => return Ok(None),
            Err(error) => return Err(self.failed(&error)),
        };
        let end = count.checked_mul(size).and_then(|all| all.checked_add(slots));
        if end.is_none_or(|end| end > region.size()) {
            return Err(self.refused(Refusal::Memory));
        }
        let theirs = region.words(queue, queue_words(self.terms.depth));
        let own = asked.note.as_ref().and_then(|note| note.region().words(0, NOTE_WORDS).ok());
        let (Ok(theirs), Some(own)) = (theirs, own) else {
            return Err(self.refused(Refusal::Memory));
        };
        let Some(note) = asked.note.take() else { return Ok(None) };
        Ok(Some(Joined {
            node: self.node.clone(),
            port: self.port,
            topic: self.topic,
            publisher: asked.publisher,
            region,
            queue: RefCell::new(Subscription::new(theirs, own, self.terms)),
            shown,
            ended: Cell::new(false),
            note,
        }))
    }

    fn has_ended(&self, asked: &Asked) -> Result<bool, Error> {
        let said = self.answer(asked)?;
        let mut node = self.node.below()?;
        Ok(said == Some(Said::Ended) || node.link(asked.publisher.link).check().is_err())
    }

    fn refused(&self, why: Refusal) -> Error {
        Error::Refused(self.topic.to_string(), why)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::Memory(self.topic.to_string(), error.to_string())
    }
}

impl Drop for Seek {
    fn drop(&mut self) {
        // One that is dropped in the node's own function leaves its port to the node.
        let Ok(mut node) = self.node.below() else { return };
        if let Some(hunted) = &self.hunted {
            node.give_up(hunted);
        }
        let _ = node.close(self.port);
    }
}
