//! What the application of the node and the stack of the peer do, in order, between the lies.

use std::time::Duration;

use narrows::endpoint::{
    Address, Arrival, Channel, Failure, Function, Lent, Message, Node, Select, Sink, Source, What,
};
use narrows::link::LinkId;
use narrows::platform::Memory;
use narrows::strategy::{Acknowledgement, Notification, Parts, Placement, Strategy, Transfer};

use super::case::{CHANNELS, Case, HONEST};
use crate::common::world::{Side, all, bytes, name};

const BRIEFLY: Option<Duration> = Some(Duration::from_micros(1));

/// How far all cases got: whether they reach what they should.
#[derive(Debug, Default)]
pub struct Deeds {
    /// Lies told.
    pub lies: u64,
    /// Messages received from the peer that lies.
    pub messages: u64,
    /// Refusals received from it.
    pub refused: u64,
    /// Its requests served.
    pub requests: u64,
    /// Responses taken from it.
    pub responses: u64,
    /// Changes of strategy that it agreed to.
    pub switched: u64,
    /// This node's calls that it served in order.
    pub served: u64,
    /// Words and packets taken from its channels.
    pub entries: u64,
    /// Its next life linked to.
    pub again: u64,
}

fn echo(request: &dyn Source, response: &mut dyn Sink) -> Result<(), Failure> {
    response.write(0, &all(request))
}

pub fn serve(node: &mut Node<Side>) -> usize {
    let (mut first, mut second) = (echo, echo);
    node.try_serve(&mut [
        Function { name: name("echo"), run: &mut first },
        Function { name: name("none2"), run: &mut second },
    ])
}

impl Case {
    pub fn strategy(&self) -> Strategy {
        let r = &self.random;
        let time = Duration::from_nanos(r.below(3000).into()) + Duration::from_nanos(1);
        Strategy {
            placement: r.pick(&[Placement::Internal, Placement::External]),
            transfer: r.pick(&[
                Transfer::Copy,
                Transfer::SingleCopy,
                Transfer::InPlace,
                Transfer::CopyEngine,
            ]),
            notification: r.pick(&[
                Notification::Interrupt,
                Notification::Spin,
                Notification::Poll { every: time },
                Notification::Timer { every: time },
                Notification::Hybrid { longest: time },
                Notification::Coalesced { messages: 3, within: time },
            ]),
            callee: r.pick(&[
                None,
                None,
                Some(Notification::Interrupt),
                Some(Notification::Spin),
                Some(Notification::Poll { every: time }),
            ]),
            acknowledgement: r.pick(&[
                Acknowledgement::Interrupt,
                Acknowledgement::Lazy,
                Acknowledgement::Batched,
            ]),
            granularity: r.pick(&[1, 1, 2, 4]),
            parts: Parts::WHOLE,
            fragment: 64,
        }
    }

    fn len(&self) -> usize {
        let len = self.random.pick(&[0, 8, 48, 60, 64, 200, 256]);
        len as usize
    }

