//! Batches of messages between the two processes of a bench.

use narrows::endpoint::{Address, FlowId, Message, Node, SendError, What};
use narrows::strategy::Strategy;

use crate::base::failure::Failure;
use crate::formats::strategy::sleeps;
use crate::rig::limit::{LAP, Laps, Timer, stream_lap};
use crate::rig::pair::{PATIENCE, PORT, Pair, corrupted, mark};
use crate::rig::place::{Core, Place};
use crate::rig::service::{self, Mode};
use crate::rig::sink::{self, Receipt};

/// Late answers before processor time is taken: a hybrid wait has learnt by then.
const LEARNING: u64 = 16;
/// Messages that are sent at a time by [`Pair::stream_all`].
const TOGETHER: usize = 32;

impl<P: Place> Pair<P> {
    /// A batch of messages that come back: nanoseconds of a round trip, the median.
    ///
    /// # Errors
    /// The other side is gone, or a message is not what was sent.
    pub fn messages(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u64,
    ) -> Result<f64, Failure> {
        self.exchanges(Mode::Messages(strategy), strategy)?;
        let ns = in_laps(self.timer(), self.lap(&strategy), count, |number| {
            self.there_and_back(number, count, bytes)
        })?;
        self.exchanged(bytes)?;
        Ok(ns)
    }

    /// As [`Pair::messages`], with a random time to think between two round trips, which is not
    /// counted.
    ///
    /// # Errors
    /// As [`Pair::messages`].
    pub fn thinking(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u64,
    ) -> Result<f64, Failure> {
        self.exchanges(Mode::Messages(strategy), strategy)?;
        let mut laps = Laps::by(self.timer(), count);
        for number in 0..count {
            laps.think();
            self.there_and_back(number, count, bytes)?;
            laps.end(1);
        }
        self.exchanged(bytes)?;
        Ok(laps.middle().unwrap_or_default())
    }

    /// A batch of messages that are answered [`service::LATE`] later: the processor time that this
    /// side uses meanwhile, in percent of a core.
    ///
    /// # Errors
    /// As [`Pair::messages`].
    pub fn load(&mut self, strategy: Strategy, bytes: usize, count: u64) -> Result<f64, Failure> {
        self.exchanges(Mode::Late(strategy), strategy)?;
        let (timer, core) = (self.timer(), self.peer.node.platform().core());
        let now = || (timer.moment(), core.used());
        let count = count + LEARNING;
        let mut began = now();
        for number in 0..count {
            if number == LEARNING {
                began = now();
            }
            self.there_and_back(number, count, bytes)?;
        }
        let ended = now();
        let used = ended.1.saturating_sub(began.1).as_nanos() as f64;
        let load = 100.0 * used / timer.nanos(began.0, ended.0);
        self.exchanged(bytes)?;
        Ok(load)
    }

    /// As [`Pair::messages`], from and to each of this many ports in turn. Both sides open them for
    /// the batch.
    ///
    /// # Errors
    /// As [`Pair::messages`].
    pub fn ports(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u64,
        ports: u16,
    ) -> Result<f64, Failure> {
        let all = service::MANY_PORTS..service::MANY_PORTS + ports;
        for port in all.clone() {
            self.peer.node.open(port).map_err(|_| crate::rig::pair::defect("a port is in use"))?;
        }
        self.exchanges(Mode::Ports(ports, strategy), strategy)?;
        let mut next = all.clone().cycle();
        let ns = in_laps(self.timer(), self.lap(&strategy), count, |number| {
            let port = next.next().unwrap_or(service::MANY_PORTS);
            self.over(number, count, bytes, port, port)
        })?;
        self.exchanged(bytes)?;
        for port in all {
            // It was opened above.
            let _ = self.peer.node.close(port);
        }
        Ok(ns)
    }

    /// Both sides get ready for messages that come back.
    /// Round trips of a lap: one where a side sleeps, or waits for the other to leave the core.
    pub(super) fn lap(&self, strategy: &Strategy) -> u64 {
        if sleeps(strategy) || self.one_core { 1 } else { LAP }
    }

    fn exchanges(&mut self, mode: Mode, strategy: Strategy) -> Result<(), Failure> {
        self.limit_mode(false)?;
        self.peer.mode(mode)?;
        self.peer.node.set_strategy(strategy);
        self.peer.node.set_notification(strategy.notification);
        Ok(())
    }

    fn exchanged(&mut self, bytes: usize) -> Result<(), Failure> {
        self.peer.node.set_notification(Strategy::default().notification);
        self.intact(bytes)
    }

    fn there_and_back(&mut self, number: u64, count: u64, bytes: usize) -> Result<(), Failure> {
        self.over(number, count, bytes, PORT, service::ECHO_PORT)
    }

    #[inline]
    fn over(
        &mut self,
        number: u64,
        count: u64,
        bytes: usize,
        from: u16,
        port: u16,
    ) -> Result<(), Failure> {
        self.number(number, bytes);
        let tag = if number + 1 == count { service::LAST } else { 0 };
        let Pair { peer, out, back, .. } = self;
        let payload = out.get(..bytes).unwrap_or_default();
        let to = Address { link: peer.link, port };
        if let Err(error) = peer.node.send(from, to, Message::new(payload).tag(tag), None) {
            return Err(peer.explain_send(error));
        }
        match peer.node.receive_into(from, back, None) {
            Ok(message) if message.what == What::Message => Ok(()),
            _ => Err(peer.lost()),
        }
    }

