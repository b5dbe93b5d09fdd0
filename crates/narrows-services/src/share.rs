//! A node for several threads: all that is made of it lies behind one lock.
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use narrows::strategy::Strategy;
use parking_lot::{Mutex, MutexGuard};

use crate::client::{Client, Find};
use crate::error::Error;
use crate::node::Node;
use crate::publisher::Publisher;
use crate::topic::Topic;
use crate::typed::Payload;

/// A node, and all that is made of it.
struct Locked {
    node: Node,
    made: Vec<Option<Box<dyn Any>>>,
}

// SAFETY: what is not Send in it is shared by nothing outside. `Node::share` has seen that nobody
// else has the node, nor anything of it, and that it serves no function, which could have something
// of the thread's own. What is made later stays in `made`. Neither it nor the node is ever handed
// out, and no code of the program's is given them: of a payload, only its value. So the thread that
// has the lock is the only one that has any of it.
unsafe impl Send for Locked {}

/// A node that several threads use: a lock is in front of it. Clones are the same node.
#[derive(Clone)]
pub struct Shared {
    locked: Arc<Mutex<Locked>>,
}

impl Node {
    /// Has several threads use this node: one at a time, each for as long as its call takes.
    ///
    /// ```
    /// # use narrows_services::{Node, Options};
    /// # let dir = tempfile::tempdir()?;
    /// # let node = Node::with(Options::new("camera").directory(dir.path()))?;
    /// let shared = node.share()?;
    /// let numbers = shared.publisher::<u64>("numbers")?;
    /// std::thread::scope(|scope| {
    ///     for thread in 0..4 {
    ///         let numbers = numbers.clone();
    ///         scope.spawn(move || numbers.send(&thread).expect("nobody has to have it"));
    ///     }
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`] if it serves a function, or if there is a clone of it, a client, a
    /// subscriber, a publisher or a sample.
    pub fn share(self) -> Result<Shared, Error> {
        if !self.is_alone() {
            return Err(Error::InUse);
        }
        let locked = Arc::new(Mutex::new(Locked { node: self, made: Vec::new() }));
        Ok(Shared { locked })
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// What is asked for besides a name.
type Settings<B> = Vec<Box<dyn FnOnce(B) -> B + Send>>;

fn set<B>(builder: B, settings: Settings<B>) -> B {
    settings.into_iter().fold(builder, |builder, set| set(builder))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Locked> {
        self.locked.lock()
    }

    fn keep<T: 'static>(
        &self,
        make: impl FnOnce(&Node) -> Result<T, Error>,
    ) -> Result<Kept<T>, Error> {
        let mut locked = self.lock();
        let made: Box<dyn Any> = Box::new(make(&locked.node)?);
        let at = match locked.made.iter().position(Option::is_none) {
            Some(at) => at,
            None => {
                locked.made.push(None);
                locked.made.len() - 1
            }
        };
        if let Some(place) = locked.made.get_mut(at) {
            *place = Some(made);
        }
        drop(locked);
        let place = Place { shared: self.clone(), at };
        Ok(Kept { place: Arc::new(place), of: PhantomData })
    }

    /// As [`Node::find`].
    pub fn find(&self, service: &str) -> SharedFind {
        SharedFind { shared: self.clone(), service: service.to_owned(), settings: Vec::new() }
    }

    /// As [`Node::client`]. Nobody else uses the node while it waits.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn client<Q, R>(&self, service: &str) -> Result<SharedClient<Q, R>, Error>
    where
        Q: Payload + ?Sized + 'static,
        R: Payload + ?Sized + 'static,
    {
        self.find(service).client()
    }

    /// As [`Node::topic`].
    pub fn topic(&self, name: &str) -> SharedTopic {
        SharedTopic { shared: self.clone(), name: name.to_owned(), settings: Vec::new() }
    }

    /// As [`Node::publisher`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn publisher<T>(&self, topic: &str) -> Result<SharedPublisher<T>, Error>
    where
        T: Payload + ?Sized + 'static,
    {
        self.topic(topic).publisher()
    }

    /// As [`Node::turn`]: lets waiting subscribers in.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn turn(&self) -> Result<(), Error> {
        self.lock().node.turn().map(drop)
    }
}

/// Where something is that was made. It is dropped with this.
struct Place {
    shared: Shared,
    at: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut locked = self.shared.lock();
        // Dropped behind the lock: it uses the node.
        drop(locked.made.get_mut(self.at).and_then(Option::take));
    }
}

struct Kept<T> {
    place: Arc<Place>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Kept<T> {
        Kept { place: Arc::clone(&self.place), of: PhantomData }
    }
}

impl<T: 'static> Kept<T> {
    fn with<R>(&self, act: impl FnOnce(&T) -> Result<R, Error>) -> Result<R, Error> {
        let locked = self.place.shared.lock();
        let made = locked.made.get(self.place.at).and_then(Option::as_deref);
        act(made.and_then(|made| made.downcast_ref()).ok_or(Error::Busy)?)
    }
}

/// As [`Find`], for several threads.
#[must_use]
pub struct SharedFind {
    shared: Shared,
    service: String,
    settings: Settings<Find>,
}

impl SharedFind {
    fn with(mut self, set: impl FnOnce(Find) -> Find + Send + 'static) -> SharedFind {
        self.settings.push(Box::new(set));
        self
    }

    /// As [`Find::strategy`].
    pub fn strategy(self, strategy: Strategy) -> SharedFind {
        self.with(move |find| find.strategy(strategy))
    }

    /// As [`Find::patience`].
    pub fn patience(self, patience: Option<Duration>) -> SharedFind {
        self.with(move |find| find.patience(patience))
    }

    /// As [`Find::longest`].
    pub fn longest(self, values: usize) -> SharedFind {
        self.with(move |find| find.longest(values))
    }

    /// As [`Find::client`]. Nobody else uses the node while it waits.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn client<Q, R>(self) -> Result<SharedClient<Q, R>, Error>
    where
        Q: Payload + ?Sized + 'static,
        R: Payload + ?Sized + 'static,
    {
        let SharedFind { shared, service, settings } = self;
        let client = shared.keep(|node| set(node.find(&service), settings).client())?;
        Ok(SharedClient { client })
    }
}

/// As [`Client`], for several threads.
pub struct SharedClient<Q: ?Sized, R: ?Sized> {
    client: Kept<Client<Q, R>>,
}

impl<Q: ?Sized, R: ?Sized> Clone for SharedClient<Q, R> {
    fn clone(&self) -> SharedClient<Q, R> {
        SharedClient { client: self.client.clone() }
    }
}

impl<Q: Payload + ?Sized + 'static, R: Payload + ?Sized + 'static> SharedClient<Q, R> {
    /// As [`Client::call`]. Nobody else uses the node meanwhile.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn call(&self, request: &Q) -> Result<R::Owned, Error> {
        self.client.with(|client| client.call(request))
    }
}

/// As [`Topic`], for several threads.
#[must_use]
pub struct SharedTopic {
    shared: Shared,
    name: String,
    settings: Settings<Topic>,
}

impl SharedTopic {
    fn with(mut self, set: impl FnOnce(Topic) -> Topic + Send + 'static) -> SharedTopic {
        self.settings.push(Box::new(set));
        self
    }

    /// As [`Topic::slots`].
    pub fn slots(self, count: u32) -> SharedTopic {
        self.with(move |topic| topic.slots(count))
    }

    /// As [`Topic::subscribers`].
    pub fn subscribers(self, count: u32) -> SharedTopic {
        self.with(move |topic| topic.subscribers(count))
    }

    /// As [`Topic::history`].
    pub fn history(self, count: u32) -> SharedTopic {
        self.with(move |topic| topic.history(count))
    }

    /// As [`Topic::longest`].
    pub fn longest(self, values: usize) -> SharedTopic {
        self.with(move |topic| topic.longest(values))
    }

    /// As [`Topic::limit`].
    pub fn limit(self, bytes: u32) -> SharedTopic {
        self.with(move |topic| topic.limit(bytes))
    }

    /// As [`Topic::patience`].
    pub fn patience(self, patience: Option<Duration>) -> SharedTopic {
        self.with(move |topic| topic.patience(patience))
    }

    /// As [`Topic::publisher`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn publisher<T>(self) -> Result<SharedPublisher<T>, Error>
    where
        T: Payload + ?Sized + 'static,
    {
        let SharedTopic { shared, name, settings } = self;
        let publisher = shared.keep(|node| set(node.topic(&name), settings).publisher())?;
        Ok(SharedPublisher { publisher })
    }
}

/// As [`Publisher`], for several threads.
pub struct SharedPublisher<T: ?Sized> {
    publisher: Kept<Publisher<T>>,
}

impl<T: ?Sized> Clone for SharedPublisher<T> {
    fn clone(&self) -> SharedPublisher<T> {
        SharedPublisher { publisher: self.publisher.clone() }
    }
}

impl<T: Payload + ?Sized + 'static> SharedPublisher<T> {
    /// As [`Publisher::send`]. Nobody else uses the node while it waits for a subscriber.
    ///
    /// # Errors
    /// See [`Error`]; nothing was published.
    pub fn send(&self, value: &T) -> Result<(), Error> {
        self.publisher.with(|publisher| publisher.send(value))
    }

    /// As [`Publisher::subscribers`].
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn subscribers(&self) -> Result<usize, Error> {
        self.publisher.with(Publisher::subscribers)
    }

    /// As [`Publisher::attend`].
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn attend(&self) -> Result<(), Error> {
        self.publisher.with(Publisher::attend)
    }
}
