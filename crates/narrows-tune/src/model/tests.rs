//! The equations against figures worked out by hand, and the queue against what is known of it.

use super::*;
use narrows::strategy::Placement;

const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;

/// The source's chip as it published it: MODEL.md, "the source's chip".
fn published() -> Costs {
    let rate = |us: f64| us * 1e-6 / 32640.0;
    let external = Access { write: rate(3972.85), read: rate(3957.93), block: 0.0 };
    let internal = Access { write: 0.06 * external.write, read: 0.06 * external.read, block: 0.0 };
    let parameters = Parameters {
        caller: Side {
            request: 500e-6,
            interrupt: 76.3e-6,
            poll: 2.3e-6,
            look: 2.3e-6,
            internal: Pool::even(internal),
            external: Pool::even(external),
            ..Side::default()
        },
        polling: Polling::Always,
        buffers: Buffers::InStep,
        results: Results::Shared,
        ..Parameters::default()
    };
    parameters.costs().unwrap()
}

fn audio() -> Flow {
    Flow {
        period: Some(Duration::from_millis(20)),
        request: 320,
        response: 160,
        work: Duration::from_millis(6),
        burst: 1,
        depth: 1,
        ..Flow::default()
    }
}

/// A strategy of the source's, whose DSP is interrupted however the caller waits.
fn source(text: &str) -> Strategy {
    Strategy { callee: Some(Notification::Interrupt), ..text.parse().unwrap() }
}

fn of(strategy: &str) -> Estimate {
    estimate(&published(), &audio(), &source(strategy)).unwrap()
}

#[test]
fn load_is_what_the_source_says() {
    // O = (O^R + t O_I + B / R) / T + (1 - t) O_P / P, worked out by hand.
    let copied = (320.0 * 3972.85 + 160.0 * 3957.93) / 32640.0;
    for (strategy, us, looks) in [
        ("copy/interrupt/external", 500.0 + 76.3 + copied, 0.0),
        ("copy/interrupt/internal", 500.0 + 76.3 + 0.06 * copied, 0.0),
        ("copy/poll=5ms/external", 500.0 + copied, 2.3 / 5000.0),
        ("copy/timer=5ms/external", 500.0 + copied, 2.3 / 5000.0),
        ("copy/poll=40ms/internal", 500.0 + 0.06 * copied, 2.3 / 40000.0),
    ] {
        let expected = (us / 20_000.0 + looks) * 1e6;
        let found = f64::from(of(strategy).load);
        assert!((found - expected).abs() < 2.0, "{strategy}: {found} {expected}");
    }
}

#[test]
fn memory_is_a_buffer_or_as_many_as_looks_leave_full() {
    assert_eq!(of("copy/interrupt/internal").memory, 320);
    assert_eq!(of("copy/interrupt/external").memory, 0);
    assert_eq!(of("copy/poll=20ms/internal").memory, 320);
    assert_eq!(of("copy/poll=50ms/internal").memory, 3 * 320);
    assert_eq!(of("copy/poll=50ms/internal/granularity=2").memory, 2 * 640);
    let safe = Costs { buffers: Buffers::Any, results: Results::Own, ..published() };
    let memory = |flow: Flow, strategy: &str| {
        estimate(&safe, &flow, &strategy.parse().unwrap()).unwrap().memory
    };
    assert_eq!(memory(audio(), "copy/poll=50ms/internal"), 4 * 480);
    assert_eq!(memory(audio(), "copy/interrupt/internal"), 480);
    // Two under way: two buffers by interrupt; polled one more for the request that is worked on.
    let pipelined = Flow { depth: 2, ..audio() };
    assert_eq!(memory(pipelined, "copy/interrupt/internal"), 2 * 480);
    assert_eq!(memory(pipelined, "copy/poll=50ms/internal"), 5 * 480);
}

#[test]
fn latency_has_three_forms_of_which_the_bound_is_the_longest() {
    let by_interrupt = of("copy/interrupt/internal").latency;
    assert_eq!(by_interrupt.source, by_interrupt.bound);
    assert!(by_interrupt.bound > 6 * MS && by_interrupt.bound < 7 * MS);
    let worked = by_interrupt.bound - published().caller.interrupt;
    for every in [5, 10, 15, 20] {
        let latency = of(&format!("copy/poll={every}ms/internal")).latency;
        assert_eq!(latency.source, worked + published().caller.poll);
        assert_eq!(latency.aligned, if every == 5 { 10 * MS } else { every * MS });
        assert_eq!(latency.bound, worked + published().caller.poll + every * MS);
    }
    // Looks rarer than requests.
    let rare = of("copy/poll=50ms/internal").latency;
    assert!(rare.source > 50 * MS && rare.source < 51 * MS && rare.bound > rare.source);
    // The third of a burst waits for two, one after the other.
    let flow = Flow { burst: 3, ..audio() };
    let by = "copy/interrupt/internal".parse().unwrap();
    let bound = |flow| estimate(&published(), &flow, &by).unwrap().latency.bound;
    assert_eq!(bound(flow), 3 * by_interrupt.bound);
    assert!(bound(Flow { depth: 3, ..flow }) < 3 * by_interrupt.bound);
    // Of two requests in a message the first waits for the second.
    let gathered = of("copy/interrupt/internal/granularity=2").latency;
    assert!(gathered.bound > by_interrupt.bound + 26 * MS);
}