    /// One thing that the liar's own stack does, in order.
    pub fn liar_turn(&mut self, deeds: &mut Deeds) {
        let Some((link, _)) = self.liar.links().next() else { return };
        let (len, port) = (self.len(), self.random.below(5) as u16);
        let to = Address { link, port };
        let channel = Channel { link, ring: self.random.below(CHANNELS.into()) as u16 };
        match self.random.below(12) {
            10 if self.random.one_in(2) => drop(self.liar.channel(channel).try_send_word(77, 8, 1)),
            10 => {
                let placement = Placement::External;
                let _ = self.liar.channel(channel).try_send_packet(&bytes(len, 7), placement, 2);
            }
            11 => {
                if let Ok(Some(Arrival { block: Some(block), .. })) =
                    self.liar.channel(channel).try_take()
                {
                    self.liar.channel(channel).release(block);
                }
            }
            0..=2 => {
                let tag = self.random.below(9) as u16;
                let _ = self.liar.try_send(1, to, Message::new(&bytes(len, 1)).tag(tag));
            }
            3 | 4 => deeds.served += serve(&mut self.liar) as u64,
            5 => {
                for port in 1..=HONEST {
                    if let Ok(Some(lent)) = self.liar.try_receive(port, &Select::default()) {
                        self.liar.release(lent);
                    }
                }
            }
            6 => match self.liar_calls {
                None => {
                    let strategy = self.strategy();
                    self.liar_calls = self.liar.begin_flow(link, &name("echo"), strategy, 256).ok();
                }
                Some(flow) => {
                    let _ = self.liar.flow(flow).start(&bytes(len, 2));
                    let _ = self.liar.flow(flow).flush();
                }
            },
            7 => {
                if let Some(flow) = self.liar_calls {
                    let _ = self.liar.flow(flow).complete(|_, _| {});
                    if self.random.one_in(4) {
                        let strategy = self.strategy();
                        let _ = self.liar.flow(flow).begin_switch(strategy);
                    }
                }
            }
            8 => {
                let strategy = self.strategy();
                if let Ok(flow) = self.liar.begin_flow_to(to, strategy) {
                    self.liar.poll();
                    let _ = self.liar.flow(flow).close();
                }
            }
            _ => {
                self.liar.arm();
                self.liar.disarm();
            }
        }
    }

    /// One thing that the application of the node does.
    pub fn turn(&mut self, link: LinkId, deeds: &mut Deeds) {
        let (len, port) = (self.len(), 1 + self.random.below(2) as u16);
        let to = Address { link, port: self.random.below(5) as u16 };
        match self.random.below(21) {
            18 | 19 => self.use_channel(link, deeds),
            20 => {
                if let Some(block) = self.packets.pop() {
                    self.node.channel(Channel { link, ring: 0 }).release(block);
                }
            }
            0..=2 => self.receive(link, port, deeds),
            16 | 17 => {
                let (mut buffer, within) = ([0; 300], self.random.pick(&[None, BRIEFLY]));
                let (to, behind) = buffer.split_at_mut(len);
                let received = match within {
                    None => self.node.try_receive_into(port, to).expect("open"),
                    within => self.node.receive_into(port, to, within).ok(),
                };
                if let Some(received) = received {
                    self.note(received.what, deeds);
                    assert!(received.len <= 256, "{} bytes", received.len);
                }
                assert!(behind.iter().all(|byte| *byte == 0), "written behind the buffer");
            }
            3 => {
                let tag = self.random.below(9) as u16;
                let _ = self.node.try_send(port, to, Message::new(&bytes(len, 3)).tag(tag));
            }
            4 => drop(self.node.send(port, to, &bytes(len, 4), BRIEFLY)),
            5 | 6 => deeds.requests += serve(&mut self.node) as u64,
            7 | 8 => self.call(link, len),
            9 => self.complete(deeds),
            10 => {
                let Some(flow) = self.calls else { return };
                match self.random.below(4) {
                    0 | 1 => {
                        let strategy = self.strategy();
                        let _ = self.node.flow(flow).begin_switch(strategy);
                    }
                    2 => {
                        let now = self.node.flow(flow).strategy();
                        let ready = self.node.flow(flow).is_ready() == Ok(true);
                        deeds.switched += u64::from(ready && now != self.opened);
                    }
                    _ => {
                        if self.node.flow(flow).close().is_ok() {
                            self.calls = None;
                        }
                    }
                }
            }
            11 => match (self.calls, self.reserved.pop()) {
                (_, Some(reserved)) => self.node.cancel(reserved),
                (Some(flow), None) => self.reserved.extend(self.node.flow(flow).reserve(len)),
                _ => {}
            },
            12 => self.node.wait_any(BRIEFLY),
            13 => {
                self.node.arm();
                self.node.disarm();
            }
            14 => {
                self.node.link(link).reclaim();
                let lents = std::mem::take(&mut self.lents);
                lents.into_iter().for_each(|lent| self.node.release(lent));
            }
            _ => {
                self.node.close(1).expect("open");
                self.node.open(1).expect("free");
            }
        }
    }

