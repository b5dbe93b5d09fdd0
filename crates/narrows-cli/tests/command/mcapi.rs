//! `narrows mcapi` and `narrows bench mcapi --on`: programs in C, and their calls, on simulated
//! chips.

use crate::common::documented::{assert_inner, assert_keys, assert_same, documented, keys};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where docs/JSON.md has a program.
const ROW: &str = "A row of `mcapi`";

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory with programs, made for the simulator.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Programs {
        Programs(tempfile::tempdir().unwrap())
    }

    fn compile(&self, source: &Path, name: &str, flags: &[&str]) {
        let compiled = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC", "-I"])
            .arg(root("crates/narrows-capi/include"))
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(self.0.path().join(name))
            .output()
            .expect("the compiler cc starts: run ci/setup, or install Debian's package gcc");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    }

    /// An example, as C and as C++.
    fn example(&self, name: &str) -> Vec<String> {
        let source = root("examples/mcapi").join(name).with_extension("c");
        let made = |library: String, language: &[&str]| {
            self.compile(&source, &library, &[&["-DNARROWS_SIMULATED"], language].concat());
            library
        };
        vec![
            made(format!("{name}.so"), &["-x", "c", "-std=c11"]),
            made(format!("{name}-cxx.so"), &["-x", "c++", "-std=c++17"]),
        ]
    }

    fn program(&self, name: &str, code: &str) {
        let source = self.0.path().join(name).with_extension("c");
        std::fs::write(&source, format!("{BEGIN}{code}")).unwrap();
        self.compile(&source, &format!("{name}.so"), &["-DNARROWS_SIMULATED", "-std=c11"]);
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["120", env!("CARGO_BIN_EXE_narrows"), "mcapi"]);
        command.args(arguments).current_dir(self.0.path()).output().unwrap()
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        text(&output.stdout)
    }

    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }
}

/// What programs of tests begin with.
const BEGIN: &str = r#"
#define _GNU_SOURCE
#include <mcapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) ((what) ? (void)0 : (fprintf(stderr, "line %d: %s\n", __LINE__, #what), exit(1)))
#define WELL CHECK(status == MCAPI_SUCCESS)

static mcapi_status_t status;

static inline void begin(mcapi_node_t node)
{
    mcapi_info_t info;
    mcapi_initialize(0, node, NULL, NULL, &info, &status);
    WELL;
}

static inline void end(void)
{
    mcapi_finalize(&status);
    WELL;
}

static inline double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}
"#;

#[test]
fn the_examples_run_on_chips_and_print_the_same_each_time() {
    let programs = Programs::new();
    let examples: [(&str, &str, &[&str], &[&str]); 3] = [
        ("pingpong", "generic-amp", &["ping", "pong"], &["1000 messages", "1000 scalars"]),
        (
            "pipeline",
            "nios2-quad",
            &["paint", "edges", "collect"],
            &["480 lines of 640 pixels", "the image is as it should be"],
        ),
        (
            "sensors",
            "nios2-quad",
            &["9", "1", "2", "3"],
            &["sensor 1: 300 readings, 100 to 399", "sensor 3: 300 readings, 300 to 599"],
        ),
    ];
    for (name, chip, parts, expected) in examples {
        let [first, second] = programs.example(name).try_into().unwrap();
        let on = |library: &str| {
            let placed = parts.iter().enumerate();
            let placed = placed.map(|(core, part)| format!("{core}=./{library},{part}"));
            let placed: Vec<String> = placed.collect();
            let placed: Vec<&str> = placed.iter().map(String::as_str).collect();
            programs.printed(&[&["--on", chip], &placed[..]].concat())
        };
        let printed = on(&first);
        for line in expected {
            assert!(printed.contains(line), "{name}: {printed}");
        }
        assert!(printed.contains(&format!("{0} of {0} programs ended well", parts.len())));
        assert_eq!(printed, on(&first), "{name}");
        let words = |text: &str| -> Vec<String> {
            text.split_whitespace().map(|word| word.replace("-cxx.so", ".so")).collect()
        };
        assert_eq!(words(&printed), words(&on(&second)), "{name}");
    }
}

