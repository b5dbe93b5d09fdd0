//! That the shipped files say where they have everything from, add up to what they are set from,
//! and that nothing which is made of them is read with a panic.

use super::*;
use crate::file::Problem;
use narrows::strategy::Placement;
use std::collections::BTreeSet;

fn every_shipped() -> Vec<Chip> {
    let parse = |(name, text): &(&str, &str)| {
        Chip::parse(name, text).unwrap_or_else(|mistake| panic!("{mistake}"))
    };
    SHIPPED.iter().map(parse).collect()
}

#[test]
fn shipped_files_are_chips() {
    for chip in every_shipped() {
        assert_eq!(Chip::shipped(&chip.name).as_ref(), Some(&chip));
        assert!(chip.cores.len() >= 2, "{}", chip.name);
        let apart = !chip.ports.ports.is_empty() || chip.clusters.is_some();
        assert_eq!(chip.is_linked(), !apart, "{}", chip.name);
        let spans = chip.cores.iter().all(|core| !core.spans.is_empty());
        assert_eq!(spans, chip.is_linked(), "{}", chip.name);
    }
    assert_eq!(Chip::shipped("none"), None);
}

/// A constant is worth what its source is: each line with a value names one that the file's head
/// lists.
#[test]
fn every_constant_of_shipped_files_has_its_source() {
    for (name, text) in SHIPPED {
        let listed = text.lines().filter_map(|line| line.strip_prefix("#   "));
        let labels: Vec<&str> = listed
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split("  ").next())
            .collect();
        assert!(labels.len() >= 6, "{name}: {labels:?}");
        for (at, line) in text.lines().enumerate() {
            let (key, comment) = line.split_once('#').unwrap_or((line, ""));
            if !key.contains('=') {
                continue;
            }
            let comment = comment.trim();
            let sourced = labels.iter().any(|label| {
                comment.strip_prefix(label).is_some_and(|rest| rest.starts_with([':', ' ', '.']))
                    || comment == *label
            });
            assert!(sourced, "{name}.toml:{}: no source: {line}", at + 1);
        }
    }
}

/// What a file says it is set from must be an input: figures that have to come out by themselves
/// are not for setting anything.
#[test]
fn figures_that_are_quoted_are_inputs() {
    let inputs = [
        "S0.phases",
        "S0.phases.128",
        "S0.phases.32768",
        "S0.internal-copy.8192",
        "S0.timer",
        "S0.voip.workload",
        "S1.notification",
        "S2.table1",
        "S2.table2",
        "S2.table3",
        "S2.table4",
        "S3.code",
        "S4.collision",
        "S4.instrument",
        "S4.t0.cpu128",
    ];
    let mut seen = BTreeSet::new();
    for (name, text) in SHIPPED {
        let words =
            text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ':' | ';'));
        let quoted = words.filter(|word| {
            let id = word.trim_end_matches('.');
            let source = id.split('.').next().unwrap_or_default();
            matches!(source, "S0" | "S1" | "S2" | "S3" | "S4" | "TI") && id.contains('.')
        });
        for word in quoted {
            let id = word.trim_end_matches('.');
            assert!(inputs.contains(&id), "{name}: {word}");
            seen.insert(id);
        }
    }
    assert_eq!(seen, BTreeSet::from(inputs), "each is quoted");
}

/// The phases of S0 as the head of the file adds them up: within 1 % of both rows.
#[test]
fn davinci_adds_up_to_what_it_is_set_from() {
    let chip = Chip::shipped("davinci").unwrap();
    let [arm, dsp] = &chip.cores[..] else { panic!() };
    let [scr, ..] = &chip.buses[..] else { panic!() };
    let ddr = &chip.memories[chip.link.external];
    let word = |cost: Cost| (cost.at(scr.clock) + ddr.beat.at(scr.clock)).micros();
    let (read, write) = (word(ddr.read), word(ddr.write));
    let enter = |core: &Core, span| core.span(span).unwrap().enter.at(core.clock).micros();
    let notified = |core: &Core| {
        let (bell, system) = (core.interrupt, &core.system);
        [bell.latency, bell.entry, bell.service, system.switch]
            .map(|cost| cost.at(core.clock).micros())
            .iter()
            .sum::<f64>()
    };
    let publish = 4.0 * write + read + arm.interrupt.ring.at(arm.clock).micros();
    let (served, taken) = (3.0 * write + 5.0 * read, 2.0 * write + 5.0 * read);
    let copy = arm.copy.word.at(arm.clock).micros();
    for (words, [a, b, c, d, e]) in [
        (32, [148.77, 131.22, 75.51, 114.37, 143.77]),
        (8192, [4121.62, 131.37, 76.66, 115.37, 4101.70]),
    ] {
        let fit = chip
            .link
            .classes
            .iter()
            .filter(|class| class.placement == Placement::External && class.size >= words * 4);
        let blocks: u32 = fit.map(|class| class.count).sum();
        let back = read * (1.0 + 1.0 / f64::from(blocks));
        let words = f64::from(words);
        let leave = arm.span(Span::PhaseD).unwrap().leave.at(arm.clock).micros();
        let sums = [
            (a, enter(arm, Span::PhaseA) + words * (write + copy) + back),
            (b, enter(arm, Span::PhaseB) + publish),
            (c, notified(dsp) + served + enter(dsp, Span::PhaseC) + back),
            (d, publish + notified(arm) + taken + leave),
            (e, enter(arm, Span::PhaseE) + words * (read + copy)),
        ];
        for (published, ours) in sums {
            assert!((ours / published - 1.0).abs() < 0.01, "{published}: {ours}");
        }
    }
    assert!((notified(arm) / 76.3 - 1.0).abs() < 0.01, "{}", notified(arm));
    assert!((arm.poll.at(arm.clock).micros() + read - write - 2.3).abs() < 0.01);
    let ram = &chip.memories[chip.link.internal];
    let inside = ram.beat.at(chip.buses[ram.bus].clock).micros() + copy;
    assert!((1.0 - inside / (write + copy) - 0.94).abs() < 0.001);
}

