//! What S2 says of its cycle, on its boards.

use super::*;

fn board(name: &str) -> Chip {
    platform::load_any(name).unwrap()
}

fn measured(chip: &Chip, mode: DmaMode, bytes: usize, hops: usize) -> Row {
    row(chip, Asked { mode, bytes, hops }).unwrap()
}

use DmaMode::{Burst, Frame, ReadWrite};

#[test]
fn short_messages_are_faster_by_element_long_ones_in_bursts_and_a_frame_beats_a_burst() {
    let chip = board("quatro67");
    let sra = |mode, bytes| measured(&chip, mode, bytes, 1).sra_us;
    assert!(sra(ReadWrite, 24) < sra(Burst, 24));
    assert!(sra(Burst, 4092) < sra(ReadWrite, 4092));
    assert!(sra(Frame, 1024) < sra(Burst, 1024));
    // A frame is filled up, whatever is in it.
    assert_eq!(sra(Frame, 24), sra(Frame, 1024));
}

#[test]
fn each_hop_is_one_more_transfer() {
    for (name, mode) in [("quatro67", Burst), ("pci44", ReadWrite)] {
        let chip = board(name);
        let [one, two] = [1, 2].map(|hops| measured(&chip, mode, 4092, hops));
        assert!((two.ipc_us / one.ipc_us - 2.0).abs() < 0.1, "{name}: {one:?}, {two:?}");
        assert_eq!(one.one_processor_us, two.one_processor_us);
    }
}

#[test]
fn each_thing_that_the_board_lacks_saves_time_where_it_should() {
    let chip = board("quatro67");
    let ipc = |variant: Option<Variant>, mode, bytes| {
        let chip = variant.map_or_else(|| chip.clone(), |one| with(chip.clone(), one));
        measured(&chip, mode, bytes, 1).ipc_us
    };
    for (mode, bytes) in [(Burst, 24), (ReadWrite, 24), (Burst, 4092), (Frame, 1024)] {
        let dedicated = ipc(Some(Variant::Dedicated), mode, bytes);
        assert!(dedicated < ipc(None, mode, bytes) - 10.0, "{mode:?}, {bytes}: {dedicated}");
    }
    for (mode, bytes) in [(ReadWrite, 4092), (Burst, 4092), (Frame, 1024)] {
        let on_chip = ipc(Some(Variant::OnChip), mode, bytes);
        assert!(on_chip < ipc(None, mode, bytes) - 10.0, "{mode:?}, {bytes}: {on_chip}");
    }
    let frames = ipc(Some(Variant::Frames), Frame, 4092);
    assert!(frames < ipc(None, Burst, 4092) - 10.0, "{frames}");
}

#[test]
fn two_interrupts_for_a_port_free_the_sender_from_looking() {
    let chip = board("quatro67");
    let better = with(chip.clone(), Variant::Interrupts);
    for mode in [Burst, ReadWrite, Frame] {
        let [now, then] = [&chip, &better].map(|chip| measured(chip, mode, 24, 1));
        assert!(then.sender_held_us < now.sender_held_us - 10.0, "{now:?}, {then:?}");
        assert!(then.receiver_held_us < now.receiver_held_us + 0.5, "{now:?}, {then:?}");
    }
}
