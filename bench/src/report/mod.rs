use std::io; use std::path::Path; use std::time::{Duration, SystemTime};
use serde::Serialize; use crate::contender::Contender; use crate::results::Row;
#[derive(Serialize)] pub struct Settings { pub command: String, pub seed: u64, pub rounds: u32, pub millis: u64, pub cores: (usize, usize), #[serde(skip)] pub started: SystemTime, pub took: Duration, pub sizes: Vec<usize> }
#[derive(Serialize)] pub struct Report { settings: Settings, rows: Vec<Row> }
impl Report { pub fn new(settings: Settings, _c: &[&'static dyn Contender], rows: Vec<Row>) -> Report { Report { settings, rows } }
 pub fn write(&self, _d: &Path) -> io::Result<()> { Ok(()) }
 pub fn overview(&self) -> String { let mut s = String::new(); for r in &self.rows { for m in [crate::contender::Measure::RoundTrip, crate::contender::Measure::OneWay] { if let Some(f) = r.figures(m) { s += &format!("{:28} {:?} {:?} {:6} {:.1} {:.1} {:.1} p99 {:.1}\n", r.contender, m, r.mode, r.bytes, f.median, f.p10, f.p90, f.p99); } } for f in &r.failures { s += &format!("{} {:?} {}: {f}\n", r.contender, r.mode, r.bytes); } } s } }
