use std::vec::Vec;

use proptest::prelude::*;

use super::{Heap, class, formatted};
use crate::memory::{Block, Class, Corrupt, Layout, LayoutError, MAX_CLASSES, Ring};
use crate::platform::Words as _;
use crate::strategy::Placement;

fn placement() -> impl Strategy<Value = Placement> {
    prop_oneof![
        Just(Placement::Internal),
        Just(Placement::External),
        (0..6u8).prop_map(Placement::Region),
    ]
}

/// Layouts of at most a megabyte or so: sizes rise from class to class.
fn layouts() -> impl Strategy<Value = Layout> {
    let classes = prop::collection::vec((placement(), 1..600u32, 1..20u32), 1..=8);
    let channels = prop_oneof![Just((0, 2)), (1..=64u16, (1..5u32).prop_map(|bits| 1 << bits))];
    let rings = (5..8u32, 1..7u32, any::<u32>(), channels);
    (rings, classes).prop_map(|((line, slots, start, (channels, each)), rough)| {
        let mut size = 0;
        let classes: Vec<Class> = rough
            .into_iter()
            .map(|(placement, more, count)| {
                size += more;
                class(placement, size, count)
            })
            .collect();
        let layout = Layout::new(1 << line, 1 << slots, &classes).expect("possible");
        layout.starting_at(start).with_channels(channels, each).expect("possible")
    })
}

fn ranges(layout: &Layout) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    for (number, class) in layout.classes().iter().enumerate() {
        for index in 0..class.count {
            ranges.push(layout.block(Block::new(number, index)).expect("a block of the class"));
        }
    }
    ranges
}

proptest! {
    #[test]
    fn what_is_formatted_is_read_back(layout in layouts()) {
        prop_assert_eq!(Layout::read(&formatted(&layout), layout.line()), Ok(layout));
    }

    #[test]
    fn zeroed_memory_is_empty_rings_and_most_of_it_stays_untouched(
        layout in layouts(),
        before_the_wrap in prop::option::of(0..40u32),
    ) {
        let start = before_the_wrap.map_or(layout.start(Ring::Messages), u32::wrapping_neg);
        let layout = layout.starting_at(start);
        let region = Heap::new(layout.size());
        (0..layout.size()).step_by(4).for_each(|offset| region.poke(offset, 0));
        layout.format_zeroed(&region).expect("it fits");
        prop_assert_eq!(Layout::read(&region, layout.line()), Ok(layout));
        for ring in layout.rings() {
            let slots = layout.slots_in(&region, ring).expect("it has slots");
            let mut stored = false;
            for n in 1..=layout.slots_of(ring) {
                let number = layout.start(ring).wrapping_add(n);
                let slot = number.wrapping_sub(1) % layout.slots_of(ring);
                let word = slots.load(slot * layout.line() / 4);
                prop_assert_ne!(word, number);
                stored |= word != 0;
            }
            prop_assert!(!stored || layout.start(ring).wrapping_add(layout.slots_of(ring)) < layout.slots_of(ring));
        }
    }

    #[test]
    fn nothing_overlaps_and_nothing_leaves_the_region(layout in layouts()) {
        let parts = layout.parts();
        prop_assert_eq!(parts.iter().map(|part| part.1).sum::<u32>(), layout.size());
        let mut end: u32 = parts[..6].iter().map(|part| part.1).sum();
        prop_assert!(parts[3].1 >= layout.returns() * 4 && layout.returns() >= layout.blocks());
        for (offset, size) in ranges(&layout) {
            prop_assert!(offset >= end && offset % layout.line() == 0);
            end = offset + size;
        }
        prop_assert!(end <= layout.size() && layout.size() % 4096 == 0);
    }

    #[test]
    fn a_spoilt_header_is_refused_or_harmless(
        layout in layouts(),
        at in 0..128u32,
        value in prop_oneof![any::<u32>(), 0..200u32, (0..32u32).prop_map(|bit| 1 << bit)],
    ) {
        let region = formatted(&layout);
        region.poke(at * 4, value);
        if let Ok(read) = Layout::read(&region, layout.line()) {
            prop_assert!(read.size() <= layout.size());
            for (offset, size) in ranges(&read) {
                prop_assert!(offset + size <= layout.size());
            }
        }
    }

    #[test]
    fn a_header_of_any_words_is_no_danger(words in prop::collection::vec(any::<u32>(), 128)) {
        let region = Heap::new(4096);
        for (i, word) in (0..).zip(words) {
            region.poke(i * 4, word);
        }
        prop_assert_eq!(Layout::read(&region, 64), Err(Corrupt::Header));
    }
}

#[test]
fn every_word_that_matters_is_checked() {
    let layout = Layout::standard(64).expect("a line");
    for word in [0, 1, 2, 3, 5, 6, 7, 8] {
        let region = formatted(&layout);
        region.poke(word * 4, region.word(word * 4) + 1);
        assert_eq!(Layout::read(&region, 64), Err(Corrupt::Header), "word {word}");
    }
    assert_eq!(Layout::read(&formatted(&layout), 32), Err(Corrupt::Header), "another line");
}

