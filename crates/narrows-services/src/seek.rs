//! How a subscriber comes to a queue of each publisher, a step at a time and without waiting: it
//! finds the publishers, asks each, and looks for the answers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, Port};
use narrows::link::Name;
use narrows::memory::{NOTE_WORDS, Subscription, Terms, queue_words};
use narrows::platform::Memory as _;
use narrows_host::Exposed;

use crate::error::Error;
use crate::events::{self, What};
use crate::join::{Answer, Join, Refusal, Said, Shown, Source};
use crate::lookout::Lookout;
use crate::node::Node;
use crate::sample::{Joined, leave};
use crate::typed::hash;

/// How often it is looked for publishers where there is none, and nobody tells of them; and for one
/// that is there already.
const LOOK: Duration = Duration::from_millis(10);
/// The same where there is one: twice as long each time, up to this.
const SELDOM: Duration = Duration::from_millis(640);
/// How long a publisher has to let a subscriber in before it is asked again; and if others have let
/// it in.
const ANSWER: Duration = Duration::from_millis(200);
const LATE_ANSWER: Duration = Duration::from_secs(1);
/// How long a publisher that has refused is not asked, if there are others.
const REFUSED: Duration = Duration::from_secs(1);

/// Bytes of the longest message of a publisher.
const LONGEST: usize = 128;

/// What a publisher was asked with: it may have made a queue without this being known here.
struct Asked {
    of: Name,
    publisher: Address,
    /// None once it is a queue's.
    note: Option<Exposed>,
    /// When it is asked again.
    until: Instant,
    said: Option<Said>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(note) = &self.note {
            leave(note);
        }
    }
}

/// What a subscriber wants of each publisher.
pub(crate) struct Wish {
    pub(crate) topic: Name,
    pub(crate) types: String,
    pub(crate) terms: Terms,
    pub(crate) history: u32,
    /// Publishers that are heard at a time.
    pub(crate) most: usize,
}

/// A subscriber's search for publishers.
pub(crate) struct Seek {
    node: Node,
    port: Port,
    wish: Wish,
    lookout: Lookout,
    /// How long after a look is the next, where nobody tells.
    pause: Duration,
    asked: Vec<Asked>,
    /// Nodes that are hunted.
    hunted: Vec<Name>,
    /// Nodes that are not asked until then.
    refused: Vec<(Name, Instant)>,
}

impl Seek {
    pub(crate) fn new(node: Node, port: Port, wish: Wish) -> Seek {
        let (asked, hunted, refused) = Default::default();
        let lookout = Lookout::new();
        Seek { node, port, wish, lookout, pause: LOOK, asked, hunted, refused }
    }

    /// Looks for publishers at once, and often: there may be others in place of one that has gone.
    pub(crate) fn restart(&mut self) {
        self.lookout.again(Instant::now());
        self.pause = LOOK;
    }

    /// When the next step is due whatever comes, if `joined` publishers are heard.
    pub(crate) fn due(&self, joined: usize) -> Option<Instant> {
        let wants = joined + self.asked.len() < self.wish.most;
        let looks = wants.then(|| self.lookout.due()).flatten();
        self.asked.iter().map(|one| one.until).chain(looks).min()
    }

    /// Goes on, beside the queues that there are. Those that there are more by now.
    ///
    /// # Errors
    /// There is none, and why. The next step begins anew.
    #[cold]
    pub(crate) fn step(&mut self, joins: &[Rc<Joined>]) -> Result<Vec<Joined>, Error> {
        let now = Instant::now();
        self.hear(joins)?;
        let (mut made, mut failed) = (Vec::new(), None);
        let mut at = 0;
        while let Some(Asked { of, publisher, until, said, .. }) = self.asked.get(at) {
            let there = self.node.below()?.link(publisher.link).check().is_ok();
            if said.is_none() && there && now < *until {
                at += 1;
                continue;
            }
            let (of, said) = (*of, *said);
            let asked = self.asked.swap_remove(at);
            self.restart();
            match said.map(|said| self.answered(asked, said, joins)) {
                Some(Ok(joined)) => made.extend(joined),
                Some(Err(error)) => {
                    self.refused.push((of, now + REFUSED));
                    failed = Some(error);
                }
                // Its node may be gone, and its note not yet.
                None if !there => self.lookout.again(now + LOOK),
                None => {}
            }
        }
        let count = joins.len() + made.len() + self.asked.len();
        if count >= self.wish.most {
            self.lookout.ends();
        } else if self.lookout.due().is_some_and(|at| now >= at) {
            let found = self.look(now, joins, &made);
            failed = failed.or(found.err());
        }
        let Some(failed) = failed else { return Ok(made) };
        events::tell(What::Refused, &self.wish.topic);
        if !joins.is_empty() || !made.is_empty() || !self.asked.is_empty() {
            return Ok(made);
        }
        self.refused.clear();
        self.lookout.again(now + LOOK);
        Err(failed)
    }

    /// Notes what publishers said, and whose link has ended. Of what else comes nothing is for this
    /// subscriber: an answer to a question before is of a queue that is no more.
    fn hear(&mut self, joins: &[Rc<Joined>]) -> Result<(), Error> {
        let mut node = self.node.below()?;
        node.poll();
        let mut bytes = [0; LONGEST];
        while let Ok(Some(message)) = node.try_receive_into(self.port, &mut bytes) {
            let Some(Answer { note, said }) = Answer::decode(message.bytes(&bytes)) else {
                continue;
            };
            let own = |one: &&mut Asked| {
                let place = one.note.as_ref().map(Exposed::place);
                one.publisher == message.from && place == Some(note)
            };
            // Of one that has let this in, that it has ended is in its queue too.
            if let Some(asked) = self.asked.iter_mut().find(own) {
                asked.said = Some(said);
            }
        }
        for joined in joins {
            let link = joined.publisher.link;
            if joined.queue.borrow().has_ended() || node.link(link).check().is_err() {
                joined.ended.set(true);
            }
        }
        Ok(())
    }

