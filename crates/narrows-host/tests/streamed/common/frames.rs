//! The carrier of links between processes of a host.

use std::sync::Arc;

use narrows::connection::Closed;

use super::heap::Heap;
pub(crate) use crate::stream::Stream as Line;

/// Both ends of what carries a link.
pub fn carrier() -> [Line<Heap>; 2] {
    let (one, other) = crate::stream::pair().expect("two ends");
    [one, other].map(|end| Line::new(Arc::new(end)))
}

/// Has what was sent go. False if some of it waits for room.
pub fn push(end: &mut Line<Heap>) -> Result<bool, Closed> {
    end.flush().map_err(|_| Closed::Lost)?;
    Ok(!end.is_waiting())
}
