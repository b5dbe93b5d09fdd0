//! The service of an operating system that passes messages between processors without shared
//! memory, as S2 describes it (section 2.1): a queue for each way out, a pool of messages of its
//! own, into which a DMA brings what comes, and a local send behind that. A message for a processor
//! further on goes into the next queue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use narrows::driver::{Frames as _, NotSent};
use narrows::link::route::Table;
use narrows::platform::{Memory as _, OwnMemory as _};
use narrows_sim::carrier::{End, Told, lay};
use narrows_sim::chip::{Chip, DmaMode, Net, number};
use narrows_sim::cpu::{Cpu, Hands, Stretch};
use narrows_sim::engine::{Pid, Simulation};
use narrows_sim::rtos::{Call, Os};
use narrows_sim::time::Time;

/// Messages of each processor's pool.
const POOL: u32 = 8;
/// The number of the signal that hands a message to a task.
const MESSAGE: u32 = 1;

/// A message of this processor's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its place in the pool.
    slot: u32,
    /// Its bytes.
    pub len: usize,
    /// The task that it is for.
    pub to: Task,
}

/// A task that gets messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Its processor.
    pub core: u16,
    /// Which of those there.
    pub number: u16,
}

impl Task {
    fn bytes(self) -> [u8; 4] {
        let [[a, b], [c, d]] = [self.core, self.number].map(u16::to_le_bytes);
        [a, b, c, d]
    }

    fn of([a, b, c, d]: [u8; 4]) -> Task {
        let [core, number] = [[a, b], [c, d]].map(u16::from_le_bytes);
        Task { core, number }
    }
}

/// A way to a neighbour.
struct Way {
    end: RefCell<Option<End>>,
    queue: RefCell<VecDeque<Message>>,
    /// The message that the end may still read.
    sending: Cell<Option<Message>>,
    /// The message that is being brought.
    coming: Cell<Option<Message>>,
}

/// The service of a processor.
pub(crate) struct Service {
    core: usize,
    memory: usize,
    longest: u32,
    hands: Hands,
    /// The processes of this processor's tasks, by their numbers.
    tasks: RefCell<Vec<Option<Pid>>>,
    pool: RefCell<Vec<u32>>,
    /// To the neighbours, in the order of the table's links.
    ways: Vec<Way>,
    table: Table,
    /// Messages that were for a processor further on.
    passed: Cell<u64>,
    /// Something has happened that was not seen to.
    again: Cell<bool>,
}

/// The services of the processors of a net, with messages of at most `longest` bytes. `None` if a
/// pool does not fit into its memory.
pub(crate) fn services(chip: &Chip, net: &Net, longest: usize) -> Option<Vec<Rc<Service>>> {
    let longest = u32::try_from(longest.max(4).next_multiple_of(4)).ok()?;
    let service = |core: usize| {
        let memory = chip.dma(core)?.messages;
        let fits = u64::from(longest) * u64::from(POOL) <= chip.memories[memory].size.into();
        fits.then(|| Rc::new(Service::new(core, memory, longest, net)))
    };
    (0..net.nodes).map(service).collect()
}

/// Gives neighbours of a net ways to each other. `None` if there is no port between two of them, or
/// their DMA cannot be driven so.
pub(crate) fn connect(
    simulation: &mut Simulation<'_>,
    chip: &Chip,
    mode: DmaMode,
    all: &[Rc<Service>],
    net: &Net,
) -> Option<()> {
    for link in &net.links {
        let port = chip.ports.ports.iter().position(|port| {
            let [one, other] = port.between;
            port.between == *link || [other, one] == *link
        })?;
        let [one, next] = chip.ports.ports[port].between;
        let (one, next) = (all.get(one)?, all.get(next)?);
        let told = |service: &Rc<Service>| {
            let service = Rc::clone(service);
            Box::new(move |os: &Os| service.progress(os)) as Told<'static>
        };
        let hands = [&one.hands, &next.hands];
        let [here, there] = lay(simulation, port, mode, hands, [told(one), told(next)])?;
        one.way_to(net, next.core)?.end.replace(Some(here));
        next.way_to(net, one.core)?.end.replace(Some(there));
    }
    Some(())
}

impl Service {
    fn new(core: usize, memory: usize, longest: u32, net: &Net) -> Service {
        let way = |_: usize| Way {
            end: RefCell::default(),
            queue: RefCell::default(),
            sending: Cell::default(),
            coming: Cell::default(),
        };
        Service {
            core,
            memory,
            longest,
            hands: Hands::default(),
            tasks: RefCell::default(),
            pool: RefCell::new((0..POOL).collect()),
            ways: net.neighbours(core).into_iter().map(way).collect(),
            table: net.table(core),
            passed: Cell::default(),
            again: Cell::default(),
        }
    }

    /// The process of a task of this processor.
    pub fn has(&self, number: u16, process: Pid) {
        let (mut tasks, at) = (self.tasks.borrow_mut(), usize::from(number));
        if tasks.len() <= at {
            tasks.resize(at + 1, None);
        }
        tasks[at] = Some(process);
    }

    /// Messages that came here and were for a processor further on.
    pub fn passed(&self) -> u64 {
        self.passed.get()
    }