#[test]
fn other_transfers_copy_less() {
    // Unless what the application does in shared memory itself counts.
    assert_eq!(of("in_place/interrupt/external"), of("copy_batched/interrupt/external"));
    let free = Costs { in_pool: InPool::Free, ..published() };
    let of = |strategy: &str| estimate(&free, &audio(), &strategy.parse().unwrap()).unwrap();
    let load = |strategy: &str| of(strategy).load;
    assert!(load("single_copy/interrupt/external") < load("copy/interrupt/external"));
    assert!(load("in_place/interrupt/external") < load("single_copy/interrupt/external"));
    assert_eq!(of("in_place/interrupt/external").caller, 576_300_000);
    let mut costs = published();
    costs.engine = Engine { descriptor: 5 * US, byte: 1024 * 100, completion: US };
    let long = Flow { request: 20_000, response: 1, ..audio() };
    let engine = "copy_engine/interrupt/external/fragment=8192".parse().unwrap();
    let made = estimate(&costs, &long, &engine).unwrap();
    // Three descriptors there and one back; the bytes delay, but take no time of the core.
    assert_eq!(made.caller, (576 + 20) * US + 300_000);
    assert_eq!(made.callee, 6000 * US + 20 * US);
    assert_eq!(made.serves, made.callee + 20_001 * 100 + 2 * US);
    assert_eq!(made.turnaround, made.callee + 2 * (20_001 * 100 + 2 * US));
}

#[test]
fn a_timer_that_always_runs_is_the_sources_polling() {
    for every in ["5ms", "20ms", "40ms"] {
        let [timer, poll] = ["timer", "poll"].map(|how| format!("in_place/{how}={every}/internal"));
        assert_eq!(of(&timer), of(&poll));
        // Also where others look only while they wait.
        let stack = Costs { polling: Polling::WhileWaiting, ..published() };
        let here = |by: &str| estimate(&stack, &audio(), &source(by)).unwrap();
        assert_eq!(here(&timer), of(&timer));
        assert_ne!(here(&poll), of(&poll));
    }
}

#[test]
fn waiting_takes_what_the_notification_says() {
    let mut costs = Costs { polling: Polling::WhileWaiting, ..published() };
    costs.ack_interrupt = 7 * US;
    let of = |flow: Flow, strategy: &str| estimate(&costs, &flow, &source(strategy)).unwrap();
    let caller = |strategy| of(audio(), strategy).caller;
    let copied = caller("copy_lazy/interrupt/external") - 76_300_000;
    assert_eq!(caller("copy/interrupt/external"), copied + 76_300_000 + 7 * US);
    assert_eq!(caller("copy_lazy/spin/external"), copied + 6000 * US + 2_300_000);
    // 6 ms are two looks 5 ms apart, and one 10 ms apart.
    assert_eq!(caller("copy_lazy/poll=5ms/external"), copied + 2 * 2_300_000);
    assert_eq!(caller("copy_lazy/poll=10ms/external"), copied + 2_300_000);
    assert_eq!(caller("copy_lazy/hybrid=7ms/external"), copied + 6000 * US + 2_300_000);
    assert_eq!(caller("copy_lazy/hybrid=3ms/external"), copied + 3000 * US + 76_300_000);
    assert_eq!(caller("copy_lazy/hybrid=1ms/external"), copied + 2 * US + 76_300_000);
    assert_eq!(caller("copy_lazy/coalesced=8:2ms/external"), copied + 3 * 2_300_000);
    // Back to back there are eight, and with a period of more than a call one.
    let deep = Flow { depth: 8, period: None, ..audio() };
    assert_eq!(of(deep, "copy_lazy/coalesced=8:2ms/external").caller, copied + 76_300_000 / 8);
}

