//! The message component of a process: its processor, and which pools and messages are C's.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use narrows::link::route::LINKS;
use narrows_host::Maker;
use narrows_host::mqx::{
    HEAD, Limits, Message, Name, NoProcessor, Notification, PoolId, Processor, ProcessorError,
    QueueId, Task,
};

use super::code::{Code, Outcome, of_free};
use super::place;
use super::settings::Settings;
use crate::per_process::OfProcess;

/// The first queue that MQX opens where any is asked for: a program numbers those below itself.
const FIRST_USER_QUEUE: u8 = 8;

/// What MQX's initialisation structure limits. Messages are as long as `SIZE` can say.
fn limits(alone: bool) -> Limits {
    Limits {
        messages: 8192,
        pools: 65,
        longest: u32::from(u16::MAX) - HEAD as u32,
        outgoing: 256,
        delivered: if alone { 0 } else { 64 },
        ..Limits::default()
    }
}

/// A message that C has, or had.
struct Known {
    /// Nothing while it is in a queue, on its way or free.
    message: Option<Message>,
    name: Name,
    /// The pool that C knows it is of.
    pool: usize,
    /// The task that has it.
    task: u32,
}

/// `MSGQ_NOTIFICATION_FPTR`. The program that has one called promises that it is for the data given
/// with it.
pub type Function = Option<extern "C" fn(*mut c_void)>;
/// A function of C's that is told of messages, and what it is given.
pub(super) type Notified = (Function, usize);

/// The component of a process.
pub(super) struct Component {
    pub number: u8,
    neighbours: Vec<u8>,
    pub processor: Processor,
    maker: Maker,
    pools: Mutex<HashMap<usize, PoolId>>,
    messages: Mutex<HashMap<usize, Known>>,
    /// By the number of the queue.
    notified: Mutex<HashMap<u8, Notified>>,
}

/// A process and the component that it created.
#[derive(Default)]
struct Own {
    making: Mutex<()>,
    component: OnceLock<Component>,
}

static OWN: OfProcess<Own> = OfProcess::new();
/// What C has of the next pool: never a number that was used before, and aligned as a pointer is.
static NEXT: AtomicUsize = AtomicUsize::new(16);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process's component.
///
/// # Errors
/// `MQX_COMPONENT_DOES_NOT_EXIST`.
pub(super) fn find() -> Outcome<&'static Component> {
    let component = OWN.get().and_then(|own| own.component.get());
    component.ok_or(Code::COMPONENT_DOES_NOT_EXIST)
}

/// This process's component, which is created if there is none.
///
/// # Errors
/// `MQX_INVALID_CONFIGURATION`, `MQX_OUT_OF_MEMORY` or `MSG_CANNOT_CREATE_COMPONENT`.
pub(super) fn create() -> Outcome<&'static Component> {
    let own = OWN.get_or_make();
    if let Some(component) = own.component.get() {
        return Ok(component);
    }
    let _making = lock(&own.making);
    if let Some(component) = own.component.get() {
        return Ok(component);
    }
    let settings = Settings::read()?;
    let made = Component::open(&settings)?;
    let component = own.component.get_or_init(|| made);
    let end = Instant::now() + settings.wait.min(Duration::from_secs(1 << 20));
    for neighbour in settings.neighbours() {
        let left = end.saturating_duration_since(Instant::now());
        // A processor that is not there yet may come later: until then no message goes there.
        let _ = component.processor.wait_for(neighbour, Some(left));
    }
    Ok(component)
}

impl Component {
    fn open(settings: &Settings) -> Outcome<Component> {
        let neighbours = settings.neighbours();
        if neighbours.len() > LINKS {
            return Err(Code::INVALID_CONFIGURATION);
        }
        let (number, limits) = (settings.number, limits(neighbours.is_empty()));
        let opened = Processor::open(number, &neighbours, &settings.links, limits, |host| host);
        let processor = opened.map_err(|error| match error {
            ProcessorError::Tables(NoProcessor::Number) => Code::INVALID_CONFIGURATION,
            ProcessorError::Tables(_) => Code::OUT_OF_MEMORY,
            _ => Code::CANNOT_CREATE_COMPONENT,
        })?;
        let (pools, messages, notified) = Default::default();
        let maker = Maker::this();
        Ok(Component { number, neighbours, processor, maker, pools, messages, notified })
    }

    /// Whether it has a link to a processor, up or not.
    pub fn is_neighbour(&self, number: u8) -> bool {
        self.neighbours.contains(&number)
    }

    /// Whether it is of this process.
    pub fn is_ours(&self) -> bool {
        !self.maker.is_another()
    }

    /// A queue of this processor.
    ///
    /// # Errors
    /// `MSGQ_INVALID_QUEUE_ID`.
    pub fn own_queue(&self, queue: u16) -> Outcome<QueueId> {
        let queue = QueueId(queue);
        let own = queue.processor() == self.number && queue.queue() != 0;
        if own { Ok(queue) } else { Err(Code::INVALID_QUEUE_ID) }
    }

    /// Opens a queue: of the number that it names, or any. A system queue, if it says with which
    /// notification.
    ///
    /// # Errors
    /// `MSGQ_INVALID_QUEUE_NUMBER` or `MSGQ_QUEUE_IN_USE`.
    pub fn open_queue(
        &self,
        task: &Task,
        number: u16,
        limit: u16,
        system: Option<(Notified, Option<Notification>)>,
    ) -> Outcome<QueueId> {
        let mut all = lock(&self.notified);
        let open = |number| match &system {
            None => task.open(number, limit),
            Some((_, notification)) => task.open_system(number, limit, notification.clone()),
        };
        let opened = match u8::try_from(number) {
            Err(_) => return Err(Code::INVALID_QUEUE_NUMBER),
            Ok(0) => (FIRST_USER_QUEUE..=u8::MAX).find_map(|number| open(number).ok()),
            Ok(number) => Some(open(number)?),
        };
        let queue = opened.ok_or(Code::QUEUE_IN_USE)?;
        all.insert(queue.queue(), system.map_or((None, 0), |(notified, _)| notified));
        Ok(queue)
    }

