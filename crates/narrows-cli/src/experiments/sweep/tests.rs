//! Sweep files, their grids and their rows, without simulating.

use super::file::{self, Sweep};
use super::grid::{Grid, What};
use super::journal::{Found, found};
use super::rows::{Columns, Row, line};
use std::fs;
use std::path::PathBuf;

const TWO: &str = "\
platform = ['generic-amp', 'davinci']
strategy = ['copy/spin', 'in_place/spin']
sizes = [64, 1024, 2048]
[set]
'link.slots' = [16, 32]
";

/// A sweep file in a directory of its own.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn sweep(&self, text: &str) -> Result<Sweep, String> {
        file::read(&self.file("s.toml", text)).map_err(|failure| failure.to_string())
    }

    /// What is wrong with a sweep: the rest of the sentence behind the file's name.
    fn mistake(&self, text: &str) -> String {
        let of =
            |sweep: Sweep| Grid::new(&sweep, |_| Ok(())).map(|_| ()).map_err(|f| f.to_string());
        let said = self.sweep(text).and_then(of).expect_err(text);
        let file = format!("{}:", self.directory.path().join("s.toml").display());
        said.strip_prefix(&file).unwrap_or(&said).to_owned()
    }
}

#[test]
fn every_point_is_there_once_and_the_last_changes_first() {
    let place = Place::new();
    let sweep = place.sweep(TWO).unwrap();
    let grid = Grid::new(&sweep, |_| Ok(())).unwrap();
    assert_eq!(grid.points, 2 * 2 * 2 * 3);
    let all: Vec<String> = (0..grid.points)
        .map(|number| {
            let point = grid.point(number).unwrap();
            assert_eq!(point.values[0].value, point.chip.link.slots.to_string());
            let What::Links { strategy, .. } = point.what else { panic!("packets") };
            format!("{} {} {strategy}", point.chip.name, point.values[0].value)
        })
        .collect();
    assert_eq!(all[0], "generic-amp 16 copy/spin/external");
    assert_eq!(all[3], "generic-amp 16 in_place/spin/external");
    assert_eq!(all[6], "generic-amp 32 copy/spin/external");
    assert_eq!(all[23], "davinci 32 in_place/spin/external");
    let mut different = all;
    different.dedup();
    assert_eq!(different.len(), 8);
}

#[test]
fn keys_are_set_wherever_they_are() {
    let place = Place::new();
    let text = "platform = 'generic-amp'\nstrategy = 'copy'\nsizes = [8]\n[set]\n\
                'memory.ddr.read' = ['81ns']\ncore.m7.data.size = ['64KiB']\n\
                'core.a53.span.C.enter' = [765]\n'about' = [\"other\"]\n\
                'link.classes' = [[\n { placement = 'external', size = 64, count = 3 },\n]]\n\
                'bus.axi.arbitration' = [{ a53 = 2, m7 = 1, sdma = 1 }]\n";
    let sweep = place.sweep(text).unwrap();
    let chip = Grid::new(&sweep, |_| Ok(())).unwrap().point(0).unwrap().chip;
    let [a53, m7] = &chip.cores[..] else { panic!("{} cores", chip.cores.len()) };
    assert_eq!(format!("{:?}", chip.memories[0].read), "Time(Time(81000))");
    assert_eq!(m7.data.map(|cache| cache.size), Some(64 << 10));
    assert_eq!(a53.data.map(|cache| cache.size), Some(32 << 10));
    let span = a53.span(narrows::span::Span::PhaseC).map(|span| span.enter);
    assert_eq!(format!("{span:?}"), "Some(Cycles(765))");
    assert_eq!((chip.about.as_str(), chip.link.classes.len()), ("other", 1));
    assert!(format!("{:?}", chip.buses[1].arbitration).contains("[2, 1, 1]"));
    let keys: Vec<&str> = sweep.settings.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys[..3], ["memory.ddr.read", "core.m7.data.size", "core.a53.span.C.enter"]);
}