#[test]
fn each_core_waits_by_its_own_notification() {
    let mut costs = published();
    costs.wake = 5 * US;
    costs.callee = Side { interrupt: 30 * US, poll: 4 * US, late: 2 * US, ..costs.callee };
    let of = |text: &str| estimate(&costs, &audio(), &text.parse().unwrap()).unwrap();
    for caller in ["interrupt", "poll=2ms", "spin"] {
        let by = |callee: &str| of(&format!("copy/{caller}/external/callee={callee}"));
        let [told, polled] = ["interrupt", "poll=2ms"].map(by);
        assert_eq!(told.callee - polled.callee, 26 * US, "{caller}");
        // The look may just have been missed.
        let [told, polled] = [told, polled].map(|made| made.latency.bound);
        assert_eq!(polled + (30 + 5) * US, told + (4 + 2) * US + 2 * MS, "{caller}");
    }
    assert_eq!(of("copy/poll=2ms/external/callee=poll=2ms"), of("copy/poll=2ms/external"));
    // Beside another flow it waits as the quicker of them has it wait.
    let by = "copy/interrupt/external/callee=poll=2ms".parse().unwrap();
    let other = "copy/poll=1ms/external/callee=poll=1ms".parse().unwrap();
    let both = Waits::quickest([&by, &other].map(Waits::of).into_iter()).unwrap();
    let every = Duration::from_millis(1);
    let soonest = Waits { caller: Notification::Interrupt, callee: Notification::Poll { every } };
    assert_eq!(both, soonest);
    let bound = |made: Result<Estimate, ModelError>| made.unwrap().latency.bound;
    let [alone, beside] =
        [estimate(&costs, &audio(), &by), beside(&costs, &audio(), &by, both)].map(bound);
    assert_eq!(alone - beside, MS);
    // A sleep that begins between two ticks of the callee's may last for one more.
    let side = Side { tick: MS, ..costs.callee };
    let ticks = Costs { callee: side, ..costs };
    assert_eq!(bound(estimate(&ticks, &audio(), &by)) - alone, MS);
}

#[test]
fn whoever_spins_slows_the_others_copies() {
    let mut costs = published();
    costs.caller.external_spin = Access { write: 1024 * 1000, read: 0, block: 0 };
    let of = |costs: &Costs, strategy: &str| {
        estimate(costs, &audio(), &strategy.parse().unwrap()).unwrap().latency.bound
    };
    let [spin, interrupt] = ["copy/spin/external", "copy/interrupt/external"];
    assert_eq!(of(&costs, spin), of(&published(), spin) + 320_000);
    assert_eq!(of(&costs, interrupt), of(&published(), interrupt));
    // What is seldom is in the bound, for either side, and not in the load.
    let seldom = Costs { seldom: 7 * US, ..published() };
    assert_eq!(of(&seldom, interrupt), of(&published(), interrupt) + 14 * US);
    // While both look it may be more.
    let seldom = Costs { seldom_spin: 9 * US, ..seldom };
    assert_eq!(of(&seldom, interrupt), of(&published(), interrupt) + 14 * US);
    assert_eq!(of(&seldom, spin), of(&published(), spin) + 18 * US);
}

#[test]
fn a_core_that_looks_hears_the_bell_of_an_acknowledgement_before_the_response() {
    let mut costs = published();
    costs.caller.rung = 40 * US;
    let of = |costs: &Costs, strategy: &str| {
        estimate(costs, &audio(), &strategy.parse().unwrap()).unwrap().latency.aligned
    };
    let [rung, quiet] = ["copy/spin/external/ack_interrupt", "copy/spin/external/ack_batched"];
    assert_eq!(of(&costs, rung), of(&published(), rung) + 40 * US);
    assert_eq!(of(&costs, quiet), of(&published(), quiet));
}

#[test]
fn requests_made_in_blocks_are_copied_once_more_to_be_gathered() {
    let mut costs = published();
    costs.caller.gather = [3 * US, 5 * US];
    let takes = |flow: Flow, strategy: &str| {
        estimate(&costs, &flow, &strategy.parse().unwrap()).unwrap().caller
    };
    let long = Flow { request: 1120, ..audio() };
    let more = |strategy: &str| takes(long, strategy) - takes(audio(), strategy);
    let two = "granularity=2";
    for (memory, each) in [("internal", 3 * US), ("external", 5 * US)] {
        let made = more(&format!("single_copy/interrupt/{memory}/{two}"));
        let copied = more(&format!("copy_batched/interrupt/{memory}/{two}"));
        // Twice 800 bytes more.
        assert!((made - copied).abs_diff(1600 * each / 1024) <= 2, "{memory}: {made} {copied}");
    }
}

