use core::time::Duration;
use std::string::ToString;

use proptest::prelude::{Just, Strategy as Values, any, prop_assert_eq, prop_oneof, proptest};

use super::tables::{find, number, table};
use crate::strategy::{
    Acknowledgement, ENCODED, Notification, Parts, Placement, Strategy, StrategyError, Transfer,
};

const HOUR: u64 = 3_600_000_000_000;

fn time() -> impl Values<Value = Duration> {
    let round = |unit: u64| (1..=HOUR / unit).prop_map(move |n| Duration::from_nanos(n * unit));
    prop_oneof![round(1), round(1_000), round(1_000_000), round(1_000_000_000)]
}

fn notifications() -> impl Values<Value = Notification> {
    prop_oneof![
        Just(Notification::Interrupt),
        Just(Notification::Spin),
        time().prop_map(|every| Notification::Poll { every }),
        time().prop_map(|every| Notification::Timer { every }),
        time().prop_map(|longest| Notification::Hybrid { longest }),
        (1u16.., time())
            .prop_map(|(messages, within)| Notification::Coalesced { messages, within }),
    ]
}

fn strategies() -> impl Values<Value = Strategy> {
    let placement = prop_oneof![
        Just(Placement::Internal),
        Just(Placement::External),
        (0..6u8).prop_map(Placement::Region),
    ];
    let transfer = prop_oneof![
        Just(Transfer::Copy),
        Just(Transfer::SingleCopy),
        Just(Transfer::InPlace),
        Just(Transfer::CopyEngine),
    ];
    let told = (notifications(), proptest::option::of(notifications()));
    let acknowledgement = prop_oneof![
        Just(Acknowledgement::Interrupt),
        Just(Acknowledgement::Lazy),
        Just(Acknowledgement::Batched),
    ];
    let parts =
        (2u16.., any::<u16>()).prop_map(|(count, some)| Parts { count, at_once: 1 + some % count });
    let merged = prop_oneof![
        (1u16..).prop_map(|granularity| (granularity, Parts::WHOLE)),
        parts.prop_map(|parts| (1, parts)),
    ];
    let figures = (merged, 64u32..);
    (placement, transfer, told, acknowledgement, figures).prop_map(
        |(placement, transfer, told, acknowledgement, ((granularity, parts), fragment))| Strategy {
            placement,
            transfer,
            notification: told.0,
            callee: told.1.filter(|callee| *callee != told.0),
            acknowledgement,
            granularity,
            parts,
            fragment,
        },
    )
}

proptest! {
    #[test]
    fn a_strategy_survives_its_bytes_but_for_its_parts(strategy in strategies()) {
        let bytes = strategy.encode();
        let strategy = Strategy { parts: Parts::WHOLE, ..strategy };
        prop_assert_eq!(strategy.encode(), bytes);
        prop_assert_eq!(Strategy::decode(&strategy.encode()), Some(strategy));
    }

    #[test]
    fn a_strategy_survives_its_text(mut strategy in strategies()) {
        // Nothing but the copy engine looks at the fragment, so the text of others has none.
        if strategy.transfer != Transfer::CopyEngine {
            strategy.fragment = Strategy::default().fragment;
        }
        prop_assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }

    #[test]
    fn any_bytes_are_a_possible_strategy_or_none(bytes in any::<[u8; ENCODED]>(), small: bool) {
        let bytes = if small { bytes.map(|b| b % 6) } else { bytes };
        if let Some(strategy) = Strategy::decode(&bytes) {
            prop_assert_eq!(strategy.check(), Ok(strategy));
            prop_assert_eq!(Strategy::decode(&strategy.encode()), Some(strategy));
        }
    }

    #[test]
    fn any_text_is_a_strategy_or_an_error(text in "[a-z0-9=+/-]{0,40}") {
        if let Ok(strategy) = text.parse::<Strategy>() {
            prop_assert_eq!(strategy.to_string().parse::<Strategy>().is_ok(), true);
        }
    }
}

