//! iceoryx2, request-response: requests and responses are made in loaned samples and read in the
//! received ones.

use std::io;

use iceoryx2::active_request::ActiveRequest;
use iceoryx2::node::Node;
use iceoryx2::pending_response::PendingResponse;
use iceoryx2::port::client::Client;
use iceoryx2::port::server::Server;
use iceoryx2::prelude::*;

use super::iceoryx2_pubsub::{self, Bell, meet};
use super::{ANSWERED, Contender, Counted, End, Measure, Mode, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct Iceoryx2Call;

impl Contender for Iceoryx2Call {
    fn name(&self) -> &'static str {
        "iceoryx2, request-response"
    }
    fn version(&self) -> String {
        crate::versions::of("iceoryx2")
    }
    fn copies(&self, _: usize) -> &'static str {
        "0"
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        iceoryx2_pubsub::waits(mode)
    }
    fn offers(&self, measure: Measure, _: usize) -> Result<(), &'static str> {
        match measure {
            Measure::RoundTrip => Ok(()),
            Measure::OneWay => Err(ANSWERED),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let node = iceoryx2_pubsub::node(setup)?;
        let bell = Bell::open(&node, role, setup.mode)?;
        let name = "calls".try_into().map_err(|error| failed("name", error))?;
        let service = node.service_builder(&name).request_response::<[u64], [u64]>();
        let service = service.max_clients(1).max_servers(1).open_or_create();
        let service = service.map_err(|error| failed("service", error))?;
        let words = setup.bytes / payload::WORD;
        match role {
            Role::Caller => {
                let client = service.client_builder().initial_max_slice_len(words).create();
                let client = client.map_err(|error| failed("client", error))?;
                meet(role, control)?;
                Ok(Counted::boxed(Caller { pending: None, client, bell, words, _node: node }))
            }
            Role::Callee => {
                let server = service.server_builder().initial_max_slice_len(words).create();
                let server = server.map_err(|error| failed("server", error))?;
                meet(role, control)?;
                Ok(Counted::boxed(Callee { active: None, server, bell, words, _node: node }))
            }
        }
    }
}

type Pending = PendingResponse<ipc::Service, [u64], (), [u64], ()>;
type Active = ActiveRequest<ipc::Service, [u64], (), [u64], ()>;

struct Caller {
    pending: Option<Pending>,
    client: Client<ipc::Service, [u64], (), [u64], ()>,
    bell: Bell,
    words: usize,
    _node: Node<ipc::Service>,
}

impl Port for Caller {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let request = self.client.loan_slice_uninit(self.words);
        let request = request.map_err(|error| failed("loan", error))?;
        let request = request.write_from_fn(|at| payload::word(number, at));
        self.pending = Some(request.send().map_err(|error| failed("send", error))?);
        self.bell.ring()
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        let pending = self.pending.take().ok_or_else(|| failed("receive", "no call"))?;
        loop {
            match pending.receive().map_err(|error| failed("receive", error))? {
                Some(response) => return payload::check_words(number, self.words, &response),
                None => self.bell.wait()?,
            }
        }
    }
}

struct Callee {
    active: Option<Active>,
    server: Server<ipc::Service, [u64], (), [u64], ()>,
    bell: Bell,
    words: usize,
    _node: Node<ipc::Service>,
}

impl Port for Callee {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let active = self.active.take().ok_or_else(|| failed("send", "no request"))?;
        let response = active.loan_slice_uninit(self.words);
        let response = response.map_err(|error| failed("loan", error))?;
        let response = response.write_from_fn(|at| payload::word(number, at));
        response.send().map_err(|error| failed("send", error))?;
        self.bell.ring()
    }
    fn receive(&mut self, number: u64) -> io::Result<()> {
        loop {
            match self.server.receive().map_err(|error| failed("receive", error))? {
                Some(active) => {
                    payload::check_words(number, self.words, &active)?;
                    self.active = Some(active);
                    return Ok(());
                }
                None => self.bell.wait()?,
            }
        }
    }
}