    /// Has another function for the messages of a queue. The last.
    ///
    /// # Errors
    /// `MSGQ_QUEUE_IS_NOT_OPEN`.
    pub fn notify(
        &self,
        task: &Task,
        queue: QueueId,
        notified: Notified,
        notification: Option<Notification>,
    ) -> Outcome<Notified> {
        let mut all = lock(&self.notified);
        task.set_notification(queue, notification)?;
        Ok(all.insert(queue.queue(), notified).unwrap_or_default())
    }

    /// The function for the messages of a queue.
    ///
    /// # Errors
    /// `MSGQ_QUEUE_IS_NOT_OPEN`.
    pub fn notified(&self, task: &Task, queue: QueueId) -> Outcome<Notified> {
        let all = lock(&self.notified);
        task.owner(queue)?;
        Ok(all.get(&queue.queue()).copied().unwrap_or_default())
    }

    /// Makes a pool, and what C has of it.
    ///
    /// # Errors
    /// See [`Code`]'s conversion from a pool's error.
    pub fn create_pool(&self, bytes: u32, counts: (u16, u16, u16)) -> Outcome<usize> {
        let pool = self.processor.create_pool(bytes, counts.0, counts.1, counts.2)?;
        let at = NEXT.fetch_add(16, Ordering::Relaxed);
        lock(&self.pools).insert(at, pool);
        Ok(at)
    }

    /// Ends a pool.
    ///
    /// # Errors
    /// `MSGPOOL_INVALID_POOL_ID` or `MSGPOOL_ALL_MESSAGES_NOT_FREE`.
    pub fn destroy_pool(&self, at: usize) -> Outcome<()> {
        self.processor.destroy_pool(self.pool(at)?)?;
        lock(&self.pools).remove(&at);
        // Their memory is given back, and may be anything next.
        lock(&self.messages).retain(|_, known| known.pool != at);
        Ok(())
    }

    /// The pool that C means.
    ///
    /// # Errors
    /// `MSGPOOL_INVALID_POOL_ID`.
    pub fn pool(&self, at: usize) -> Outcome<PoolId> {
        lock(&self.pools).get(&at).copied().ok_or(Code::INVALID_POOL_ID)
    }

    /// Takes a message for C and says where it is: of the pool that is named, or with `pool` 0 of
    /// the system pools, where `bytes` says how long it has to be.
    ///
    /// # Errors
    /// `MSGPOOL_INVALID_POOL_ID` or `MSGPOOL_OUT_OF_MESSAGES`.
    pub fn alloc(&self, task: &Task, pool: usize, bytes: u32) -> Outcome<usize> {
        let message = match pool {
            0 => task.alloc_system(bytes)?,
            at => task.alloc(self.pool(at)?)?,
        };
        Ok(self.own(message, Some(pool), task.number()))
    }

    /// Makes a message C's. Where it is.
    pub fn own(&self, mut message: Message, pool: Option<usize>, task: u32) -> usize {
        let (name, header) = (message.name(), message.header);
        let whole = message.whole();
        place::write(&header, whole);
        let at = whole.as_mut_ptr() as usize;
        let mut all = lock(&self.messages);
        let pool = pool.or_else(|| Some(all.get(&at)?.pool)).unwrap_or(0);
        all.insert(at, Known { message: Some(message), name, pool, task });
        at
    }

    /// Takes a message back from C.
    ///
    /// # Errors
    /// `MSGQ_INVALID_MESSAGE`: it is none, or was freed or sent.
    pub fn disown(&self, at: usize) -> Outcome<Message> {
        let mut all = lock(&self.messages);
        let message = all.get_mut(&at).and_then(|known| known.message.take());
        message.ok_or(Code::INVALID_MESSAGE)
    }

    /// Looks at one of C's messages.
    ///
    /// # Errors
    /// As for [`Component::disown`].
    pub fn with<R>(&self, at: usize, act: impl FnOnce(&mut [u8]) -> R) -> Outcome<R> {
        let mut all = lock(&self.messages);
        let message = all.get_mut(&at).and_then(|known| known.message.as_mut());
        message.map(|message| act(message.whole())).ok_or(Code::INVALID_MESSAGE)
    }

    /// Frees a message.
    ///
    /// # Errors
    /// `MQX_INVALID_POINTER`, `MQX_NOT_RESOURCE_OWNER` or `MSGQ_MESSAGE_IS_QUEUED`.
    pub fn free(&self, task: &Task, at: usize) -> Outcome<()> {
        let mut all = lock(&self.messages);
        let known = all.get_mut(&at).ok_or(Code::INVALID_POINTER)?;
        let (name, message) = (known.name, known.message.take());
        // Behind the lock: others may be told of messages that come meanwhile.
        drop(all);
        match (message, task.held(name)) {
            (Some(message), _) => drop(message),
            (None, Err(why)) => return Err(of_free(why)),
            // Another thread is about to send it, or to receive it.
            (None, Ok(())) => return Err(Code::MESSAGE_IS_QUEUED),
        }
        Ok(())
    }

    /// Frees all messages of a task that ends.
    pub fn forget(&self, task: u32) {
        let mut all = lock(&self.messages);
        let its = all.values_mut().filter(|known| known.task == task);
        let messages: Vec<_> = its.filter_map(|known| known.message.take()).collect();
        drop(all);
        drop(messages);
    }
}
