//! The processes of a LINX station, over one whose work is counted and whose waits end when nothing
//! is left to be done.

use std::collections::VecDeque;
use std::time::Duration;

use narrows::linx::station::{
    self, AGAIN, Handled, Process, Processes, Station, handle, interrupt, interrupts, receive,
};

/// What a process did, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Wait(Process, Option<Duration>),
    Wake(Process),
    Mask(bool),
    Take(usize),
    Acknowledge,
    Attend,
    PutTogether,
    Send,
}

/// A station whose links have frames, and whose link handler has signals.
#[derive(Default)]
struct Scripted {
    did: Vec<Did>,
    /// Frames of each link that have come; false for one that finds no buffer.
    come: Vec<VecDeque<bool>>,
    /// Frames that wait for the receiver.
    waiting: usize,
    /// Frames of a link at which interrupts are masked, and at most which they are unmasked.
    most: usize,
    few: usize,
    /// Frames that the receiver is woken for.
    news: usize,
    acknowledged: u32,
    signals: VecDeque<Handled>,
    held: bool,
    masked: bool,
    /// Waits until the end.
    waits: u32,
}

fn scripted(come: &[&[bool]]) -> Scripted {
    let come = come.iter().map(|frames| frames.iter().copied().collect()).collect();
    Scripted { come, most: usize::MAX, few: 0, news: 1, waits: 1, ..Scripted::default() }
}

impl Processes for Scripted {
    fn is_over(&self) -> bool {
        self.waits == 0
    }

    fn wait(&mut self, own: Process, within: Option<Duration>) {
        self.did.push(Did::Wait(own, within));
        self.waits -= 1;
    }

    fn wake(&mut self, whom: Process) {
        self.did.push(Did::Wake(whom));
    }

    fn mask(&mut self, masked: bool) {
        self.did.push(Did::Mask(masked));
        self.masked = masked;
    }

    fn is_masked(&self) -> bool {
        self.masked
    }
}

impl Station for Scripted {
    fn links(&self) -> usize {
        self.come.len()
    }

    fn acknowledge(&mut self) -> bool {
        self.did.push(Did::Acknowledge);
        let any = self.acknowledged > 0;
        self.acknowledged -= u32::from(any);
        any
    }

    fn take(&mut self, link: usize) -> Option<bool> {
        let frame = self.come[link].front().copied()?;
        self.did.push(Did::Take(link));
        if frame {
            self.come[link].pop_front();
            self.waiting += 1;
        }
        Some(frame)
    }

    fn is_enough(&self, _: usize) -> bool {
        self.waiting >= self.most
    }

    fn is_news(&self) -> bool {
        self.waiting >= self.news
    }

    fn put_together(&mut self) -> bool {
        self.did.push(Did::PutTogether);
        let any = self.waiting > 0 && !self.held;
        self.waiting -= usize::from(any);
        any
    }

    fn is_little(&self) -> bool {
        self.waiting <= self.few
    }

    fn is_held(&self) -> bool {
        self.held
    }

    fn send_next(&mut self) -> Handled {
        self.did.push(Did::Send);
        self.signals.pop_front().unwrap_or(Handled::Nothing)
    }

    fn attend(&mut self) {
        self.did.push(Did::Attend);
    }
}

use Did::{Acknowledge, Attend, Mask, PutTogether, Send, Take, Wait, Wake};
use Process::{Application, Handler, Interrupt, Receiver};

#[test]
fn an_interrupt_takes_frames_of_all_links_in_turn_and_wakes_the_receiver_once() {
    let mut two = scripted(&[&[true, true], &[true]]);
    interrupt(&mut two);
    let rounds = [Acknowledge, Take(0), Take(1), Acknowledge, Take(0), Acknowledge, Wake(Receiver)];
    assert_eq!(two.did, rounds);
    let mut none = scripted(&[&[]]);
    interrupt(&mut none);
    assert_eq!(none.did, [Acknowledge], "nothing came: nobody is woken");
}

#[test]
fn an_interrupt_goes_on_while_there_are_acknowledgements_and_ends_at_a_frame_without_a_buffer() {
    let mut one = scripted(&[&[false]]);
    one.acknowledged = 2;
    interrupt(&mut one);
    let look = [Acknowledge, Take(0)];
    assert_eq!(one.did, [look, look, look].concat());
}

#[test]
fn few_frames_do_not_wake_the_receiver_where_it_is_woken_for_more() {
    let mut one = scripted(&[&[true, true, true]]);
    one.news = 4;
    interrupt(&mut one);
    assert!(!one.did.contains(&Wake(Receiver)));
    one.come[0].push_back(true);
    interrupt(&mut one);
    assert_eq!(one.did.last(), Some(&Wake(Receiver)));
}

#[test]
fn where_enough_frames_wait_interrupts_are_masked_and_the_other_links_wait() {
    let mut two = scripted(&[&[true, true, true], &[true]]);
    two.most = 1;
    interrupt(&mut two);
    assert_eq!(two.did, [Acknowledge, Take(0), Mask(true), Wake(Receiver)]);
    two.did.clear();
    two.news = 2;
    interrupt(&mut two);
    assert_eq!(two.did, [Acknowledge], "masked: frames stay where they are");
}

#[test]
fn the_receiver_unmasks_when_little_waits_and_sleeps_when_nothing_does() {
    let mut one = scripted(&[]);
    (one.waiting, one.few, one.masked) = (3, 1, true);
    receive(&mut one);
    let work = [PutTogether, PutTogether, Mask(false), PutTogether, PutTogether];
    assert_eq!(one.did, [&work[..], &[Wait(Receiver, None)]].concat());
}

#[test]
fn the_receiver_unmasks_before_it_sleeps_whatever_waits() {
    let mut one = scripted(&[]);
    (one.waiting, one.held, one.masked) = (3, true, true);
    receive(&mut one);
    // What is held is looked at again soon, though nobody rings for it.
    assert_eq!(one.did, [PutTogether, Mask(false), Wait(Receiver, Some(AGAIN))]);
}

#[test]
fn the_handler_tells_the_application_of_room_and_tries_again_where_there_is_none() {
    let mut one = scripted(&[]);
    one.signals = [Handled::Sent, Handled::NoRoom, Handled::Sent].into();
    one.waits = 2;
    handle(&mut one);
    let woken = [Send, Wake(Application)];
    let waited = [Send, Wait(Handler, Some(AGAIN))];
    assert_eq!(one.did, [&woken[..], &waited, &woken, &[Send, Wait(Handler, None)]].concat());
}

#[test]
fn the_process_that_waits_for_interrupts_does_what_else_there_is_before_it_waits() {
    let mut one = scripted(&[&[true]]);
    one.waits = 2;
    interrupts(&mut one);
    let first = [Attend, Acknowledge, Take(0), Acknowledge, Wake(Receiver), Wait(Interrupt, None)];
    assert_eq!(one.did[..first.len()], first);
    assert_eq!(
        one.did[first.len()..],
        [Attend, Acknowledge, Wake(Receiver), Wait(Interrupt, None)]
    );
    let mut over = scripted(&[&[true]]);
    over.waits = 0;
    station::interrupts(&mut over);
    receive(&mut over);
    handle(&mut over);
    assert!(over.did.is_empty(), "none of them begins once it is over");
}