#[test]
fn a_region_smaller_than_its_header_says_is_refused() {
    let layout = Layout::standard(64).expect("a line");
    let whole = formatted(&layout);
    for size in [0, 511, 512, 4096, layout.size() - 4096] {
        let short = Heap::new(size);
        for offset in (0..size.min(512) / 4).map(|i| i * 4) {
            short.poke(offset, whole.word(offset));
        }
        assert_eq!(Layout::read(&short, 64), Err(Corrupt::Header), "{size} bytes");
        assert!(layout.format(&short).is_err());
    }
}

#[test]
fn limits_are_where_they_are_documented() {
    let one = |class| Layout::new(64, 2, &[class]).map(|layout| layout.blocks());
    let internal = |size, count| class(Placement::Internal, size, count);
    assert_eq!(one(internal(1, 4095)), Ok(4095));
    assert_eq!(one(internal(1, 4096)), Err(LayoutError::Class));
    assert_eq!(one(internal(1, 0)), Err(LayoutError::Class));
    assert_eq!(one(internal(0, 1)), Err(LayoutError::Class));
    assert_eq!(one(internal((1 << 24) - 1, 1)), Ok(1));
    assert_eq!(one(internal(1 << 24, 1)), Err(LayoutError::Class));
    assert_eq!(one(internal((1 << 24) - 1, 65)), Err(LayoutError::Size));
    // A gibibyte: what is left of the last megabyte when the rings have theirs.
    let whole = |last| Layout::new(64, 2, &[internal(last, 1), internal(1 << 20, 1023)]);
    let first = whole(64).expect("possible").places().next().expect("blocks").0;
    assert_eq!(whole((1 << 20) - first).map(|layout| layout.size()), Ok(1 << 30));
    assert_eq!(whole((1 << 20) - first + 64), Err(LayoutError::Size));
    assert_eq!(one(class(Placement::Region(5), 1, 1)), Ok(1));
    assert_eq!(one(class(Placement::Region(6), 1, 1)), Err(LayoutError::Class));
    assert_eq!(one(class(Placement::Region(255), 1, 1)), Err(LayoutError::Class));
    let plain = Layout::new(64, 2, &[internal(1, 1)]).expect("possible");
    let channels = |count, slots| plain.with_channels(count, slots).map(|l| l.channels());
    assert_eq!(channels(64, 4096), Ok(64));
    let four = plain.with_channels(3, 4).expect("possible");
    assert_eq!((four.channels(), four.channel_slots()), (3, 4));
    assert_eq!(channels(65, 2), Err(LayoutError::Channels));
    assert_eq!(plain.with_channels(5, 8).and_then(|l| l.with_channels(0, 8)), Ok(plain));
    for slots in [0, 1, 3, 8192] {
        assert_eq!(channels(1, slots), Err(LayoutError::Slots), "{slots} slots");
        let layout = Layout::new(64, slots, &[internal(1, 1)]);
        assert_eq!(layout, Err(LayoutError::Slots), "{slots} slots");
    }
    for line in [0, 16, 48, 256] {
        assert_eq!(Layout::new(line, 2, &[internal(1, 1)]), Err(LayoutError::Line), "{line}");
    }
    let rising: Vec<Class> = (1..=9).map(|size| internal(size, 1)).collect();
    assert!(Layout::new(64, 2, &rising[..8]).is_ok());
    assert_eq!(Layout::new(64, 2, &rising), Err(LayoutError::Classes));
    assert_eq!(Layout::new(64, 2, &[]), Err(LayoutError::Classes));
    let falling = [internal(8, 1), internal(8, 1)];
    assert_eq!(Layout::new(64, 2, &falling), Err(LayoutError::Class));
    let mut most: Vec<Class> = (1..=8).map(|size| internal(size, 4095)).collect();
    most.extend((1..=8).map(|size| class(Placement::External, size, 4095)));
    assert_eq!(Layout::new(64, 2, &most), Err(LayoutError::Size));
    most[15].count = 4094;
    assert_eq!(Layout::new(64, 2, &most).map(|layout| layout.blocks()), Ok(65519));
}

#[test]
fn a_header_has_as_many_sizes_of_blocks_as_there_may_be() {
    let internal = (1..=8).map(|size| class(Placement::Internal, size * 64, 1));
    let external = (1..=8).map(|size| class(Placement::External, size * 64, 1));
    let classes: Vec<Class> = internal.chain(external).collect();
    assert_eq!(classes.len(), MAX_CLASSES);
    let layout = Layout::new(64, 2, &classes).expect("possible");
    assert_eq!(Layout::read(&formatted(&layout), 64), Ok(layout));
    // Slots of channels that there are none of.
    let region = formatted(&layout);
    region.poke(8 * 4, 8);
    assert_eq!(Layout::read(&region, 64), Err(Corrupt::Header));
}

#[test]
fn a_channel_beyond_the_last_has_no_words() {
    let layout = Layout::standard(64).and_then(|layout| layout.with_channels(3, 8));
    let layout = layout.expect("possible");
    let region = formatted(&layout);
    for (channel, there) in [(0, true), (2, true), (3, false), (63, false)] {
        let ring = Ring::Channel(channel);
        assert_eq!(layout.slots_in(&region, ring).is_ok(), there, "{channel}");
        assert_eq!(layout.taken_in(&region, ring).is_ok(), there, "{channel}");
    }
}
