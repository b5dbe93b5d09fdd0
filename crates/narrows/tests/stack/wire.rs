//! docs/WIRE.md against the code: every table is read and compared with the bytes in a region.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::heap::{Core, Heap};
use crate::common::tables::{find, number, table};
use narrows::memory::{Ack, Block, Class, Descriptor, Kind, Layout, Placed, Shared};
use narrows::strategy::Placement;

const START: u32 = 0x0102_0304;
const CHANNELS: u16 = 3;
const CHANNEL_SLOTS: u32 = 4;

fn class(placement: Placement, size: u32, count: u32) -> Class {
    Class { placement, size, count }
}

fn layout<const L: u32>() -> Layout {
    let classes = [
        class(Placement::Internal, 70, 3),
        class(Placement::Region(5), 20, 2),
        class(Placement::External, 100, 5),
        class(Placement::External, 3000, 1),
        class(Placement::Region(0), 9, 1),
    ];
    let layout = Layout::new(L, 8, &classes).expect("possible").starting_at(START);
    layout.with_channels(CHANNELS, CHANNEL_SLOTS).expect("possible")
}

/// Both ends of a link and the regions of the first and the second.
struct Link<const L: u32> {
    a: Shared<Core<L>>,
    b: Shared<Core<L>>,
    of_a: Heap,
    of_b: Heap,
}

fn link<const L: u32>() -> Link<L> {
    let regions = [(); 2].map(|()| Heap::new(layout::<L>().size()));
    for region in &regions {
        layout::<L>().format(region).expect("the region has the layout's size");
    }
    let end = |own: usize| {
        let (mine, theirs) = (regions[own].clone(), regions[1 - own].clone());
        Shared::new(&Core, mine, theirs, Rc::new(Cell::new(0))).expect("a link")
    };
    let (a, b) = (end(0), end(1));
    let [of_a, of_b] = regions;
    Link { a, b, of_a, of_b }
}

fn descriptor(kind: Kind, ack: Ack) -> Descriptor {
    let (source, target, tag) = (0x1234, 0x5678, 0x9abc);
    Descriptor { kind, ack, priority: 5, len: 0, source, target, tag, block: None }
}

/// Offset in the region of slot `slot`'s part called `part`.
fn slot<const L: u32>(slot: u32, part: &str) -> u32 {
    let slots = number(&table("Region", "from")[2][0]);
    slots + slot * L + find(&table("Slots", "byte"), 2, part)
}

/// The field of a descriptor in a slot, by the table of bits.
fn field<const L: u32>(region: &Heap, at: u32, name: &str) -> u32 {
    let rows = table("Descriptors", "word");
    let row = rows.iter().find(|row| row[2] == name).expect("the page has the field");
    bits(region.word(slot::<L>(at, &row[0])), &row[1])
}

fn bits(word: u32, range: &str) -> u32 {
    let (high, low) = range.split_once("..").expect("bits are high..low");
    let (high, low) = (number(high), number(low));
    word << (31 - high) >> (31 - high) >> low
}

fn sequence<const L: u32>(region: &Heap, at: u32) -> u32 {
    region.word(slot::<L>(at, "sequence"))
}

fn control(region: &Heap, name: &str) -> u32 {
    region.word(find(&table("Control lines", "offset"), 1, name))
}

/// Where the return ring begins, its words, where it ends: by the page's words.
fn return_ring<const L: u32>() -> (u32, u32, u32) {
    let from = number(&table("Region", "from")[2][0]) + layout::<L>().slots() * L;
    let words = layout::<L>().blocks().next_power_of_two().max(2);
    (from, words, (from + words * 4).next_multiple_of(128))
}

/// Where the channels' control lines and their slots begin, and where these end: by the page's
/// words.
fn channels<const L: u32>() -> (u32, u32, u32) {
    let lines = return_ring::<L>().2;
    let rows = table("Region", "from");
    let each = rows[4][1].split(' ').next().map(number).expect("a number");
    let slots = lines + each * u32::from(CHANNELS);
    (lines, slots, (slots + u32::from(CHANNELS) * CHANNEL_SLOTS * L).next_multiple_of(128))
}

/// Where a block lies, by the page's words.
fn block_offset<const L: u32>(block: Block) -> u32 {
    let rows = table("Blocks", "bits");
    let part = |name: &str| {
        let row = rows.iter().find(|row| row[1] == name).expect("the page has the field");
        bits(block.0.into(), &row[0])
    };
    let layout = layout::<L>();
    let stride = |c: &Class| c.size.next_multiple_of(L);
    let before = &layout.classes()[..part("class") as usize];
    let class = layout.classes()[part("class") as usize];
    channels::<L>().2
        + before.iter().map(|c| stride(c) * c.count).sum::<u32>()
        + part("index") * stride(&class)
}

