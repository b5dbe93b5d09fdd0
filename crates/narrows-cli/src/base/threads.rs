//! Work that is the same for many things, on all cores.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `work` makes of each of `all`, in their order, by as many threads as there are cores.
pub fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores.min(all.len()) < 2 {
        return all.iter().map(work).collect();
    }
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        loop {
            // Relaxed: it only counts, and nothing else is read by it.
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(at) else { return };
            let result = work(one);
            made.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..cores.min(all.len()) {
            scope.spawn(take);
        }
    });
    let mut made = made.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_made_comes_in_the_order_of_what_it_is_made_of() {
        let all: Vec<u64> = (0..100).collect();
        let made = super::each(&all, |one| {
            std::thread::sleep(std::time::Duration::from_micros(100 - one));
            one * 2
        });
        assert_eq!(made, all.iter().map(|one| one * 2).collect::<Vec<_>>());
        assert!(super::each(&[0_u8; 0], |one| *one).is_empty());
    }
}