#[test]
fn time_is_virtual_and_each_program_has_its_own_variables() {
    let programs = Programs::new();
    programs.program(
        "alone",
        r#"
static int calls;

int main(int argc, char **argv)
{
    double before, later;
    mcapi_endpoint_t own, got;
    char back[64];
    size_t size;
    CHECK(argc == 2 && argv[2] == NULL && ++calls == 1);
    begin((mcapi_node_t)atoi(argv[1]));
    before = milliseconds();
    mcapi_endpoint_get(0, 99, 7, 250, &status);
    CHECK(status == MCAPI_TIMEOUT);
    later = milliseconds();
    /* A sleep may end with the tick behind its end. */
    CHECK(later >= before + 250 && later < before + 300);
    usleep(3600u * 1000000u);
    CHECK(milliseconds() >= later + 3600e3 && milliseconds() < later + 3601e3);
    own = mcapi_endpoint_create(1, &status);
    WELL;
    got = mcapi_endpoint_get(0, (mcapi_node_t)atoi(argv[1]), 1, 0, &status);
    CHECK(status == MCAPI_SUCCESS && got == own);
    mcapi_msg_send(own, own, "to myself", 10, 0, &status);
    WELL;
    mcapi_msg_recv(own, back, sizeof back, &size, &status);
    CHECK(status == MCAPI_SUCCESS && size == 10 && strcmp(back, "to myself") == 0);
    printf("%s\n", argv[1]);
    end();
    return 0;
}
"#,
    );
    let places = ["0=./alone.so,1", "1=./alone.so,2", "1=./alone.so,3"];
    let printed = programs.printed(&[&["--on", "generic-amp"], &places[..]].concat());
    let lines: Vec<&str> = printed.lines().filter(|line| line.len() == 1).collect();
    assert_eq!(lines.len(), 3, "{printed}");
    // What programs print is not among what a program reads.
    let report = programs.printed(&[&["--on", "generic-amp", "--json"], &places[..]].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["command"], "mcapi");
    let rows = report["results"].as_array().unwrap();
    for (row, (core, argument)) in rows.iter().zip([(0, "1"), (1, "2"), (1, "3")]) {
        assert_keys(ROW, row);
        assert_eq!((&row["core"], &row["arguments"][0]), (&core.into(), &argument.into()));
        assert!(row["ended_ms"].as_f64().unwrap() > 3600e3 && row["returned"] == 0, "{row}");
    }
}

/// A node that sends two packets and ends, and one that receives them.
const PACKETS: &str = r#"
static mcapi_request_t request;
static size_t size;

static void done(void)
{
    CHECK(mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status));
}

int main(int argc, char **argv)
{
    static char bytes[5000];
    void *first, *second;
    mcapi_pktchan_send_hndl_t out;
    mcapi_pktchan_recv_hndl_t in;
    int sends = argc > 1 && strcmp(argv[1], "sends") == 0;
    mcapi_endpoint_t own, other;
    begin(sends ? 1 : 2);
    own = mcapi_endpoint_create(1, &status);
    if (sends) {
        other = mcapi_endpoint_get(0, 2, 1, MCAPI_TIMEOUT_INFINITE, &status);
        mcapi_pktchan_connect_i(own, other, &request, &status);
        done();
        mcapi_pktchan_send_open_i(&out, own, &request, &status);
        done();
        memset(bytes, 'a', sizeof bytes);
        mcapi_pktchan_send(out, bytes, sizeof bytes, &status);
        WELL;
        memset(bytes, 'b', sizeof bytes);
        mcapi_pktchan_send(out, bytes, 1, &status);
        WELL;
        return 0;
    }
    mcapi_pktchan_recv_open_i(&in, own, &request, &status);
    done();
    mcapi_pktchan_recv(in, &first, &size, &status);
    CHECK(status == MCAPI_SUCCESS && size == sizeof bytes);
    mcapi_pktchan_recv(in, &second, &size, &status);
    CHECK(status == MCAPI_SUCCESS && size == 1 && *(char *)second == 'b');
    memset(bytes, 'a', sizeof bytes);
    CHECK(memcmp(first, bytes, sizeof bytes) == 0);
    mcapi_pktchan_release(first, &status);
    WELL;
    mcapi_pktchan_release(first, &status);
    CHECK(status == MCAPI_ERR_BUF_INVALID);
    mcapi_pktchan_release((char *)second + 1, &status);
    CHECK(status == MCAPI_ERR_BUF_INVALID);
    mcapi_pktchan_release(second, &status);
    WELL;
    /* The sender returned without an end of its node. */
    mcapi_pktchan_recv(in, &first, &size, &status);
    CHECK(status == MCAPI_ERR_CHAN_CLOSEPENDING);
    end();
    return 0;
}
"#;

#[test]
fn a_packet_is_there_until_it_is_released_and_a_peer_that_ends_is_gone() {
    let programs = Programs::new();
    programs.program("packets", PACKETS);
    for chip in ["generic-amp", "nios2-dual", "davinci"] {
        programs.printed(&["--on", chip, "0=./packets.so,sends", "1=./packets.so,receives"]);
    }
}

