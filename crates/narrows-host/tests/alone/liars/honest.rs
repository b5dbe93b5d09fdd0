//! A peer that keeps all rules, and looks whether the victim does.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use narrows::endpoint::{Address, PortError, SendError};
use narrows::link::LinkId;
use narrows_host::Node;

use super::HONEST;
use crate::common::PATIENCE;
use crate::common::process::{number, payload};

/// How many messages each has sent in all, once it sends no more.
#[derive(Default)]
pub struct Totals {
    pub honest: OnceLock<u64>,
    pub victim: OnceLock<u64>,
}

/// Sends numbered messages and takes the victim's, until the victim sends no more and all have
/// come.
pub fn work(mut node: Node, link: LinkId, totals: &Totals) {
    let to = Address { link, port: HONEST };
    let (mut sent, mut came, mut last) = (0, 0, Instant::now());
    let (mut buffer, mut bytes) = ([0; 4096], [0; 4096]);
    while totals.victim.get() != Some(&came) {
        if totals.victim.get().is_some() {
            totals.honest.get_or_init(|| sent);
        } else {
            match node.try_send(HONEST, to, payload(sent, &mut buffer)) {
                Ok(()) => sent += 1,
                Err(SendError::RingFull | SendError::PoolEmpty) => {}
                Err(error) => panic!("message {sent}: {error}"),
            }
        }
        let received = node.receive_into(HONEST, &mut bytes, Some(Duration::from_micros(200)));
        match received {
            Ok(received) => {
                assert_eq!(number(&bytes[..received.len]), came, "in order, each once");
                (came, last) = (came + 1, Instant::now());
            }
            Err(why) => assert_eq!(why, PortError::Deadline),
        }
        assert!(last.elapsed() < PATIENCE, "of the victim's messages {came} came, and no more");
    }
    totals.honest.get_or_init(|| sent);
    // The link is kept until the victim has all of them.
    while node.links().next().is_some() {
        node.wait_any(Some(PATIENCE));
        node.poll();
    }
}
