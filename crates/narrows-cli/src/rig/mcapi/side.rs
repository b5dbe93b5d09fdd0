//! Both sides: a node each, and the batches between them.

use super::calls::{Calls, Outcome, Refused};
use crate::base::failure::{Failure, Kind};
use crate::rig::limit::{Laps, Timer};
use crate::rig::pair::{Pair, corrupted, defect, mark};
use crate::rig::place::Other;
use crate::rig::service::Mode;
use crate::rig::service::mcapi::{Batch, LONGEST, Order, Traffic};
use crate::rig::sink;
use std::time::Duration;

/// Ports of either node. A channel leads from the sender's `_OUT` to the receiver's `_IN`.
const MESSAGES: u32 = 1;
const SCALARS_OUT: u32 = 2;
const SCALARS_IN: u32 = 3;
const PACKETS_OUT: u32 = 4;
const PACKETS_IN: u32 = 5;
/// The first message of the other side, which says that it is ready.
const READY: &[u8] = b"ready";
/// How long the other side's process has to end, if it is what a call failed for.
const FAREWELL: Duration = Duration::from_secs(1);

/// Endpoints and handles of one side.
pub(crate) struct Ends {
    calls: Calls,
    messages: u32,
    /// Where the other side receives messages.
    theirs: u32,
    scalars_out: u32,
    scalars_in: u32,
    packets_out: u32,
    packets_in: u32,
}

/// What the side that measures sends, and where it puts what comes back.
pub(crate) struct Payload<'a> {
    pub out: &'a mut [u8],
    pub back: &'a mut [u8],
}

impl Ends {
    /// Makes the endpoints of this thread's node, and opens them with the help of the side that
    /// connects them: `connect` is called when they are there, with those of scalars and of
    /// packets, out and in.
    fn open(
        calls: Calls,
        peer: u32,
        connect: impl FnOnce([[u32; 2]; 2]) -> Outcome<()>,
    ) -> Outcome<Ends> {
        let messages = calls.create(MESSAGES)?;
        let [scalars_out, scalars_in] = [calls.create(SCALARS_OUT)?, calls.create(SCALARS_IN)?];
        let [packets_out, packets_in] = [calls.create(PACKETS_OUT)?, calls.create(PACKETS_IN)?];
        let theirs = calls.get(peer, MESSAGES)?;
        connect([[scalars_out, scalars_in], [packets_out, packets_in]])?;
        Ok(Ends {
            calls,
            messages,
            theirs,
            scalars_out: calls.open_scalars_out(scalars_out)?,
            scalars_in: calls.open_scalars_in(scalars_in)?,
            packets_out: calls.open_packets_out(packets_out)?,
            packets_in: calls.open_packets_in(packets_in)?,
        })
    }

    /// Makes and opens those of the side that measures, and connects both sides'; none if the other
    /// says anything but that it is ready.
    pub fn calling(calls: Calls, node: u32) -> Outcome<Option<Ends>> {
        let peer = peer_of(node);
        let ends = Ends::open(calls, peer, |[scalars, packets]| {
            calls.connect_scalars(scalars[0], calls.get(peer, SCALARS_IN)?)?;
            calls.connect_scalars(calls.get(peer, SCALARS_OUT)?, scalars[1])?;
            calls.connect_packets(packets[0], calls.get(peer, PACKETS_IN)?)?;
            calls.connect_packets(calls.get(peer, PACKETS_OUT)?, packets[1])
        })?;
        let mut ready = [0; READY.len()];
        calls.receive_message(ends.messages, &mut ready)?;
        Ok((ready == READY).then_some(ends))
    }

    /// Makes and opens those of the side that answers the node of this number, and says that it is
    /// ready.
    pub fn answering(calls: Calls, node: u32) -> Outcome<Ends> {
        let ends = Ends::open(calls, node, |_| Ok(()))?;
        calls.send_message(ends.messages, ends.theirs, READY)?;
        Ok(ends)
    }

    /// Has everything that comes in a batch sent back.
    pub fn answer(&self, batch: &Batch, buffer: &mut [u8]) -> Outcome<()> {
        let calls = self.calls;
        match batch.traffic {
            Traffic::Scalar => {
                for _ in 0..batch.count {
                    calls.send_scalar(self.scalars_out, calls.receive_scalar(self.scalars_in)?)?;
                }
            }
            Traffic::Message => {
                for _ in 0..batch.count {
                    let len = calls.receive_message(self.messages, buffer)?;
                    let bytes = buffer.get(..len).unwrap_or_default();
                    calls.send_message(self.messages, self.theirs, bytes)?;
                }
            }
            Traffic::Packet => {
                for _ in 0..batch.count {
                    calls.return_packet(self.packets_in, self.packets_out)?;
                }
            }
            Traffic::Stream => {
                let mut last = 0;
                for number in 0..batch.count {
                    for _ in 0..batch.packets() {
                        last = calls.receive_packet(self.packets_in, buffer)?;
                    }
                    calls.send_scalar(self.scalars_out, number)?;
                }
                let sum = sink::sum(buffer.get(..last).unwrap_or_default());
                calls.send_scalar(self.scalars_out, sum)?;
            }
        }
        Ok(())
    }

