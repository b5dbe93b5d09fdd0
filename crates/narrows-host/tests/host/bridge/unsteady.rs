//! Connections that end in the middle of anything.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use narrows::endpoint::Address;
use narrows::platform::Lost;
use narrows_host::mqx::{Limits, Processor, QueueId};

use super::{SOON, Told, Two, any, hunt, node, offer, reach, until_lost};
use crate::common::PATIENCE;

/// A wire between two bridges that is cut after `bytes` bytes in a direction, again and again.
fn cut_after(to: SocketAddr, bytes: impl Fn() -> usize + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(any()).expect("a port");
    let at = listener.local_addr().expect("it has one");
    thread::spawn(move || {
        while let Ok((one, _)) = listener.accept() {
            let Ok(other) = TcpStream::connect(to) else { continue };
            let left = Arc::new(AtomicUsize::new(bytes()));
            let copies = |mut from: TcpStream, mut to: TcpStream| {
                let left = Arc::clone(&left);
                move || {
                    let mut some = [0; 1000];
                    while let Ok(came @ 1..) = from.read(&mut some) {
                        let may = left.load(Ordering::Relaxed).min(came);
                        left.fetch_sub(may, Ordering::Relaxed);
                        if to.write_all(&some[..may]).is_err() || may < came {
                            break;
                        }
                    }
                    let _ = from.shutdown(std::net::Shutdown::Both);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                }
            };
            let again = |socket: &TcpStream| socket.try_clone().expect("a descriptor");
            thread::spawn(copies(again(&one), again(&other)));
            thread::spawn(copies(other, one));
        }
    });
    at
}

#[test]
fn a_connection_that_ends_in_a_frame_is_a_peer_that_died_and_nothing_of_the_frame_comes() {
    for bytes in [700, 1300, 2200, 5000, 9001] {
        let (two, told) = (Two::new(), Told::default());
        let offers = offer(&two, "dsp", None, &told);
        let at = cut_after(offers.address().expect("it listens"), move || bytes);
        let _reaches = reach(&two, "dsp", at, None, &told);
        let mut dsp = node(&two.there(), "dsp");
        let mut gpp = node(&two.here(), "gpp");
        // Perhaps it is cut before there is a link; then a hunt goes on for ever.
        let name = "dsp".parse().expect("a name");
        let enough = bytes > 1500;
        let within = if enough { PATIENCE } else { Duration::from_millis(300) };
        let Ok(link) = gpp.hunt(&name, Some(within)) else {
            assert!(!enough, "{bytes} bytes are enough for a link");
            continue;
        };
        for number in 0..100_u8 {
            let _ = gpp.send(1, Address { link, port: 1 }, &[number; 200], Some(Duration::ZERO));
        }
        assert_eq!(until_lost(&mut gpp, link), Lost::Died);
        let mut came = [0; 400];
        let mut next = 0;
        while let Ok(got) = dsp.receive_into(1, &mut came, Some(Duration::from_millis(100))) {
            assert_eq!(got.bytes(&came), [next; 200]);
            next += 1;
        }
        assert!(usize::from(next) * 200 < bytes, "{next} messages came through {bytes} bytes");
    }
}

#[test]
fn a_bridge_that_stops_ends_its_links_and_the_next_makes_new_ones() {
    let (two, told) = (Two::new(), Told::default());
    let mut dsp = node(&two.there(), "dsp");
    let mut gpp = node(&two.here(), "gpp");
    let mut last = None;
    for _ in 0..3 {
        let offers = offer(&two, "dsp", None, &told);
        let _reaches = reach(&two, "dsp", offers.address().expect("it listens"), None, &told);
        let link = hunt(&mut gpp, "dsp").expect("it is offered");
        assert_ne!(last.replace(link), Some(link));
        gpp.send(1, Address { link, port: 1 }, b"hello", SOON).expect("there is room");
        let mut came = [0; 8];
        let got = dsp.receive_into(1, &mut came, SOON).expect("it came");
        drop(offers);
        assert_eq!(until_lost(&mut gpp, link), Lost::Died);
        assert_eq!(until_lost(&mut dsp, got.from.link), Lost::Died);
        gpp.link(link).close();
        dsp.link(got.from.link).close();
    }
}

#[test]
fn queues_lose_and_double_nothing_while_their_connection_is_cut_at_random() {
    const MESSAGES: u32 = 2000;
    let (two, told) = (Two::new(), Told::default());
    let offers = offer(&two, "processor-2", None, &told);
    let seed = AtomicUsize::new(1);
    let random = move || {
        let next = seed.load(Ordering::Relaxed).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        seed.store(next, Ordering::Relaxed);
        4000 + (next >> 33) % 60_000
    };
    let at = cut_after(offers.address().expect("it listens"), random);
    let _reaches = reach(&two, "processor-2", at, None, &told);
    let open = |number, neighbour, directory: std::path::PathBuf| {
        let limits = Limits { delivered: 256, ..Limits::default() };
        let place = |o: narrows_host::Options| o.directory(directory);
        let opened = Processor::open(number, &[neighbour], &[(1, 2)], limits, place);
        let processor = opened.expect("a processor");
        processor.create_system_pool(256, 8, 8, 64).expect("memory");
        processor
    };
    let (first, second) = (open(1, 2, two.here()), open(2, 1, two.there()));
    let received = second.task();
    let queue = received.open(8, 0).expect("it is free");
    let over = AtomicBool::new(false);
    let ups = || {
        let all = told.0.lock().expect("nobody panics");
        all.iter().filter(|event| matches!(event, super::Event::Up(_))).count()
    };
    thread::scope(|scope| {
        let _over = crate::common::Over(&over);
        scope.spawn(|| {
            let task = first.task();
            for number in 0..MESSAGES {
                while !over.load(Ordering::Acquire) {
                    let Ok(mut message) = task.alloc_system(100) else {
                        thread::yield_now();
                        continue;
                    };
                    message[..4].copy_from_slice(&number.to_le_bytes());
                    message.header.target = QueueId::new(2, 8);
                    if task.send(message).is_ok() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let end = Instant::now() + 4 * PATIENCE;
        // What is sent again may come behind what was sent after it.
        let mut seen = vec![false; MESSAGES as usize];
        for count in 0..MESSAGES {
            assert!(Instant::now() < end, "{count} came so far");
            let got = received.receive(queue, SOON).expect("the queue is open");
            let got = got.expect("it comes in time");
            let number = u32::from_le_bytes(got[..4].try_into().expect("four bytes"));
            assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} came twice");
        }
        let more = received.receive(queue, Some(Duration::from_millis(50)));
        assert!(more.expect("the queue is open").is_none(), "one came twice");
    });
    assert!(ups() > 6, "it was hardly cut: {} links", ups());
}
