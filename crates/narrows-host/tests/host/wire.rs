//! docs/WIRE.md against the code: a peer that knows nothing but the page meets a node.

#[path = "../../../narrows/tests/common/tables.rs"]
mod tables;

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::path::Path;

use crate::common::{link, name, open, pump, until};
use narrows::platform::{Event, Lost, Memory, Platform};
use narrows_host::Host;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, recvmsg, sendmsg,
    socket_with,
};
use tables::{find, number, table};

const PAGE: &str = "Rendezvous on Linux";
const STATUS: &str = "Status page";

/// Where a field of a packet is, and how many bytes it has.
fn field(name: &str) -> std::ops::Range<usize> {
    let rows = table(PAGE, "byte");
    let row = rows.iter().find(|row| row[2] == name).expect("the page has the field");
    let (from, len) = (number(&row[0]) as usize, number(&row[1]) as usize);
    from..from + len
}

fn value(name: &str) -> u32 {
    let rows = table(PAGE, "byte");
    number(&rows.iter().find(|row| row[2] == name).expect("the page has the field")[4])
}

fn word(packet: &[u8], name: &str) -> u32 {
    u32::from_le_bytes(packet[field(name)].try_into().expect("a word"))
}

fn packet(kind: &str) -> Vec<u8> {
    let rows = table(PAGE, "packet");
    let row = rows.iter().find(|row| row[1] == kind).expect("the page has the packet");
    let mut packet = vec![0; number(&row[2]) as usize];
    for (name, value) in
        [("magic", value("magic")), ("version", value("version")), ("kind", number(&row[0]))]
    {
        packet[field(name)].copy_from_slice(&value.to_le_bytes());
    }
    packet
}

fn hello(size: u32) -> Vec<u8> {
    let mut packet = packet("hello");
    for (name, value) in [("line", narrows_host::LINE), ("size", size), ("length", 6)] {
        packet[field(name)].copy_from_slice(&u32::to_le_bytes(value));
    }
    packet[field("incarnation")].copy_from_slice(&7_u64.to_le_bytes());
    packet[field("name")][..6].copy_from_slice(b"reader");
    packet
}

fn connect(directory: &Path) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    let address = SocketAddrUnix::new(directory.join("default/a")).unwrap();
    rustix::net::connect(&socket, &address).unwrap();
    socket
}

fn send(socket: &OwnedFd, packet: &[u8], with: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !with.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(with)));
    }
    sendmsg(socket, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL).unwrap();
}

fn receive(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; 100];
    let got = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
    );
    bytes.truncate(got.unwrap().bytes);
    let descriptors = control.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    (bytes, descriptors.flatten().collect())
}

fn seals() -> SealFlags {
    let rows = table(PAGE, "seal");
    SealFlags::from_bits_retain(rows.iter().map(|row| number(&row[0])).sum())
}

/// What a peer offers: a region as the page says one is, and a bell.
fn offer(region: &[u8]) -> (OwnedFd, OwnedFd) {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("reader", flags).unwrap();
    assert_eq!(rustix::io::pwrite(&memory, region, 0).unwrap(), region.len());
    fcntl_add_seals(&memory, seals()).unwrap();
    (memory, eventfd(0, EventfdFlags::CLOEXEC).unwrap())
}

/// What a node offers that links to "a": a region of the right form.
fn region(node: &Host, a: &Host) -> Vec<u8> {
    let (link, _) = link(node, a, "a");
    let mut region = vec![0; link.own.size() as usize];
    link.own.read(0, &mut region).unwrap();
    region
}

#[test]
fn a_peer_that_goes_by_the_page_gets_a_link_and_a_farewell() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let b = open(directory.path(), "b");
    let region = region(&b, &a);

    let socket = connect(directory.path());
    let (memory, bell) = offer(&region);
    send(&socket, &hello(region.len() as u32), &[memory.as_fd(), bell.as_fd()]);
    let mut news = None;
    until(&[&a], || {
        news = news.take().or_else(|| a.event());
        news.is_some()
    });
    let of_reader = crate::common::connected(news.unwrap());
    assert_eq!((of_reader.name, of_reader.incarnation), (name("reader"), 7));

    let (answer, descriptors) = receive(&socket);
    assert_eq!(answer.len(), hello(0).len());
    for field in ["magic", "version", "kind", "line"] {
        assert_eq!(word(&answer, field), word(&hello(0), field), "{field}");
    }
    assert_eq!((word(&answer, "length"), &answer[field("name")][..2]), (1, &b"a\0"[..]));
    let [memory, bell] = <[OwnedFd; 2]>::try_from(descriptors).expect("a region and a bell");
    assert_eq!(fstat(&memory).unwrap().st_size as u32, word(&answer, "size"));
    assert!(fcntl_get_seals(&memory).unwrap().contains(seals()));
    assert_eq!(rustix::io::write(&bell, &1_u64.to_ne_bytes()), Ok(8));

    drop(a);
    assert_eq!(receive(&socket).0, packet("bye"));
    assert_eq!(receive(&socket).0, [], "and the end");
}

