//! The queue against what is known of it. Times are nanoseconds.

use super::*;
use narrows::strategy::Notification;

const NS: u64 = 1000;

pub(super) fn stream(period: u64, service: u64) -> Stream {
    Stream { period: period * NS, service: service * NS, ..Stream::default() }
}

/// With these times for sending and for taking.
pub(super) fn called(send: u64, take: u64, one: Stream) -> Stream {
    Stream { send: send * NS, take: take * NS, ..one }
}

/// Which both cores await so.
pub(super) fn both(how: Notification, one: Stream) -> Stream {
    Stream { how, callee: how, ..one }
}

pub(super) fn poll(every: u64) -> Notification {
    Notification::Poll { every: Duration::from_nanos(every) }
}

/// Latencies of a flow, the shortest first, and the load of the calling core.
pub(super) fn drawn<const N: usize>(
    costs: &Costs,
    streams: &mut [Stream],
    of: usize,
    phases: Phases,
) -> Option<([u64; N], u32)> {
    let mut times = [0; N];
    let load = latencies(costs, streams, of, phases, 1, &mut times)?;
    Some((times.map(|time| time / NS), load))
}

fn random<const N: usize>(streams: &mut [Stream], of: usize) -> [u64; N] {
    drawn(&Costs::default(), streams, of, Phases::Random).unwrap().0
}

fn together<const N: usize>(streams: &mut [Stream], of: usize) -> [u64; N] {
    drawn(&Costs::default(), streams, of, Phases::Together).unwrap().0
}

#[test]
fn alone_a_request_never_waits() {
    let mut one = [called(3, 4, stream(100, 10))];
    assert!(random::<1000>(&mut one, 0).iter().all(|time| *time == 17));
    // The third of a burst waits for two.
    one[0].burst = 3;
    let times = random::<1000>(&mut one, 0);
    assert_eq!((times[0], times[999]), (17, 51));
    assert!(times.iter().filter(|time| **time == 34).count().abs_diff(333) < 20);
    // Where all are begun at once, sending and taking go on while the other core works.
    one[0].depth = 3;
    let times = random::<999>(&mut one, 0);
    assert_eq!((times[0], times[499], times[998]), (17, 27, 37));
}

#[test]
fn a_message_waits_for_its_last_request() {
    let mut one = [Stream { together: 2, depth: 2, ..called(3, 4, stream(100, 10)) }];
    let times = random::<100>(&mut one, 0);
    assert_eq!((times[0], times[49], times[50], times[99]), (17, 17, 117, 117));
    // Of a burst there are two at once.
    one[0].burst = 2;
    assert!(random::<100>(&mut one, 0).iter().all(|time| *time == 17));
    one[0] = Stream { together: 2, burst: 3, ..one[0] };
    let times = random::<300>(&mut one, 0);
    assert_eq!(times[0], 17);
    assert!(times[299] > 100, "the third waits for the next burst");
}

#[test]
fn without_a_period_the_next_is_due_when_the_last_is_answered() {
    let mut two = [called(5, 5, stream(0, 10)), stream(100, 30)];
    let times = random::<100>(&mut two, 0);
    assert_eq!(times[0], 20);
    assert!(times[99] > 20 && times[99] <= 50, "{times:?}");
}

#[test]
fn a_caller_that_looks_sees_a_response_at_its_next_look() {
    // The other core is told at once.
    let mut one = [Stream { how: poll(40), ..called(3, 4, stream(1000, 45)) }];
    let (times, _) = drawn::<1000>(&Costs::default(), &mut one, 0, Phases::Random).unwrap();
    assert_eq!((times[0], times[999]), (3 + 80 + 4, 3 + 80 + 4));
    // If the other core looks as well, the response comes after 45 to 85.
    one[0].callee = poll(40);
    let times = random::<1000>(&mut one, 0);
    assert_eq!((times[0], times[999]), (3 + 80 + 4, 3 + 120 + 4));
}

