//! Memory that C has for a time: blocks to make payloads in, and payloads where they came.
#![allow(unsafe_code)]

use narrows::endpoint::{FlowId, Lent, Reserved};
use narrows::link::LinkId;
use narrows_host::Node;

use super::code::{Code, Outcome};

/// A block that C makes a payload in.
struct Made {
    at: usize,
    flow: FlowId,
    link: LinkId,
    reserved: Reserved,
}

/// A message that C looks at.
struct View {
    at: usize,
    link: LinkId,
    lent: Lent,
    /// Its bytes, if they are in no block.
    _copy: Option<Box<[u8]>>,
}

/// What C has of a node's.
#[derive(Default)]
pub(super) struct Memory {
    made: Vec<Made>,
    views: Vec<View>,
}

impl Memory {
    /// Whether C has anything of a link, or of any.
    pub fn is_out(&self, link: Option<LinkId>) -> bool {
        let meant = |of: LinkId| link.is_none_or(|link| link == of);
        self.made.iter().any(|made| meant(made.link))
            || self.views.iter().any(|view| meant(view.link))
    }

    /// Whether C has a block of a flow.
    pub fn is_out_for(&self, flow: FlowId) -> bool {
        self.made.iter().any(|made| made.flow == flow)
    }

    /// Hands a reserved block to C. Where it is.
    pub fn make(
        &mut self,
        node: &mut Node,
        (flow, link): (FlowId, LinkId),
        mut reserved: Reserved,
    ) -> Outcome<usize> {
        // SAFETY: the caller has just reserved it of this node.
        let bytes = unsafe { node.reserved_bytes(&mut reserved) }.map(<[u8]>::as_mut_ptr);
        let Some(bytes) = bytes else {
            node.cancel(reserved);
            return Err(Code::System.into());
        };
        let at = bytes as usize;
        self.made.push(Made { at, flow, link, reserved });
        Ok(at)
    }

    /// Does something with a block of a flow that C has, which has it no longer if that succeeds.
    pub fn spend<R>(
        &mut self,
        at: usize,
        flow: FlowId,
        act: impl FnOnce(&mut Reserved) -> Outcome<R>,
    ) -> Outcome<R> {
        let found = self.made.iter().position(|made| made.at == at && made.flow == flow);
        let place = found.ok_or(Code::Argument)?;
        let made = self.made.get_mut(place).ok_or(Code::Argument)?;
        let done = act(&mut made.reserved)?;
        self.made.swap_remove(place);
        Ok(done)
    }

    /// Takes a block of a flow back.
    pub fn cancel(&mut self, node: &mut Node, at: usize, flow: FlowId) -> Outcome {
        let found = self.made.iter().position(|made| made.at == at && made.flow == flow);
        let made = self.made.swap_remove(found.ok_or(Code::Argument)?);
        node.cancel(made.reserved);
        Ok(())
    }

    /// Hands a message to C. Where its bytes are.
    pub fn show(&mut self, node: &mut Node, lent: Lent) -> Outcome<usize> {
        // SAFETY: the slice ends here, where its address alone is kept. That a peer which breaks
        // the rules may change what C reads there is said in the header.
        let there = unsafe { node.lent_bytes(&lent) }.filter(|bytes| !bytes.is_empty());
        let (at, copy) = match there.map(<[u8]>::as_ptr) {
            Some(at) => (at as usize, None),
            None => {
                let mut copy = vec![0; lent.len.max(1)].into_boxed_slice();
                let whole = copy.get_mut(..lent.len).unwrap_or_default();
                if node.read(&lent, 0, whole).is_err() {
                    node.release(lent);
                    return Err(Code::PeerGone.into());
                }
                (copy.as_ptr() as usize, Some(copy))
            }
        };
        self.views.push(View { at, link: lent.from.link, lent, _copy: copy });
        Ok(at)
    }

    /// Takes a message back.
    pub fn release(&mut self, node: &mut Node, at: usize) -> Outcome {
        let found = self.views.iter().position(|view| view.at == at);
        let view = self.views.swap_remove(found.ok_or(Code::Argument)?);
        node.release(view.lent);
        Ok(())
    }
}
