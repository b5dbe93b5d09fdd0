//! A link of a node as a medium of frames: each is a message of the node's.

use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::endpoint::{Address, Lent, Port, Select, SendError, What};
use narrows::link::LinkId;

use super::memory::Memory;
use crate::Node;

/// The port of the nodes of processors.
const PORT: Port = 1;
/// The longest frame: a block that the usual layout has many of.
const MTU: usize = 8192;

/// Opens the port, which a new node has.
pub(super) fn open(node: &mut Node) {
    let _ = node.open(PORT);
}

/// One link, for one turn.
pub(super) struct Way<'a> {
    node: &'a mut Node,
    link: LinkId,
    frame: &'a mut Vec<u8>,
    lent: Option<Lent>,
}

impl<'a> Way<'a> {
    pub fn new(node: &'a mut Node, link: LinkId, frame: &'a mut Vec<u8>) -> Way<'a> {
        Way { node, link, frame, lent: None }
    }
}

impl Frames for Way<'_> {
    type Buffer = Memory;

    fn mtu(&self) -> usize {
        MTU
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Memory, usize, usize)>,
    ) -> Result<(), NotSent> {
        self.frame.clear();
        self.frame.extend_from_slice(header);
        if let Some((buffer, at, len)) = payload {
            let end = at.checked_add(len).ok_or(NotSent::TooLong)?;
            self.frame.extend_from_slice(buffer.bytes().get(at..end).ok_or(NotSent::TooLong)?);
        }
        if self.frame.len() > MTU {
            return Err(NotSent::TooLong);
        }
        let to = Address { link: self.link, port: PORT };
        match self.node.try_send(PORT, to, self.frame.as_slice()) {
            Ok(()) => Ok(()),
            Err(SendError::TooLong { .. }) => Err(NotSent::TooLong),
            // What the neighbour sent before its end is received first, and tells of it.
            Err(_) => Err(NotSent::Full),
        }
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let select = Select { link: Some(self.link), ..Select::default() };
        while self.lent.is_none() {
            match self.node.try_receive(PORT, &select) {
                Ok(Some(lent)) if lent.what == What::Message => self.lent = Some(lent),
                Ok(Some(lent)) => self.node.release(lent),
                Ok(None) if self.node.link(self.link).check().is_ok() => {
                    return Err(NoFrame::Empty);
                }
                Ok(None) | Err(_) => return Err(NoFrame::Gone),
            }
        }
        let lent = self.lent.as_ref().ok_or(NoFrame::Empty)?;
        let fits = header.len().min(lent.len);
        let part = header.get_mut(..fits).unwrap_or_default();
        self.node.read(lent, 0, part).map_err(|_| NoFrame::Gone)?;
        Ok(lent.len)
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Memory,
        at: usize,
    ) -> Result<(), NotThere> {
        let lent = self.lent.as_ref().ok_or(NotThere)?;
        let end = at.checked_add(len).ok_or(NotThere)?;
        let to = buffer.bytes_mut().get_mut(at..end).ok_or(NotThere)?;
        self.node.read(lent, from, to).map_err(|_| NotThere)
    }

    fn release(&mut self) {
        if let Some(lent) = self.lent.take() {
            self.node.release(lent);
        }
    }
}
