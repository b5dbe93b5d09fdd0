//! What a node can see of messages that are not for it: nothing.

use std::os::fd::AsRawFd as _;

use crate::common::stranger::{descriptors_with_a_packet, greeting, memory, seals, send, stranger};
use crate::common::{PATIENCE, name, open};
use narrows::endpoint::Address;
use narrows::platform::Memory as _;
use narrows_host::Options;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd as _, OwnedFd};

fn bytes(memory: &OwnedFd) -> Vec<u8> {
    let mut bytes = vec![0; rustix::fs::fstat(memory).unwrap().st_size as usize];
    let mut read = 0;
    while read < bytes.len() {
        read += rustix::io::pread(memory, &mut bytes[read..], read as u64).unwrap();
    }
    bytes
}

#[test]
fn a_third_node_gets_nothing_of_a_link_between_two() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let region = {
        let (x, y) = (open(elsewhere.path(), "x"), open(elsewhere.path(), "y"));
        let (of_x, _of_y) = crate::common::link(&x, &y, "y");
        let mut bytes = vec![0; of_x.own.size() as usize];
        of_x.own.read(0, &mut bytes).unwrap();
        bytes
    };
    let mut a = Options::new("a").directory(directory).node().unwrap();
    a.open(1).unwrap();

    // Two peers that hold on to all that they are given.
    let mut peers = Vec::new();
    for letter in [b'1', b'2'] {
        let socket = stranger(directory);
        let mut hello = greeting(region.len() as u32);
        hello[38] = letter;
        let mine = memory(&region, region.len() as u64, seals());
        let bell = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        send(&socket, &hello, &[mine.as_fd(), bell.as_fd()]);
        let text = format!("mallor{}", char::from(letter));
        let link = a.hunt(&name(&text), Some(PATIENCE)).unwrap();
        let given = descriptors_with_a_packet(&socket);
        assert_eq!(given.len(), 2, "a region and a bell, and no more");
        peers.push((link, given, socket));
    }
    let file = |fd: &OwnedFd| {
        let stat = rustix::fs::fstat(fd).unwrap();
        (stat.st_dev, stat.st_ino)
    };
    assert_ne!(file(&peers[0].1[0]), file(&peers[1].1[0]), "each link has memory of its own");

    for secret in ["a secret that fits in a slot".to_string(), "a secret in a block".repeat(20)] {
        let to = Address { link: peers[0].0, port: 9 };
        a.try_send(1, to, &secret).unwrap();
        let holds = |memory: &OwnedFd| {
            bytes(memory).windows(secret.len()).any(|part| part == secret.as_bytes())
        };
        assert!(holds(&peers[0].1[0]), "whom it is for sees it");
        assert!(!holds(&peers[1].1[0]), "the other does not");
    }

    // There is nothing behind them by which more could be reached.
    for (_, given, _) in &peers {
        let links: Vec<String> = given
            .iter()
            .map(|fd| format!("/proc/self/fd/{}", fd.as_raw_fd()))
            .map(|path| std::fs::read_link(path).unwrap().display().to_string())
            .collect();
        assert!(links[0].starts_with("/memfd:narrows"), "{links:?}");
        assert_eq!(links[1], "anon_inode:[eventfd]");
    }
}