    /// A task of this processor begins to use the service.
    pub fn serve(&self, cpu: &Cpu) {
        self.hands.add(cpu);
    }

    /// A message from the pool, if there is one.
    pub fn alloc(&self, len: usize, to: Task) -> Option<Message> {
        let slot = self.pool.borrow_mut().pop()?;
        Some(Message { slot, len, to })
    }

    /// Gives a message back to the pool.
    pub fn free(&self, message: Message) {
        self.pool.borrow_mut().push(message.slot);
    }

    /// Where a message's bytes are.
    pub fn buffer(&self, message: Message) -> Stretch {
        Stretch::new(&self.hands, (self.memory, message.slot * self.longest), self.longest)
    }

    /// Sends a message, as a task: to a task of this processor by its place, else by the next
    /// processor on its way.
    pub fn send(&self, os: &Os, message: Message) {
        // A message begins with the task that it is for; it is at least that long.
        let _ = self.buffer(message).write(0, &message.to.bytes());
        if self.pass_on(os, message) {
            return;
        }
        self.progress(os);
        if let Some(way) = self.way(message.to)
            && let Ok(end) = way.end.try_borrow()
            && let Some(end) = end.as_ref()
        {
            end.look_for_answer();
        }
        // Interrupts that came meanwhile found the end in use.
        self.progress(os);
    }

    /// Waits for the next message for the task.
    pub fn receive(&self, os: &Os) -> Option<Message> {
        let signal = os.receive(&[MESSAGE], Time::NEVER)?;
        let word = |at: usize| signal.bytes.get(at..at + 4)?.first_chunk().copied();
        let [slot, len] = [word(0)?, word(4)?].map(u32::from_le_bytes);
        Some(Message { slot, len: len as usize, to: Task::of(word(8)?) })
    }

    /// Over which way a message goes on.
    fn way(&self, to: Task) -> Option<&Way> {
        let link = self.table.choose(number(usize::from(to.core)), None, |_| true)?;
        self.ways.get(link)
    }

    fn way_to(&self, net: &Net, neighbour: usize) -> Option<&Way> {
        let at = net.neighbours(self.core).iter().position(|node| *node == neighbour)?;
        self.ways.get(at)
    }

    /// Hands a message to the task that it is for, or puts it into a queue. Whether it was here.
    fn pass_on(&self, os: &Os, message: Message) -> bool {
        if usize::from(message.to.core) != self.core {
            let core = &os.cpu().chip().cores[self.core];
            os.cpu().compute(core.system.call(Call::Send).takes.at(core.clock));
            match self.way(message.to) {
                Some(way) => way.queue.borrow_mut().push_back(message),
                None => self.free(message),
            }
            return false;
        }
        let [slot, len] = [message.slot, message.len as u32].map(u32::to_le_bytes);
        let signal = os.alloc(MESSAGE, [slot, len, message.to.bytes()].concat());
        let task = self.tasks.borrow().get(usize::from(message.to.number)).copied();
        if let Some(task) = task.flatten() {
            // A task that has ended has no use for it.
            let _ = os.send(signal, task);
        }
        true
    }

    /// Sees to all ways, also if something happens while it does.
    fn progress(&self, os: &Os) {
        loop {
            self.again.set(false);
            for way in &self.ways {
                match way.end.try_borrow_mut() {
                    Ok(mut end) => {
                        if let Some(end) = end.as_mut() {
                            self.work(os, way, end);
                        }
                    }
                    // The process that uses it looks again.
                    Err(_) => return self.again.set(true),
                }
            }
            if !self.again.get() {
                return;
            }
        }
    }

    /// Takes what is done off a way, and begins what can be begun.
    fn work(&self, os: &Os, way: &Way, end: &mut End) {
        if let Some(message) = way.sending.get()
            && !end.holds()
        {
            way.sending.set(None);
            self.free(message);
        }
        if let Some(mut message) = way.coming.get()
            && !end.brings()
        {
            end.release();
            way.coming.set(None);
            let mut to = [0; 4];
            if self.buffer(message).read(0, &mut to).is_ok() {
                message.to = Task::of(to);
            }
            // It goes into another way's queue, if it is for a processor further on.
            let further = !self.pass_on(os, message);
            self.passed.set(self.passed.get() + u64::from(further));
            self.again.set(further);
        }
        let nobody = Task { core: 0, number: 0 };
        if way.coming.get().is_none()
            && let Ok(len) = end.try_receive(&mut [])
            && let Some(message) = self.alloc(len, nobody)
        {
            let read = end.read(0, message.len, &mut self.buffer(message), 0);
            match read {
                Ok(()) => way.coming.set(Some(message)),
                Err(_) => {
                    end.release();
                    self.free(message);
                }
            }
        }
        let next = way.queue.borrow().front().copied();
        if let Some(message) = next.filter(|_| way.sending.get().is_none()) {
            let sent = end.try_send(&[], Some((&self.buffer(message), 0, message.len)));
            match sent {
                Ok(()) => {
                    way.queue.borrow_mut().pop_front();
                    way.sending.set(Some(message));
                }
                Err(NotSent::Full) => {}
                Err(NotSent::TooLong | NotSent::Gone) => {
                    way.queue.borrow_mut().pop_front();
                    self.free(message);
                }
            }
        }
    }
}