fn header<const L: u32>() {
    let layout = layout::<L>();
    let region = link::<L>().of_a;
    let rows = table("Header", "word");
    let word = |name: &str| region.word(find(&rows, 1, name) * 4);
    assert_eq!(word("magic"), number(&rows[0][2]));
    assert_eq!(word("version"), number(&rows[1][2]));
    assert_eq!((word("line"), word("slots")), (L, 8));
    assert_eq!((word("start"), word("classes")), (START, 5));
    assert_eq!((word("size"), region.bytes().len() as u32), (layout.size(), layout.size()));
    assert_eq!((word("channels"), word("channel slots")), (u32::from(CHANNELS), CHANNEL_SLOTS));
    assert_eq!(rows.len(), 9, "the test knows each word of the header");

    let classes = Heap::new(64);
    let placements = table("Placements", "code");
    for (i, class) in (0..).zip(layout.classes()) {
        for at in 0..4 {
            classes.poke(at * 4, region.word((16 + 4 * i + at) * 4));
        }
        let code = find(&placements, 1, &class.placement.to_string());
        let offset = block_offset::<L>(Block((i << 12) as u16));
        let names = ["placement", "block size", "count", "offset"];
        let words = names.map(|name| classes.word(find(&table("Classes", "word"), 1, name) * 4));
        assert_eq!(words, [code, class.size, class.count, offset]);
    }
}

#[test]
fn the_header_and_its_classes() {
    header::<32>();
    header::<64>();
    header::<128>();
}

fn parts<const L: u32>() {
    let layout = layout::<L>();
    let rows = table("Region", "from");
    let (ring, words, _) = return_ring::<L>();
    let (lines, slots, blocks) = channels::<L>();
    let starts: Vec<u32> = layout
        .parts()
        .iter()
        .scan(0, |at, part| {
            let start = *at;
            *at += part.1;
            Some(start)
        })
        .collect();
    let fixed: Vec<u32> = rows[..3].iter().map(|row| number(&row[0])).collect();
    assert_eq!((&starts[..3], starts[3]), (&fixed[..], ring));
    assert_eq!(starts[4..], [lines, slots, blocks]);
    assert_eq!((number(&rows[0][1]), number(&rows[1][1])), (512, 512));
    let last = layout.classes().len() as u16 - 1;
    let end = block_offset::<L>(Block(last << 12)) + layout.classes()[last as usize].size;
    assert_eq!(end.next_multiple_of(4096), layout.size());
    assert_eq!(words, 16);
    let rows = table("Slots", "byte");
    let name = format!("payload, line {L}");
    let row = rows.iter().find(|row| row[2] == name).expect("the page has the line");
    assert_eq!(number(&row[1]), layout.in_slot());
}

#[test]
fn the_parts_of_a_region() {
    parts::<32>();
    parts::<64>();
    parts::<128>();
}

fn in_slot<const L: u32>() {
    let Link { mut a, mut b, of_a, of_b, .. } = link::<L>();
    assert!((0..8).all(|at| sequence::<L>(&of_a, at) == START));
    let kinds = [Kind::Message, Kind::Request, Kind::Response, Kind::Control];
    let acks = [Ack::Batched, Ack::Lazy, Ack::Interrupt];
    let cases = kinds.into_iter().flat_map(|kind| acks.map(|ack| (kind, ack)));
    for (number, (kind, ack)) in (0..).zip(cases) {
        let payload = [number as u8 + 1; 13];
        a.publish(descriptor(kind, ack), Placed::InSlot(&payload));
        let at = (START + number) % 8;
        assert_eq!(sequence::<L>(&of_a, at), START + number + 1);
        let get = |name| field::<L>(&of_a, at, name);
        let name = format!("{kind:?}").to_lowercase();
        assert_eq!(get("kind"), find(&table("Descriptors", "kind"), 1, &name));
        let name = format!("{ack:?}").to_lowercase();
        let code = find(&table("Descriptors", "acknowledgement"), 1, &name);
        assert_eq!(get("acknowledgement"), code);
        assert_eq!((get("length"), get("priority"), get("block")), (13, 5, 0xffff));
        let ports = (get("source"), get("target"), get("tag"));
        assert_eq!(ports, (0x1234, 0x5678, 0x9abc));
        let from = slot::<L>(at, &format!("payload, line {L}")) as usize;
        assert_eq!(of_a.bytes()[from..from + 13], payload);

        let taken = b.take().expect("honest").expect("published");
        assert_eq!(control(&of_b, "taken"), number + 1);
        b.release(&Core, &taken.descriptor);
        b.flush(&Core);
        assert_eq!(control(&of_b, "credit"), number + 1);
        assert_eq!(a.room(false), Ok(true));
    }
    assert_eq!(control(&of_b, "returned"), 0);
}

#[test]
fn a_message_in_its_slot_and_the_credit_for_it() {
    in_slot::<32>();
    in_slot::<64>();
    in_slot::<128>();
}