#[test]
fn with_an_engine_the_core_gathers_requests_and_fetches_each_response_alone() {
    let takes = |costs: &Costs, flow: Flow, strategy: &str| {
        estimate(costs, &flow, &strategy.parse().unwrap()).unwrap().caller
    };
    let costs = published();
    let long = Flow { request: 1120, ..audio() };
    let more = |strategy: &str| takes(&costs, long, strategy) - takes(&costs, audio(), strategy);
    let [engine, core] =
        ["copy_engine", "copy_batched"].map(|by| format!("{by}/interrupt/external"));
    assert!(more(&core) > 0 && more(&engine) == 0);
    for count in [2, 4] {
        let [engine, core] = [&engine, &core].map(|by| format!("{by}/granularity={count}"));
        assert_eq!(more(&engine), more(&core));
        let mut slow = costs;
        slow.engine.descriptor += 10 * US;
        let rises = takes(&slow, audio(), &engine) - takes(&costs, audio(), &engine);
        assert_eq!(rises, count * 10 * US);
    }
}

#[test]
fn the_response_is_copied_while_the_other_core_looks_for_what_comes_next() {
    let mut costs = published();
    // 160 bytes take 3 ms while nobody looks, and twice that while somebody does.
    let rate = 3 * MS * 1024 / 160;
    costs.caller.external = Pool::even(Access { write: 0, read: rate, block: 0 });
    costs.caller.external_spin = Access { write: 0, read: rate, block: 0 };
    let takes = |strategy: &str, of: &Costs| {
        estimate(of, &audio(), &strategy.parse().unwrap()).unwrap().caller
    };
    let mut quiet = costs;
    quiet.caller.external_spin = Access::default();
    for (strategy, more) in [
        // The next request comes in 20 ms: so soon that it is looked for, for 7 ms.
        ("copy_lazy/hybrid=7ms/external", 3 * MS),
        // It is not looked for, but for 2 us.
        ("copy_lazy/hybrid=5ms/external", US),
        // The bell of the acknowledgement has it looked for half as long as may be: 2.5 ms of 6.
        ("copy/hybrid=5ms/external", 1250 * US),
        ("copy/interrupt/external", 0),
    ] {
        assert_eq!(takes(strategy, &costs) - takes(strategy, &quiet), more, "{strategy}");
    }
}

#[test]
fn pipelined_calls_hide_the_other_cores_time() {
    let costs = Costs { polling: Polling::WhileWaiting, ..published() };
    let of = |depth| {
        let flow = Flow { period: None, depth, ..audio() };
        estimate(&costs, &flow, &"copy/interrupt/external".parse().unwrap()).unwrap()
    };
    let (alone, two) = (of(1), of(2));
    assert!(alone.period > alone.callee + alone.caller - 1000);
    assert_eq!(two.period, two.callee);
    assert_eq!(two.work, WHOLE);
}

#[test]
fn what_is_impossible_is_refused() {
    let strategy = "copy/interrupt/external".parse().unwrap();
    let zero = Duration::ZERO;
    let long = DAY + Duration::from_nanos(1);
    let tries = [
        (Flow { period: Some(zero), ..audio() }, ModelError::Period),
        (Flow { period: Some(long), ..audio() }, ModelError::Period),
        (Flow { deadline: Some(zero), ..audio() }, ModelError::Deadline),
        (Flow { work: long, ..audio() }, ModelError::Time),
        (Flow { jitter: long, ..audio() }, ModelError::Time),
        (Flow { burst: 0, ..audio() }, ModelError::Count),
        (Flow { depth: 0, ..audio() }, ModelError::Count),
        (Flow { request: u32::MAX, ..audio() }, ModelError::Bytes),
    ];
    for (flow, error) in tries {
        assert_eq!(estimate(&published(), &flow, &strategy), Err(error));
    }
    let region = Strategy { placement: Placement::Region(1), ..strategy };
    assert_eq!(estimate(&published(), &audio(), &region), Err(ModelError::Region));
    let none = Strategy { granularity: 0, ..strategy };
    assert_eq!(estimate(&published(), &audio(), &none), Err(ModelError::Strategy));
    for wrong in [f64::NAN, f64::INFINITY, -1e-9, 3601.0] {
        let mut parameters = Parameters::<f64>::default();
        parameters.callee.external.spans[1].access.read = wrong;
        assert_eq!(parameters.costs(), Err(ModelError::Parameter), "{wrong}");
        let idle = Idle { after: 5e-3, poll: wrong, ..Idle::default() };
        let parameters = Parameters { idle, ..Parameters::default() };
        assert_eq!(parameters.costs(), Err(ModelError::Parameter), "{wrong}");
    }
}

