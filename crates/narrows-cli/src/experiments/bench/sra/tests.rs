//! What S2 says of its cycle, on its boards.

use super::*;
use narrows_sim::chip::Route;

fn board(name: &str) -> Chip {
    platform::load_any(name).unwrap()
}

fn measured(chip: &Chip, mode: DmaMode, bytes: usize, hops: usize) -> Row {
    row(chip, Asked { mode, bytes, hops, monitor: None }).unwrap()
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

#[test]
fn a_route_of_the_file_is_taken_and_the_core_between_passes_its_messages_on() {
    let plain = board("quatro67");
    let mut chip = plain.clone();
    chip.ports.routes.push(Route { at: 0, to: vec![2], over: vec![1] });
    let asked = |hops| Asked { mode: Burst, bytes: 1024, hops, monitor: None };
    assert_eq!(cycle::way(&chip, 2).map(|(_, last)| last), Some(2));
    assert!(cycle::way(&chip, 3).is_none(), "no route is so long");
    // The answers go straight back, as no route says otherwise.
    let (there, passed) = cycle::counted(&chip, asked(2)).unwrap();
    assert!(passed[1] > 2, "{passed:?}");
    assert_eq!([passed[0], passed[2], passed[3]], [0; 3], "{passed:?}");
    let [one, both] = [1, 2].map(|hops| cycle(&plain, asked(hops)).unwrap());
    assert!(one < there && there < both, "{one:?}, {there:?}, {both:?}");
    chip.ports.routes.push(Route { at: 2, to: vec![0], over: vec![1] });
    let (same, twice) = cycle::counted(&chip, asked(2)).unwrap();
    assert_eq!(twice[1], 2 * passed[1]);
    // A service with more ports has more to look at.
    let more = same.micros() / both.micros();
    assert!((1.0..1.01).contains(&more), "{same:?}, {both:?}");
}
