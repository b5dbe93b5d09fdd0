//! What a call with types executes beside the same call of bytes: `ci/instructions` runs this under
//! callgrind and reads the instructions of each function without those of what it calls. Run by
//! itself it only checks that all is answered.

use std::hint::black_box;
use std::time::Duration;

use narrows::endpoint::{CallError, FlowId};
use narrows_host::Options;
use narrows_services::{Client, Error, Node, Signature};

const CALLS: u64 = 500;
const SOON: Option<Duration> = Some(Duration::from_secs(60));

type Message = [u64; 6];

#[inline(never)]
fn typed_call(client: &Client<Message, Message>, request: &Message) -> Result<Message, Error> {
    client.call(request)
}

#[inline(never)]
fn untyped_call(
    node: &mut narrows_host::Node,
    (flow, patience): (FlowId, Option<Duration>),
    request: &Message,
) -> Result<Message, CallError> {
    let mut bytes = [0; size_of::<Message>()];
    for (to, word) in bytes.chunks_exact_mut(8).zip(request) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    let mut response = [0; size_of::<Message>()];
    let needed = node.flow(flow).call(&bytes, &mut response, patience)?;
    if needed != response.len() {
        return Err(CallError::Short { needed });
    }
    let mut message = [0; 6];
    for (word, from) in message.iter_mut().zip(response.chunks_exact(8)) {
        *word = u64::from_le_bytes(from.try_into().expect("eight bytes"));
    }
    Ok(message)
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |name| Options::new(name).directory(directory.path());
    let server = options("server");
    let served = std::thread::spawn(move || {
        let node = Node::with(server).expect("a node");
        node.serve::<Message, Message>("more", |words| words.map(|word| word + 1)).expect("a name");
        let mut count = 0;
        while count < 2 * CALLS {
            count += node.run_once(SOON).expect("it serves") as u64;
        }
    });
    let node = Node::with(options("client")).expect("a node");
    let client = node.find("more").patience(SOON).client().expect("it is offered");
    for number in 0..CALLS {
        assert_eq!(typed_call(black_box(&client), &[number; 6]), Ok([number + 1; 6]));
    }
    let signature = Signature::new("more", "[u64;6]", "[u64;6]").expect("a signature");
    let mut below = node.below().expect("nobody uses it");
    let opened = signature.open_flow(&mut below, Default::default(), 48, SOON);
    let (_, flow) = opened.expect("it is offered");
    for number in 0..CALLS {
        let answer = untyped_call(black_box(&mut below), black_box((flow, SOON)), &[number; 6]);
        assert_eq!(answer, Ok([number + 1; 6]));
    }
    served.join().expect("all were served");
    println!("{CALLS} calls of 48 bytes each way");
}
