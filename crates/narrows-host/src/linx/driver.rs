//! The driver of frames below a LINX connection: messages of a node of the stack, one frame each.

use narrows::connection::UDATA;
use narrows::driver::{NoFrame, NotSent, NotThere};
use narrows::endpoint::{Address, FlowId, Lent, Message, Port, SendError};
use narrows::linx::unit::Staged;
use narrows::memory::{Class, IN_SLOT, Layout, LayoutError};
use narrows::strategy::Placement;

use super::bare::{self, Ends};
use super::signal::{LONGEST, Signal};
use crate::Node;

/// The port of a node at which frames arrive.
pub(super) const FRAMES: Port = 1;
/// The priority of frames: all have the same, so that they stay in order.
pub(super) const USUAL: u8 = 4;
/// The longest frame: a whole signal and its header, in whole lines.
pub(super) const MTU: usize = LONGEST + 64;

/// Slots of a link. Few: of a server with a thousand clients, the memory for each counts more
/// than how many signals of one can be under way.
const SLOTS: u32 = 128;

/// How the memory of a link between LINX nodes is laid out.
pub(super) fn layout(line: u32) -> Result<Layout, LayoutError> {
    let class = |size, count| Class { placement: Placement::External, size, count };
    Layout::new(
        line,
        SLOTS,
        &[class(256, 256), class(1024, 256), class(8192, 64), class(MTU as u32, 40)],
    )
}

/// The driver of one link, for as long as the node is lent.
pub(super) struct Driver<'a> {
    pub node: &'a mut Node,
    pub to: Address,
    pub flow: FlowId,
    pub mtu: usize,
    /// The tag of frames that are sent.
    pub tag: u16,
    /// See [`bare::complete`].
    pub naming: &'a mut Ends,
    pub numbers: [u16; 2],
    /// Memory of a signal that was sent, for the next that comes.
    pub kept: &'a mut Option<Signal>,
}

/// A frame that was taken off the driver.
pub(super) enum Frame {
    /// Where it came.
    Lent(Lent),
    /// In memory of its own, as an interrupt thread leaves it, and its tag.
    Copied(u16, Vec<u8>),
}

impl Frame {
    /// Copies a frame.
    pub fn copy(node: &Node, lent: &Lent) -> Option<Frame> {
        let mut bytes = vec![0; lent.len];
        node.read(lent, 0, &mut bytes).ok()?;
        Some(Frame::Copied(lent.tag, bytes))
    }

    fn tag(&self) -> u16 {
        match self {
            Frame::Lent(lent) => lent.tag,
            Frame::Copied(tag, _) => *tag,
        }
    }

    fn len(&self) -> usize {
        match self {
            Frame::Lent(lent) => lent.len,
            Frame::Copied(_, bytes) => bytes.len(),
        }
    }

    fn read(&self, node: &Node, from: usize, to: &mut [u8]) -> Result<(), NotThere> {
        match self {
            Frame::Lent(lent) => node.read(lent, from, to).map_err(|_| NotThere),
            Frame::Copied(_, bytes) => {
                let end = from.checked_add(to.len()).ok_or(NotThere)?;
                to.copy_from_slice(bytes.get(from..end).ok_or(NotThere)?);
                Ok(())
            }
        }
    }
}

/// Bytes of a header that was left out of a frame of this tag.
fn left_out(tag: u16) -> usize {
    if bare::given(tag).is_some() { UDATA } else { 0 }
}

fn not_sent(error: SendError) -> NotSent {
    match error {
        SendError::RingFull | SendError::PoolEmpty | SendError::Switching => NotSent::Full,
        SendError::TooLong { .. } => NotSent::TooLong,
        _ => NotSent::Gone,
    }
}

impl Driver<'_> {
    /// A frame that does not fit its slot: made where it is sent from.
    fn send_in_block(&mut self, header: &[u8], payload: &[u8]) -> Result<(), NotSent> {
        let len = header.len() + payload.len();
        let mut block = self.node.flow(self.flow).reserve(len).map_err(not_sent)?;
        let written = self.node.write(&mut block, 0, header);
        let written = written.and_then(|()| self.node.write(&mut block, header.len(), payload));
        let sent = match written {
            Ok(()) => {
                let message = Message::new(&mut block).tag(self.tag);
                self.node.try_send(FRAMES, self.to, message).map_err(not_sent)
            }
            Err(_) => Err(NotSent::TooLong),
        };
        if sent.is_err() {
            self.node.cancel(block);
        }
        sent
    }
}

impl Staged for Driver<'_> {
    type Buffer = Signal;
    type Frame = Frame;

    fn mtu(&self) -> usize {
        self.mtu
    }

    #[inline]
    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Signal, usize, usize)>,
    ) -> Result<(), NotSent> {
        let part = match payload {
            None => &[],
            Some((signal, at, len)) => {
                let end = at.checked_add(len).ok_or(NotSent::TooLong)?;
                signal.bytes().get(at..end).ok_or(NotSent::TooLong)?
            }
        };
        let mut frame = [0; IN_SLOT];
        let len = header.len() + part.len();
        let Some(whole) = frame.get_mut(..len) else { return self.send_in_block(header, part) };
        let (head, tail) = whole.split_at_mut(header.len());
        head.copy_from_slice(header);
        tail.copy_from_slice(part);
        let message = Message::new(&*whole).tag(self.tag);
        self.node.try_send(FRAMES, self.to, message).map_err(not_sent)
    }

    /// All links have one driver: the node takes frames off for them.
    fn take(&mut self) -> Option<Result<Frame, NoFrame>> {
        None
    }

    #[inline]
    fn look(&mut self, frame: &Frame, header: &mut [u8]) -> Result<usize, NoFrame> {
        let (tag, mut first) = (frame.tag(), [0; UDATA]);
        let missing = left_out(tag);
        let len = frame.len() + missing;
        if missing == 0 {
            let there = first.get_mut(..len.min(UDATA)).unwrap_or_default();
            frame.read(self.node, 0, there).map_err(|_| NoFrame::Gone)?;
        }
        bare::complete(tag, self.naming, self.numbers, &mut first, len);
        for (to, from) in header.iter_mut().zip(first) {
            *to = from;
        }
        Ok(len)
    }

    #[inline]
    fn read(
        &mut self,
        frame: &Frame,
        from: usize,
        len: usize,
        buffer: &mut Signal,
        at: usize,
    ) -> Result<(), NotThere> {
        let from = from.checked_sub(left_out(frame.tag())).ok_or(NotThere)?;
        let end = at.checked_add(len).ok_or(NotThere)?;
        let to = buffer.bytes_mut().get_mut(at..end).ok_or(NotThere)?;
        frame.read(self.node, from, to)
    }

    #[inline]
    fn release(&mut self, frame: Frame) {
        if let Frame::Lent(lent) = frame {
            self.node.release(lent);
        }
    }

    fn make(&mut self, len: usize) -> Option<Signal> {
        Signal::raw(len)
    }

    fn keep(&mut self, signal: Signal) {
        *self.kept = Some(signal);
    }
}