/// Messages, packets and scalars there and back between two nodes, each of which also sends to
/// itself.
const ALL_KINDS: &str = r#"
static mcapi_request_t request;
static size_t size;

static void done(void)
{
    CHECK(mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status));
}

int main(int argc, char **argv)
{
    static char bytes[20000], back[20000];
    mcapi_endpoint_t own[3], other[3];
    mcapi_pktchan_send_hndl_t out;
    mcapi_pktchan_recv_hndl_t in;
    mcapi_sclchan_send_hndl_t scalars;
    mcapi_sclchan_recv_hndl_t incoming;
    mcapi_node_t node = argc > 1 ? (mcapi_node_t)atoi(argv[1]) : 0, peer = 3 - node;
    unsigned at, turn;
    void *packet;
    begin(node);
    for (at = 0; at < 3; ++at) {
        own[at] = mcapi_endpoint_create(at, &status);
        WELL;
    }
    for (at = 0; at < 3; ++at) {
        other[at] = mcapi_endpoint_get(0, peer, at, MCAPI_TIMEOUT_INFINITE, &status);
        WELL;
    }
    /* From the first node by ports 1, from the second by ports 2. */
    if (node == 1) {
        mcapi_pktchan_connect_i(own[1], other[1], &request, &status);
        done();
        mcapi_sclchan_connect_i(other[2], own[2], &request, &status);
        done();
        mcapi_pktchan_send_open_i(&out, own[1], &request, &status);
        done();
        mcapi_sclchan_recv_open_i(&incoming, own[2], &request, &status);
        done();
    } else {
        mcapi_pktchan_recv_open_i(&in, own[1], &request, &status);
        done();
        mcapi_sclchan_send_open_i(&scalars, own[2], &request, &status);
        done();
    }
    for (turn = 0; turn < 20; ++turn) {
        size_t length = turn * 997;
        memset(bytes, (int)(turn + node), sizeof bytes);
        mcapi_msg_send(own[0], own[0], bytes, turn, 1, &status);
        WELL;
        mcapi_msg_recv(own[0], back, sizeof back, &size, &status);
        CHECK(status == MCAPI_SUCCESS && size == turn && memcmp(bytes, back, size) == 0);
        mcapi_msg_send(own[0], other[0], bytes, length, 1, &status);
        WELL;
        mcapi_msg_recv(own[0], back, sizeof back, &size, &status);
        memset(bytes, (int)(turn + peer), sizeof bytes);
        CHECK(status == MCAPI_SUCCESS && size == length && memcmp(bytes, back, size) == 0);
        if (node == 1) {
            memset(bytes, (int)turn, sizeof bytes);
            mcapi_pktchan_send(out, bytes, length, &status);
            WELL;
            CHECK(mcapi_sclchan_recv_uint32(incoming, &status) == length);
            WELL;
        } else {
            mcapi_pktchan_recv(in, &packet, &size, &status);
            WELL;
            memset(bytes, (int)turn, sizeof bytes);
            CHECK(size == length && memcmp(packet, bytes, size) == 0);
            mcapi_pktchan_release(packet, &status);
            WELL;
            mcapi_sclchan_send_uint32(scalars, (mcapi_uint32_t)size, &status);
            WELL;
        }
    }
    end();
    return 0;
}
"#;