    fn use_channel(&mut self, link: LinkId, deeds: &mut Deeds) {
        let channel = Channel { link, ring: self.random.below(CHANNELS.into()) as u16 };
        let (len, on) = (self.len(), self.random.one_in(2));
        match self.random.below(8) {
            0..=2 => deeds.entries += u64::from(self.take(channel).is_some()),
            3 => drop(self.node.channel(channel).try_send_word(5, 8, 3)),
            4 => {
                let placement = Placement::External;
                let _ = self.node.channel(channel).try_send_packet(&bytes(len, 8), placement, 4);
            }
            5 => {
                let _ = self.node.channel(channel).watch(on);
                let _ = self.node.channel(channel).want_room(on);
            }
            6 => drop(self.node.channel(channel).wait_for_room(BRIEFLY)),
            _ => {
                assert!(self.node.channel(channel).available() <= 4);
                assert!(self.node.channel(channel).unsent() <= 4);
            }
        }
    }

    /// Takes an entry of a channel; all of a packet can be read.
    pub fn take(&mut self, from: Channel) -> Option<Arrival> {
        let arrival = self.node.channel(from).try_take().ok()??;
        let Some(block) = arrival.block else {
            assert!(arrival.len <= 8, "{} bytes", arrival.len);
            return Some(arrival);
        };
        let (region, at) = self.node.place_of(from.link, block).expect("a block of the peer's");
        let mut to = [0; 256];
        assert_eq!(region.read(at, &mut to[..arrival.len as usize]), Ok(()));
        self.packets.push(block);
        Some(arrival)
    }

    fn receive(&mut self, link: LinkId, port: u16, deeds: &mut Deeds) {
        let of = Select { link: Some(link), ..Select::default() };
        let found = self.node.try_receive(port, &of).expect("open");
        let Some(lent) = found else { return };
        self.note(lent.what, deeds);
        self.look_at(&lent);
        if self.random.one_in(3) {
            self.lents.push(lent);
        } else {
            self.node.release(lent);
        }
    }

    fn note(&mut self, what: What, deeds: &mut Deeds) {
        match what {
            What::Message => deeds.messages += 1,
            What::Refused => deeds.refused += 1,
            What::PeerGone(_) => self.notices += 1,
            what => panic!("{what:?}"),
        }
    }

    /// All of a message that was taken can be read, and no more.
    pub fn look_at(&self, lent: &Lent) {
        let mut to = [0; 257];
        let len = lent.len;
        assert!(len <= 256, "{len} bytes");
        assert_eq!(self.node.read(lent, 0, &mut to[..len]), Ok(()));
        assert!(self.node.read(lent, 1, &mut to[..len]).is_err() || len == 0);
        assert!(self.node.read(lent, 0, &mut to[..len + 1]).is_err());
    }

    fn call(&mut self, link: LinkId, len: usize) {
        let Some(flow) = self.calls else {
            let strategy = self.strategy();
            self.calls = self.node.begin_flow(link, &name("echo"), strategy, 256).ok();
            self.opened = Some(strategy);
            return;
        };
        let mut to = [0; 256];
        match self.reserved.pop() {
            Some(mut reserved) => {
                let _ = self.node.flow(flow).start(&mut reserved);
                if !reserved.is_empty() {
                    self.reserved.push(reserved);
                }
            }
            None if self.random.one_in(8) => {
                let _ = self.node.flow(flow).call(&bytes(len, 5), &mut to, BRIEFLY);
            }
            None => drop(self.node.flow(flow).start(&bytes(len, 6))),
        }
    }

    pub fn complete(&mut self, deeds: &mut Deeds) {
        let Some(flow) = self.calls else { return };
        let done = self.node.flow(flow).complete(|completed, source| {
            assert_eq!(source.len(), completed.len);
            assert_eq!(all(source).len(), completed.len);
        });
        deeds.responses += done.unwrap_or(0) as u64;
    }
}
