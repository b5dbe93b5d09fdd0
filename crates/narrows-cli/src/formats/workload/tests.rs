//! What a file says, and where a file is wrong.

use super::*;
use crate::base::failure::Kind;
use narrows::strategy::Parts;

fn read_text(text: &str) -> Result<Workload, String> {
    parse(Path::new("dir/x.toml"), text).map_err(|failure| {
        assert_eq!(failure.kind, Kind::Workload);
        failure.to_string()
    })
}

fn shipped(name: &str) -> Workload {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    read(&directory.join(name)).unwrap()
}

#[test]
fn the_voice_goes_there_and_back() {
    let voice = shipped("voice.toml");
    assert_eq!(voice.flows.len(), 2);
    let [encode, decode] = &voice.flows[..] else { panic!() };
    assert_eq!(encode.work, Work::Encode(Law::A));
    assert_eq!((encode.request, encode.response), (320, 160));
    assert_eq!(decode.work, Work::Decode(Law::A));
    assert_eq!((decode.request, decode.response), (160, 320));
    assert_eq!(decode.source, Source::After(0));
    let inputs = voice.inputs().unwrap();
    let samples = inputs[0].as_ref().unwrap();
    assert!((2 * 8000..=4 * 8000).contains(&samples.len()));
    assert!(samples.iter().any(|sample| sample.unsigned_abs() > 8000));
    assert!(inputs[1].is_none());
}

#[test]
fn the_mixture_has_every_other_function() {
    let mixed = shipped("mixed.toml");
    let works: Vec<Work> = mixed.flows.iter().map(|flow| flow.work.clone()).collect();
    let busy = Work::Busy(Duration::from_micros(200));
    assert_eq!(works, [Work::Echo, Work::Echo, busy, Work::Log]);
    assert_eq!(mixed.strategies.len(), 3);
    assert_eq!(mixed.inputs().unwrap(), vec![None; 4]);
}

#[test]
fn a_flow_has_a_cost_on_some_chips_and_a_function_of_a_library() {
    let flow = "[[flow]]\nname='a'\nfunction='f'\nlibrary='l.so'\nrequest=8\nresponse=99\n";
    let text = format!("{flow}cost={{ davinci='1 ms', b='2 ns/B' }}\nsessions=2");
    let workload = read_text(&text).unwrap();
    let named = Named { file: "dir/l.so".into(), function: "f".into() };
    let [first, second] = &workload.flows[..] else { panic!() };
    assert_eq!((&first.work, first.response), (&Work::Foreign(named), 99));
    let on = |chip| first.cost.on(chip).map(|cost| cost.to_string());
    let found = ["davinci", "b", "c"].map(on);
    assert_eq!(found, [Some("1 ms".to_owned()), Some("2 ns/B".to_owned()), None]);
    assert_eq!((&first.work, &first.cost), (&second.work, &second.cost));
    // It is loaded when it is offered, not when the file is read.
    let Err(failure) = Offers::new(&workload, None) else { panic!() };
    assert_eq!(failure.kind, Kind::Input);
    assert!(failure.to_string().contains("dir/l.so: there is no such file"), "{failure}");
}

#[test]
fn what_is_left_out_has_its_default() {
    let workload = read_text("[[flow]]\nname='a'\nfunction='echo'\nrequest=8").unwrap();
    assert_eq!((workload.name.as_str(), workload.duration), ("x", DEFAULT_DURATION));
    assert_eq!(workload.strategies, [Policy::Same(Strategy::default())]);
    let own = Source::Own {
        input: None,
        period: None,
        jitter: Duration::ZERO,
        burst: 1,
        count: None,
        depth: 1,
        recorded: None,
    };
    assert_eq!(workload.flows[0].source, own);
}

#[test]
fn inputs_are_beside_the_file_and_followers_may_come_first() {
    let workload = read_text(
        "[[flow]]\nname='d'\nfunction='g711.decode'\nafter='e'\n\
         [[flow]]\nname='e'\nfunction='g711.encode'\nlaw='mu'\ninput='a.wav'\nrequest=160",
    )
    .unwrap();
    assert_eq!(workload.flows[0].work, Work::Decode(Law::Mu));
    assert_eq!(workload.flows[0].request, 80);
    assert_eq!(workload.flows[0].source, Source::After(1));
    let Source::Own { input, .. } = &workload.flows[1].source else { panic!() };
    assert_eq!(input.as_deref(), Some(Path::new("dir/a.wav")));
}