#[test]
fn impossible_text_is_refused_with_its_reason() {
    for (text, error) in [
        ("", StrategyError::Word),
        ("copy+", StrategyError::Word),
        ("Copy", StrategyError::Word),
        ("copy=1", StrategyError::Word),
        ("copy=", StrategyError::Word),
        ("region=6", StrategyError::Region),
        ("region=255", StrategyError::Region),
        ("region=256", StrategyError::Region),
        ("poll=0ms", StrategyError::Time),
        ("poll=2h", StrategyError::Time),
        ("poll=3601s", StrategyError::Time),
        ("poll=99999999999999999999s", StrategyError::Time),
        ("coalesced=0:1ms", StrategyError::Messages),
        ("coalesced=8", StrategyError::Messages),
        ("coalesced=65536:1ms", StrategyError::Messages),
        ("granularity=0", StrategyError::Granularity),
        ("granularity=65536", StrategyError::Granularity),
        ("parts", StrategyError::Word),
        ("parts=1", StrategyError::Parts),
        ("parts=0", StrategyError::Parts),
        ("parts=65536", StrategyError::Parts),
        ("parts=4:", StrategyError::Parts),
        ("parts=4:0", StrategyError::Parts),
        ("parts=4:5", StrategyError::Parts),
        ("parts=1:1", StrategyError::Parts),
        ("parts=4/granularity=2", StrategyError::Both),
        ("fragment=63", StrategyError::Fragment),
        ("callee", StrategyError::Word),
        ("callee=", StrategyError::Word),
        ("callee=internal", StrategyError::Word),
        ("callee=callee=spin", StrategyError::Word),
        ("spin/callee=poll=0s", StrategyError::Time),
        ("spin/callee=coalesced=0:1ms", StrategyError::Messages),
    ] {
        assert_eq!(text.parse::<Strategy>(), Err(error), "{text:?}");
    }
}

#[test]
fn the_bytes_of_a_strategy_are_as_documented() {
    let field = |bytes: &[u8; ENCODED], name: &str| {
        let rows = table("Strategies", "byte");
        let row = rows.iter().find(|row| row[2] == name).expect("the page has the field");
        let (from, len) = (number(&row[0]) as usize, number(&row[1]) as usize);
        bytes[from..from + len].iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    for (text, messages, time) in [
        ("copy/interrupt/internal/ack_interrupt", 0, 0),
        ("single_copy/spin/external/ack_lazy", 0, 0),
        ("in_place/poll=5ms/region=0/ack_batched", 0, 5_000_000),
        ("copy_engine/hybrid=50us/region=5/ack_lazy", 0, 50_000),
        ("copy/coalesced=770:1s/internal/ack_lazy", 770, 1_000_000_000),
    ] {
        let text = text.to_string() + "/granularity=300/fragment=70000";
        let bytes = text.parse::<Strategy>().expect("possible").encode();
        let mut words = text.split(['/']);
        for (name, section, column) in [
            ("transfer", "Strategies", "transfer"),
            ("notification", "Strategies", "notification"),
            ("placement", "Placements", "code"),
            ("acknowledgement", "Descriptors", "acknowledgement"),
        ] {
            let word = words.next().expect("a word a choice").trim_start_matches("ack_");
            let word = if name == "placement" { word } else { word.split('=').next().unwrap() };
            let code = find(&table(section, column), 1, word);
            assert_eq!(field(&bytes, name), u64::from(code), "{name} of {text}");
        }
        let figures = ["messages", "time", "granularity", "fragment"];
        let figures = figures.map(|name| field(&bytes, name));
        assert_eq!(figures, [messages, time, 300, 70000], "{text}");
        assert_eq!((field(&bytes, "callee"), &bytes[24..]), (0, &[0; 8][..]), "{text}");
    }
    for (word, messages, time) in
        [("interrupt", 0, 0), ("timer=5ms", 0, 5_000_000), ("coalesced=770:1s", 770, 1_000_000_000)]
    {
        let text = "spin/callee=".to_string() + word;
        let bytes = text.parse::<Strategy>().expect("possible").encode();
        let word = word.split('=').next().unwrap();
        let code = find(&table("Strategies", "notification"), 1, word);
        let fields = ["callee", "zero", "callee's messages", "callee's time"];
        let said = fields.map(|name| field(&bytes, name));
        assert_eq!(said, [u64::from(code) + 1, 0, messages, time], "{text}");
    }
}

#[test]
fn a_callee_that_is_told_as_the_caller_is_needs_no_word() {
    let by = |text: &str| text.parse::<Strategy>().expect("possible");
    assert_eq!(by("poll=5ms/callee=poll=5ms"), by("poll=5ms"));
    assert_eq!(by("hybrid=9us/callee=spin").at_callee(), Notification::Spin);
    let every = Duration::from_millis(5);
    assert_eq!(by("callee=interrupt/poll=5ms").notification, Notification::Poll { every });
    assert_eq!(by("poll=5ms").at_callee(), Notification::Poll { every });
}

#[test]
fn bytes_of_no_notification_of_the_callees_are_refused() {
    let bytes = "spin/callee=poll=1s".parse::<Strategy>().expect("possible").encode();
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes;
        bytes[at] = byte;
        Strategy::decode(&bytes)
    };
    assert!(with(12, 1).is_some());
    // No such notification; one of no message; a period of over an hour.
    for (at, byte) in [(12, 7), (12, 255), (12, 5), (31, 1)] {
        assert_eq!(with(at, byte), None, "{at}: {byte}");
    }
}

