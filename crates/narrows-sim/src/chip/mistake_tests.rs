//! What is said of mistakes in platform files, and where.

use super::Chip;
use super::tests::SMALL;

/// What is replaced in the small chip of the other tests by what, then what is said of that.
const WRONG: &[(&str, &str, &str)] = &[
    ("about = \"two cores\"", "about = ", "1:9: "),
    ("about = \"two cores\"\n", "", "1:1: about is missing; expected a line"),
    ("\"two cores\"", "3", "1:9: about is 3; expected a line of at most 200 characters"),
    ("\"two cores\"", "\"a\\nb\"", "1:9: about is a\\nb; expected a line"),
    (
        "[link]",
        "[lnik]",
        "43:2: unknown key lnik; expected about, bus, memory, bridge, core, engine, link, port, dma, ipc, route, noc, cluster, block_dma, buffer_manager, calls, accelerator or model",
    ),
    (
        "[link]",
        "[[model]]\nnotification = \"bell\"\nload = 1\np99 = 2\n[link]",
        "44:16: model.notification is bell; expected interrupt, spin, poll, hybrid, coalesced or mixed",
    ),
    (
        "[link]",
        "[[model]]\nnotification = \"poll\"\nload = -1\np99 = 2\n[link]",
        "45:8: model.load is -1; expected a whole number from 0 to 1000",
    ),
    ("[[bus]]", "[bus]", "2:1: bus is [bus]"),
    ("poll = 5", "poll = 5\npoll = 5", "27:1: duplicate key: poll"),
    ("poll = 5", "poll 5", "26:6: key with no value, expected `=`"),
    ("[[core]]", "[[cores]]", "18:3: unknown key cores"),
    ("clock = \"100MHz\"\nwidth", "width", "2:1: bus.clock is missing; expected a frequency from"),
    ("name = \"bus\"", "name = \"a b\"", "3:8: bus.name is a b; expected a name of 1 to 40"),
    ("name = \"bus\"", "name = ''", "3:8: bus.name is ''; expected a name"),
    ("\"100MHz\"\nwidth", "100\nwidth", "4:9: bus.clock is 100; expected a frequency from \"1Hz\""),
    ("\"100MHz\"\nwidth", "\"0Hz\"\nwidth", "4:9: bus.clock is 0Hz; expected"),
    ("\"100MHz\"\nwidth", "\"11GHz\"\nwidth", "4:9: bus.clock is 11GHz; expected"),
    (
        "width = 4\nburst",
        "width = 3\nburst",
        "5:9: bus.width is 3; expected bytes that are a power",
    ),
    ("width = 4\nburst", "width = 128\nburst", "5:9: bus.width is 128; expected bytes that are"),
    (
        "burst = 32\noverhead",
        "burst = 2\noverhead",
        "6:9: bus.burst is 2; expected bytes that are a",
    ),
    (
        "overhead = 1",
        "overhead = -1",
        "7:12: bus.overhead is -1; expected cycles as a whole number",
    ),
    ("overhead = 1", "overhead = 1.5", "7:12: bus.overhead is 1.5; expected cycles"),
    ("overhead = 1", "overhead = \"1\"", "7:12: bus.overhead is 1; expected cycles"),
    ("overhead = 1", "overhead = \"2s\"", "7:12: bus.overhead is 2s; expected cycles"),
    ("overhead = 1", "overhead = 1000000001", "7:12: bus.overhead is 1000000001; expected cycles"),
    ("\"round_robin\"", "\"fair\"", "8:15: bus.arbitration is fair; expected \"round_robin\", or"),
    (
        "\"round_robin\"",
        "1",
        "8:15: bus.arbitration is 1; expected the name of a core or engine: a",
    ),
    ("\"round_robin\"", "{ a = 1 }", "8:15: bus.arbitration.dma is missing; expected its weight"),
    ("\"round_robin\"", "{ b = 1 }", "8:17: unknown key bus.arbitration.b; expected a or dma"),
    ("\"round_robin\"", "{ a = 1, dma = 0 }", "8:30: bus.arbitration.dma is 0; expected a whole"),
    ("bus = \"bus\"", "bus = \"b\"", "11:7: memory.bus is b; expected the name of a bus: bus"),
    ("size = \"64KiB\"", "size = \"64KB\"", "12:8: memory.size is 64KB; expected bytes from 4096"),
    ("size = \"64KiB\"", "size = \"2GiB\"", "12:8: memory.size is 2GiB; expected bytes from 4096"),
    ("width = 4\nread", "width = 8\nread", "13:9: memory.width is 8; expected bytes that are a"),
    ("beat = 1", "beat = 0", "16:8: memory.beat is 0; expected a cost above 0, or virtual time"),
    (
        "cached = true",
        "cached = true\nstream = [{ from = 64, read = 1, write = 1 }, { from = 64, read = 1, write = 1 }]",
        "18:47: memory.stream is { from = 64, read = 1, write = 1 }; expected a list of {",
    ),
    (
        "cached = true",
        "cached = true\nstream = [{ from = 64, read = 1 }]",
        "18:11: memory.stream.write is missing; expected cycles",
    ),
    (
        "poll = 5",
        "poll = 5\nfunctions = { echo = true }",
        "27:22: core.functions.echo is true; expected cycles",
    ),
    (
        "poll = 5",
        "poll = 5\nfunctions = { ehco = 1 }",
        "27:15: unknown key core.functions.ehco; expected echo, busy, g711.encode.a, g711.encode.mu",
    ),
    (
        "poll = 5",
        "poll = 5\nserve = [{ from = 0, copied = 1, in_place = 1, took = 1 }]",
        "27:48: unknown key core.serve.took; expected from, copied or in_place",
    ),
    (
        "poll = 5",
        "poll = 5\nserve = [{ from = 0, copied = -1, in_place = 1 }]",
        "27:31: core.serve.copied is -1; expected cycles",
    ),
    (
        "poll = 5",
        "poll = 5\nserve = [{ from = 0, copied = 1 }]",
        "27:10: core.serve.in_place is missing; expected cycles",
    ),
    (
        "poll = 5",
        "poll = 5\nserve = [{ from = 8, copied = 1, in_place = 1 }, { from = 8, copied = 1, in_place = 1 }]",
        "27:50: core.serve is { from = 8, copied = 1, in_place = 1 }; expected a list of {",
    ),
    (
        "cached = true",
        "cached = true\ncores = [\"b\"]",
        "18:10: memory.cores is b; expected the name of a core: a",
    ),
    (
        "cached = true",
        "cached = true\ncores = []",
        "18:9: memory.cores is []; expected a list of cores",
    ),
    (
        "[link]",
        "[[bridge]]\nname = \"x\"\ncores = [\"a\"]\nbus = \"bus\"\nread = 1\n[link]",
        "43:1: bridge.write is missing; expected cycles",
    ),
    ("cached = true", "cached = 1", "17:10: memory.cached is 1; expected true or false"),
    (
        "home = \"ram\"",
        "home = \"rom\"",
        "21:8: core.home is rom; expected the name of a memory: ram",
    ),
    (
        "line = 32",
        "line = 128",
        "22:32: core.data.line is 128; expected bytes that are a power of two",
    ),
    ("line = 32", "line = 48", "22:32: core.data.line is 48; expected"),
    ("ways = 2", "ways = 0", "22:43: core.data.ways is 0; expected a whole number from 1 to 64"),
    (
        "ways = 2",
        "ways = 3",
        "22:17: core.data.size is 1KiB; expected a power of two of sets, each",
    ),
    (
        "allocate = true",
        "alocate = true",
        "22:65: unknown key core.data.alocate; expected size, line",
    ),
    (", allocate = true", "", "22:8: core.data.allocate is missing; expected true or false"),
    (
        "data = {",
        "instructions = {",
        "22:54: unknown key core.instructions.write_back; expected size",
    ),
    ("data = {", "second = {", "22:10: core.second is { size = \"1KiB\", line = 32, ways = 2, wr…"),
    (
        "hit = 1\n",
        "hit = 1\nsecond_hit = 1\n",
        "25:14: core.second_hit is 1; expected none without",
    ),
    (
        "word = 1 }",
        "words = 1 }",
        "25:21: unknown key core.copy.words; expected start, word or private",
    ),
    ("copy = { start = 3, word = 1 }", "copy = 3", "25:8: core.copy is 3; expected a table"),
    ("poll = 5", "poll = \"0ns\"", "26:8: core.poll is 0ns; expected a cost above 0"),
    (
        "home = \"ram\"",
        "clocks = [\"50MHz\", \"80MHz\"]\nhome = \"ram\"",
        "21:10: core.clocks is [\"50MHz\", \"80MHz\"]; expected a rising list of frequencies with",
    ),
    ("timer = {", "timr = {", "29:1: unknown key core.timr; expected name, clock, clocks, home"),
    ("tick = \"1ms\"", "tick = \"1 ms\"", "31:44: core.system.tick is 1 ms; expected cycles"),
    (
        "driver =",
        "drivers =",
        "32:37: unknown key core.span.drivers; expected A, B, C, D, E, endpoint",
    ),
    (
        "calls.send",
        "calls.sent",
        "31:81: unknown key core.system.calls.sent; expected alloc, free_buf, send,",
    ),
    ("A = { enter = \"133.2us\" }", "A = 1", "32:14: core.span.A is 1; expected a table"),
    ("name = \"dma\"", "name = \"a\"", "34:8: engine.name is a; expected a name that nothing else"),
    (
        "cores = [\"a\"]",
        "cores = [\"b\"]",
        "36:10: engine.cores is b; expected the name of a core: a",
    ),
    ("cores = [\"a\"]", "cores = []", "36:9: engine.cores is []; expected a list of cores: a"),
    (
        "cores = [\"a\"]",
        "cores = [\"a\", \"a\"]",
        "36:15: engine.cores is a; expected each core once",
    ),
    (
        "descriptor_bytes = 16",
        "descriptor_bytes = 6",
        "40:20: engine.descriptor_bytes is 6; expected a",
    ),
    (
        "control = \"ram\"",
        "control = \"\"",
        "44:11: link.control is \"\"; expected the name of a memory",
    ),
    (
        "slots = 4",
        "slots = 4\nchannels = 65",
        "48:12: link.channels is 65; expected a whole number from 0 to 64",
    ),
    (
        "slots = 4",
        "slots = 4\nchannel_slots = 3",
        "48:17: link.channel_slots is 3; expected a power of two from 2 to 4096",
    ),
    ("slots = 4", "slots = 5", "47:9: link.slots is 5; expected a power of two from 2 to 4096"),
    (
        "placement = \"internal\"",
        "placement = \"region=1\"",
        "48:26: link.classes.placement is region=1",
    ),
    ("[{ placement", "[3, { placement", "48:12: link.classes is 3; expected a table"),
    ("size = 256", "size = 0", "48:45: link.classes.size is 0; expected bytes from 1 to 16777215"),
    ("count = 2 }", "count = 4096 }", "48:58: link.classes.count is 4096; expected a whole number"),
    (
        "[{ placement = \"internal\", size = 256, count = 2 }]",
        "[]",
        "48:11: link.classes cannot be: a pool needs one to eight",
    ),
    (
        "count = 2 }]",
        "count = 1 }, { placement = \"internal\", size = 256, count = 1 }]",
        "48:11: link.classes cannot be: a block size needs 1 to 4095 blocks",
    ),
    (
        "size = 256, count = 2",
        "size = 256, count = 200",
        "48:11: 2 regions of links and the code of cores need 107104 bytes of memory ram; \
         expected at most its 65536:",
    ),
    (
        "code = 64",
        "code = \"62KiB\"",
        "48:11: 2 regions of links and the code of cores need 67360 bytes",
    ),
];

#[test]
fn mistakes_are_told_where_they_are() {
    for (from, to, expected) in WRONG {
        assert_eq!(SMALL.matches(from).count().min(1), 1, "{from}");
        let text = SMALL.replacen(from, to, 1);
        let mistake = Chip::parse("dir/small.toml", &text).expect_err(to).to_string();
        assert!(
            mistake.strip_prefix("dir/small.toml:").is_some_and(|rest| rest.starts_with(expected)),
            "{from} → {to}\nfound    {mistake}\nexpected {expected}"
        );
        assert!(!mistake.contains('\n'), "{mistake}");
    }
}