#[test]
fn looks_and_jitter_spread_latency_evenly() {
    // The other core looks at any moment of the thousand until the calling one does: one in a
    // hundred is answered after that.
    let times = random::<10_000>(&mut [both(poll(1000), stream(10_000, 10))], 0);
    let second = times.iter().filter(|time| **time == 2000).count();
    assert!(times[0] == 1000 && times[9999] == 2000 && (40..160).contains(&second), "{second}");
    let mut late = [Stream { jitter: 1000 * NS, ..stream(10_000, 10) }];
    let times = random::<10_000>(&mut late, 0);
    assert!((980..1010).contains(&times[9899]) && times[9999] <= 1010);
}

#[test]
fn many_flows_queue_as_random_arrivals_do() {
    // Fifty flows with a fiftieth of 80 % each: nearly arrivals at random, whose mean wait with a
    // service that is always the same is u S / (2 (1 - u)) = 2 S; periodic ones wait less.
    let mut streams = [stream(62_500, 1000); 50];
    let times = random::<2000>(&mut streams, 7);
    let mean = times.iter().sum::<u64>() as f64 / 2000.0 - 1000.0;
    assert!((1000.0..2000.0).contains(&mean), "{mean}");
    // All at once, the last waits for all.
    let times = together::<2000>(&mut streams, 49);
    assert_eq!((times[0], times[1999]), (50_000, 50_000));
}

#[test]
fn a_queue_that_grows_has_no_distribution() {
    let none = |streams: &mut [Stream], of| {
        drawn::<10>(&Costs::default(), streams, of, Phases::Random).is_none()
    };
    assert!(none(&mut [stream(100, 60), stream(100, 50)], 0));
    assert!(none(&mut [stream(0, 0)], 0));
    assert!(none(&mut [stream(0, 1), stream(1_000_000, 1)], 1));
    assert!(none(&mut [stream(100, 60)], 1));
    assert!(!none(&mut [stream(100, 50), stream(100, 50)], 0));
    // Each of its own core.
    assert!(!none(&mut [stream(100, 60), Stream { dsp: 1, ..stream(100, 60) }], 0));
    assert!(none(&mut [Stream { burst: 2, ..stream(100, 60) }], 0));
    assert!(!none(&mut [Stream { burst: 2, together: 2, depth: 2, ..stream(100, 60) }], 0));
}

#[test]
fn a_look_is_for_all_flows_and_sleeps_end_with_ticks() {
    // Its own look would come at 500; the other's request at 100 wakes the core, which goes through
    // all flows in their order.
    let polled = Stream { how: poll(500), ..called(1, 0, stream(1000, 10)) };
    let other = Stream { after: 100 * NS, ..called(5, 0, polled) };
    let costs = Costs::default();
    let of = |costs: &Costs, streams: &mut [Stream]| {
        let (times, _) = drawn::<100>(costs, streams, 0, Phases::Together).unwrap();
        (times[0], times[99])
    };
    assert_eq!(of(&costs, &mut [polled, other]), (100, 100));
    // 1 + 500 is after the tick at 300.
    let side = Side { tick: 300 * NS, ..Side::default() };
    let ticks = Costs { caller: side, ..costs };
    let (first, last) = of(&ticks, &mut [polled]);
    assert!(first >= 501 && last <= 801 + 300, "{first} {last}");
    assert_eq!(of(&ticks, &mut [stream(1000, 10)]), (10, 210));
    // Ticks take their part of the core, whatever else it does.
    let taken = Side { ticked: 6 * NS, ..side };
    let load = |caller| {
        let costs = Costs { caller, ..costs };
        drawn::<100>(&costs, &mut [stream(1000, 10)], 0, Phases::Together).unwrap().1
    };
    assert_eq!(load(taken) - load(side), 20_000);
}

#[test]
fn a_timer_that_always_runs_meets_a_response_at_its_next_end() {
    let timer = |every| Notification::Timer { every: Duration::from_nanos(every) };
    let by = |every| both(timer(every), called(3, 4, stream(1007, 10)));
    // Sent 3 ns after it is due, by a look of the other core, which its own timer has look, served
    // in 10, and met by a look at most 50 later.
    let times = random::<10_000>(&mut [by(50)], 0);
    let (first, median, last) = (times[0], times[5000], times[9999]);
    assert!((17..22).contains(&first) && (112..=117).contains(&last), "{first}, {last}");
    assert!(median.abs_diff(67) <= 3, "{median}");
}