    /// Looks for publishers, and asks those that are not heard yet.
    ///
    /// # Errors
    /// Why one is not asked. The others are.
    fn look(&mut self, now: Instant, joins: &[Rc<Joined>], made: &[Joined]) -> Result<(), Error> {
        let (mut fits, mut failed) = (false, None);
        let alone = joins.is_empty() && made.is_empty();
        let until = now + if alone { ANSWER } else { LATE_ANSWER };
        self.refused.retain(|(_, until)| now < *until);
        self.lookout.looks();
        let sources = Source::all(&*self.node.below()?, &self.wish.topic);
        let (mut hunted, mut unsaid) = (Vec::new(), false);
        for Source { of, types, port } in sources {
            if types != self.wish.types {
                failed.get_or_insert(Error::Types {
                    service: self.wish.topic.to_string(),
                    node: of.to_string(),
                    there: types,
                    here: self.wish.types.clone(),
                });
                continue;
            }
            fits = true;
            if let Some(joined) = joins.iter().find(|one| one.of == of) {
                // What this has is of a topic that was published by the same node before.
                if joined.publisher.port != port {
                    joined.ended.set(true);
                }
                continue;
            }
            let known = made.iter().any(|one| one.of == of)
                || self.asked.iter().any(|one| one.of == of)
                || self.refused.iter().any(|(name, _)| *name == of);
            let count = joins.len() + made.len() + self.asked.len() + hunted.len();
            if known || count >= self.wish.most {
                continue;
            }
            let link = self.node.below()?.try_hunt(&of);
            match link {
                Ok(Some(link)) => unsaid |= !self.ask(of, Address { link, port }, until)?,
                Ok(None) => hunted.push(of),
                Err(error) => failed = Some(Error::Link(self.wish.topic.to_string(), error)),
            }
        }
        self.pause = if alone { LOOK } else { (2 * self.pause).min(SELDOM) };
        self.lookout.rests(&*self.node.below()?, self.pause);
        let refused = self.refused.iter().map(|(_, until)| *until);
        let there = (unsaid || !hunted.is_empty()).then_some(now + LOOK);
        if let Some(at) = refused.chain(there).chain(self.lookout.due()).min() {
            self.lookout.again(at);
        }
        self.hunted = hunted;
        match failed {
            // Programs that fit are heard whatever others publish under the name.
            Some(Error::Types { .. }) if fits => Ok(()),
            failed => failed.map_or(Ok(()), Err),
        }
    }

    /// Asks a publisher for a queue. False if there is no room for it now.
    fn ask(&mut self, of: Name, publisher: Address, until: Instant) -> Result<bool, Error> {
        let note = Exposed::new(4096).map_err(|error| self.failed(&error))?;
        let Wish { terms, history, .. } = self.wish;
        let join = Join { types: hash(&self.wish.types), terms, history, note: note.place() };
        let mut node = self.node.below()?;
        let asks = node.try_send(self.port, publisher, &join.encode()).is_ok();
        if asks {
            self.asked.push(Asked { of, publisher, note: Some(note), until, said: None });
        }
        Ok(asks)
    }

    /// What a publisher's answer comes to; nothing if that has ended.
    fn answered(
        &mut self,
        mut asked: Asked,
        said: Said,
        joins: &[Rc<Joined>],
    ) -> Result<Option<Joined>, Error> {
        let shown = match said {
            Said::Joined(shown) => shown,
            Said::Refused(why) => return Err(self.refused(why)),
            Said::Ended => return Ok(None),
        };
        let Shown { place, queue } = shown;
        let region = match place.map() {
            Ok(region) => region,
            Err(error) => {
                // It was there, and if it has ended before it was found it has said so before.
                let link = asked.publisher.link;
                self.asked.push(asked);
                self.hear(joins)?;
                let asked = self.asked.pop();
                let ended = asked.is_some_and(|one| one.said == Some(Said::Ended))
                    || self.node.below()?.link(link).check().is_err();
                return if ended { Ok(None) } else { Err(self.failed(&error)) };
            }
        };
        let theirs = region.words(queue, queue_words(self.wish.terms.depth));
        let own = asked.note.as_ref().and_then(|note| note.region().words(0, NOTE_WORDS).ok());
        let (Ok(theirs), Some(own)) = (theirs, own) else {
            return Err(self.refused(Refusal::Memory));
        };
        let Some(note) = asked.note.take() else { return Ok(None) };
        Ok(Some(Joined {
            node: self.node.clone(),
            of: asked.of,
            port: self.port,
            topic: self.wish.topic,
            publisher: asked.publisher,
            region,
            queue: RefCell::new(Subscription::new(theirs, own, self.wish.terms)),
            ended: Cell::new(false),
            note,
        }))
    }

    fn refused(&self, why: Refusal) -> Error {
        Error::Refused(self.wish.topic.to_string(), why)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::Memory(self.wish.topic.to_string(), error.to_string())
    }
}

impl Drop for Seek {
    fn drop(&mut self) {
        // One that is dropped in the node's own function leaves its port to the node.
        let Ok(mut node) = self.node.below() else { return };
        for hunted in &self.hunted {
            node.give_up(hunted);
        }
        let _ = node.close(self.port);
    }
}