#[test]
fn the_same_programs_run_between_clusters_over_both_mechanisms() {
    let programs = Programs::new();
    programs.program("packets", PACKETS);
    programs.program("kinds", ALL_KINDS);
    let places = [
        ["0=./packets.so,sends", "2=./packets.so,receives"],
        ["0=./packets.so,sends", "1=./packets.so,receives"],
        ["7=./kinds.so,1", "2=./kinds.so,2"],
    ];
    for placed in places {
        let run = || {
            let printed =
                programs.printed(&[&["--on", "bmm-clusters", "--json"], &placed[..]].concat());
            let report: Value = serde_json::from_str(&printed).unwrap();
            report["results"].as_array().unwrap().clone()
        };
        let rows = run();
        assert_eq!(rows, run(), "it is the same each time");
        assert_eq!(rows.len(), 2 * 3, "no block has signalled anything: {rows:?}");
        for row in &rows {
            let mut expected = if row["network_bytes"].is_null() {
                documented(ROW)
            } else {
                ["network_bytes".to_owned()].into()
            };
            expected.insert("mechanism".to_owned());
            assert_same(ROW, &keys(row), &expected);
        }
        let of = |mechanism: &str, key: &str| -> Vec<f64> {
            let of = rows.iter().filter(|row| row["mechanism"] == mechanism);
            of.filter_map(|row| row[key].as_f64()).collect()
        };
        for mechanism in ["dma", "bmm"] {
            assert_eq!(of(mechanism, "returned"), [0.0; 2]);
        }
        for key in ["ended_ms", "network_bytes"] {
            let (dma, bmm) = (of("dma", key), of("bmm", key));
            assert!(dma.len() == bmm.len() && !dma.is_empty(), "{rows:?}");
            // Within one cluster nothing goes into the network.
            let less =
                dma.iter().zip(&bmm).all(|(dma, bmm)| bmm < dma || (*dma, *bmm) == (0.0, 0.0));
            assert!(less, "{key}: {dma:?}, {bmm:?}");
        }
    }
    let [one, other] = places[2];
    let printed = programs.printed(&["--on", "bmm-clusters", "--mechanism", "bmm", one, other]);
    assert!(printed.starts_with("Over the buffer manager (bmm):"), "{printed}");
    assert!(!printed.contains("dma"), "{printed}");
}

#[test]
fn what_clusters_cannot_run_is_a_sentence_and_a_code() {
    let programs = Programs::new();
    programs.program("packets", PACKETS);
    let receives = "0=./packets.so,receives";
    let said = programs.fails(&["--on", "bmm-clusters", receives, "0=./packets.so,sends"], 2);
    assert!(said.contains("core 0 has two programs"), "{said}");
    let said = programs.fails(&["--on", "nios2-dual", "--mechanism", "dma", receives], 2);
    assert!(said.contains("nios2-dual has no clusters"), "{said}");
    let said = programs.fails(&["--on", "bmm-clusters", "--mechanism", "cpu", receives], 2);
    assert!(said.contains("dma or bmm"), "{said}");
    let said = programs.fails(&["--on", "bmm-clusters", receives], 10);
    assert!(said.contains("packets.so waits for"), "{said}");
}

#[test]
fn what_cannot_go_on_is_a_sentence_and_a_code() {
    let programs = Programs::new();
    let [pingpong, _] = programs.example("pingpong").try_into().unwrap();
    let ping = format!("0=./{pingpong},ping");
    let said = programs.fails(&["--on", "nios2-dual", &ping], 10);
    assert!(said.contains("pingpong.so waits for its doorbell"), "{said}");
    let said = programs.fails(&["--on", "nios2-dual", "2=./pingpong.so"], 2);
    assert!(said.contains("no core 2: nios2-dual has 2"), "{said}");
    let said = programs.fails(&["--on", "nios2-dual", "--cores", "0,1", &ping], 2);
    assert!(said.contains("--cores"), "{said}");
    programs.fails(&["--on", "nios2-dual", "pingpong.so"], 2);
    programs.fails(&["--on", "nothing", &ping], 3);
    let said = programs.fails(&["--on", "nios2-dual", "0=./missing.so"], 4);
    assert!(said.contains("missing.so"), "{said}");
    let source = root("examples/mcapi/pingpong.c");
    programs.compile(&source, "host.so", &["-std=c11"]);
    let said = programs.fails(&["--on", "nios2-dual", "0=./host.so,ping"], 4);
    assert!(said.contains("-DNARROWS_SIMULATED"), "{said}");
    programs.program(
        "still",
        r#"int main(void) {
    mcapi_param_t options = 0;
    mcapi_info_t info;
    mcapi_status_t status;
    mcapi_initialize(0, 1, 0, &options, &info, &status);
    while (mcapi_node_id_get(&status) == 1) {}
    return 0;
}
"#,
    );
    let said = programs.fails(&["--on", "nios2-dual", "0=./still.so"], 10);
    assert!(said.contains("time stands still") && said.contains("still.so goes on"), "{said}");
    programs.program("three", "int main(void) { return 3; }\n");
    let said = programs.fails(&["--on", "nios2-dual", "0=./three.so"], 6);
    assert!(said.contains("three.so on core 0 returned 3"), "{said}");
}