#[test]
fn one_of_so_many_requests_takes_more() {
    let mut one = [Stream { more: 7 * NS, one_in: 16, ..stream(100, 10) }];
    let times = random::<10_000>(&mut one, 0);
    let more = times.iter().filter(|time| **time == 17).count();
    assert!(more.abs_diff(625) < 100 && times[0] == 10, "{more}");
}

#[test]
fn a_core_is_slower_while_the_other_copies() {
    // The other core copies the second flow's request from 25 to 105; the first response interrupts
    // the calling core at 25, for 10, and is taken for 6.
    let copied = [[0, 6 * NS], [0, 0]];
    let first = Stream { copied, ..called(5, 6, stream(1000, 20)) };
    let copied = [[0, 0], [80 * NS, 0]];
    let mut two = [first, Stream { copied, ..called(5, 6, stream(1000, 100)) }];
    let mut quick = |contended, disturbed| {
        let mut costs = Costs { contended, disturbed, ..Costs::default() };
        costs.caller.interrupt = 10 * NS;
        let (times, load) = drawn::<100>(&costs, &mut two, 0, Phases::Together).unwrap();
        assert_eq!(times[0], times[99]);
        (times[0], load)
    };
    assert_eq!(quick(0, 0), (41, 42_000));
    // Both copy while it is taken.
    assert_eq!(quick(1_000_000, 0), (47, 48_000));
    // The interrupt is no copy.
    assert_eq!(quick(0, 500_000), (46, 47_000));
}

#[test]
fn the_load_is_that_of_waits_and_looks_together() {
    let side = Side { interrupt: 5 * NS, poll: 2 * NS, look: NS, timer: 4 * NS, ..Side::default() };
    let costs = Costs { caller: side, ..Costs::default() };
    let load = |streams: &mut [Stream]| {
        let drawn = drawn::<1000>(&costs, streams, 0, Phases::Together);
        f64::from(drawn.unwrap().1) / 1e6 * 1000.0
    };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.1, "{found}");
    let by = |how| Stream { how, ..called(10, 20, stream(1000, 100)) };
    // Sleeping until it is due, sending, being told and taking.
    near(load(&mut [by(Notification::Interrupt)]), 4.0 + 10.0 + 5.0 + 20.0);
    near(load(&mut [by(poll(40))]), 4.0 + 10.0 + 3.0 * 2.0 + 20.0);
    // By a timer that always runs, a look of every 40 whatever is awaited, and of two as many.
    let timer = |every| Notification::Timer { every: Duration::from_nanos(every) };
    near(load(&mut [by(timer(40))]), 4.0 + 10.0 + 25.0 * 2.0 + 20.0);
    near(load(&mut [by(timer(40)); 2]), 4.0 + 20.0 + 25.0 * 2.0 + 40.0);
    // Two that are due together share the timer, and their looks but the last of the longer one's
    // wait.
    near(load(&mut [by(poll(40)); 2]), 4.0 + 20.0 + 5.0 * 2.0 + 40.0);
    near(load(&mut [by(Notification::Spin)]), 1000.0);
    // It looks until the response is there, with one of 100 beside it.
    let hybrid = Notification::Hybrid { longest: Duration::from_micros(1) };
    near(load(&mut [by(hybrid)]), 4.0 + 10.0 + 101.0 + 20.0);
    // Where none is prompt it looks ever more shortly, down to all that is allowed.
    let long = Stream { how: hybrid, ..called(10, 20, stream(100_000, 50_000)) };
    near(load(&mut [long]), (4.0 + 10.0 + 1000.0 + 5.0 + 20.0) / 100.0);
    // The bell of an acknowledgement that came while it slept ends no other sleep.
    let longer = Notification::Hybrid { longest: Duration::from_micros(20) };
    let rung = Stream { how: longer, rings: true, ..called(10, 20, stream(200_000, 100_000)) };
    near(load(&mut [rung]), (4.0 + 10.0 + 2000.0 + 5.0 + 20.0) / 200.0);
    // Two messages for a bell, or a look after 30.
    let pairs = Notification::Coalesced { messages: 2, within: Duration::from_nanos(3000) };
    let two = Stream { burst: 2, depth: 2, ..by(pairs) };
    near(load(&mut [two]), 4.0 + 20.0 + 5.0 + 40.0);
}