    /// One exchange, from this side: whether what came back is what was sent, as far as it has to
    /// be looked at anyway.
    #[inline(always)]
    fn exchange(&self, batch: &Batch, number: u64, payload: &mut Payload<'_>) -> Outcome<bool> {
        let (Payload { out, back }, calls) = (payload, self.calls);
        let out = out.get_mut(..batch.bytes).unwrap_or_default();
        mark(number, out);
        match batch.traffic {
            Traffic::Scalar => {
                calls.send_scalar(self.scalars_out, number)?;
                Ok(calls.receive_scalar(self.scalars_in)? == number)
            }
            Traffic::Message => {
                calls.send_message(self.messages, self.theirs, out)?;
                Ok(calls.receive_message(self.messages, back)? == batch.bytes)
            }
            Traffic::Packet => {
                calls.send_packet(self.packets_out, out)?;
                Ok(calls.receive_packet(self.packets_in, back)? == batch.bytes)
            }
            Traffic::Stream => {
                for _ in 0..batch.packets() {
                    calls.send_packet(self.packets_out, out)?;
                }
                Ok(calls.receive_scalar(self.scalars_in)? == number)
            }
        }
    }

    /// Whether the last payload of a batch arrived as it was sent.
    fn intact(&self, batch: &Batch, payload: &Payload<'_>) -> Outcome<bool> {
        let sent = payload.out.get(..batch.bytes);
        match batch.traffic {
            Traffic::Scalar => Ok(true),
            Traffic::Message | Traffic::Packet => Ok(payload.back.get(..batch.bytes) == sent),
            Traffic::Stream => {
                let sum = self.calls.receive_scalar(self.scalars_in)?;
                Ok(sum == sink::sum(sent.unwrap_or_default()))
            }
        }
    }

    /// A batch, from this side, in laps of this many exchanges: nanoseconds of one, the median;
    /// none if something did not arrive as it was sent.
    pub fn measure<T: Timer>(
        &self,
        batch: &Batch,
        mut laps: Laps<T>,
        lap: u64,
        mut payload: Payload<'_>,
    ) -> Outcome<Option<f64>> {
        let mut whole = true;
        laps.begin();
        for number in 0..batch.count {
            laps.iteration(lap);
            whole &= self.exchange(batch, number, &mut payload)?;
        }
        laps.finish();
        whole &= self.intact(batch, &payload)?;
        Ok(Some(laps.middle().unwrap_or_default()).filter(|_| whole))
    }
}

/// The side that measures.
pub struct Caller {
    ends: Ends,
}

impl Caller {
    /// Opens a node on each side, in which waits look for this many microseconds before they sleep,
    /// and the channels between the two.
    ///
    /// # Errors
    /// A call failed, or the other side is gone.
    pub fn open(pair: &mut Pair, look: u32) -> Result<Caller, Failure> {
        let (calls, node) = (Calls::HERE, own_node());
        calls.initialize(node, look).map_err(|refused| explain(pair, refused))?;
        order(pair, Order::Open { node, look })?;
        let ends = Ends::calling(calls, node).map_err(|refused| explain(pair, refused))?;
        let ends = ends.ok_or_else(|| defect("the other side's first message is another"))?;
        Ok(Caller { ends })
    }

    /// A batch, in laps of this many exchanges: nanoseconds of one, the median.
    ///
    /// # Errors
    /// A call failed, the other side is gone, or something is not as it was sent.
    pub fn batch(&self, pair: &mut Pair, batch: Batch, lap: u64) -> Result<f64, Failure> {
        order(pair, Order::Batch(batch))?;
        let payload = Payload { out: &mut pair.out, back: &mut pair.back };
        let measured = self.ends.measure(&batch, Laps::new(batch.count), lap, payload);
        measured.map_err(|refused| explain(pair, refused))?.ok_or_else(corrupted)
    }

    /// Ends both nodes.
    ///
    /// # Errors
    /// As [`Caller::batch`].
    pub fn close(self, pair: &mut Pair) -> Result<(), Failure> {
        order(pair, Order::Close)?;
        Calls::HERE.finalize().map_err(|refused| explain(pair, refused))
    }
}

/// A number that benches of different processes hardly share; the other side's is the next.
fn own_node() -> u32 {
    const NODES: u32 = 4096;
    std::process::id() * 2 % NODES
}

pub(crate) fn peer_of(node: u32) -> u32 {
    node + 1
}

fn order(pair: &mut Pair, order: Order) -> Result<(), Failure> {
    pair.limit_mode(false)?;
    pair.peer.mode(Mode::Mcapi(order))
}

/// What it means that a call failed: the other side is gone, or what the call says.
fn explain(pair: &mut Pair, refused: Refused) -> Failure {
    match pair.peer.other.ended(FAREWELL) {
        Some(how) => Failure::new(Kind::Peer, format!("the other core's process {how}")),
        None => Failure::new(Kind::Internal, refused.to_string()),
    }
}

/// The side that answers.
#[derive(Default)]
pub struct Callee {
    ends: Option<Ends>,
    buffer: Vec<u8>,
}

impl Callee {
    /// Does what the caller says.
    ///
    /// # Errors
    /// A call failed.
    pub fn obey(&mut self, order: Order) -> Outcome<()> {
        match order {
            Order::Open { node, look } => {
                Calls::HERE.initialize(peer_of(node), look)?;
                self.buffer.resize(LONGEST, 0);
                self.ends = Some(Ends::answering(Calls::HERE, node)?);
            }
            Order::Batch(batch) => {
                if let Some(ends) = &self.ends {
                    ends.answer(&batch, &mut self.buffer)?;
                }
            }
            Order::Close => {
                self.ends = None;
                Calls::HERE.finalize()?;
            }
        }
        Ok(())
    }
}
