//! How a function gets its request, and its response gets where it belongs.

use crate::formats::functions::{Answer, Refusal};
use crate::formats::workload::Body;
use narrows::endpoint::{Failure, Sink, Source};

/// Bytes that are brought to a core's own memory at a time, where a function allows that.
const CHUNK: usize = 256;

/// A function that needs its whole request and response in memory of its own. When it has answered,
/// its time is `spent`.
pub(super) fn whole(
    body: &Body,
    from: &dyn Source,
    to: &mut dyn Sink,
    [request, response]: &mut [Vec<u8>; 2],
    spent: impl FnOnce(&[u8]),
) -> Result<(), Failure> {
    let request = request.get_mut(..from.len()).ok_or(Failure::NoRoom)?;
    from.read(0, request)?;
    let room = response.len().min(to.capacity());
    let room = response.get_mut(..room).unwrap_or_default();
    let len = body.answer(request, room).map_err(refused)?;
    spent(request);
    let made = room.get(..len).ok_or(Failure::TooLong)?;
    to.write(0, made)
}

/// A function that works on its request piece by piece: straight from where the request is to
/// where the response goes.
pub(crate) fn streamed(
    answer: Answer,
    from: &dyn Source,
    to: &mut dyn Sink,
) -> Result<(), Failure> {
    let (mut request, mut response) = ([0; CHUNK], [0; 2 * CHUNK]);
    let (mut at, mut out) = (0, 0);
    while at < from.len() {
        let piece = request.get_mut(..CHUNK.min(from.len() - at)).unwrap_or_default();
        from.read(at, piece)?;
        let len = answer(piece, &mut response).map_err(refused)?;
        to.write(out, response.get(..len).unwrap_or_default())?;
        at += piece.len();
        out += len;
    }
    Ok(())
}

fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Response => Failure::TooLong,
        Refusal::Request | Refusal::TooLong => Failure::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::functions;

    struct Request(Vec<u8>);

    impl Source for Request {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
            self.0[..].read(at, to)
        }
    }

    struct Room(Vec<u8>, usize);

    impl Sink for Room {
        fn capacity(&self) -> usize {
            self.1
        }
        fn write(&mut self, at: usize, from: &[u8]) -> Result<(), Failure> {
            if at + from.len() > self.1 {
                return Err(Failure::TooLong);
            }
            self.0.resize(self.0.len().max(at + from.len()), 0);
            self.0[at..at + from.len()].copy_from_slice(from);
            Ok(())
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let request = Request((0..1000).map(|at| (at * 7) as u8).collect());
        for entry in functions::LIBRARY {
            let Some(stream) = entry.stream else { continue };
            let mut expected = vec![0; 2000];
            let len = (entry.answer)(&request.0, &mut expected).unwrap();
            let mut room = Room(Vec::new(), 2000);
            assert_eq!(streamed(stream, &request, &mut room), Ok(()), "{}", entry.name);
            assert_eq!(room.0, expected[..len], "{}", entry.name);
            let mut small = Room(Vec::new(), len - 1);
            assert_eq!(streamed(stream, &request, &mut small), Err(Failure::TooLong));
        }
    }

    #[test]
    fn an_odd_frame_is_refused_by_encoders() {
        let encode = functions::find("g711.encode.a").unwrap().stream.unwrap();
        let mut room = Room(Vec::new(), 2000);
        assert_eq!(streamed(encode, &Request(vec![0; 301]), &mut room), Err(Failure::Refused));
    }
}