#[test]
fn the_bench_has_the_same_rows_on_a_chip_without_limits() {
    let bench = || {
        let arguments = ["bench", "mcapi", "--on", "generic-amp", "--rounds", "1", "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_narrows")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["machine"]["platform"], "generic-amp");
        report["results"].as_array().unwrap().clone()
    };
    let rows = bench();
    assert_eq!(rows.len(), 3 + 4 + 7 + 7);
    let value = |name: &str, bytes: u64| {
        let row = rows.iter().find(|row| row["name"] == name && row["bytes"] == bytes);
        let row = row.unwrap_or_else(|| panic!("{name} of {bytes} bytes"));
        assert!(row["limit"].is_null() && row["bound"].is_null(), "{row}");
        row["value"].as_f64().unwrap()
    };
    let scalar = value("scalar, looking", 8);
    let packets = [4, 64, 1024, 16384].map(|bytes| value("packet, looking", bytes));
    assert!(scalar < value("message, looking", 48), "a scalar is least of all");
    assert!(packets.is_sorted() && scalar < packets[0], "{scalar} {packets:?}");
    assert!(value("16 KiB one way", 4) < value("16 KiB one way", 1024));
    assert_eq!(rows, bench(), "it is the same each time");
}

#[test]
fn calls_of_functions_take_what_the_command_line_says() {
    let programs = Programs::new();
    let source = root("examples/mcapi/pipeline.c");
    let flags = ["-DNARROWS_SIMULATED", "-std=c11"];
    programs.compile(&source, "plain.so", &flags);
    programs.compile(&source, "told.so", &[&flags[..], &["-finstrument-functions"]].concat());
    let cxx = [
        "-DNARROWS_SIMULATED",
        "-x",
        "c++",
        "-std=c++17",
        "-fno-exceptions",
        "-finstrument-functions",
    ];
    programs.compile(&source, "cxx.so", &cxx);
    let run = |name: &str, on: &str, more: &[&str]| {
        let places = if on == "bmm-clusters" { [0, 2, 4] } else { [0, 1, 2] };
        let placed: Vec<String> = places
            .iter()
            .zip(["paint", "edges", "collect"])
            .map(|(core, part)| format!("{core}=./{name}.so,{part}"))
            .collect();
        let placed = placed.iter().map(String::as_str);
        let all: Vec<&str> =
            ["--on", on, "--json"].into_iter().chain(placed).chain(more.iter().copied()).collect();
        let report: Value = serde_json::from_str(&programs.printed(&all)).unwrap();
        report["results"].as_array().unwrap().clone()
    };
    let costs = ["--cost", "paint_line=100us", "--cost", "edges_of=50 us"];
    for (on, runs) in [("nios2-quad", 1), ("bmm-clusters", 2)] {
        let (none, some) = (run("told", on, &[]), run("told", on, &costs));
        let places = (0..runs).flat_map(|run| {
            let begin = run * 4;
            [(begin, "paint_line", 48.0), (begin + 1, "edges_of", 24.0)]
        });
        for (row, function, taken) in places {
            assert_eq!(none[row]["computed_ms"], 0.0, "{on}");
            assert_eq!(none[row]["functions"], Value::Array(Vec::new()), "{on}");
            assert_inner(ROW, &some[row], "functions", &[]);
            assert_eq!(some[row]["computed_ms"], taken, "{on}: {function}");
            // The program has both, and calls one of them.
            let of = |name: &str| {
                let all = some[row]["functions"].as_array().unwrap();
                all.iter().find(|one| one["function"] == name).unwrap().clone()
            };
            assert_eq!(of(function)["calls"], 480, "{on}: {function}");
            let (before, after) = (&none[row]["ended_ms"], &some[row]["ended_ms"]);
            let [before, after] = [before, after].map(|ms| ms.as_f64().unwrap());
            // Lines are painted while others are worked on and carried.
            assert!(after > before.max(taken) && after < before + 72.0, "{on}: {before}, {after}");
        }
    }
    let plain = ["0=./plain.so,paint", "1=./plain.so,edges", "2=./plain.so,collect"];
    let plain = [&["--on", "nios2-quad"], &plain[..], &costs[..2]].concat();
    let said = "No call of paint_line was counted";
    assert!(programs.printed(&plain).contains(said), "{said}");
    let mangled = run("cxx", "nios2-quad", &["--cost", "_ZL10paint_linePhi=100us"]);
    assert_eq!(mangled[0]["computed_ms"], 48.0);
    let nobody = ["--on", "nios2-quad", "0=./told.so,paint", "--cost", "paint=1ms"];
    for (cost, said) in [("no_such=1ms", "no program has a function no_such"), ("paint", "'paint'")]
    {
        let wrong = [&nobody[..3], &["--cost", cost]].concat();
        let code = if cost.contains('=') { 4 } else { 2 };
        assert!(programs.fails(&wrong, code).contains(said), "{cost}");
    }
}
