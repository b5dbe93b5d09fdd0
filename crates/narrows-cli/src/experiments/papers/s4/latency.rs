//! T0: a request and its reply ten times a second.

use crate::base::failure::Failure;
use crate::experiments::bench::linx::{Case, Trial, carry_out};
use crate::experiments::papers::row::Found;
use crate::formats::linx::{DriverName, Stack};
use narrows_sim::chip::Chip;

/// A layered trial, as S4's were.
pub(super) fn trial(case: Case, driver: DriverName, bytes: usize) -> Trial {
    Trial {
        case,
        driver,
        stack: Stack::Layered,
        counter: None,
        bytes,
        mtu: None,
        cached: false,
        stopped: false,
        rounds: None,
        log: None,
    }
}

/// What send blocks, and the latency, of a signal of 128 bytes.
///
/// # Errors
/// As [`carry_out`].
pub fn log(chip: &Chip) -> Result<Found, Failure> {
    let trial = trial(Case::Latency, DriverName::ShmAck, 128);
    let results = carry_out(chip, &trial, None)?;
    let blocking = results.request(|row| row.blocking_cycles.median, &trial);
    let latency = results.request(|row| row.latency_cycles.median, &trial);
    Ok([("blocking".to_owned(), blocking), ("latency".to_owned(), latency)].into())
}

/// How long each core is busy for a signal of 128 bytes.
///
/// # Errors
/// As [`carry_out`].
pub fn cpu(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    for driver in DriverName::ALL {
        let trial = trial(Case::Latency, driver, 128);
        let results = carry_out(chip, &trial, None)?;
        let sender = results.request(|row| row.cpu_cycles.sender, &trial);
        let receiver = results.request(|row| row.cpu_cycles.receiver, &trial);
        let name = driver.name();
        found.insert(format!("{name}.sender"), sender);
        found.insert(format!("{name}.receiver"), receiver);
        found.insert(format!("{name}.total"), sender + receiver);
    }
    Ok(found)
}

fn latency(chip: &Chip, trial: &Trial) -> Result<[f64; 2], Failure> {
    let results = carry_out(chip, trial, None)?;
    let figure = |of: fn(&crate::experiments::bench::linx::Row) -> f64| results.request(of, trial);
    Ok([figure(|row| row.latency_cycles.median), figure(|row| row.latency_cycles.max)])
}

/// What drivers differ by, where shared memory and the copy engine cross, and the worst case.
///
/// # Errors
/// As [`carry_out`].
pub fn differences(chip: &Chip) -> Result<Found, Failure> {
    use DriverName::{DmaAck, DmaNoack, ShmAck, ShmNoack, SingleCopy};
    let of = |driver, bytes| {
        latency(chip, &trial(Case::Latency, driver, bytes)).map(|[median, _]| median)
    };
    let small = [of(ShmAck, 16)?, of(SingleCopy, 16)?];
    let mid = [of(ShmAck, 128)?, of(ShmNoack, 128)?, of(DmaAck, 128)?, of(DmaNoack, 128)?];
    let large = [of(ShmAck, 1024)?, of(DmaAck, 1024)?, of(SingleCopy, 1024)?];
    // Both grow with every byte alike.
    let slope = |at: f64, far: f64| (far - at) / (1024.0 - 128.0);
    let apart = slope(mid[0], large[0]) - slope(mid[2], large[1]);
    let crossing = 128.0 + (mid[2] - mid[0]) / apart;
    let cached = Trial { cached: true, ..trial(Case::Latency, ShmAck, 512) };
    let [typical, worst] = latency(chip, &cached)?;
    let busy = trial(Case::Latency, ShmAck, 128);
    let results = carry_out(chip, &busy, None)?;
    let service = results.request(|row| row.cpu_cycles.sender - row.blocking_cycles.median, &busy);
    Ok([
        ("shm_noack", mid[0] - mid[1]),
        ("dma_noack", mid[2] - mid[3]),
        ("single_copy_small", small[0] - small[1]),
        ("ack_isr", service),
        ("crossover", crossing),
        ("worst_512", worst - typical),
        ("large.shm-ack", large[0]),
        ("large.single-copy", large[2]),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What section 4.2 says of orders and diagrams show without figures. Two of its orders do not
    /// come out, and are in docs/measured/papers.md: that DMA is faster without acknowledging by
    /// interrupt, and that cached buffers are slower with small signals.
    #[test]
    fn drivers_and_sizes_are_in_the_order_that_the_source_has() {
        let chip = crate::formats::platform::load("nios2-dual").unwrap();
        let of = |driver, bytes, cached| {
            // As often as the source: the worst case is the worst of ten.
            let trial = Trial { cached, ..trial(Case::Latency, driver, bytes) };
            latency(&chip, &trial).unwrap()
        };
        let typical = |driver, bytes| of(driver, bytes, false)[0];
        use DriverName::{DmaAck, ShmAck, ShmNoack, SingleCopy};
        for bytes in [16, 128, 512, 1024] {
            assert!(typical(ShmNoack, bytes) < typical(ShmAck, bytes), "{bytes}");
            let [median, worst] = of(ShmAck, bytes, false);
            // The first signal of a run finds its receiver's buffer in no cache: one more fill of
            // 24 cycles for each line of 16 bytes.
            let cold = 24.0 * (bytes / 16) as f64;
            assert!(worst - cold < median * 1.02, "worst cases differ little: {bytes}");
            assert!(worst < median * 1.02 || bytes == 1024, "but in the longest: {bytes}");
        }
        let growth = |driver| typical(driver, 1024) - typical(driver, 16);
        assert!(growth(SingleCopy) < growth(DmaAck) && growth(DmaAck) < growth(ShmAck));
        assert!(typical(ShmAck, 16) < typical(DmaAck, 16), "small signals by shared memory");
        assert!(typical(DmaAck, 1024) < typical(ShmAck, 1024), "large ones by DMA");
        let cached = [128, 512, 1024].map(|bytes| of(ShmAck, bytes, true));
        assert!(cached[2][0] < typical(ShmAck, 1024), "cached buffers with large signals");
        let apart = cached.map(|[median, worst]| worst - median);
        assert!(apart[0] < apart[1] && apart[1] < apart[2], "worst and typical: {apart:?}");
    }
}