#[test]
fn a_strategy_is_said_as_shortly_as_it_is_written() {
    for text in [
        "copy/interrupt/internal",
        "copy_lazy/spin/external",
        "copy_batched/poll/region=5",
        "single_copy/hybrid/internal",
        "in_place/coalesced/internal",
        "in_place/poll=7ms/internal/ack_lazy",
        "in_place/timer/internal",
        "in_place/timer=20ms/internal",
        "single_copy/hybrid=7us/internal/ack_interrupt",
        "copy_engine/coalesced=3:1s/internal/granularity=9/fragment=64",
        "copy_engine/poll=1500us/internal",
        "copy_engine/poll=999ns/internal",
        "in_place/poll=5ms/internal/callee=interrupt",
        "copy/spin/external/callee=poll=2ms",
        "copy/interrupt/internal/parts=4",
        "copy_engine/interrupt/internal/parts=65535:65535/fragment=64",
        "in_place/poll=5ms/internal/callee=interrupt/parts=3:2",
        "copy_engine/interrupt/internal/ack_lazy/callee=coalesced=3:1s/granularity=9/fragment=64",
    ] {
        let strategy = text.parse::<Strategy>();
        assert_eq!(strategy.map(|strategy| strategy.to_string()), Ok(text.to_string()));
    }
    for (word, notification) in [
        ("poll", Notification::Poll { every: Duration::ZERO }),
        ("timer", Notification::Timer { every: Duration::ZERO }),
        ("hybrid", Notification::Hybrid { longest: Duration::ZERO }),
        ("coalesced", Notification::Coalesced { messages: 1, within: Duration::ZERO }),
    ] {
        let meant = word.parse::<Strategy>().expect("a word").notification;
        assert_eq!(core::mem::discriminant(&meant), core::mem::discriminant(&notification));
    }
}

#[test]
fn a_region_that_does_not_travel_is_refused() {
    let region = |n| Strategy { placement: Placement::Region(n), ..Strategy::default() };
    assert!(region(5).check().is_ok());
    for n in [6, 253, 254, 255] {
        assert_eq!(region(n).check(), Err(StrategyError::Region), "{n}");
    }
}
