//! The driver of frames below a LINX connection: messages of a node of the stack, one frame each.

use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::endpoint::{Address, FlowId, Lent, Port, SendError};
use narrows::memory::{Class, IN_SLOT, Layout, LayoutError};
use narrows::strategy::Placement;

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
    /// The frame that is being received.
    pub current: &'a mut Option<Lent>,
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
            Ok(()) => self.node.try_send(FRAMES, self.to, &mut block).map_err(not_sent),
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
        self.node.try_send(FRAMES, self.to, &*whole).map_err(not_sent)
    }

    #[inline]
    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let lent = self.current.as_ref().ok_or(NoFrame::Empty)?;
        let fits = header.len().min(lent.len);
        let read = self.node.read(lent, 0, header.get_mut(..fits).unwrap_or_default());
        read.map_err(|_| NoFrame::Gone)?;
        Ok(lent.len)
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

/// A frame that the interrupt thread has taken off the driver, in memory of its own.
pub(super) struct Copied(pub Option<Vec<u8>>);

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
        let frame = self.0.as_ref().ok_or(NoFrame::Empty)?;
        for (to, from) in header.iter_mut().zip(frame) {
            *to = *from;
        }
        Ok(frame.len())
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Signal,
        at: usize,
    ) -> Result<(), NotThere> {
        let frame = self.0.as_ref().ok_or(NotThere)?;
        let end = from.checked_add(len).ok_or(NotThere)?;
        let part = frame.get(from..end).ok_or(NotThere)?;
        let to = at.checked_add(len).and_then(|end| buffer.bytes_mut().get_mut(at..end));
        to.ok_or(NotThere)?.copy_from_slice(part);
        Ok(())
    }

    fn release(&mut self) {
        self.0 = None;
    }
}
