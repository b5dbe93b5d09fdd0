//! A core at another clock.

use super::{Core, Interrupt, Serve, System, Timer};
use crate::time::{Cost, Time};

impl Core {
    /// Makes every time of the core this many times as long. Costs in cycles are left: they go with
    /// the clock by themselves.
    pub(super) fn slow(&mut self, times: f64) {
        let Core { hit, second_hit, copy, poll, fence, upkeep, timer, interrupt, system, .. } =
            self;
        let Timer { read, read_user, .. } = timer;
        let Interrupt { ring, entry, service, .. } = interrupt;
        let System { switch, sleep, tick_service, calls, swapping, .. } = system;
        let all = [
            hit,
            second_hit,
            poll,
            fence,
            upkeep,
            read,
            read_user,
            ring,
            entry,
            service,
            switch,
            sleep,
            tick_service,
        ];
        let copying = [&mut copy.start, &mut copy.word];
        let calls = calls.iter_mut().chain(swapping).map(|(_, cost)| &mut cost.takes);
        let spans = self.spans.iter_mut().flat_map(|(_, cost)| [&mut cost.enter, &mut cost.leave]);
        let functions = self.functions.iter_mut().map(|(_, cost)| cost);
        let serving = self.serve.iter_mut();
        let serving = serving.flat_map(|Serve { copied, in_place, .. }| [copied, in_place]);
        let own = all.into_iter().chain(copying).chain(calls).chain(spans);
        for cost in own.chain(functions).chain(serving) {
            if let Cost::Time(time) = cost {
                *cost = Cost::Time(Time((time.0 as f64 * times).round() as u64));
            }
        }
    }
}