/// Each line: what stands in the file, then where and what the message must say. `ECHO` and
/// the like stand for the beginning of a flow, two or three keys on line 1.
const WRONG: &[(&str, &str)] = &[
    ("", "1:1: no flow; expected one or more [[flow]] tables"),
    ("name = 'a'\n\n", "1:11: no flow;"),
    ("name = ", "1:8: "),
    ("a = 1", "1:1: unknown key a; expected name, duration, strategy, memory, seed, flow"),
    ("flow = 1", "1:8: flow is 1; expected one or more [[flow]] tables"),
    ("flow = [1]", "1:9: flow is 1;"),
    ("flow = []", "1:10: no flow;"),
    ("name = ''", "1:8: name is ''; expected a name of 1 to 40"),
    ("name = 'a b'", "1:8: name is a b;"),
    ("duration = 3", "1:12: duration is 3; expected a duration above zero"),
    ("duration = '2d'", "1:12: duration is 2d; expected at most 24h"),
    (
        "strategy = 'fast'",
        "1:12: strategy is fast; expected a name such as \"in_place/hybrid\": 'fast' is no word",
    ),
    ("strategy = ['copy', 'copy/x']", "1:21: strategy is copy/x; expected a name such as"),
    ("strategy = []", "1:12: strategy is []; expected the name of a strategy"),
    ("memory = 4294967296", "1:10: memory is 4294967296; expected a size of memory, such as"),
    ("memory = '-1KiB'", "1:10: memory is -1KiB; expected a size of memory"),
    ("memory = '4096MiB'", "1:10: memory is 4096MiB; expected a size of memory"),
    ("seed = -1", "1:8: seed is -1; expected a whole number from 0 up"),
    ("[[flow]]\nfunction='echo'", "1:1: this flow has no name"),
    ("ECHO request=8\narrives = '0s'", "2:11: flow.arrives is 0s; expected a duration above zero"),
    ("ECHO request=8\nleaves = 3", "2:10: flow.leaves is 3; expected a duration above zero"),
    ("ECHO request=8, arrives='2s'\nleaves='1s'", "2:8: flow.leaves is 1s; expected a time after"),
    (
        "ECHO request=8\nsessions = 65",
        "2:12: flow.sessions is 65; expected a whole number from 1 to 64",
    ),
    ("ECHO request=8\non = '1s'", "2:6: flow a has no off; on expects how long it is away"),
    ("ECHO request=8\noff = '1s'", "2:7: flow a has no on; off expects how long it is there"),
    (
        "ECHO request=8, on='1s', off='1s'\narrives='1s'",
        "2:9: arrives and leaves do not go with on and off",
    ),
    ("ECHO request=8\nstatic = 'auto'", "2:10: flow.static is auto; expected a name such as"),
    (
        "DECODE request=8, output='a'\nsessions = 2",
        "output does not go with sessions, which would all write the same file",
    ),
    ("[[flow]]\nname='a'", "1:1: flow a has no function; expected echo, busy,"),
    ("[[flow]]\nname='a'\nfunction='x'", "3:10: flow.function is x; expected echo, busy,"),
    (
        "ECHO request=8\nperiod = \"-3ms\"",
        "2:10: flow.period is -3ms; expected a duration above zero, such as \"20ms\"",
    ),
    ("ECHO request=8\nperiod = '0s'", "2:10: flow.period is 0s;"),
    ("ECHO request=8\nperiod = 20", "2:10: flow.period is 20;"),
    ("ECHO request=8\njitter = '1ms'", "2:10: flow a has no period; jitter expects one"),
    ("ECHO request=8\nburst = 2", "2:9: flow a has no period; burst expects one"),
    (
        "ECHO request=8, period='1ms'\njitter = '2ms'",
        "2:10: flow.jitter is 2ms; expected at most the period, so that requests stay in their order",
    ),
    ("ECHO request=8, period='1ms'\njitter = '0s'", "2:10: flow.jitter is 0s; expected a duration"),
    (
        "ECHO request=8, period='1ms'\njitter = '-1s'",
        "2:10: flow.jitter is -1s; expected a duration",
    ),
    (
        "ECHO request=8, period='1ms'\nburst = 0",
        "2:9: flow.burst is 0; expected a whole number from 1 to",
    ),
    (
        "ECHO request=8, period='1ms'\nburst = 257",
        "2:9: flow.burst is 257; expected a whole number",
    ),
    ("ECHO request=8\nparts = 4", "2:9: flow a has no period; parts expects one"),
    (
        "ECHO request=8, period='1ms'\nparts = 65",
        "2:9: flow.parts is 65; expected a whole number from 1 to 64",
    ),
    (
        "ECHO request=8, period='1ms'\nparts = 9",
        "2:9: flow.parts is 9; expected at most 8: function echo reads 1 byte of each part",
    ),
    (
        "BUSY busy='1ms', request=63, period='1ms'\nparts = 4",
        "2:9: flow.parts is 4; expected at most 3: function busy reads 16 bytes of each part",
    ),
    (
        "LOG request=16, response=99, period='1ms'\nparts = 2",
        "2:9: parts does not go with function log; expected it only with echo, busy,",
    ),
    (
        "ECHO request=8, period='1ms', parts=2\nburst = 2",
        "2:9: burst does not go with parts: the parts of a request are due at once",
    ),
    (
        "ECHO request=8, period='1ms', parts=2\nstatic = 'copy/parts=3'",
        "2:10: flow a: its requests may be cut into 2 parts at most, by the workload, and not into 3",
    ),
    (
        "ECHO request=8, period='1ms'\nstatic = 'copy/parts=3'",
        "2:10: flow a: its requests may not be cut into 3 parts: the workload has no parts = 3 for it",
    ),
    (
        "ECHO request=8\nstatic = 'copy/granularity=0'",
        "2:10: flow.static is copy/granularity=0; expected a name such as",
    ),
    (
        "ECHO request=8\nperoid = 20",
        "2:1: unknown key flow.peroid; expected name, function, library,",
    ),
    ("ECHO request=0", "flow.request is 0; expected a whole number from 1 to 16777215"),
    ("ECHO request=16777216", "flow.request is 16777216;"),
    ("ECHO request=-1", "flow.request is -1;"),
    ("ECHO request='0KiB'", "flow.request is 0KiB; expected 1 to 16777215 bytes, such as"),
    ("ECHO request='17MiB'", "flow.request is 17MiB;"),
    ("ECHO request='some'", "flow.request is some;"),
    ("ECHO request=8.0", "flow.request is 8.0;"),
    ("ECHO request=99999999999999999999999", "flow.request is 9999"),
    (
        "ECHO request=8, cost=1",
        "flow.cost is 1; expected a time, a time for each byte, or their sum",
    ),
    ("ECHO request=8, cost='-1 ms'", "flow.cost is -1 ms; expected a time, a time for each byte"),
    ("ECHO request=8, cost='1 ms + 1 ms'", "flow.cost is 1 ms + 1 ms; expected a time"),
    ("ECHO request=8, cost='25 h'", "flow.cost is 25 h; expected a time"),
    (
        "ECHO request=8, cost='90000 s'",
        "flow.cost is 90000 s; expected at most 24h for a request of",
    ),
    ("ECHO request=8, cost='1e9 s/B'", "flow.cost is 1e9 s/B; expected a time"),
    (
        "ECHO request=8, cost='999999999999999999999 s/B'",
        "expected at most 24h for a request of 16 MiB",
    ),
    ("ECHO request=8, cost={}", "flow.cost is {}; expected a time"),
    ("ECHO request=8, cost={davinci='1'}", "flow.cost.davinci is 1; expected a time"),
    (
        "BUSY busy='1ms', cost='1 ms'",
        "cost does not go with function busy, which takes the time of",
    ),
    ("ECHO request=8, library=''", "flow.library is ''; expected the path of a shared library"),
    (
        "flow = [{ name='a', library='l.so', function='a.b' }]",
        "flow.function is a.b; expected the name in C",
    ),
    (
        "flow = [{ name='a', library='l.so', function='f' }]",
        "flow a has no request; function f expects",
    ),
    (
        "flow = [{ name='a', library='l.so', function='f', request=8 }]",
        "flow a has no response; function f",
    ),
    (
        "flow = [{ name='a', library='l.so', function='f', request=8, response=8, law='a' }]",
        "law does not go with function f; expected it only with g711.encode or g711.decode",
    ),
    ("ECHO", "1:1: flow a has no request; function echo expects its bytes, or after"),
    ("ECHO request=8, count=0", "flow.count is 0; expected a whole number from 1 up"),
    ("ECHO request=8, depth=257", "flow.depth is 257; expected a whole number from 1 to 256"),
    (
        "ECHO request=8, response=8",
        "response does not go with function echo; expected it only with busy, log or those of a library",
    ),
    ("ECHO request=8, input='a'", "input does not go with function echo"),
    ("ECHO request=8, law='a'", "law does not go with function echo"),
    ("ECHO request=8, busy='1ms'", "busy does not go with function echo"),
    ("ECHO request=8, output='a'", "output does not go with function echo"),
    ("ECHO after='b'", "flow.after is b; expected the name of a flow: a"),
    ("ECHO after='a'", "flow.after is a; expected a flow that does not itself come after"),
    ("BUSY request=16", "flow a has no busy"),
    ("BUSY busy='1ms', request=15", "flow.request is 15; expected at least 16 for function busy"),
    ("BUSY busy='1ms', after='a'", "after does not go with function busy"),
    ("LOG request=16", "flow a has no response"),
    ("ENCODE request=320", "flow a has no input"),
    ("ENCODE input='a.wav', request=3", "requests of flow a have 3 bytes; expected an even"),
    ("ENCODE input=''", "flow.input is ''; expected the path of a WAV file"),
    ("ENCODE input='a.wav', law='b'", "flow.law is b; expected \"a\" or \"mu\""),
    ("DECODE request=16777215", "responses of 33554430 bytes; expected at most 16777215"),
    ("DECODE request=8, output='a/b'", "flow.output is a/b; expected a file name without"),
    ("DECODE request=8, output='..'", "flow.output is ..; expected a file name"),
];