fn in_block<const L: u32>() {
    let Link { mut a, mut b, of_a, of_b } = link::<L>();
    let (ring, words, _) = return_ring::<L>();
    for number in 0..20 {
        let placement = [Placement::Region(5), Placement::External][number as usize % 2];
        let block = a.take_block(placement, 20).expect("honest").expect("free");
        let payload = [number as u8 + 1; 20];
        assert!(a.write(block, 0, &payload));
        assert_eq!(a.room(true), Ok(true));
        a.publish(descriptor(Kind::Message, Ack::Lazy), Placed::Block { block, len: 20 });
        let at = (START + number) % 8;
        let get = |name| field::<L>(&of_a, at, name);
        assert_eq!((get("block"), get("length")), (u32::from(block.0), 20));
        let from = block_offset::<L>(block) as usize;
        assert_eq!(of_a.bytes()[from..from + 20], payload);

        let taken = b.take().expect("honest").expect("published");
        b.release(&Core, &taken.descriptor);
        assert_eq!(control(&of_b, "returned"), number + 1);
        assert_eq!(of_b.word(ring + number % words * 4), u32::from(block.0));
    }
}

#[test]
fn a_message_in_a_block_and_the_block_on_its_way_back() {
    in_block::<32>();
    in_block::<64>();
    in_block::<128>();
}

/// A word of a channel's control lines.
fn channel_control<const L: u32>(region: &Heap, channel: u32, name: &str) -> u32 {
    let offset = find(&table("Channels' control lines", "offset"), 1, name);
    region.word(channels::<L>().0 + channel * 384 + offset)
}

fn over_channels<const L: u32>() {
    let Link { mut a, mut b, of_a, of_b } = link::<L>();
    assert_eq!((a.channels(), b.channels()), (CHANNELS, CHANNELS));
    for channel in 0..u32::from(CHANNELS) {
        let ring = channel as u16;
        let slots = channels::<L>().1 + channel * CHANNEL_SLOTS * L;
        let part = |at: u32, name: &str| {
            of_a.word(slots + at % CHANNEL_SLOTS * L + find(&table("Slots", "byte"), 2, name))
        };
        let before = START + channel + 1;
        assert!((0..CHANNEL_SLOTS).all(|at| part(at, "sequence") == before));
        b.watch_channel(ring, true);
        for number in 0..6 {
            b.arm_channels(1);
            let armed = channel_control::<L>(&of_b, channel, "armed");
            assert_eq!(armed, before + number + 1);
            b.disarm_channels();
            assert_eq!(channel_control::<L>(&of_b, channel, "armed"), 0);

            let packet = number % 2 == 1;
            if packet {
                assert!(a.post_packet(&Core, ring, &[7; 20], Placement::External, 0x9abc, |_| ()));
            } else {
                assert!(a.post_word(&Core, ring, (0x0102_0304_0506_0708, 5), 0x9abc, |_| ()));
            }
            let at = before + number;
            assert_eq!(part(at, "sequence"), at + 1);
            let len = if packet { 20 } else { 5 };
            let kind = find(&table("Descriptors", "kind"), 1, "message");
            assert_eq!((part(at, "first"), part(at, "ports")), (len << 8 | kind << 5, 0));
            let (block, tag) = (part(at, "last") >> 16, part(at, "last") & 0xffff);
            assert_eq!((block == 0xffff, tag), (!packet, 0x9abc));
            let arrival = b.take_arrival(&Core, ring).expect("honest").expect("published");
            if packet {
                let from = block_offset::<L>(Block(block as u16)) as usize;
                assert_eq!(of_a.bytes()[from..from + 20], [7; 20]);
                b.give_block(&Core, arrival.block.expect("a packet"));
            } else {
                let name = format!("payload, line {L}");
                assert_eq!((part(at, &name), arrival.word), (0x0506_0708, 0x0102_0304_0506_0708));
            }
            assert_eq!(channel_control::<L>(&of_b, channel, "taken"), number + 1);
            b.flush(&Core);
            assert_eq!(channel_control::<L>(&of_b, channel, "credit"), number + 1);
            assert_eq!(a.channel_room(ring), Ok(Some(true)));
        }
        assert_eq!(control(&of_b, "returned"), 3 * (channel + 1));
        b.watch_channel(ring, false);
    }
    assert_eq!((control(&of_b, "taken"), control(&of_b, "credit")), (0, 0), "no message");
}

#[test]
fn words_and_packets_of_channels() {
    over_channels::<32>();
    over_channels::<64>();
    over_channels::<128>();
}

#[test]
fn the_words_of_those_who_sleep() {
    let Link { a, b, of_a, of_b } = link::<64>();
    let names = ["armed", "core", "credit", "returned", "taken", "want"];
    assert_eq!(names.map(|name| control(&of_b, name)), [0; 6]);
    b.stand_on(8);
    assert_eq!((control(&of_b, "core"), control(&of_a, "core")), (8, 0));
    assert_eq!((a.peer_core(), b.peer_core()), (8, 0));
    b.rx.arm(3);
    assert_eq!((control(&of_b, "armed"), control(&of_a, "armed")), (START + 3, 0));
    b.rx.disarm();
    assert_eq!(control(&of_b, "armed"), 0);
    a.tx.want(true);
    assert_eq!((control(&of_a, "want"), control(&of_b, "want")), (1, 0));
    a.tx.want(false);
    assert_eq!(control(&of_a, "want"), 0);
}