/// So what 1 to 4 CPUs do is the same on both: one of each of these clusters.
#[test]
fn sixteen_cpus_are_eight_with_as_many_again_behind_them() {
    let [few, many] = ["bmm-clusters", "bmm-clusters-16"].map(|name| Chip::shipped(name).unwrap());
    assert_eq!((few.cores.len(), many.cores.len()), (8, 16));
    assert_eq!((few.memories.len(), many.memories.len(), many.buses.len()), (12, 24, 24));
    assert_eq!(few.cores, many.cores[..8]);
    assert_eq!((&few.memories[..], &few.buses[..]), (&many.memories[..12], &many.buses[..12]));
    let [few, many] = [few.clusters.unwrap(), many.clusters.unwrap()];
    assert_eq!(few.all, many.all[..4]);
    let mesh = (few.noc.columns, few.noc.rows);
    let like = super::Noc { columns: mesh.0, rows: mesh.1, ..many.noc };
    assert_eq!((like, mesh), (few.noc, (2, 2)));
    assert_eq!((few.dma, few.manager, few.calls), (many.dma, many.manager, many.calls));
}

/// Each core of an asymmetric chip has a memory that the others do not reach, or caches of its own.
#[test]
fn cores_of_asymmetric_chips_have_paths_of_their_own() {
    for (name, private, bridged) in [
        ("stm32h747", &["m7"][..], &["m7", "m4"][..]),
        ("imxrt1170", &["m7", "m4"], &["m4"]),
        (
            "am64x",
            &["r5f0_0", "r5f0_1", "r5f1_0", "r5f1_1", "m4f"],
            &["a53", "r5f0_0", "r5f0_1", "r5f1_0", "r5f1_1", "m4f"],
        ),
        ("am62p", &["r5f_mcu", "r5f_wkup"], &["a53", "r5f_mcu", "r5f_wkup"]),
    ] {
        let chip = Chip::shipped(name).unwrap();
        let names = |cores: Vec<usize>| -> Vec<String> {
            cores.into_iter().map(|core| chip.cores[core].name.clone()).collect()
        };
        let own = chip.memories.iter().filter_map(|memory| memory.cores.clone()).flatten();
        assert_eq!(names(own.collect()), private, "{name}");
        let mut crossing: Vec<usize> =
            chip.bridges.iter().flat_map(|bridge| bridge.cores.clone()).collect();
        crossing.sort_unstable();
        crossing.dedup();
        assert_eq!(names(crossing), bridged, "{name}");
    }
}

#[test]
fn the_quad_is_the_dual_with_other_caches() {
    let [dual, quad] = ["nios2-dual", "nios2-quad"].map(|name| Chip::shipped(name).unwrap());
    assert_eq!((dual.cores.len(), quad.cores.len(), quad.engines.len()), (2, 4, 4));
    assert_eq!(
        (&dual.buses, &dual.memories, &dual.link),
        (&quad.buses, &quad.memories, &quad.link)
    );
    let sizes = |core: &Core| [core.instructions, core.data].map(|cache| cache.unwrap().size);
    assert_eq!(sizes(&dual.cores[0]), [8192, 4096]);
    assert_eq!(sizes(&quad.cores[0]), [4096, 2048]);
    for core in dual.cores.iter().chain(&quad.cores) {
        let first = &dual.cores[0];
        let like = Core {
            name: first.name.clone(),
            instructions: first.instructions,
            data: first.data,
            ..core.clone()
        };
        assert_eq!(&like, first);
    }
}

