//! What the functions of a workload cost, and functions of shared libraries, as a user has them.

use crate::common::documented::assert_keys;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const CHIP: &str = "generic-amp";

/// A codec, and some that are none.
const CODEC: &str = r"
#include <stddef.h>
#include <stdint.h>

size_t halve(const void *request, size_t length, void *response, size_t room) {
    const uint8_t *from = request;
    uint8_t *to = response;
    size_t made = length / 2;
    for (size_t i = 0; i < made && i < room; i++)
        to[i] = from[2 * i] ^ from[2 * i + 1];
    return made;
}

size_t boast(const void *request, size_t length, void *response, size_t room) {
    (void)request; (void)length; (void)response;
    return room + 1;
}

size_t count(const void *request, size_t length, void *response, size_t room) {
    static uint8_t calls;
    (void)request; (void)length;
    if (room > 0)
        *(uint8_t *)response = calls++;
    return room > 0;
}
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory with the library and workloads.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn with_codec() -> Place {
        let place = Place::new();
        place.file("codec.c", CODEC);
        place.compile("codec.c", "libcodec.so");
        place
    }

    fn compile(&self, source: &str, library: &str) {
        let compiled = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"])
            .args([source, "-o", library])
            .current_dir(self.0.path())
            .output()
            .expect("the compiler cc starts: run ci/setup, or install Debian's package gcc");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    }

    fn file(&self, name: &str, contents: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A workload of one flow.
    fn workload(&self, keys: &str) -> String {
        let text = format!(
            "duration = '400ms'\nstrategy = 'copy/interrupt/external'\n\
             [[flow]]\nname = 'a'\nperiod = '10ms'\nrequest = 320\n{keys}"
        );
        self.file("workload.toml", &text)
    }

    fn narrows(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["120", env!("CARGO_BIN_EXE_narrows")]).args(arguments);
        // Paths in a workload are relative to the workload, not to where the command starts.
        command.current_dir(Path::new("/")).output().unwrap()
    }

    fn report(&self, arguments: &[&str]) -> Value {
        let output = self.narrows(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.narrows(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }
}

#[test]
fn the_recipe_works() {
    let page = include_str!("../../../../docs/HOWTO.md");
    let (_, recipe) = page.split_once("\n## Use your own codec\n").expect("the recipe");
    let block = |language: &str| {
        let (_, rest) = recipe.split_once(&format!("```{language}\n")).expect("a block");
        rest.split("```").next().unwrap_or_default().to_owned()
    };
    let place = Place::new();
    place.file("pack.c", &block("c"));
    place.compile("pack.c", "libpack.so");
    let path = place.file("pack.toml", &block("toml"));
    for on in ["host", "davinci"] {
        let report = place.report(&["run", &path, "--on", on, "--duration", "200ms"]);
        assert_eq!(report["results"].as_array().unwrap().len(), 2, "{report}");
        for row in report["results"].as_array().unwrap() {
            assert!(row["received"].as_u64() > Some(0) && row["wrong"] == 0, "{on}: {row}");
        }
        assert!(!notes(&report).contains("takes no time"), "{report}");
    }
    place.report(&["tune", &path, "--on", "davinci"]);
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

#[test]
fn a_cost_is_charged_on_the_chip_and_a_function_without_one_is_named() {
    let place = Place::new();
    let phase = |keys: &str, noted: bool| {
        let path = place.workload(&format!("function = 'echo'\n{keys}"));
        let report = place.report(&["run", &path, "--on", CHIP]);
        assert_eq!(notes(&report).contains("echo takes no time of the core"), noted, "{report}");
        let row = &report["results"][0];
        assert!(row["received"].as_u64() > Some(30) && row["wrong"] == 0, "{row}");
        row["phases_us"]["C"]["median"].as_f64().unwrap()
    };
    let without = phase("", true);
    for (cost, more) in [
        ("'1 ms'", 1000.0),
        ("'300 us + 2 us/B'", 940.0),
        ("{ generic-amp = '50us', other = '1 s' }", 50.0),
        ("'0 ns'", 0.0),
    ] {
        let longer = phase(&format!("cost = {cost}"), false) - without;
        assert!((longer - more).abs() <= 1.0, "{cost}: {longer}");
    }
    assert_eq!(phase("cost = { other = '1 s' }", true), without);
}

#[test]
fn the_model_reckons_with_the_cost_that_the_simulator_charges() {
    let place = Place::new();
    let by = "copy/interrupt/external";
    let loads = |keys: &str| {
        let path = place.workload(keys);
        let ran = place.report(&["run", &path, "--on", "davinci", "--strategy", by]);
        let planned = place.report(&["tune", &path, "--on", "davinci", "--strategy", by]);
        assert_eq!(notes(&planned), "[]");
        let ran = &ran["results"][0]["cpu_percent"];
        let flow = &planned["results"][0]["flows"][0];
        [&ran["caller"], &ran["callee"], &flow["load_percent"], &flow["work_percent"]]
            .map(|load| load.as_f64().unwrap())
    };
    let [caller, callee, load, work] = loads("function = 'echo'\ncost = '300 us + 2 us/B'");
    assert!((load / caller - 1.0).abs() < 0.05, "{caller} {load}");
    assert!((work / callee - 1.0).abs() < 0.05, "{callee} {work}");
    // 0.94 ms of 10 ms.
    assert!(callee > 9.4, "{callee}");
    // The function busy of that time takes what echo at that cost takes.
    let busy = loads("function = 'busy'\nbusy = '940us'");
    for (one, other) in [caller, callee, load, work].iter().zip(busy) {
        assert!((one / other - 1.0).abs() < 0.001, "{one} {other}");
    }

    let path = place.workload("function = 'echo'");
    let free = place.report(&["tune", &path, "--on", CHIP]);
    assert!(notes(&free).contains("echo takes no time of the core"), "{free}");
    let shown = text(&place.narrows(&["tune", &path, "--on", CHIP]).stdout);
    assert!(shown.contains("- echo takes no time of the core"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn a_function_of_a_shared_library_answers_here_and_on_a_chip() {
    let place = Place::with_codec();
    // The second flow takes what the first one has made.
    let keys = "library = 'libcodec.so'\nfunction = 'halve'\nresponse = 200\ncost = '1 ms'\n\
                [[flow]]\nname = 'b'\nafter = 'a'\nlibrary = 'libcodec.so'\nfunction = 'halve'\n\
                response = 100\n";
    let path = place.workload(keys);
    for on in ["host", CHIP] {
        let report = place.report(&["run", &path, "--on", on]);
        for row in report["results"].as_array().unwrap() {
            assert!(row["received"].as_u64() > Some(5), "{on}: {row}");
            assert_eq!((&row["wrong"], &row["refused"]), (&0.into(), &Value::Null), "{on}: {row}");
        }
        let c = report["results"][0]["phases_us"]["C"]["median"].as_f64().unwrap();
        assert!(on == "host" || (1000.0..1100.0).contains(&c), "{on}: {c}");
        // On the chip the second one is without a cost.
        assert_eq!(notes(&report).contains("halve takes no time"), on == CHIP, "{report}");
    }
    let planned = place.report(&["tune", &path, "--on", "host"]);
    assert_eq!(planned["results"][0]["flows"].as_array().unwrap().len(), 2, "{planned}");
}

#[test]
fn the_workload_that_advise_writes_still_finds_its_library() {
    let place = Place::with_codec();
    let keys = "library = 'libcodec.so'\nfunction = 'halve'\nresponse = 200\ncost = '1 ms'";
    let path = place.workload(keys);
    let out = place.0.path().join("tuned");
    let by = ["--strategy", "copy/interrupt/external"];
    let asked = ["advise", &path, "--on", CHIP, "--out", out.to_str().unwrap()];
    place.report(&[&asked[..], &by].concat());
    let written = out.join("workload.toml");
    let report = place.report(&["run", written.to_str().unwrap(), "--on", CHIP]);
    assert!(report["results"][0]["received"].as_u64() > Some(30), "{report}");
}

#[test]
fn a_library_that_cannot_be_loaded_is_told_in_a_sentence() {
    let place = Place::with_codec();
    for (library, function, said) in [
        ("missing.so", "halve", "there is no such file"),
        ("codec.c", "halve", "invalid ELF header; make it with 'cc -shared -fPIC'"),
        ("libcodec.so", "quarter", "it has no function quarter; 'nm -D' lists"),
    ] {
        let keys = format!("library = '{library}'\nfunction = '{function}'\nresponse = 200");
        let path = place.workload(&keys);
        let file = place.0.path().join(library);
        let file = file.to_str().unwrap();
        for arguments in [
            &["run", &path][..],
            &["run", &path, "--on", CHIP],
            &["tune", &path, "--on", CHIP],
            &["calibrate", "--function", function, "--library", file],
        ] {
            let found = place.fails(arguments, 4);
            let begin = format!("narrows: cannot load the shared library {file}: ");
            assert!(found.starts_with(&begin) && found.contains(said), "{arguments:?}: {found}");
        }
    }
}

#[test]
fn a_function_that_does_what_it_must_not_ends_the_run() {
    let place = Place::with_codec();
    for (function, said) in [
        ("boast", "returned 101 for a request of 320 bytes, but has room for 100"),
        ("count", "have it make the same response of the same request"),
    ] {
        // Two flows, so that the calls of one are between those of the other.
        let keys = format!("library = 'libcodec.so'\nfunction = '{function}'\nresponse = 100\n");
        let path = place.workload(&keys);
        for on in ["host", CHIP] {
            if (function, on) == ("count", "host") {
                continue; // Each process has its own count.
            }
            let found = place.fails(&["run", &path, "--on", on], 4);
            assert!(found.contains(said) && found.contains(function), "{on}: {found}");
        }
    }
    let file = place.0.path().join("libcodec.so");
    let measured = ["calibrate", "--function", "boast", "--library", file.to_str().unwrap()];
    let found = place.fails(&measured, 4);
    assert!(found.contains("boast") && found.contains("returned 129"), "{found}");
}

#[test]
fn calibrate_prints_a_cost_that_a_workload_takes() {
    let place = Place::with_codec();
    let file = place.0.path().join("libcodec.so");
    let library = file.to_str().unwrap();
    let asked = ["calibrate", "--library", library, "--function", "halve", "--rounds", "3"];
    let asked = [&asked[..], &["--bytes", "320,3200,32000"]].concat();
    let report = place.report(&asked);
    assert_eq!(report["command"], "calibrate");
    let row = &report["results"][0];
    assert_eq!((&row["function"], &row["library"]), (&"halve".into(), &library.into()));
    let table = "A row of `calibrate` > With `--function`";
    assert_keys(table, row);
    let sizes = row["sizes"].as_array().unwrap();
    for size in sizes {
        assert_keys("A row of `calibrate` > Each of `sizes`", size);
    }
    let of = |key: &str| sizes.iter().map(|size| size[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(
        (of("bytes"), of("response")),
        (vec![320.0, 3200.0, 32000.0], vec![160.0, 1600.0, 16000.0])
    );
    assert!(of("measured_ns").iter().all(|time| *time > 0.0), "{row}");
    let all = of("deviation_percent").into_iter().zip(of("measured_ns")).zip(of("fitted_ns"));
    for ((deviation, measured), fitted) in all {
        assert!((100.0 * (fitted / measured - 1.0) - deviation).abs() < 1e-6, "{row}");
        assert!(deviation.abs() <= row["worst_percent"].as_f64().unwrap() + 1e-9, "{row}");
    }
    let path = place.workload(&format!("function = 'echo'\ncost = {}", row["cost"]));
    place.report(&["run", &path, "--on", CHIP]);

    let shown = text(&place.narrows(&asked).stdout);
    assert!(shown.contains("\ncost = \"") && shown.contains("a core of this machine"), "{shown}");
    // The first line has the file's name.
    assert!(shown.lines().skip(2).all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn calibrate_refuses_what_it_cannot_measure() {
    let place = Place::new();
    for (arguments, said) in [
        (&["--function", "busy"][..], "the time of busy does not follow from the bytes"),
        (&["--function", "halve"], "there is no function halve: name echo, "),
        (
            &["--function", "g711.encode", "--bytes", "3"],
            "g711.encode.a of 3 bytes: the request has",
        ),
        (&["--function", "echo", "--response", "3"], "the response does not fit into the room"),
        (&["--function", "echo", "--out", "x.toml"], "cannot be used with"),
        (&["--out", "x.toml", "--bytes", "3"], "cannot be used with"),
        (&["--library", "x.so"], "required"),
    ] {
        let found = place.fails(&[&["calibrate"], arguments].concat(), 2);
        assert!(found.contains(said), "{arguments:?}: {found}");
    }
    let input = place.file("no.wav", "no");
    place.fails(&["calibrate", "--function", "echo", "--input", &input], 4);
}
