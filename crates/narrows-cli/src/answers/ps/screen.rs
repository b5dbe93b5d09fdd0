//! A terminal that shows one frame after the other, and is as before when that is over.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{IsTerminal as _, Write as _, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is seen whether a signal came.
const LOOK: Duration = Duration::from_millis(100);

/// Another screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The terminal, for as long as frames are shown.
pub struct Screen {
    /// How standard input was, if keys are read from it.
    before: Option<Termios>,
}

impl Screen {
    /// The terminal that standard output is; none if it is none.
    pub fn open() -> Option<Screen> {
        if !stdout().is_terminal() {
            return None;
        }
        let before = tcgetattr(stdin()).ok();
        if let Some(before) = &before {
            let mut keys = before.clone();
            // A key is there as it is pressed. Ctrl-C is a signal as ever.
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(stdin(), OptionalActions::Now, &keys);
        }
        print(ENTER);
        Some(Screen { before })
    }

    /// Shows a frame, as far as there is room for it.
    pub fn show(&self, text: &str) {
        let size = tcgetwinsize(stdout()).ok();
        let rows = size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0);
        let lines: Vec<&str> = text.lines().take(rows.unwrap_or(usize::MAX)).collect();
        print(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")));
    }

    /// Waits, and says whether somebody wants it to end: by the key q, or by a signal.
    pub fn wait(&self, time: Duration, stop: &AtomicBool) -> bool {
        let end = Instant::now() + time;
        let input = stdin();
        let mut keys = self.before.is_some();
        while !stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if !keys {
                std::thread::sleep(left.min(LOOK));
                continue;
            }
            let least = left.min(LOOK);
            let timeout = Timespec { tv_sec: 0, tv_nsec: least.subsec_nanos().into() };
            let mut one = [PollFd::new(&input, PollFlags::IN)];
            match poll(&mut one, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => continue,
                _ => {}
            }
            let mut key = [0; 16];
            match read(&input, &mut key) {
                Ok(len) if key.iter().take(len).any(|key| matches!(key, b'q' | b'Q')) => {
                    return true;
                }
                // No more keys come.
                Ok(0) | Err(_) => keys = false,
                Ok(_) => {}
            }
        }
        true
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        print(LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}

/// Writes to the terminal. If it is gone there is nobody to tell.
fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