/// The SRA cycle of one processor, what a message holds its sender for, and the rates of a DMA, by
/// the arithmetic in the head of the file.
#[test]
fn quatro67_adds_up_to_what_it_is_set_from() {
    let chip = Chip::shipped("quatro67").unwrap();
    for (core, dma) in chip.cores.iter().zip(&chip.ports.dmas) {
        let us = |cost: Cost| cost.at(core.clock).micros();
        let call = |call| us(core.system.call(call).takes);
        let (send, receive) = (call(Call::Send), call(Call::Receive));
        assert_eq!(2.0 * (send + receive + us(core.system.switch)), 49.0);
        let entry = us(core.interrupt.entry);
        let held = [(DmaMode::Burst, 70.0), (DmaMode::ReadWrite, 68.0), (DmaMode::Frame, 84.0)];
        for (mode, published) in held {
            let pieces = chip.service(mode).unwrap();
            let own = us(pieces.request) + us(pieces.start) + us(pieces.finish) + entry;
            let looks = us(pieces.accept) + entry + 1.5;
            assert!((send + own + looks - published).abs() < 0.001, "{mode:?}");
            assert!((us(pieces.deliver) + send - us(pieces.finish)).abs() < 0.001, "{mode:?}");
        }
        let burst = chip.service(DmaMode::Burst).unwrap();
        assert_eq!(us(burst.packet) + entry, (121.0 - 70.0) / 3.0);
        let rates = dma.rates.iter().flat_map(|rate| [rate.read, rate.write]);
        let published = [100.0, 100.0, 38.5, 52.6, 40.0, 52.6];
        for (cost, published) in rates.zip(published) {
            assert!((4.0 / us(cost) / published - 1.0).abs() < 0.001, "{published}");
        }
    }
}

/// The collision of S4 section 3.2.5, by the arithmetic in the head of the file.
#[test]
fn copying_to_the_same_lines_takes_five_times_as_long() {
    let chip = Chip::shipped("nios2-dual").unwrap();
    let (core, bus) = (&chip.cores[0], &chip.buses[0]);
    let memory = &chip.memories[core.home];
    let line = |first: Cost| {
        let beats = memory.beat.at(bus.clock) * 16;
        (bus.overhead.at(bus.clock) + first.at(bus.clock) + beats).micros()
    };
    let miss = 2.0 * line(memory.read) + line(memory.write);
    assert!(core.copy.private);
    let word = (core.copy.word.at(core.clock) + core.hit.at(core.clock) * 2).micros();
    let slower = 8.0 * (miss + word) / (miss + 8.0 * word);
    assert!((slower - 5.0).abs() < 0.05, "{slower}");
}

/// A small generator of numbers, so that a failure can be repeated.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn no_change_of_a_file_makes_it_panic() {
    let values = [
        "0",
        "1",
        "-1",
        "3",
        "64",
        "\"\"",
        "[",
        "{}",
        "[]",
        "1.5",
        "true",
        "nan",
        "\"\u{e9}",
        "0x10",
        "18446744073709551616",
        "4294967295",
        "\"133.2us\"",
        "\"99999999999999999999s\"",
        "\"64KiB\"",
        "\"1GHz\"",
        "\"ddr\"",
        "[\"arm\"]",
        "{ enter = 1 }",
        "1979-05-27",
        "\"1\"]",
        "'",
    ];
    let (mut accepted, mut understood) = (0, 0);
    for seed in 0..600 {
        let mut state = seed;
        let mut draw = |below: usize| random(&mut state) % below;
        let (_, shipped) = SHIPPED[draw(SHIPPED.len())];
        // Without comments, so that nearly every change is one of something that is read.
        let bare = shipped.lines().map(|line| line.split_once('#').map_or(line, |(key, _)| key));
        let mut lines: Vec<String> =
            bare.filter(|line| !line.is_empty()).map(str::to_owned).collect();
        for _ in 0..=draw(3) {
            let at = draw(lines.len());
            match draw(8) {
                0 => drop(lines.remove(at)),
                1 => lines.swap(at, draw(seed as usize % 5 + 1)),
                2 => lines[at].insert_str(0, ["[", "]", "x", "\n", "\u{e9}", "= "][draw(6)]),
                _ => {
                    if let Some((key, _)) = lines[at].split_once('=') {
                        lines[at] = format!("{key}= {}", values[draw(values.len())]);
                    }
                }
            }
        }
        let text = lines.join("\n");
        match Chip::parse("mutant", &text) {
            Ok(_) => accepted += 1,
            Err(mistake) => {
                understood += u32::from(!matches!(mistake.problem, Problem::Syntax(_)));
                assert!(
                    (1..=text.lines().count() + 1).contains(&mistake.line),
                    "{seed}: {mistake}"
                );
                assert!(mistake.column >= 1, "{seed}: {mistake}");
                assert!(!mistake.to_string().contains('\n'), "{seed}: {mistake}");
            }
        }
    }
    assert!(accepted > 20 && understood > 200, "{accepted} accepted, {understood} understood");
}
