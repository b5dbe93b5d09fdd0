//! Frames of 1 MiB, over iceoryx2.
//! docs/COMPARE.md counts its lines beside those of examples/camera.rs.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use iceoryx2::prelude::*;

const LOOK: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().count() > 1 {
        return viewer();
    }
    let mut other = Command::new(std::env::current_exe()?).arg("other").spawn()?;
    camera()?;
    other.wait()?;
    Ok(())
}

fn camera() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let frames = node.service_builder(&"frames".try_into()?).publish_subscribe::<[u8]>();
    let frames = frames.subscriber_max_buffer_size(8).enable_safe_overflow(false);
    let frames = frames.open_or_create()?;
    let publisher = frames.publisher_builder().initial_max_slice_len(1 << 20).create()?;
    while frames.dynamic_config().number_of_subscribers() == 0 {
        node.wait(LOOK)?;
    }
    for number in 0..100 {
        publisher.loan_slice_uninit(1 << 20)?.write_from_fn(|_| number).send()?;
    }
    while frames.dynamic_config().number_of_subscribers() > 0 {
        node.wait(LOOK)?;
    }
    Ok(())
}

fn viewer() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let frames = node.service_builder(&"frames".try_into()?).publish_subscribe::<[u8]>();
    let frames = frames.subscriber_max_buffer_size(8).enable_safe_overflow(false);
    let subscriber = frames.open_or_create()?.subscriber_builder().create()?;
    let (mut number, mut bytes) = (0, 0);
    while number < 100 {
        let Some(frame) = subscriber.receive()? else {
            node.wait(LOOK)?;
            continue;
        };
        assert!(frame.iter().all(|byte| *byte == number));
        (number, bytes) = (number + 1, bytes + frame.len());
    }
    println!("viewer: {number} frames, {} MiB, none lost", bytes >> 20);
    Ok(())
}