#[test]
fn mistakes_are_told_where_they_are() {
    let place = Place::new();
    let with = |set: &str| {
        let text = "platform = 'generic-amp'\nstrategy = 'copy'\nsizes = [64]\n[set]\n";
        place.mistake(&format!("{text}{set}\n"))
    };
    for (set, expected) in [
        (
            "'memory.ddr.read' = ['80ns', '80xx']",
            "5:30: memory.ddr.read = 80xx in generic-amp: \
          memory.read is 80xx; expected cycles as a whole number",
        ),
        (
            "'core.a53.data.size' = ['3KiB']",
            "5:25: core.a53.data.size = 3KiB in generic-amp: \
          core.data.size is 3KiB; expected a power of two of sets",
        ),
        (
            "'memory.dram.read' = [1]",
            "5:23: memory.dram.read cannot be set in generic-amp: expected \
          a key of one of ddr, ocm",
        ),
        (
            "'memory.ddr.reed' = [1]",
            "5:22: memory.ddr.reed cannot be set in generic-amp: expected \
          one of name, bus, size",
        ),
        ("'memory.ddr' = [1]", "5:17: memory.ddr cannot be set in generic-amp: it is a table"),
        ("'memory' = [1]", "5:13: memory cannot be set in generic-amp: it is a table"),
        (
            "'core.a53.data' = [1]",
            "5:20: core.a53.data cannot be set in generic-amp: it is a table",
        ),
        ("'about.x' = [1]", "5:14: about.x cannot be set in generic-amp: about is a value"),
        ("'link.slots' = 32", "5:16: set.link.slots is 32; expected a list of values"),
        ("'link.slots' = []", "5:16: set.link.slots is []; expected a list of values"),
        ("'link.slots' = [32]\nlink.slots = [64]", "6:6: link.slots is set twice"),
        (
            "'core.a53.span.C' = [{ enter = 1 }]\n'core.a53.span.C.enter' = [2]",
            "6:28: core.a53.span.C.enter is a part of another key that is set",
        ),
        (
            "'link.slots' = [4096]\n'memory.ocm.size' = ['4KiB']",
            "5:17: generic-amp with link.slots = 4096, memory.ocm.size = 4KiB: 2 regions",
        ),
    ] {
        let said = with(set);
        assert!(said.starts_with(expected), "{set}\nfound    {said}\nexpected {expected}");
        assert!(!said.contains('\n'), "{said}");
    }
    for (text, expected) in [
        ("", "1:1: platform is missing; expected the name of a platform"),
        ("platform = 'x'", "1:12: there is no platform x: name one of am62p"),
        ("platform = 'none/x.toml'", "1:12: cannot read the platform "),
        ("platform = 3", "1:12: platform is 3; expected the name of a platform"),
        ("platform = []", "1:12: platform is []; expected the name of a platform"),
        ("platform = ['davinci', 'davinci']", "1:24: platform is davinci; expected platforms that"),
        ("platform = 'davinci'", "1:21: strategy is missing"),
        ("platform = 'davinci'\nstrategy = 'fast'", "2:12: strategy is fast; expected a name"),
        ("platform = 'davinci'\nstrategy = 'copy'", "2:18: sizes is missing; expected a list"),
        ("sizes = [0]", "1:10: sizes is 0; expected a whole number from 1"),
        ("sizes = [1, 1]", "1:13: sizes is 1; expected each size once"),
        ("calls = 0", "1:9: calls is 0; expected a whole number from 1"),
        ("speed = 1", "1:1: unknown key speed; expected platform"),
        ("set = 1", "1:7: set is 1; expected a table of keys"),
        ("platform = 'davinci'\nstrategy = 'copy'\nsizes = [1]\nworkload = 'w'", "4:12: sizes and"),
        ("platform = 'davinci'\nstrategy = 'copy'\nsizes = [1]\nduration = '1s'", "4:12: duration"),
        (
            "platform = 'davinci'\nstrategy = 'copy'\nworkload = 'w'",
            "3:12: cannot read the workload",
        ),
        ("[", "1:"),
    ] {
        let said = place.mistake(text);
        assert!(said.starts_with(expected), "{text}\nfound    {said}\nexpected {expected}");
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn packets_go_by_each_mechanism_and_the_sizes_change_first() {
    let place = Place::new();
    let text = "platform = 'bmm-clusters'\ntransfer = 'packets'\nsizes = [4, 256]\n[set]\n\
                'buffer_manager.threshold' = [0, 256]\n";
    let sweep = place.sweep(text).unwrap();
    let grid = Grid::new(&sweep, |_| Ok(())).unwrap();
    let all: Vec<String> = (0..grid.points)
        .map(|number| {
            let point = grid.point(number).unwrap();
            let What::Packets { mechanism, bytes } = point.what else { panic!("links") };
            let threshold = point.chip.clusters.unwrap().manager.threshold;
            assert_eq!((point.number, grid.rows(number)), (number, 1));
            format!("{threshold} {} {bytes}", mechanism.name())
        })
        .collect();
    let each = |threshold| {
        ["dma 4", "dma 256", "bmm 4", "bmm 256"].map(|one| format!("{threshold} {one}"))
    };
    assert_eq!(all, [each(0), each(256)].concat());
}

#[test]
fn mistakes_in_sweeps_of_packets_are_told_where_they_are() {
    let place = Place::new();
    let clusters = "platform = 'bmm-clusters'\ntransfer = 'packets'\n";
    for (more, expected) in [
        ("", "2:21: sizes is missing; expected a list of bytes"),
        ("sizes = [4, 6]", "3:13: sizes is 6; expected packets of 4, 8, 16 and so on up to 16384"),
        ("sizes = [32768]", "3:10: sizes is 32768; expected packets of 4, 8, 16"),
        ("sizes = [4, 4]", "3:13: sizes is 4; expected each size once"),
        (
            "sizes = [4]\nstrategy = 'copy'",
            "4:12: strategy is copy; expected nothing with transfer",
        ),
        ("sizes = [4]\ncalls = 3", "4:9: calls is 3; expected nothing with transfer"),
        ("sizes = [4]\nduration = '1s'", "4:12: duration is 1s; expected nothing with transfer"),
        ("workload = 'w'", "3:12: workload is w; expected nothing with transfer"),
        (
            "sizes = [4]\n[set]\n'buffer_manager.treshold' = [0]",
            "5:30: buffer_manager.treshold cannot be set in bmm-clusters: expected one of part",
        ),
        (
            "sizes = [4]\n[set]\n'buffer_manager.threshold' = [0, -1]",
            "5:34: buffer_manager.threshold = -1 in bmm-clusters: buffer_manager.threshold is -1",
        ),
        (
            "sizes = [4]\n[set]\n'buffer_manager.threshold' = [0, 4097]",
            "5:34: buffer_manager.threshold = 4097 in bmm-clusters: buffer_manager.threshold is",
        ),
        (
            "sizes = [4]\n[set]\n'noc.mesh' = [[2, 2], [0, 2]]",
            "5:23: noc.mesh = [0, 2] in bmm-clusters: noc.mesh is [0, 2]; expected from 1 to 16",
        ),
        (
            "sizes = [4]\n[set]\n'noc.mesh' = [[2, 2], [1, 2]]",
            "5:23: bmm-clusters with noc.mesh = [1, 2]: cluster.at is [1, 0]; expected a column",
        ),
        (
            "sizes = [4]\n[set]\n'cluster.cluster3.at' = [[1, 1], [0, 0]]",
            "5:34: cluster.cluster3.at = [0, 0] in bmm-clusters: cluster.at is [0, 0]; expected a",
        ),
        (
            "sizes = [4]\n[set]\n'buffer_manager.partitioning' = [4]",
            "5:34: buffer_manager.partitioning = 4 in bmm-clusters: buffer_manager.partitioning",
        ),
    ] {
        let said = place.mistake(&format!("{clusters}{more}\n"));
        assert!(said.starts_with(expected), "{more}\nfound    {said}\nexpected {expected}");
        assert!(!said.contains('\n'), "{said}");
    }
    for (text, expected) in [
        ("platform = 'davinci'\ntransfer = 'packets'\nsizes = [4]", "davinci: it has no clusters"),
        (
            "platform = 'bmm-clusters'\nstrategy = 'copy'\nsizes = [4]",
            "bmm-clusters: it has clusters and no links of the stack: transfer = \"packets\"",
        ),
        ("transfer = 'copy'", "1:12: transfer is copy; expected \"packets\""),
    ] {
        let said = place.mistake(text);
        assert!(said.starts_with(expected), "{text}\nfound    {said}\nexpected {expected}");
    }
}

#[test]
fn a_platform_that_is_wrong_itself_is_told_as_its_own() {
    let place = Place::new();
    let platform = place.file("mine.toml", "about = 3\n[[bus]]\n");
    let text = "platform = 'mine.toml'\nstrategy = 'copy'\nsizes = [64]\n";
    assert!(place.mistake(text).starts_with(&format!("{}:", platform.display())));
    place.file("mine.toml", "about = \n");
    let set = "[set]\nabout = ['x']\n";
    assert!(
        place.mistake(&format!("{text}{set}")).starts_with(&format!("{}:1:", platform.display()))
    );
}

#[test]
fn a_grid_that_is_too_large_is_refused_at_once() {
    let place = Place::new();
    let values: Vec<String> = (1..=400).map(|value| value.to_string()).collect();
    let list = values.join(", ");
    let text = format!(
        "platform = 'davinci'\nstrategy = 'copy'\nsizes = [{list}]\n[set]\n'memory.ddr.read' = [{list}]"
    );
    assert!(place.mistake(&text).starts_with("1:1: 160000 points; expected at most 100000"));
}

#[test]
fn whatever_a_row_depends_on_changes_its_number() {
    let place = Place::new();
    let number = || {
        let text = "platform = 'mine.toml'\nstrategy = 'copy'\nworkload = 'w.toml'\n";
        place.sweep(text).unwrap().fingerprint
    };
    let platform = narrows_sim::chip::shipped("davinci").unwrap();
    let flow = "[[flow]]\nname = 'a'\nfunction = 'echo'\nrequest = 64\n";
    place.file("mine.toml", platform);
    place.file("w.toml", flow);
    let before = number();
    assert_eq!(number(), before);
    place.file("mine.toml", &format!("{platform}# more\n"));
    let other = number();
    assert_ne!(other, before);
    place.file("w.toml", &flow.replace("64", "65"));
    assert_ne!(number(), other);
}

/// A sweep of two flows at each of two points, and what its file may have.
fn rows(place: &Place) -> (Sweep, Vec<Row>) {
    let flow = |name| format!("[[flow]]\nname = '{name}'\nfunction = 'echo'\nrequest = 64\n");
    place.file("w.toml", &(flow("a") + &flow("b")));
    let text = "platform = 'davinci'\nstrategy = ['copy', 'in_place']\nworkload = 'w.toml'\n";
    let sweep = place.sweep(text).unwrap();
    let columns = Columns::new(&sweep, "x".into());
    let width = columns.header().split(',').count();
    let row = |point: usize, flow: &str| {
        let mut row = vec![String::new(); width];
        (row[0], row[1]) = ("x".into(), point.to_string());
        row[columns.place("flow").unwrap()] = flow.into();
        row[columns.place("refused").unwrap()] = "a, \"b\"".into();
        row
    };
    let rows = vec![row(1, "a"), row(1, "b"), row(0, "a"), row(0, "b")];
    (sweep, rows)
}

#[test]
fn a_file_is_taken_up_to_its_last_whole_point_wherever_it_was_torn() {
    let place = Place::new();
    let (sweep, rows) = rows(&place);
    let grid = Grid::new(&sweep, |_| Ok(())).unwrap();
    let columns = Columns::new(&sweep, "x".into());
    let mut ends = vec![0, columns.header().len()];
    let mut text = columns.header();
    for pair in rows.chunks(2) {
        text += &(line(&pair[0]) + &line(&pair[1]));
        ends.push(text.len());
    }
    for cut in 0..=text.len() {
        let Found { points, end } = found(&text.as_bytes()[..cut], &columns, &grid).unwrap();
        let whole = ends.iter().rposition(|end| *end <= cut).unwrap();
        assert_eq!((end, points.len()), (ends[whole], whole.saturating_sub(1)), "{cut}");
    }
    let Found { points, .. } = found(text.as_bytes(), &columns, &grid).unwrap();
    assert_eq!(points[&1], rows[..2]);
    assert_eq!(points[&0], rows[2..]);
}

#[test]
fn a_file_with_something_else_in_it_is_refused() {
    let place = Place::new();
    let (sweep, rows) = rows(&place);
    let grid = Grid::new(&sweep, |_| Ok(())).unwrap();
    let columns = Columns::new(&sweep, "x".into());
    let header = columns.header();
    let lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
    let [a, b, ..] = &lines[..] else { panic!("{} lines", lines.len()) };
    for (text, why) in [
        ("something\n".to_owned(), "its first line is another"),
        ("s".to_owned() + &header, "its first line is another"),
        (header.clone() + &a.replacen('x', "y", 1) + b, "line 2 is a row of another"),
        (header.clone() + a + b + "x,7\n", "line 4 is no row of it"),
        (header.clone() + &a.replacen("x,1", "x,2", 1), "line 2 is no row of it"),
        (header.clone() + a + &lines[2], "before line 3, a row is missing"),
        (header.clone() + a + b + a + b, "line 5 is there twice"),
    ] {
        let said = found(text.as_bytes(), &columns, &grid).expect_err(&text);
        assert!(said.starts_with(why), "{text}: {said}");
    }
}

#[test]
fn the_columns_are_described() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sweeps/README.md");
    let page = fs::read_to_string(page).unwrap();
    let place = Place::new();
    for what in [
        "platform = 'davinci'\nstrategy = 'copy'",
        "platform = 'bmm-clusters'\ntransfer = 'packets'",
    ] {
        let sweep = place.sweep(&format!("{what}\nsizes = [8]\n")).unwrap();
        for name in Columns::new(&sweep, String::new()).header().trim().split(',') {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
    for key in
        ["platform", "strategy", "transfer", "sizes", "calls", "workload", "duration", "[set]"]
    {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
}

#[test]
fn the_sweeps_that_are_here_are_possible() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sweeps");
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let sweep = file::read(&path).unwrap();
            assert!(Grid::new(&sweep, |_| Ok(())).unwrap().points > 1, "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 7, "{count}");
}
