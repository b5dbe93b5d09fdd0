//! What is drawn of chips, and where they come from.

use super::*;
use narrows_sim::chip::Stream;
use narrows_sim::time::{Cost, Frequency, Time};

fn chip(name: &str) -> Chip {
    load_any(name).unwrap()
}

/// A chip with more and longer of everything than fits side by side.
fn wide() -> Chip {
    let mut chip = chip("nios2-quad");
    chip.about = "x & <y> ".repeat(25);
    let (core, engine) = (chip.cores[0].clone(), chip.engines[0].clone());
    let long = "a-name-that-is-as-long-as-a-name-may-be-";
    chip.cores.extend((0..7).map(|i| {
        let mut core = core.clone();
        core.name = format!("{long}{i}");
        core
    }));
    chip.engines[0].cores = (0..11).collect();
    chip.engines.extend([engine.clone(), engine]);
    chip.memories.extend(chip.memories.clone());
    chip
}

#[test]
fn drawings_fit_eighty_columns_and_name_everything() {
    let mut chips: Vec<Chip> = SHIPPED.iter().map(|(name, _)| chip(name)).collect();
    chips.push(wide());
    for chip in chips {
        let text = text::draw(&drawing::of(&chip));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let names = chip.cores.iter().map(|core| &core.name);
        let names = names.chain(chip.engines.iter().map(|engine| &engine.name));
        for name in names.chain(chip.memories.iter().map(|memory| &memory.name)) {
            let start: String = name.chars().take(14).collect();
            assert!(text.contains(&start), "{name}: {text}");
        }
        assert!(chip.buses.iter().all(|bus| text.contains(&format!("═ {} ═", bus.name))), "{text}");
    }
}

#[test]
fn lines_of_a_drawing_meet() {
    let text = text::draw(&drawing::of(&chip("davinci")));
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let at = |line: usize, column: usize| lines.get(line).and_then(|l| l.get(column)).copied();
    let down = "│┬┌┐├╞┴┘└";
    for (y, line) in lines.iter().enumerate() {
        for (x, symbol) in line.iter().enumerate() {
            if *symbol == '┬' {
                assert!(matches!(at(y + 1, x), Some('┴' | '┘')), "{x}:{y} of\n{text}");
            }
            if matches!(symbol, '╞' | '╘') && x == 0 {
                assert!(
                    at(y - 1, 0).is_some_and(|above| down.contains(above)),
                    "{x}:{y} of\n{text}"
                );
            }
        }
    }
    assert_eq!(text.matches('┬').count(), 3, "{text}");
}

#[test]
fn pictures_are_whole_and_their_words_escaped() {
    for chip in [chip("davinci"), wide()] {
        let picture = svg::draw(&drawing::of(&chip));
        assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"), "{picture}");
        let boxes = chip.cores.len() + chip.engines.len() + chip.memories.len() + chip.buses.len();
        assert_eq!(picture.matches("<rect").count(), boxes + 1);
        for line in picture.lines().filter(|line| line.starts_with("<text")) {
            let words = line.split_once('>').unwrap().1.strip_suffix("</text>").unwrap();
            assert!(!words.contains(['<', '>', '"']), "{line}");
            let plain = words.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
            assert!(!plain.contains('&'), "{line}");
        }
    }
}

#[test]
fn every_figure_of_a_stretch_is_in_text_and_picture() {
    let mut chip = chip("davinci");
    let cost = |picos| Cost::Time(Time(picos));
    let from = 64 << 10;
    chip.memories[0].stream = vec![Stream { from, read: cost(456_789), write: cost(345_678) }];
    let drawing = drawing::of(&chip);
    let (text, picture) = (text::draw(&drawing), svg::draw(&drawing));
    for figure in ["from 64 KiB on", "read 456.789 ns", "write 345.678 ns"] {
        assert!(picture.contains(&format!(">{figure}<")), "{figure}: {picture}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(figure), "{figure}: {text}");
    }
    assert!(!picture.contains('…'), "{picture}");
}

#[test]
fn what_a_file_says_of_channels_and_of_the_system_is_in_json() {
    let chip = chip("nios2-dual");
    let row = json::row(&chip);
    assert_eq!(row["link"]["channels"], chip.link.channels);
    assert_eq!(row["link"]["channel_slots"], chip.link.channel_slots);
    let (system, told) = (&chip.cores[0].system, &row["cores"][0]["system"]);
    assert_eq!(told["switch_words"], system.switch_words);
    assert_eq!(told["calls"].as_object().unwrap().len(), system.calls.len());
    let (call, cost) = system.calls.first().unwrap();
    assert_eq!(told["calls"][call.name()]["words"], cost.words);
    assert!(row["engines"][0]["refill_ns"].is_number());
}

#[test]
fn costs_in_json_are_nanoseconds_whatever_they_are_in_the_file() {
    let row = json::row(&chip("davinci"));
    assert_eq!(row["cores"][0]["span"]["A"]["enter_ns"], 133_190.0);
    assert_eq!(row["cores"][1]["interrupt"]["entry_ns"], 336.7);
    assert_eq!(row["memories"][0]["write_ns"], 457.938);
    assert_eq!(row["memories"][1]["bus"], "tcm");
    assert_eq!(row["link"]["classes"][0]["placement"], "internal");
    assert!(row["cores"][0]["second"].is_null() && row["buses"][0]["weights"].is_null());
}

#[test]
fn words_for_figures() {
    assert_eq!(drawing::bytes(16_384), "16 KiB");
    assert_eq!(drawing::bytes(1500), "1500 B");
    assert_eq!(drawing::frequency(Frequency(1_600_000_000)), "1.6 GHz");
    assert_eq!(drawing::frequency(Frequency(32_768)), "32.768 kHz");
    assert_eq!(drawing::cost(Cost::Cycles(1)), "1 cycle");
    assert_eq!(drawing::cost(Cost::Time(Time::nanos(20))), "20 ns");
}

#[test]
fn a_name_is_a_shipped_one_or_a_file() {
    let message = |name: &str| {
        let failure = load(name).unwrap_err();
        assert_eq!(failure.kind, Kind::Workload);
        failure.to_string()
    };
    assert!(message("davinky").contains(
        "there is no platform davinky: name one of am62p, am64x, bmm-clusters, bmm-clusters-16, davinci"
    ));
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("mine.toml");
    let file = path.to_str().unwrap();
    assert!(message(file).contains("mine.toml: no such file or directory: name a platform file"));
    std::fs::write(&path, narrows_sim::chip::shipped("davinci").unwrap()).unwrap();
    let mine = load(file).unwrap();
    assert_eq!(mine, Chip { name: "mine".into(), ..chip("davinci") });
    std::fs::write(&path, "about = 3").unwrap();
    assert!(message(file).starts_with(&format!("{file}:1:10: 0 [[bus]] tables")));
    std::fs::write(&path, [0xff]).unwrap();
    assert!(message(file).contains("it is not UTF-8 text"));
    std::fs::write(&path, vec![b' '; crate::base::input::MAX_FILE as usize + 1]).unwrap();
    assert!(message(file).contains("it is larger than"));
}

#[test]
fn what_runs_the_stack_refuses_a_board_whose_cores_share_no_memory() {
    for name in ["pci44", "quatro67"] {
        let said = load(name).unwrap_err().to_string();
        assert!(said.contains(name) && said.contains("share no memory"), "{said}");
    }
    let said = load("bmm-clusters").unwrap_err().to_string();
    assert!(said.starts_with("bmm-clusters has clusters on a network and no links"), "{said}");
}
