//! A node whose memory is locked. One test, because that is the whole process's.

mod common;

use common::stranger::{greeting, memory, seals, send, stranger};
use common::{open, pump};
use narrows_host::system::lock_memory;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::AsFd as _;

#[test]
fn a_gigabyte_of_holes_is_not_made_where_memory_is_locked() {
    const MUCH: u32 = 1 << 30;
    lock_memory().expect("run as root, or with 'ulimit -l unlimited'");
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let peer = stranger(directory.path());
    let holes = memory(&[], MUCH.into(), seals());
    let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    send(&peer, &greeting(MUCH), &[holes.as_fd(), bell.as_fd()]);
    pump(&a);
    let made = rustix::fs::fstat(&holes).unwrap().st_blocks * 512;
    assert!(made < 4 << 20, "{made} bytes");
}
