//! Narrows: calls of a service, with values of a type.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use narrows_services::{Client, Node};

use super::narrows_message::{self, SOON};
use super::{ANSWERED, Contender, End, Kind, Measure, Mode, Numbers, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

pub struct NarrowsClient;

/// The service's name.
const ANSWER: &str = "answer";

impl Contender for NarrowsClient {
    fn name(&self) -> &'static str {
        "Narrows, service"
    }
    fn kind(&self) -> Kind {
        Kind::Narrows
    }
    fn version(&self) -> String {
        narrows_message::version()
    }
    fn copies(&self, bytes: usize) -> &'static str {
        narrows_message::COPY.copies(bytes)
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        narrows_message::COPY.waits(mode)
    }
    fn offers(&self, measure: Measure, _: usize) -> Result<(), &'static str> {
        match measure {
            Measure::RoundTrip => Ok(()),
            Measure::OneWay => Err(ANSWERED),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let words = setup.bytes / payload::WORD;
        if role == Role::Callee {
            let node = super::narrows_topic::open(setup, "callee")?;
            let state = Rc::new(RefCell::new(State::default()));
            let served = Rc::clone(&state);
            let serve = move |request: &[u64]| served.borrow_mut().answer(request, words);
            node.serve::<[u64], [u64]>(ANSWER, serve).map_err(|e| failed("serve", e))?;
            control.done()?;
            while !control.said()? {
                node.run_once(Some(Duration::from_millis(1))).map_err(|e| failed("serve", e))?;
            }
            control.wait_done()?;
            return Ok(Box::new(Callee { node, state }));
        }
        control.wait_done()?;
        let node = super::narrows_topic::open(setup, "caller")?;
        let strategy = narrows_message::strategy("copy_batched", setup.mode)?;
        let find = node.find(ANSWER).strategy(strategy).longest(words).patience(SOON);
        let client = find.client().map_err(|error| failed("client", error))?;
        control.done()?;
        Ok(Box::new(Caller { client, numbers: Numbers::default(), out: vec![0; words] }))
    }
}

struct Caller {
    client: Client<[u64], [u64]>,
    numbers: Numbers,
    out: Vec<u64>,
}

impl End for Caller {
    fn round_trips(&mut self, count: u64) -> io::Result<()> {
        for _ in 0..count {
            let number = self.numbers.there();
            for (at, word) in self.out.iter_mut().enumerate() {
                *word = payload::word(number, at);
            }
            let answer = self.client.call(&self.out).map_err(|error| failed("call", error))?;
            payload::check_words(self.numbers.back(), self.out.len(), &answer)?;
        }
        Ok(())
    }

    fn one_way(&mut self, _: u64) -> io::Result<()> {
        Err(failed("stream", ANSWERED))
    }

    fn serve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(failed("serve", "this end calls"))
    }
}

#[derive(Default)]
struct State {
    numbers: Numbers,
    served: u64,
    broken: Option<io::Error>,
}

impl State {
    fn answer(&mut self, request: &[u64], words: usize) -> Vec<u64> {
        self.served += 1;
        if let Err(error) = payload::check_words(self.numbers.there(), words, request) {
            self.broken = Some(error);
        }
        let number = self.numbers.back();
        (0..words).map(|at| payload::word(number, at)).collect()
    }
}

struct Callee {
    node: Node,
    state: Rc<RefCell<State>>,
}

impl End for Callee {
    fn round_trips(&mut self, _: u64) -> io::Result<()> {
        Err(failed("call", "this end answers"))
    }

    fn one_way(&mut self, _: u64) -> io::Result<()> {
        Err(failed("stream", ANSWERED))
    }

    fn serve(&mut self, count: u64, times: u64) -> io::Result<()> {
        let upto = self.state.borrow().served + count * times;
        loop {
            self.node
                .run_once(Some(Duration::from_secs(1)))
                .map_err(|error| failed("serve", error))?;
            let mut state = self.state.borrow_mut();
            if let Some(broken) = state.broken.take() {
                return Err(broken);
            }
            if state.served >= upto {
                return Ok(());
            }
        }
    }
}
