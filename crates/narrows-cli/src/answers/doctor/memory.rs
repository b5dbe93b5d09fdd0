//! The memory that one side of a link takes at the default sizes.

use super::Memory;
use crate::base::failure::{Failure, Kind};
use narrows::endpoint::Limits;
use narrows::link::{Entry, Link, Served};
use narrows::memory::Layout;
use narrows::platform::Platform;
use narrows_host::Host;
use std::mem::size_of;

/// What the bytes are for, and how many: first the region that the peer maps, then the tables in
/// private memory.
///
/// # Errors
/// The default layout does not suit this host.
pub fn parts() -> Result<Vec<Memory>, Failure> {
    let layout = Layout::standard(Host::LINE)
        .map_err(|error| Failure::new(Kind::Internal, format!("the default layout: {error}")))?;
    let tables = Limits::default();
    // The default layout has no channels.
    let shared = layout.parts().into_iter().filter(|(_, bytes)| *bytes > 0);
    let shared = shared.map(|(name, bytes)| (format!("shared: {name}"), bytes as usize));
    let private = [
        ("books of the pool", layout.blocks() as usize * size_of::<u16>()),
        ("messages that wait", tables.inbox * size_of::<Entry>()),
        ("the peer's flows", tables.flows * size_of::<Served>()),
        ("place in the table", size_of::<Option<Link<Host>>>()),
    ];
    let private = private.map(|(name, bytes)| (format!("private: {name}"), bytes));
    let part = |(name, bytes)| Memory { name, bytes: bytes as u64 };
    Ok(shared.chain(private).map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_parts_are_the_region() {
        let parts = parts().unwrap();
        let shared = parts.iter().filter(|part| part.name.starts_with("shared"));
        let layout = Layout::standard(Host::LINE).unwrap();
        assert_eq!(shared.map(|part| part.bytes).sum::<u64>(), u64::from(layout.size()));
        assert!(parts.iter().all(|part| part.bytes > 0));
    }
}
