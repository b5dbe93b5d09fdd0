//! Threads: work that is the same for many things, on all cores; and what a thread has had of them.

use std::convert::Infallible;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

/// What `work` makes of each of `all`, in their order, by as many threads as there are cores.
pub fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut made: Vec<Option<R>> = all.iter().map(|_| None).collect();
    let Ok(()) = share(all, cores(), work, |at, one| {
        made[at] = Some(one);
        Ok::<_, Infallible>(())
    });
    made.into_iter().flatten().collect()
}

/// How many threads can run at a time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Nanoseconds of processor time that a thread has had; none where the system does not tell. `task`
/// is its folder in `/proc`.
pub fn had(task: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Has this number of threads do `work` for each of `all`. `take` is given what is made as it
/// comes, with the place of what it was made of.
///
/// # Errors
/// What `take` fails with: nothing new is begun then.
pub fn share<T: Sync, R: Send, E>(
    all: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let go = |say: Sender<(usize, R)>| {
        loop {
            // Relaxed: it only counts, and nothing else is read by it.
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(at) else { return };
            // A thread that listens no longer has failed and says so.
            if say.send((at, work(one))).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (say, said) = channel();
        for _ in 0..threads.min(all.len()) {
            let say = say.clone();
            scope.spawn(|| go(say));
        }
        drop(say);
        for (at, made) in said {
            take(at, made)?;
        }
        Ok(())
    })
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
