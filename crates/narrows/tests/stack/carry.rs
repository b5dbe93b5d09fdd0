//! What every frame driver over an area does, on whatever memory: frames of all lengths come whole
//! and in order, one at a time, and headers that were looked at stay as they were.

use narrows::driver::{Frames, NoFrame, NotSent};

/// A buffer with these bytes.
pub type Make<'a, B> = &'a dyn Fn(&[u8]) -> B;
/// The bytes of a buffer.
pub type Show<'a, B> = &'a dyn Fn(&B) -> Vec<u8>;

/// Bytes that tell one frame from the next.
pub fn pattern(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + number * 31 + 1) as u8).collect()
}

/// Sends frames of many lengths from one end to the other, and says which was the first that came
/// wrong.
pub fn carry<A: Frames<Buffer = B>, B>(
    sender: &mut A,
    receiver: &mut A,
    (make, show): (Make<'_, B>, Show<'_, B>),
) -> Result<(), usize> {
    let mut other = [0; 32];
    assert_eq!(receiver.try_receive(&mut other), Err(NoFrame::Empty));
    // Frames of any length are tried with some that are longer than the area.
    let most = sender.mtu().min(1024) - 20;
    let lengths = [0, 1, 4, 31, 32, 33, 64, most / 2, most - 1, most, 5];
    for (number, len) in lengths.into_iter().enumerate() {
        let header: Vec<u8> = pattern(number + 100, 20);
        let bytes = pattern(number, len);
        let from = make(&bytes);
        let payload = (len > 0).then_some((&from, 0, len));
        assert_eq!(sender.try_send(&header, payload), Ok(()));
        assert_eq!(sender.try_send(&header, payload), Err(NotSent::Full), "one at a time");
        let mut got = [0; 20];
        if receiver.try_receive(&mut got) != Ok(20 + len) || got != header[..] {
            return Err(number);
        }
        assert_eq!(receiver.try_receive(&mut got), Ok(20 + len), "until it is released");
        let mut to = make(&vec![0xee; len]);
        assert!(receiver.read(20 + len, 1, &mut to, 0).is_err(), "behind its end");
        if len > 1 {
            receiver.read(20 + len / 2, len - len / 2, &mut to, len / 2).unwrap();
            receiver.read(20, len / 2, &mut to, 0).unwrap();
        } else {
            receiver.read(20, len, &mut to, 0).unwrap();
        }
        receiver.release();
        receiver.release();
        assert!(!sender.holds());
        if show(&to) != bytes {
            return Err(number);
        }
        assert_eq!(receiver.try_receive(&mut got), Err(NoFrame::Empty));
    }
    if sender.mtu() > most + 20 {
        return Ok(());
    }
    let long = make(&pattern(0, most + 1));
    let refused = sender.try_send(&[0; 20], Some((&long, 0, most + 1)));
    assert_eq!(refused, Err(NotSent::TooLong));
    Ok(())
}