#[test]
fn a_farewell_is_understood_and_what_breaks_the_rules_refused_as_the_page_says() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let b = open(directory.path(), "b");
    let region = region(&b, &a);
    let greet = |packet: &[u8]| {
        let socket = connect(directory.path());
        let (memory, bell) = offer(&region);
        send(&socket, packet, &[memory.as_fd(), bell.as_fd()]);
        pump(&a);
        socket
    };
    let changed = |name: &str, value: u32| {
        let mut packet = hello(region.len() as u32);
        packet[field(name)][..4].copy_from_slice(&value.to_le_bytes());
        packet
    };
    let check = |packet: &[u8], refusal: &str| {
        let (answer, _) = receive(&greet(packet));
        assert_eq!(word(&answer, "kind"), word(&self::packet("refuse"), "kind"), "{refusal}");
        assert_eq!(answer.len(), self::packet("refuse").len());
        assert_eq!(word(&answer, "code"), find(&table(PAGE, "code"), 1, refusal), "{packet:?}");
    };
    check(&changed("version", 2), "incompatible");
    check(&changed("line", 64), "incompatible");
    check(&changed("magic", 2), "malformed");
    check(&changed("size", 4096), "malformed");
    check(&changed("length", 0), "malformed");
    check(&changed("name", u32::from(b'/')), "malformed");
    let linked = greet(&hello(region.len() as u32));
    assert!(matches!(a.event(), Some(Ok(Event::Connected(_)))));
    check(&hello(region.len() as u32), "again");
    send(&linked, &packet("bye"), &[]);
    pump(&a);
    assert!(matches!(a.event(), Some(Ok(Event::Lost { reason: Lost::Closed, .. }))));
}

/// A field of a table in a section, of bytes from an offset on.
fn shown<'a>(bytes: &'a [u8], section: &str, name: &str, from: usize) -> &'a [u8] {
    let rows = table(section, "byte");
    let row = rows.iter().find(|row| row[2] == name).unwrap_or_else(|| panic!("no {name}"));
    let at = from + number(&row[0]) as usize;
    &bytes[at..at + number(&row[1]) as usize]
}

fn long(bytes: &[u8]) -> u64 {
    let mut long = [0; 8];
    long[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(long)
}

#[test]
fn a_status_page_has_what_the_page_says() {
    const LINKS: &str = "Links on a page";
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (open(directory.path(), "a"), open(directory.path(), "b"));
    let (of_a, of_b) = link(&a, &b, "b");
    let note = std::fs::read_link(directory.path().join("default/.@status@a")).unwrap();
    let words: Vec<String> = note.to_str().unwrap().split('/').map(str::to_owned).collect();
    assert_eq!(words[..2], ["a".to_owned(), std::process::id().to_string()]);
    let place = |descriptor: &str| format!("/proc/self/fd/{descriptor}");
    let file = std::fs::File::open(place(&words[2])).unwrap();
    assert!(fcntl_get_seals(&file).unwrap().contains(seals()));
    let bytes = std::fs::read(place(&words[2])).unwrap();
    assert_eq!(bytes.len(), 327_680);
    let field = |name: &str| shown(&bytes, STATUS, name, 8);
    let rows = table(STATUS, "byte");
    for name in ["magic", "page version"] {
        let row = rows.iter().find(|row| row[2] == name).unwrap();
        assert_eq!(long(field(name)), u64::from(number(&row[3])), "{name}");
    }
    assert_eq!(long(field("process")), u64::from(std::process::id()));
    assert_eq!(long(field("incarnation")), of_b.incarnation);
    assert_eq!(field("name")[..3], *b"\x01a\0");
    assert_eq!([long(field("links")), long(field("flows"))], [1, 0]);
    let last = rows.last().unwrap();
    let head = 8 + (number(&last[0]) + number(&last[1])) as usize;
    let of_link = |name: &str| shown(&bytes, LINKS, name, head);
    assert_eq!(long(of_link("key")), u64::from(of_a.key));
    assert_eq!(long(of_link("state")), find(&table(LINKS, "code"), 1, "up").into());
    assert_eq!(long(of_link("incarnation")), of_a.incarnation);
    assert_eq!(long(of_link("size")), u64::from(of_a.own.size()));
    assert_eq!(of_link("peer")[..3], *b"\x01b\0");
    let region = std::fs::File::open(place(&long(of_link("descriptor")).to_string())).unwrap();
    assert_eq!(fstat(&region).unwrap().st_ino, long(of_link("file")));
    assert!((65_536..bytes.len() as u64).contains(&long(of_link("books"))));
    let last = table(LINKS, "byte");
    let last = last.last().unwrap();
    let end = head + (number(&last[0]) + number(&last[1])) as usize;
    assert_eq!(long(&bytes[4..8]) as usize, end - 8);
}