#[test]
fn nothing_overflows_at_the_largest_figures() {
    let copies = Access { write: 1e-6, read: 1e-6, block: 3600.0 };
    let most = Side {
        request: 3600.0,
        interrupt: 3600.0,
        poll: 3600.0,
        look: 3600.0,
        tick: 3600.0,
        timer: 3600.0,
        late: 3600.0,
        internal: Pool::even(copies),
        external: Pool::even(copies),
        internal_spin: copies,
        cold: copies,
        ..Side::default()
    };
    let idle =
        Idle { after: 0.0, interrupt: 3600.0, poll: 3600.0, coalesced: 3600.0, late: 3600.0 };
    let costs = Parameters { caller: most, callee: most, idle, ..Parameters::default() };
    let costs = costs.costs().unwrap();
    let flow = Flow {
        period: Some(Duration::from_nanos(1)),
        request: 1 << 14,
        response: 1 << 14,
        work: DAY / 65535,
        deadline: Some(DAY),
        jitter: DAY,
        burst: u16::MAX,
        depth: u16::MAX,
        fixed: DAY,
    };
    for how in ["interrupt", "spin", "poll=1ns", "hybrid=3600s", "coalesced=9:1ns"] {
        let strategy = format!("copy/{how}/internal/granularity=65535").parse().unwrap();
        let made = estimate(&costs, &flow, &strategy).unwrap();
        assert_eq!(made.load, u32::MAX, "{how}");
    }
}

#[test]
fn what_fits_a_slot_takes_no_block_unless_a_driver_makes_it_in_one() {
    let mut costs = Costs { in_slot: 48, ..Costs::default() };
    costs.caller.slot = Access { write: 1024, read: 1024, block: 0 };
    costs.caller.external = Pool::even(Access { write: 0, read: 0, block: 500 });
    let caller = |request, response, transfer: &str| {
        let flow = Flow { request, response, burst: 1, depth: 1, ..Flow::default() };
        let by = format!("{transfer}/interrupt/external").parse().unwrap();
        estimate(&costs, &flow, &by).unwrap().caller
    };
    assert_eq!(caller(48, 8, "copy"), 48 + 8);
    assert_eq!(caller(49, 8, "copy"), 500 + 8);
    assert_eq!(caller(48, 8, "in_place"), 500 + 500);
}

#[test]
fn a_payload_is_copied_as_blocks_of_its_length_are() {
    let span = |longest, rate: u64, block| Span {
        longest,
        access: Access { write: 1024 * rate, read: 0, block },
    };
    let mut costs = Costs { in_slot: 8, ..Costs::default() };
    let spans = &mut costs.caller.external.spans;
    (spans[0], spans[1]) = (span(128, 2, 5), span(512, 3, 7));
    costs.caller.external_spin = Access { write: 1024, read: 0, block: 0 };
    let caller = |request, by: &str| {
        let flow = Flow { request, response: 0, burst: 1, depth: 1, ..Flow::default() };
        let by = format!("{by}/external").parse().unwrap();
        estimate(&costs, &flow, &by).unwrap().caller
    };
    for (bytes, takes) in
        [(64, 128 + 5), (128, 256 + 5), (129, 387 + 7), (512, 1536 + 7), (600, 1800 + 7)]
    {
        assert_eq!(caller(bytes, "copy/interrupt"), takes, "{bytes}");
    }
    assert_eq!(caller(129, "copy/interrupt/callee=spin"), 387 + 129 + 7);
}

#[test]
fn cold_caches_are_in_the_bound_and_not_in_the_load() {
    let by = "copy/interrupt/external".parse().unwrap();
    let warm = estimate(&published(), &audio(), &by).unwrap();
    let mut costs = published();
    costs.caller.cold = Access { write: 1024 * 3, read: 0, block: 10 * US };
    costs.callee.cold = Access { write: 0, read: 1024 * 2, block: 0 };
    let made = estimate(&costs, &audio(), &by).unwrap();
    let bytes = u64::from(audio().request);
    assert_eq!(made.once, [10 * US + 3 * bytes, 2 * bytes]);
    assert_eq!(made.latency.bound, warm.latency.bound + made.once[0] + made.once[1]);
    assert_eq!((made.load, made.blocks), (warm.load, warm.blocks + made.once[0]));
    (costs.caller.caches, costs.callee.caches) = (Some(100), Some(1 << 20));
    let made = estimate(&costs, &audio(), &by).unwrap();
    assert_eq!(made.once, [10 * US + 300, 2 * bytes], "no more than the caches hold");
}
