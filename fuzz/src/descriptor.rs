//! The memory layer beside a peer that writes anything anywhere in its region: header, slots,
//! credit, returned blocks.

use narrows::memory::{
    Ack, Arrival, Class, Corrupt, Descriptor, Kind, Layout, Placed, Shared, Taken,
};
use narrows::platform::Memory;
use narrows::strategy::Placement;

use crate::common::heap::{Core, Heap};
use crate::input::Input;

const CHANNELS: u16 = 2;

/// The first byte chooses the line and how many words are written before the link is set up.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let choice = input.byte();
    match choice % 3 {
        0 => beside::<32>(choice / 3, &mut input),
        1 => beside::<64>(choice / 3, &mut input),
        _ => beside::<128>(choice / 3, &mut input),
    }
}

fn region(line: u32) -> Heap {
    let class = |placement, size, count| Class { placement, size, count };
    let classes = [class(Placement::Internal, 64, 3), class(Placement::External, 200, 4)];
    let layout = Layout::new(line, 4, &classes).expect("possible").starting_at(u32::MAX - 2);
    let layout = layout.with_channels(CHANNELS, 2).expect("possible");
    let region = Heap::new(layout.size());
    layout.format(&region).expect("the region has the layout's size");
    region
}

fn poke(region: &Heap, input: &mut Input<'_>) {
    let at = u32::from(input.short()) * 4 % region.size();
    region.poke(at, input.word());
}

fn beside<const L: u32>(words: u8, input: &mut Input<'_>) {
    let (own, peer) = (region(L), region(L));
    for _ in 0..words {
        poke(&peer, input);
    }
    if let Ok(layout) = Layout::read(&peer, L) {
        let parts: u32 = layout.parts().iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(parts, layout.size());
        assert!(layout.size() <= peer.size());
        assert_eq!((peer.word(8), peer.word(24)), (L, layout.size()), "line and size, as believed");
    }
    let core = Core::<L>;
    let Ok(mut shared) = Shared::new(&core, own, peer.clone(), Default::default()) else { return };
    let mut held = Vec::new();
    while !input.is_empty() {
        if step(&core, &mut shared, &peer, &mut held, input).is_err() {
            break;
        }
        let (sent, credit) = (shared.tx.sent(), shared.tx.watched().value);
        assert!(sent.wrapping_sub(credit) <= 4, "credit {credit} for {sent} messages");
        assert!(shared.first_untaken() <= sent);
        assert!(shared.pool().lent() + shared.pool().held() <= shared.pool().layout().blocks());
    }
    shared.reclaim_all();
    assert_eq!(shared.pool().lent(), 0);
}

fn step<const L: u32>(
    core: &Core<L>,
    shared: &mut Shared<Core<L>>,
    peer: &Heap,
    held: &mut Vec<Taken>,
    input: &mut Input<'_>,
) -> Result<(), Corrupt> {
    let mut bytes = [0; 256];
    match input.byte() % 10 {
        8 => {
            let ring = u16::from(input.byte()) % CHANNELS;
            let Some(arrival) = shared.take_arrival(core, ring) else {
                return Err(shared.fault(ring));
            };
            match arrival {
                Some(Arrival { block: Some(block), len, .. }) => {
                    let end = len - u32::from(len > 0);
                    assert!(shared.read(block, end, &mut bytes[..len.min(1) as usize]));
                    shared.give_block(core, block);
                }
                Some(word) => assert!(word.len <= 8),
                None => assert!(shared.channel_available(ring) <= 2),
            }
        }
        9 => {
            let (ring, len) = (u16::from(input.byte()) % CHANNELS, usize::from(input.byte()) % 201);
            if shared.channel_room(ring)? == Some(true) && len > 8 {
                shared.post_packet(core, ring, &bytes[..len], Placement::External, 1, |_| ());
            } else {
                shared.post_word(core, ring, (7, 8), 2, |_| ());
            }
            assert!(shared.channel_unsent(ring) <= 2);
        }
        // Three of eight: what it is all about.
        0..=2 => poke(peer, input),
        3 | 4 => {
            let Some(taken) = shared.take()? else { return Ok(()) };
            let len = taken.descriptor.len as usize;
            if let Some(block) = taken.descriptor.block {
                let len = len.min(bytes.len());
                assert!(shared.read(block, 0, &mut bytes[..len]));
                let end = taken.descriptor.len - u32::from(taken.descriptor.len > 0);
                assert!(shared.read(block, end, &mut bytes[..len.min(1)]));
            } else {
                assert!(len <= taken.in_slot.len());
            }
            if held.len() < 64 {
                held.push(taken);
            }
        }
        5 => {
            if let Some(taken) = held.pop() {
                shared.release(core, &taken.descriptor);
            }
        }
        6 => {
            let descriptor = Descriptor {
                kind: Kind::Message,
                ack: Ack::Batched,
                priority: 0,
                len: 0,
                source: 1,
                target: 2,
                tag: 3,
                block: None,
            };
            let len = u32::from(input.byte()) % 201;
            let placed = if len <= 16 {
                Placed::InSlot(&bytes[..len as usize])
            } else {
                let Ok(block) = shared.take_block(Placement::External, len)? else { return Ok(()) };
                assert!(shared.write(block, 0, &bytes[..len as usize]));
                Placed::Block { block, len }
            };
            if shared.room(matches!(placed, Placed::Block { .. }))? {
                shared.publish(descriptor, placed);
                shared.ring_if_armed(core);
            } else if let Placed::Block { block, .. } = placed {
                shared.put_back(block);
            }
        }
        _ => {
            shared.catch_up()?;
            shared.flush(core);
            let sent = shared.tx.sent();
            let (from, mut payload) = (shared.first_untaken(), [0; 48]);
            for index in 0..sent.wrapping_sub(from).min(8) {
                shared.tx.recall(from.wrapping_add(index), &mut payload);
            }
        }
    }
    Ok(())
}
