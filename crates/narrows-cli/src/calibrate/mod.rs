//! exploratory
#![allow(missing_docs)]
mod local;
use crate::bench::limit::{Kind, Pace};
use crate::bench::pair::Pair;
use crate::failure::Failure;
use crate::flags::Global;
use crate::statistics::median;
use narrows::strategy::Strategy;
use std::sync::atomic::{AtomicBool, Ordering};

pub fn explore(global: &Global) -> Result<(), Failure> {
    let cores = crate::peer::default_cores()?;
    let mut pair = Pair::start(global, false, 65536, None)?;
    let mut local = local::Local::start()?;
    let pace = Pace { pauses: 2, fence: true };
    let s = |t: &str| t.parse::<Strategy>().unwrap();
    let rounds = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(20);
    let mut out: Vec<(String, f64, f64, f64)> = Vec::new();
    for _ in 0..rounds {
        let mut hop = pair.floor_at(pace, Kind::LineEachWay, 0)?;
        let mut add = |pair: &mut Pair, name: String, v: f64| -> Result<(), Failure> {
            let after = pair.floor_at(pace, Kind::LineEachWay, 0)?;
            out.push((name, v, hop, after));
            hop = after;
            Ok(())
        };
        let done = AtomicBool::new(false);
        let mut row = Vec::new();
        let r: Result<(), Failure> = std::thread::scope(|scope| {
            local::look(scope, cores.callee, &done);
            let r = (|| {
            for n in [48, 64] {
            for st in ["copy_batched/spin"] {
                row.push((format!("lm {st} {n}"), local.messages(s(st), n)?));
                let [a, b, c] = local.parts(s(st), n)?;
                row.push((format!("lS {st} {n}"), a));
                row.push((format!("lR {st} {n}"), b));
                row.push((format!("lF {st} {n}"), c));
                row.push((format!("lc {st} {n}"), local.calls(s(st), n)?));
            } 
                let st = "in_place/spin";
                row.push((format!("lc {st} {n}"), local.calls(s(st), n)?));
            }
            Ok(()) })();
            done.store(true, Ordering::Release);
            r
        });
        r?;
        let v = pair.floor_at(pace, Kind::SlotEachWay, 0)?;
        add(&mut pair, "slots".into(), v)?;
        for (n, v) in row { add(&mut pair, n, v)?; }
        for n in [8, 48, 64, 256, 1024, 4096, 16384, 65536] {
            if n >= 64 {
                let v = pair.floor_at(pace, Kind::CopyInTurn, n)?;
                add(&mut pair, format!("turn {n}"), v)?;
                let v = pair.floor_at(pace, Kind::CopyIn, n)?;
                add(&mut pair, format!("in {n}"), v)?;
            }
            for st in ["copy_batched/spin", "in_place/spin"] {
                let count = (0.5e6 / (1000.0 + n as f64 * 0.5)) as u64;
                let v = pair.messages(s(st), n, count.max(32))?;
                add(&mut pair, format!("M {st} {n}"), v)?;
                let v = pair.calls(s(st), n, count.max(32))?;
                add(&mut pair, format!("C {st} {n}"), v)?;
            }
            if n <= 64 {
                let v = pair.messages(s("copy/spin"), n, 200)?;
                add(&mut pair, format!("M copy/spin {n}"), v)?;
            }
        }
    }
    for row in &out { println!("{}", serde_json::to_string(row).unwrap()); }
    let _ = median(&mut [1.0]);
    Ok(())
}