#[test]
fn mistakes_are_told_where_they_are() {
    for (text, expected) in WRONG {
        let mut text = (*text).to_owned();
        for (word, function) in [
            ("ECHO", "echo"),
            ("BUSY", "busy"),
            ("LOG", "log"),
            ("ENCODE", "g711.encode"),
            ("DECODE", "g711.decode"),
        ] {
            // One inline table on one line for the keys, or a table with lines of its own.
            if let Some(rest) = text.strip_prefix(word) {
                let flow = format!("name='a', function='{function}'");
                text = match rest.split_once('\n') {
                    None if rest.is_empty() => format!("[[flow]]\n{}", flow.replace(", ", "\n")),
                    None => format!("flow = [{{ {flow},{rest} }}]"),
                    Some((keys, rest)) => format!("flow = [{{ {flow},{keys},\n{rest} }}]"),
                };
            }
        }
        let message = read_text(&text).unwrap_err();
        let place = message.strip_prefix("dir/x.toml:").unwrap_or_else(|| panic!("{message}"));
        assert!(place.contains(expected), "{text}\nfound    {place}\nexpected {expected}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn flows_are_checked_against_each_other() {
    let pair =
        |one: &str, two: &str| read_text(&format!("[[flow]]\n{one}\n[[flow]]\n{two}")).unwrap_err();
    let echo = "name='a'\nfunction='echo'\nrequest=8";
    assert!(
        pair(echo, echo).contains("6:6: flow.name is a; expected a name that no other flow has")
    );
    let cycle =
        pair("name='a'\nfunction='echo'\nafter='b'", "name='b'\nfunction='echo'\nafter='a'");
    assert!(
        cycle.contains("4:7: flow.after is b; expected a flow that does not itself come"),
        "{cycle}"
    );
    let follower = pair(echo, "name='b'\nfunction='echo'\nafter='a'\njitter='1ms'");
    assert!(follower.contains("9:8: jitter does not go with after"), "{follower}");
    let follower = pair(echo, "name='b'\nfunction='echo'\nafter='a'\nperiod='1ms'");
    assert!(follower.contains("9:8: period does not go with after"), "{follower}");
    let encode = "name='a'\nfunction='g711.encode'\ninput='a.wav'\nlaw='mu'";
    let decode = "name='b'\nfunction='g711.decode'\nafter='a'\nlaw='a'";
    let laws = pair(encode, decode);
    assert!(
        laws.contains("10:5: flow.law is a; expected \"mu\", the law of the flow before"),
        "{laws}"
    );
    let written = "function='g711.decode'\nrequest=8\noutput='o.wav'";
    let twice = pair(&format!("name='a'\n{written}"), &format!("name='b'\n{written}"));
    assert!(twice.contains("flow.output is o.wav; expected a file name that no other"), "{twice}");
}

#[test]
fn sessions_have_numbers_and_times_of_their_own() {
    let gateway = shipped("gateway.toml");
    let names: Vec<&str> = gateway.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["audio-1", "audio-2", "audio-3", "video-1", "video-2", "video-3"]);
    assert_eq!(gateway.strategies, [Policy::Static, Policy::Auto]);
    assert_eq!(gateway.memory, Some(16 << 10));
    assert!(gateway.is_changing());
    let times = |flow: &Flow| {
        let mut schedule = Schedule::new(flow);
        (0..1000)
            .map(|turn| {
                let at = schedule.next().unwrap();
                assert_eq!(schedule.turn(), turn % 2 == 0);
                at
            })
            .collect::<Vec<Duration>>()
    };
    let all: Vec<Vec<Duration>> = gateway.flows.iter().map(times).collect();
    for (at, one) in all.iter().enumerate() {
        assert_eq!(*one, times(&gateway.flows[at]), "the same every time");
        assert!(all.iter().skip(at + 1).all(|other| other != one));
        assert!(one.windows(2).all(|pair| pair[0] < pair[1]));
        let on: Duration = one.chunks(2).map(|pair| pair[1] - pair[0]).sum();
        let mean = on.as_secs_f64() / 500.0;
        assert!((5.0..7.0).contains(&mean), "{mean} s in the mean");
    }
}

#[test]
fn a_flow_comes_and_goes_when_it_says() {
    let echo = "[[flow]]\nname='a'\nfunction='echo'\nrequest=8\n";
    let turns = |keys: &str| {
        let workload = read_text(&format!("{echo}{keys}")).unwrap();
        let mut schedule = Schedule::new(&workload.flows[0]);
        let mut all = Vec::new();
        while let Some(at) = schedule.next() {
            all.push((at.as_secs(), schedule.turn()));
        }
        all
    };
    assert_eq!(turns(""), [(0, true)]);
    assert_eq!(turns("arrives='2s'"), [(2, true)]);
    assert_eq!(turns("leaves='3s'"), [(0, true), (3, false)]);
    assert_eq!(turns("arrives='2s'\nleaves='3s'"), [(2, true), (3, false)]);
    let twice = format!("{echo}sessions=2\n[[flow]]\nname='a-2'\nfunction='echo'\nrequest=8");
    assert!(read_text(&twice).unwrap_err().contains("a-2 is the name of two flows"));
    let follows = format!("{echo}sessions=2\n[[flow]]\nname='b'\nfunction='echo'\nafter='a'");
    let said = read_text(&follows).unwrap_err();
    assert!(said.contains("flow.after is a; expected a flow that is always there"), "{said}");
    let chain = format!("{echo}[[flow]]\nname='b'\nfunction='echo'\nafter='a'\nsessions=2");
    assert!(read_text(&chain).unwrap_err().contains("sessions does not go with after"));
    let many = format!("{echo}sessions=64\n[[flow]]\nname='b'\nfunction='echo'\nrequest=8");
    assert!(read_text(&many).unwrap_err().contains("65 flows with their sessions"));
    let own = read_text(&format!("strategy='static'\n{echo}")).unwrap_err();
    assert!(own.contains("strategy static needs static"), "{own}");
}

#[test]
fn too_many_flows_are_refused() {
    let flows: String = (0..=MAX_FLOWS)
        .map(|n| format!("[[flow]]\nname='f{n}'\nfunction='echo'\nrequest=8\n"))
        .collect();
    assert!(read_text(&flows).unwrap_err().contains("65 [[flow]] tables; expected 1 to 64"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.toml");
    let message = |path: &Path| read(path).unwrap_err().to_string();
    assert!(message(&path).contains("no such file or directory"));
    assert!(message(place.path()).contains("is a directory"));
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(message(&path).contains("not UTF-8"));
    std::fs::write(&path, vec![b' '; crate::base::input::MAX_FILE as usize + 1]).unwrap();
    assert!(message(&path).contains("larger than"));
}

#[test]
fn columns_count_characters() {
    let message = read_text("flow = [{ name = 'a', function = 'echo', input = 'ä', x = 1 }]");
    assert!(message.unwrap_err().contains(":1:55: unknown key flow.x"), "columns are not bytes");
}

#[test]
fn requests_are_cut_from_the_input_and_begin_again() {
    let text = "[[flow]]\nname='a'\nfunction='g711.encode'\ninput='a.wav'\nrequest=4";
    let workload = read_text(text).unwrap();
    let requests = Requests::new(&workload.flows[0], Some(&[1, 2, 3]));
    assert_eq!(requests.in_a_pass(), Some(2));
    for (call, expected) in [(0, [1, 0, 2, 0]), (1, [3, 0, 0, 0]), (2, [1, 0, 2, 0])] {
        let mut room = [0xff; 4];
        requests.write(call, Parts::WHOLE, &mut room);
        assert_eq!(room, expected, "{call}");
    }
}

#[test]
fn each_part_of_a_request_says_what_to_do_for_it() {
    let text = "[[flow]]\nname='a'\nfunction='busy'\nbusy='9us'\nperiod='1ms'\nrequest=101\n\
                response=50\nparts=4";
    let workload = read_text(text).unwrap();
    let flow = &workload.flows[0];
    let requests = Requests::new(flow, None);
    let parts = Parts { count: 3, at_once: 1 };
    let mut whole = [0; 101];
    requests.write(7, parts, &mut whole);
    let mut all = 0;
    for (range, long) in requests.parts(parts, whole.len()).zip([17, 17, 16]) {
        let mut response = [0; 50];
        let busy = crate::formats::functions::find("busy").unwrap();
        let order = crate::formats::functions::Order::from_bytes(&whole[range.clone()]).unwrap();
        assert_eq!((order.busy_ns, order.response, order.call), (3000, long, 7), "{range:?}");
        assert_eq!((busy.answer)(&whole[range.clone()], &mut response), Ok(long as usize));
        all += range.len();
    }
    assert_eq!(all, 101);
    assert_eq!(flow.part(parts, [101, 50]), [34, 17]);
    assert_eq!(flow.part(Parts::WHOLE, [101, 50]), [101, 50]);
}

#[test]
fn parts_of_audio_divide_no_sample() {
    let flow = |function: &str| {
        let text = format!(
            "[[flow]]\nname='a'\nfunction='{function}'\nrequest=30\nperiod='1ms'\nparts=4\n{}",
            if function == "g711.encode" { "input='a.wav'" } else { "" }
        );
        read_text(&text).unwrap().flows.remove(0)
    };
    let parts = Parts { count: 4, at_once: 2 };
    let encode = flow("g711.encode");
    assert_eq!(encode.part(parts, [encode.request, encode.response]), [8, 4]);
    let decode = flow("g711.decode");
    assert_eq!(decode.part(parts, [decode.request, decode.response]), [8, 16]);
    let requests = Requests::new(&encode, None);
    assert!(requests.parts(parts, 30).all(|range| range.start % 2 == 0 && range.len() % 2 == 0));
}

#[test]
fn every_flow_of_the_shipped_files_is_answered_as_it_says() {
    for name in ["voice.toml", "mixed.toml", "gateway.toml"] {
        let workload = shipped(name);
        let inputs = workload.inputs().unwrap();
        for (flow, samples) in workload.flows.iter().zip(&inputs) {
            let mut request = vec![0; flow.request];
            Requests::new(flow, samples.as_deref()).write(7, Parts::WHOLE, &mut request);
            let mut response = vec![0; flow.response];
            let entry = flow.work.entry().and_then(crate::formats::functions::find).unwrap();
            let answered = (entry.answer)(&request, &mut response);
            assert_eq!(answered, Ok(flow.response), "{name} {}", flow.name);
        }
    }
}

#[test]
fn no_part_of_a_file_makes_it_panic() {
    let voice = include_str!("../../../../../workloads/voice.toml");
    let mixed = include_str!("../../../../../workloads/mixed.toml");
    for text in [voice, mixed] {
        for (cut, _) in text.char_indices() {
            let _ = read_text(&text[..cut]);
            let _ = read_text(&text[cut..]);
        }
    }
}

#[test]
fn changes_are_in_the_order_of_their_moments_and_those_of_a_flow_build_on_each_other() {
    let flow =
        "[[flow]]\nname='a'\nfunction='busy'\nbusy='1ms'\nrequest=16\nresponse=8\nsessions=2\n";
    let text = format!(
        "{flow}[[change]]\nat='3s'\nflow='a'\nresponse=50\n[[change]]\nat='1s'\nmemory='1KiB'\n\
         [[change]]\nat='2s'\nflow='a'\nrequest=100"
    );
    let workload = parse(Path::new("dir/file.toml"), &text).unwrap();
    let size = |request, response| Changed::Size { flows: vec![0, 1], request, response };
    let change = |seconds, what| Change { at: Duration::from_secs(seconds), what };
    let expected =
        [change(1, Changed::Memory(1024)), change(2, size(100, 8)), change(3, size(100, 50))];
    assert_eq!(workload.changes, expected);
    assert_eq!(workload.longest(1), [100, 50]);
    assert!(workload.is_changing());
}

#[test]
fn a_change_that_cannot_be_is_told_where_it_is() {
    let wrong = [
        ("at = 1", "6:6: change.at is 1; expected a duration above zero"),
        ("memory = '1KiB'", "5:1: this change has no moment"),
        ("at = '1s'", "5:1: a change is either memory, or a flow"),
        ("at = '1s'\nmemory = '1KiB'\nflow = 'a'", "5:1: a change is either memory, or a flow"),
        (
            "at = '1s'\nflow = 'b'\nrequest = 9",
            "7:8: change.flow is b; expected the name of a flow of",
        ),
        ("at = '1s'\nflow = 'a'\nrequest = 9", "7:8: only flows with function busy change"),
        ("period = '1s'", "6:1: unknown key change.period; expected at,"),
    ];
    for (text, expected) in wrong {
        let text = format!("[[flow]]\nname='a'\nfunction='echo'\nrequest=8\n[[change]]\n{text}\n");
        let found = read_text(&text).unwrap_err();
        assert!(found.contains(expected), "{text}\nfound    {found}\nexpected {expected}");
    }
    let found = read_text("change = 1").unwrap_err();
    assert!(found.contains("1:10: change is 1; expected one or more [[change]] tables"), "{found}");
}

#[test]
fn sizes_are_numbers_or_have_a_unit() {
    let flow = "[[flow]]\nname='a'\nfunction='busy'\nbusy='1ms'\n";
    for (written, bytes) in [("4096", 4096), ("'4KiB'", 4096), ("'4k'", 4000), ("'1e3'", 1000)] {
        let text = format!("memory = {written}\n{flow}request={written}\nresponse={written}");
        let read = parse(Path::new("w.toml"), &text).unwrap();
        assert_eq!(read.memory, Some(bytes as u32), "{written}");
        assert_eq!([read.flows[0].request, read.flows[0].response], [bytes; 2], "{written}");
    }
}
