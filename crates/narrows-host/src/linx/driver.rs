//! The driver of frames below a LINX connection: messages of a node of the stack, one frame each.

use narrows::connection::UDATA;
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::endpoint::{Address, FlowId, Lent, Message, Port, SendError};
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

/// How the memory of a link between LINX nodes is laid out.
pub(super) fn layout(line: u32) -> Result<Layout, LayoutError> {
    let class = |size, count| Class { placement: Placement::External, size, count };
    Layout::new(
        line,
        256,
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
    /// The frame that is being received.
    pub current: &'a mut Option<Lent>,
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
        let mut block = self.node.reserve(self.flow, len).map_err(not_sent)?;
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

impl Frames for Driver<'_> {
    type Buffer = Signal;

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

    #[inline]
    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let lent = self.current.as_ref().ok_or(NoFrame::Empty)?;
        let (mut first, missing) = ([0; UDATA], left_out(lent.tag));
        let len = lent.len + missing;
        if missing == 0 {
            let there = first.get_mut(..len.min(UDATA)).unwrap_or_default();
            self.node.read(lent, 0, there).map_err(|_| NoFrame::Gone)?;
        }
        bare::complete(lent.tag, self.naming, self.numbers, &mut first, len);
        for (to, from) in header.iter_mut().zip(first) {
            *to = from;
        }
        Ok(len)
    }

    #[inline]
    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Signal,
        at: usize,
    ) -> Result<(), NotThere> {
        let lent = self.current.as_ref().ok_or(NotThere)?;
        let from = from.checked_sub(left_out(lent.tag)).ok_or(NotThere)?;
        let end = at.checked_add(len).ok_or(NotThere)?;
        let to = buffer.bytes_mut().get_mut(at..end).ok_or(NotThere)?;
        self.node.read(lent, from, to).map_err(|_| NotThere)
    }

    #[inline]
    fn release(&mut self) {
        if let Some(lent) = self.current.take() {
            self.node.release(lent);
        }
    }
}

/// A frame that the interrupt thread has taken off the driver, in memory of its own, with room for a
/// header that was left out.
pub(super) struct Frame {
    pub tag: u16,
    pub bytes: Vec<u8>,
}

impl Frame {
    /// Copies a frame.
    pub fn copy(node: &Node, lent: &Lent) -> Option<Frame> {
        let missing = left_out(lent.tag);
        let mut bytes = vec![0; missing + lent.len];
        node.read(lent, 0, bytes.get_mut(missing..)?).ok()?;
        Some(Frame { tag: lent.tag, bytes })
    }
}

/// Such a frame, until it is taken.
pub(super) struct Copied(pub Option<Frame>);

impl Frames for Copied {
    type Buffer = Signal;

    fn mtu(&self) -> usize {
        MTU
    }

    fn try_send(
        &mut self,
        _header: &[u8],
        _payload: Option<(&Signal, usize, usize)>,
    ) -> Result<(), NotSent> {
        Err(NotSent::Full)
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let Frame { bytes, .. } = self.0.as_ref().ok_or(NoFrame::Empty)?;
        for (to, from) in header.iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(bytes.len())
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Signal,
        at: usize,
    ) -> Result<(), NotThere> {
        let Frame { bytes, .. } = self.0.as_ref().ok_or(NotThere)?;
        let end = from.checked_add(len).ok_or(NotThere)?;
        let part = bytes.get(from..end).ok_or(NotThere)?;
        let to = at.checked_add(len).and_then(|end| buffer.bytes_mut().get_mut(at..end));
        to.ok_or(NotThere)?.copy_from_slice(part);
        Ok(())
    }

    fn release(&mut self) {
        self.0 = None;
    }
}
