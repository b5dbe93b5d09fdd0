//! Two processors with queues in MQX's terms, and a wire of frames between them, without an
//! allocator.

use core::cell::RefCell;

use heapless::{Deque, Vec};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use narrows::link::route::Table;
use narrows::mqx::{Limits, Processor, QueueId, Supply, Task};
use narrows::platform::NoStorage;

/// Entries of the longest table.
const MOST: usize = 16;
/// Bytes of a message.
const BYTES: usize = 100;
/// Bytes of a frame: a message of that length takes two.
const MTU: usize = 64;

struct Static;

impl Supply for Static {
    type Slice<T> = Vec<T, MOST>;
    type Buffer = [u8; BYTES];
    fn storage<T>(
        &mut self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Vec<T, MOST>, NoStorage> {
        if len > MOST { Err(NoStorage) } else { Ok((0..len).map(make).collect()) }
    }
    fn make(&mut self, bytes: usize) -> Option<[u8; BYTES]> {
        (bytes <= BYTES).then_some([0; BYTES])
    }
    fn copy(
        &mut self,
        from: &[u8; BYTES],
        to: &mut [u8; BYTES],
        _bytes: usize,
    ) -> Result<(), NotThere> {
        *to = *from;
        Ok(())
    }
}

type Lane = RefCell<Deque<Vec<u8, MTU>, 4>>;

struct Wire<'a> {
    out: &'a Lane,
    into: &'a Lane,
}

impl Frames for Wire<'_> {
    type Buffer = [u8; BYTES];
    fn mtu(&self) -> usize {
        MTU
    }
    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&[u8; BYTES], usize, usize)>,
    ) -> Result<(), NotSent> {
        let mut frame = Vec::new();
        frame.extend_from_slice(header).map_err(|_| NotSent::TooLong)?;
        if let Some((buffer, at, len)) = payload {
            let part = buffer.get(at..).and_then(|rest| rest.get(..len));
            frame.extend_from_slice(part.ok_or(NotSent::TooLong)?).map_err(|_| NotSent::TooLong)?;
        }
        self.out.borrow_mut().push_back(frame).map_err(|_| NotSent::Full)
    }
    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        let lane = self.into.borrow();
        let frame = lane.front().ok_or(NoFrame::Empty)?;
        header.iter_mut().zip(frame).for_each(|(to, from)| *to = *from);
        Ok(frame.len())
    }
    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut [u8; BYTES],
        at: usize,
    ) -> Result<(), NotThere> {
        let lane = self.into.borrow();
        let part = lane.front().and_then(|frame| frame.get(from..)?.get(..len));
        let to = buffer.get_mut(at..).and_then(|rest| rest.get_mut(..len));
        let (part, to) = part.zip(to).ok_or(NotThere)?;
        to.copy_from_slice(part);
        Ok(())
    }
    fn release(&mut self) {
        self.into.borrow_mut().pop_front();
    }
}

/// Sends a message to the other processor and back as it is.
pub fn exchange() -> Option<()> {
    let limits = Limits {
        messages: MOST as u16,
        pools: 2,
        queues: 2,
        processors: 2,
        longest: BYTES as u32,
        hops: 1,
        quota: 2,
        outgoing: 2,
        delivered: 2,
    };
    let make = |number, neighbour| {
        let table = Table::new(number, &[neighbour], &[(1, 2)]);
        Processor::<Static, ()>::new(Static, (number, 1), table, limits).ok()
    };
    let (mut one, mut two) = (make(1, 2)?, make(2, 1)?);
    let (there, back) = (Lane::default(), Lane::default());
    let mut of_one = Wire { out: &there, into: &back };
    let mut of_two = Wire { out: &back, into: &there };
    one.connect(0).ok()?;
    two.connect(0).ok()?;
    let mut turn = |one: &mut Processor<Static, ()>, two: &mut Processor<Static, ()>| {
        for _ in 0..4 {
            one.serve(0, &mut of_one).ok()?;
            two.serve(0, &mut of_two).ok()?;
        }
        Some(())
    };
    turn(&mut one, &mut two)?;

    let task = Task(1);
    let (here, far) = (one.open(task, 1, 0).ok()?, two.open(task, 1, 0).ok()?);
    let pool = one.create_pool(BYTES as u32, 1, 0, 1).ok()?;
    let message = one.alloc(pool).ok()?;
    one.buffer(message).ok()?.fill(7);
    let header = one.header_mut(message).ok()?;
    (header.target, header.source) = (QueueId::new(2, 1), here);
    one.send(message).ok()?;
    turn(&mut one, &mut two)?;

    let got = two.receive(task, far).ok()??;
    let header = two.header_mut(got).ok()?;
    (header.target, header.source) = (header.source, header.target);
    two.send(got).ok()?;
    turn(&mut one, &mut two)?;
    let answer = one.receive(task, here).ok()??;
    let whole = one.buffer(answer).ok()?.iter().all(|byte| *byte == 7);
    one.free(answer).ok()?;
    whole.then_some(())
}
