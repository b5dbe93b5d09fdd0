//! One case: three nodes, each with the thread that made it, and what is done with them.

use super::calls::{self, Begun};
use super::ground::{Bound, NODES, pass_time};
use super::model::{
    Ended, Endpoint, GET_COUNT, MAX_PAYLOAD_SIZE, MEMORY_TYPE, Model, NUM_RECV_BUFFERS, PRIORITY,
    STATUS, State, TIMEOUT, TYPE, What,
};
use super::status::Status;
use super::{Deeds, Random};

const DOMAIN: u32 = 5;
/// Ports that are used; one more of each node is there for it to be called at.
const PORTS: u32 = 4;
const PUMP: u32 = 99;
/// Turns of all nodes in which whatever was begun is done.
const TURNS: usize = 6;
/// Turns after which something is taken never to end.
const NEVER: usize = 20_000;

/// Ends of operations that a short run has to meet.
pub const WANTED: &[(&str, Status)] = &[
    ("create", Status::Success),
    ("create", Status::EndpExists),
    ("finalize", Status::Success),
    ("delete", Status::Success),
    ("delete", Status::ChanOpen),
    ("delete", Status::ChanConnected),
    ("get", Status::Success),
    ("get", Status::Pending),
    ("release", Status::Success),
    ("release", Status::EndpInvalid),
    ("set_attribute", Status::Success),
    ("set_attribute", Status::ChanConnected),
    ("send", Status::Success),
    ("send", Status::EndpInvalid),
    ("send", Status::MsgSize),
    ("receive", Status::Success),
    ("receive", Status::MsgTruncated),
    ("connect", Status::Success),
    ("connect", Status::ChanConnected),
    ("connect", Status::ChanType),
    ("connect", Status::ChanDirection),
    ("connect", Status::AttrIncompatible),
    ("open", Status::Success),
    ("open", Status::Pending),
    ("close", Status::Success),
    ("close", Status::ChanNotOpen),
    ("send_packet", Status::Success),
    ("send_packet", Status::ChanClosePending),
    ("receive_packet", Status::Success),
    ("receive_packet", Status::ChanClosePending),
    ("release_packet", Status::Success),
    ("release_packet", Status::BufInvalid),
    ("send_scalar", Status::Success),
    ("receive_scalar", Status::Success),
    ("receive_scalar", Status::SclSize),
    ("test", Status::Pending),
    ("test", Status::Success),
    ("wait", Status::RequestCancelled),
    ("wait_any", Status::Success),
    ("wait_any", Status::Timeout),
    ("cancel", Status::Success),
    ("cancel", Status::RequestInvalid),
];

/// Makes a thread's node, and the endpoint that it is called at.
fn begin(thread: &Bound, node: usize) {
    let made = thread.call(move || (calls::initialize(DOMAIN, node as u32), calls::create(PUMP)));
    assert_eq!(made, (Status::Success, (Status::Success, id_of(node, PUMP))));
    let set = calls::set_attribute(id_of(node, PUMP), TIMEOUT, 1, 4);
    assert_eq!(set, Status::Success);
}

pub struct Case<'a> {
    pub random: Random,
    pub model: Model,
    threads: Vec<Bound>,
    deeds: &'a mut Deeds,
}

pub fn node_of(id: u32) -> usize {
    (id >> 12 & 0xfff) as usize
}

pub fn id_of(node: usize, port: u32) -> u32 {
    DOMAIN << 24 | (node as u32) << 12 | port
}

