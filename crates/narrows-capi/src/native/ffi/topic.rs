//! Topics: messages for all that subscribe, each written once and read where it is.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use narrows_services::Overflow;

use super::{Out, bytes, known, name, name_room, put_name, within};
use crate::native::code::{Code, Fault, Outcome, answer, at_once, hurried};
use crate::native::handle::Kind;
use crate::native::node::keep;
use crate::native::table;
use crate::native::topics::{Publishing, Subscribed};

/// `narrows_topic`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Topic {
    size: usize,
    slots: u32,
    subscribers: u32,
    history: u32,
    limit: u32,
}

/// `narrows_subscription`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Subscription {
    size: usize,
    depth: u32,
    holds: u32,
    history: u32,
    overflow: u32,
    publishers: u32,
}

/// `narrows_overflow`.
fn overflow(word: u32) -> Outcome<Overflow> {
    match word {
        0 => Ok(Overflow::DropOldest),
        1 => Ok(Overflow::DropNewest),
        2 => Ok(Overflow::Wait),
        _ => Err(Fault::said(Code::Argument, format_args!("{word} is no narrows_overflow"))),
    }
}

/// Publishes a topic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_publisher(
    node: *mut c_void,
    topic: *const c_char,
    types: *const c_char,
    longest: usize,
    options: *const Topic,
    publisher: *mut *mut c_void,
) -> c_int {
    let open = || {
        // SAFETY: as was promised.
        let (out, topic, types) = unsafe { (Out::new(publisher)?, name(topic)?, name(types)?) };
        let end = offset_of!(Topic, limit) + size_of::<u32>();
        let usual = Topic { size: 0, slots: 0, subscribers: 0, history: 0, limit: 0 };
        // SAFETY: as was promised.
        let how = unsafe { known(options, end, usual, "narrows_topic") }?;
        table::node(node as usize, |state| {
            let mut wish = state.node.topic(topic).history(how.history);
            if how.slots > 0 {
                wish = wish.slots(how.slots);
            }
            if how.subscribers > 0 {
                wish = wish.subscribers(how.subscribers);
            }
            if how.limit > 0 {
                wish = wish.limit(how.limit);
            }
            let publishing = Publishing::new(wish.outlet(types, longest)?);
            let handle = keep(&mut state.publishers, (Kind::Publisher, state.slot), publishing);
            out.put(handle? as *mut c_void);
            Ok(())
        })
    };
    answer(open())
}

/// Publishes no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_close_publisher(publisher: *mut c_void) -> c_int {
    answer(table::close_publisher(publisher as usize))
}

/// Publishes a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_publish(
    publisher: *mut c_void,
    message: *const c_void,
    length: usize,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    let message = unsafe { bytes(message, length) };
    answer(message.and_then(|message| {
        let within = within(timeout);
        table::publisher(publisher as usize, |one| {
            hurried(within, one.outlet()?.send(message, within).map_err(Into::into))
        })
    }))
}

/// Lends memory to make a message in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_loan(
    publisher: *mut c_void,
    length: usize,
    memory: *mut *mut c_void,
    timeout: i64,
) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(memory) };
    answer(out.and_then(|out| {
        let within = within(timeout);
        table::publisher(publisher as usize, |one| {
            out.put(hurried(within, one.lend(length, within))? as *mut c_void);
            Ok(())
        })
    }))
}

/// Publishes what was made in memory that was lent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_publish_loan(
    publisher: *mut c_void,
    memory: *mut c_void,
    length: usize,
) -> c_int {
    answer(table::publisher(publisher as usize, |one| {
        let (outlet, lent) = one.spend(memory as usize, length)?;
        Ok(outlet.send_lent(lent, length)?)
    }))
}

/// Takes memory back that was lent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_return_loan(publisher: *mut c_void, memory: *mut c_void) -> c_int {
    answer(table::publisher(publisher as usize, |one| {
        let (outlet, lent) = one.spend(memory as usize, 0)?;
        outlet.put_back(&lent);
        Ok(())
    }))
}

/// Lets subscribers in and go, and says how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_subscribers(publisher: *mut c_void, count: *mut usize) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(count) };
    answer(out.and_then(|out| {
        table::publisher(publisher as usize, |one| {
            let outlet = one.outlet()?;
            outlet.attend()?;
            out.put(outlet.subscribers()?);
            Ok(())
        })
    }))
}

/// Subscribes to a topic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_open_subscriber(
    node: *mut c_void,
    topic: *const c_char,
    types: *const c_char,
    options: *const Subscription,
    timeout: i64,
    subscriber: *mut *mut c_void,
) -> c_int {
    let open = || {
        // SAFETY: as was promised.
        let (out, topic, types) = unsafe { (Out::new(subscriber)?, name(topic)?, name(types)?) };
        let end = offset_of!(Subscription, publishers) + size_of::<u32>();
        let usual =
            Subscription { size: 0, depth: 0, holds: 0, history: 0, overflow: 0, publishers: 0 };
        // SAFETY: as was promised.
        let how = unsafe { known(options, end, usual, "narrows_subscription") }?;
        let overflow = overflow(how.overflow)?;
        table::node(node as usize, |state| {
            let mut wish = state.node.subscribe(topic).history(how.history).overflow(overflow);
            if how.depth > 0 {
                wish = wish.depth(how.depth);
            }
            if how.holds > 0 {
                wish = wish.holds(how.holds);
            }
            if how.publishers > 0 {
                wish = wish.publishers(how.publishers as usize);
            }
            let reader = wish.reader(types.to_owned())?;
            let within = within(timeout);
            if !at_once(within) {
                reader.join(within)?;
            }
            let subscribed = Subscribed::new(reader);
            let handle = keep(&mut state.subscribers, (Kind::Subscriber, state.slot), subscribed);
            out.put(handle? as *mut c_void);
            Ok(())
        })
    };
    answer(open())
}

/// Subscribes no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_close_subscriber(subscriber: *mut c_void) -> c_int {
    answer(table::close_subscriber(subscriber as usize))
}

/// Takes a message where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_take(
    subscriber: *mut c_void,
    sample: *mut *const c_void,
    length: *mut usize,
    timeout: i64,
) -> c_int {
    let take = || {
        // SAFETY: as was promised.
        let (sample, length) = unsafe { (Out::new(sample)?, Out::new(length)?) };
        let within = within(timeout);
        table::subscriber(subscriber as usize, |one| {
            let (at, len) = hurried(within, one.take(within))?;
            sample.put(at as *const c_void);
            length.put(len);
            Ok(())
        })
    };
    answer(take())
}

/// Gives a message back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_return_sample(
    subscriber: *mut c_void,
    sample: *const c_void,
) -> c_int {
    answer(table::subscriber(subscriber as usize, |one| one.give_back(sample as usize)))
}

/// Who published a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_sample_publisher(
    subscriber: *mut c_void,
    sample: *const c_void,
    to: *mut c_char,
) -> c_int {
    // SAFETY: there is room for a name, as the declaration says.
    let to = unsafe { name_room(to) };
    answer(to.and_then(|to| {
        table::subscriber(subscriber as usize, |one| {
            put_name(to, one.publisher(sample as usize)?);
            Ok(())
        })
    }))
}

/// How many messages were lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn narrows_lost(subscriber: *mut c_void, count: *mut u32) -> c_int {
    // SAFETY: as was promised.
    let out = unsafe { Out::new(count) };
    answer(out.and_then(|out| {
        table::subscriber(subscriber as usize, |one| {
            out.put(one.reader.lost());
            Ok(())
        })
    }))
}