    /// A batch of messages one way, each read by the other side: nanoseconds of a message. Those
    /// of the last lap count until the other side says that it has read the last.
    ///
    /// # Errors
    /// The other side is gone, or has not read what was sent.
    pub fn stream(&mut self, strategy: Strategy, bytes: usize, count: u64) -> Result<f64, Failure> {
        let flow = self.sink(Mode::Sink(strategy), strategy)?;
        let (mut laps, lap) = (Laps::by(self.timer(), count), stream_lap(bytes));
        laps.begin();
        for number in 0..count {
            laps.iteration(lap);
            self.number(number, bytes);
            let tag = if number + 1 == count { service::LAST } else { 0 };
            if let Err(error) = self.push(flow, &strategy, tag, bytes) {
                return Err(self.peer.explain_send(error));
            }
        }
        self.sunk(flow, strategy, bytes, count, laps)
    }

    /// As [`Pair::stream`], with 32 messages sent at a time, and as many received as there
    /// are. Each has a payload of its own, which is written before it is sent.
    ///
    /// # Errors
    /// As [`Pair::stream`].
    pub fn stream_all(
        &mut self,
        strategy: Strategy,
        bytes: usize,
        count: u64,
    ) -> Result<f64, Failure> {
        let flow = self.sink(Mode::SinkAll(strategy), strategy)?;
        let mut payloads = vec![0; bytes * TOGETHER];
        for payload in payloads.chunks_mut(bytes) {
            payload.copy_from_slice(self.payload(bytes));
        }
        let (mut laps, lap) = (Laps::by(self.timer(), count), stream_lap(bytes));
        let mut number = 0;
        laps.begin();
        while number < count {
            for payload in payloads.chunks_mut(bytes) {
                laps.iteration(lap);
                mark(number, payload);
                number += 1;
            }
            let mut each = payloads.chunks(bytes);
            let mut messages: [Message<'_>; TOGETHER] =
                std::array::from_fn(|_| Message::new(each.next().unwrap_or_default()));
            if let (true, Some(last)) = (number >= count, messages.last_mut()) {
                last.tag = service::LAST;
            }
            let mut rest = messages.as_mut_slice();
            while !rest.is_empty() {
                let sent = self.peer.node.flow(flow).send_all(PORT, rest, None);
                let sent = sent.map_err(|error| self.peer.explain_send(error))?;
                rest = rest.get_mut(sent..).unwrap_or_default();
            }
        }
        self.number(number - 1, bytes);
        self.sunk(flow, strategy, bytes, number, laps)
    }

    /// Has the other side read messages, and opens a flow for them.
    fn sink(&mut self, mode: Mode, strategy: Strategy) -> Result<FlowId, Failure> {
        self.limit_mode(false)?;
        self.peer.mode(mode)?;
        let to = Address { link: self.peer.link, port: service::SINK_PORT };
        let opened = self.peer.node.open_flow_to(to, strategy, Some(PATIENCE));
        let flow = opened.map_err(|error| self.peer.explain_flow("a port", strategy, error))?;
        self.peer.node.set_notification(strategy.notification);
        Ok(flow)
    }

    /// Waits until the other side has read all of a stream, and sees that it has.
    fn sunk(
        &mut self,
        flow: FlowId,
        strategy: Strategy,
        bytes: usize,
        count: u64,
        mut laps: Laps<P::Timer>,
    ) -> Result<f64, Failure> {
        let mut receipt = [0; Receipt::BYTES];
        let answered = self.peer.node.receive_into(PORT, &mut receipt, None);
        laps.finish();
        if !matches!(answered, Ok(message) if message.what == What::Message) {
            return Err(self.peer.lost());
        }
        self.peer.node.set_notification(Strategy::default().notification);
        self.close(flow, strategy)?;
        let expected = Receipt { count, sum: sink::sum(self.payload(bytes)) };
        match Receipt::from_bytes(receipt) == expected {
            true => Ok(laps.middle().unwrap_or_default()),
            false => Err(corrupted()),
        }
    }

    fn push(
        &mut self,
        flow: FlowId,
        strategy: &Strategy,
        tag: u16,
        bytes: usize,
    ) -> Result<(), SendError> {
        let Pair { peer, out, .. } = self;
        let (node, payload) = (&mut peer.node, out.get(..bytes).unwrap_or_default());
        if !strategy.transfer.made_in_pool() {
            return node.flow(flow).send(PORT, Message::new(payload).tag(tag), None);
        }
        let mut block = loop {
            match node.flow(flow).reserve(bytes) {
                Err(SendError::PoolEmpty) => room(node),
                reserved => break reserved?,
            }
        };
        node.write(&mut block, 0, payload).map_err(|_| SendError::NotReserved)?;
        loop {
            match node.flow(flow).try_send(PORT, Message::new(&mut block).tag(tag)) {
                Err(SendError::RingFull) => room(node),
                sent => return sent,
            }
        }
    }
}

/// Makes `count` round trips in laps of `lap`. Returns the nanoseconds of one in the middle lap.
#[inline(always)]
pub(super) fn in_laps(
    timer: impl Timer,
    lap: u64,
    count: u64,
    mut trip: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let mut laps = Laps::by(timer, count);
    laps.begin();
    for number in 0..count {
        laps.iteration(lap);
        trip(number)?;
    }
    laps.finish();
    Ok(laps.middle().unwrap_or_default())
}

/// Lets the other side's credit and blocks come in.
fn room<P: Place>(node: &mut Node<P>) {
    node.poll();
    std::hint::spin_loop();
}