impl Case<'_> {
    pub fn new(seed: u64, deeds: &mut Deeds) -> Case<'_> {
        let threads: Vec<_> = (0..NODES).map(|_| Bound::new()).collect();
        threads.iter().enumerate().for_each(|(node, thread)| begin(thread, node));
        Case { random: Random::new(seed), model: Model::default(), threads, deeds }
    }

    pub fn run(mut self) {
        for node in 0..NODES {
            (0..PORTS).for_each(|port| self.create_at(node, port));
        }
        for _ in 0..30 {
            self.get();
        }
        for _ in 0..100 + self.random.below(200) {
            match self.random.below(65) {
                64 if self.random.one_in(3) => self.finalize(),
                0..4 => self.create(),
                4..6 => self.delete(),
                6..12 => self.get(),
                12 => self.release(),
                13 => self.set_attribute(),
                14..17 => self.attribute(),
                17..28 => self.message(),
                28..52 => self.channel(),
                _ => self.request(),
            }
            self.settle();
        }
        self.release_all();
        let Case { model, threads, .. } = self;
        for thread in threads {
            assert_eq!(thread.call(calls::finalize), Status::Success);
            thread.end();
        }
        // Until now the library may have written to what requests have.
        drop(model);
    }

    /// Notes how something ended; it has to be one of these ways.
    pub fn came_to(&mut self, operation: &'static str, allowed: &[Status], status: Status) {
        *self.deeds.entry((operation, status)).or_default() += 1;
        assert!(allowed.contains(&status), "{operation}: {status:?}, not {allowed:?}");
    }

    /// Lets every node see to what others want of it.
    fn turn(&self) {
        pass_time();
        for node in 0..NODES {
            assert_eq!(calls::messages(id_of(node, PUMP)), (Status::Success, 0));
        }
    }

    fn settle(&mut self) {
        (0..TURNS).for_each(|_| self.turn());
    }

    /// Turns until it is so, which has to come.
    pub fn until(&self, mut so: impl FnMut() -> bool) {
        for _ in 0..NEVER {
            if so() {
                return;
            }
            self.turn();
        }
        panic!("what has to come does not");
    }

    /// Waits for a request that has just been made and has to end.
    pub fn end_of(&self, mut begun: Begun) -> (Status, usize, Begun) {
        let mut end = (Status::Timeout, false, 0);
        self.until(|| {
            end = calls::wait(&mut begun.request, 0);
            end.0 != Status::Timeout
        });
        assert_eq!(end.1, end.0 == Status::Success);
        (end.0, end.2, begun)
    }

    /// The end of a call whose request says the same.
    pub fn same_end(&self, said: Status, begun: Begun) -> (Status, usize, Begun) {
        let end = self.end_of(begun);
        assert!(said == Status::Pending || said == end.0, "{said:?}, and the request {:?}", end.0);
        end
    }

    /// An endpoint, mostly one that is there.
    pub fn any_id(&mut self) -> u32 {
        let there: Vec<_> = self.model.endpoints.keys().copied().collect();
        match there.is_empty() || self.random.one_in(8) {
            true => id_of(self.random.below(NODES), self.random.below(PORTS as usize) as u32),
            false => self.random.pick(&there),
        }
    }

    fn create(&mut self) {
        let (node, port) = (self.random.below(NODES), self.random.below(PORTS as usize + 1) as u32);
        if port == PORTS {
            let (status, id) = self.threads[node].call(|| calls::create(4096));
            assert_eq!(id, 0);
            return self.came_to("create", &[Status::PortInvalid], status);
        }
        self.create_at(node, port);
    }

    fn create_at(&mut self, node: usize, port: u32) {
        let id = id_of(node, port);
        let there = self.model.endpoints.contains_key(&id);
        let expected = if there { Status::EndpExists } else { Status::Success };
        let (status, made) = self.threads[node].call(move || calls::create(port));
        self.came_to("create", &[expected], status);
        assert_eq!(made, if there { 0 } else { id });
        if there {
            return;
        }
        self.model.endpoints.insert(id, Endpoint::new());
        // What blocks looks once, so that this one thread can go on.
        assert_eq!(calls::set_attribute(id, TIMEOUT, 0, 4), Status::Success);
        if self.random.one_in(6)
            && let Some(endpoint) = self.model.endpoints.get_mut(&id)
        {
            endpoint.payload = 100;
            let set = calls::set_attribute(id, MAX_PAYLOAD_SIZE, 100, 4);
            assert_eq!(set, Status::Success);
        }
        let waiting: Vec<_> = self
            .model
            .requests
            .iter()
            .filter_map(|(at, request)| match (request.what, &request.state) {
                (What::Get(by, of), State::Pending) if of == id => Some((*at, by)),
                _ => None,
            })
            .collect();
        for (request, by) in waiting {
            self.until(|| *self.model.requests[&request].begun.word == id);
            self.model.end(request, Ended::with(Status::Success));
            self.now_has(by, id);
        }
    }

    fn now_has(&mut self, node: usize, id: u32) {
        self.model.gone.remove(&(node, id));
        if let Some(endpoint) = self.model.endpoints.get_mut(&id) {
            *endpoint.gets.entry(node).or_default() += 1;
        }
    }

    fn delete(&mut self) {
        let id = self.any_id();
        let expected = match self.model.endpoints.get(&id) {
            None => Status::EndpInvalid,
            Some(endpoint) => match endpoint.channel.map(|at| &self.model.channels[at]) {
                _ if endpoint.opening.is_some() => Status::ChanOpen,
                Some(channel) if channel.ends.iter().any(|e| e.endpoint == id && e.open) => {
                    Status::ChanOpen
                }
                Some(_) => Status::ChanConnected,
                None => Status::Success,
            },
        };
        self.came_to("delete", &[expected], calls::delete(id));
        if expected == Status::Success
            && let Some(endpoint) = self.model.endpoints.remove(&id)
        {
            for request in endpoint.receiving {
                self.model.end(request, Ended::with(Status::EndpInvalid));
            }
            let had = endpoint.gets.iter().filter(|(_, gets)| **gets > 0);
            self.model.gone.extend(had.map(|(node, _)| (*node, id)));
        }
    }

    /// Ends a node and makes it anew.
    fn finalize(&mut self) {
        let node = self.random.below(NODES);
        self.model.finalized(node);
        let status = self.threads[node].call(calls::finalize);
        self.came_to("finalize", &[Status::Success], status);
        begin(&self.threads[node], node);
        // A node that waits looks whether others are gone; one that only calls does so seldom.
        for _ in 0..2 {
            for node in 0..NODES {
                let waited = calls::receive_message(id_of(node, PUMP), &mut []);
                assert_eq!(waited.0, Status::Timeout);
            }
        }
    }

    fn get(&mut self) {
        let (node, id) = (self.random.below(NODES), self.any_id());
        let (owner, port) = (node_of(id) as u32, id & 0xfff);
        let (said, begun) = self.threads[node].call(move || calls::get(DOMAIN, owner, port));
        if !self.model.endpoints.contains_key(&id) {
            self.came_to("get", &[Status::Pending], said);
            self.model.add(begun, What::Get(node, id), State::Pending);
            return;
        }
        let (status, size, begun) = self.same_end(said, begun);
        self.came_to("get", &[Status::Success], status);
        assert_eq!((*begun.word, size), (id, 0));
        self.now_has(node, id);
    }

    fn release(&mut self) {
        let (node, id) = (self.random.below(NODES), self.any_id());
        let gone = self.model.gone.contains(&(node, id));
        let gets = self.model.endpoints.get_mut(&id).and_then(|e| e.gets.get_mut(&node));
        let allowed: &[Status] = match gets {
            Some(gets) if *gets > 0 => {
                *gets -= 1;
                &[Status::Success]
            }
            // Whether what is gone can be given back is nobody's business.
            _ if gone => &[Status::Success, Status::EndpInvalid],
            _ => &[Status::EndpInvalid],
        };
        let status = self.threads[node].call(move || calls::release(id));
        self.came_to("release", allowed, status);
    }

    fn set_attribute(&mut self) {
        let id = self.any_id();
        let number = self.random.pick(&[TYPE, MAX_PAYLOAD_SIZE, MEMORY_TYPE, PRIORITY, STATUS, 12]);
        let value = match number {
            TYPE => self.random.pick(&[1, 1, 2, 4, 3]),
            MAX_PAYLOAD_SIZE => self.random.pick(&[65536, 65536, 100, 0, 65537]),
            PRIORITY => self.random.pick(&[0, 0, 7, 8]),
            _ => self.random.pick(&[0, 0, 1, 2]),
        };
        let size = if self.random.one_in(10) { self.random.pick(&[0, 2, 8]) } else { 4 };
        let model = &mut self.model;
        let expected = match model.endpoints.get_mut(&id) {
            None => Status::EndpInvalid,
            Some(_) if number == 12 => Status::AttrNum,
            Some(endpoint) if endpoint.channel.is_some() => Status::ChanConnected,
            Some(_) if number == STATUS => Status::AttrReadOnly,
            Some(_) if size != 4 => Status::AttrSize,
            Some(endpoint) => {
                let (place, fits) = match number {
                    TYPE => (&mut endpoint.kind, [1, 2, 4].contains(&value)),
                    MAX_PAYLOAD_SIZE => (&mut endpoint.payload, (1..=65536).contains(&value)),
                    PRIORITY => (&mut endpoint.priority, value < 8),
                    _ => (&mut endpoint.memory, value < 2),
                };
                if fits {
                    *place = value;
                    Status::Success
                } else {
                    Status::AttrValue
                }
            }
        };
        self.came_to("set_attribute", &[expected], calls::set_attribute(id, number, value, size));
    }

    fn attribute(&mut self) {
        let id = self.any_id();
        let number = self.random.pick(&[
            TYPE,
            GET_COUNT,
            MAX_PAYLOAD_SIZE,
            MEMORY_TYPE,
            PRIORITY,
            NUM_RECV_BUFFERS,
            STATUS,
        ]);
        let Some(endpoint) = self.model.endpoints.get(&id) else {
            return self.came_to(
                "attribute",
                &[Status::EndpInvalid],
                calls::attribute(id, number).0,
            );
        };
        let expected = match number {
            TYPE => endpoint.kind,
            GET_COUNT => endpoint.gets.values().sum(),
            MAX_PAYLOAD_SIZE => endpoint.payload,
            MEMORY_TYPE => endpoint.memory,
            PRIORITY => endpoint.priority,
            NUM_RECV_BUFFERS => 512 - endpoint.queue.len() as u32,
            _ => self.model.flags(endpoint),
        };
        // Whether a node that was finalised has given back, and that an end has closed that is
        // gone, is not said.
        let lost = endpoint.channel.is_some_and(|at| self.model.channels[at].lost);
        let open = match number {
            GET_COUNT => endpoint.gets_of_gone,
            STATUS if lost => 0x8,
            _ => 0,
        };
        let (status, value) = calls::attribute(id, number);
        self.came_to("attribute", &[Status::Success], status);
        let says = format!("attribute {number} of {id:x} is {value:x}, not {expected:x}");
        match number {
            STATUS => assert_eq!(value | open, expected | open, "{says}"),
            _ => assert!((expected..=expected + open).contains(&value), "{says}"),
        }
    }
}
