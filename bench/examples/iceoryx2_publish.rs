//! Numbers for five processes, over iceoryx2.
//! docs/COMPARE.md counts its lines beside those of examples/publish.rs.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use iceoryx2::prelude::*;

const LOOK: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().count() {
        1 => source(),
        _ => sum(),
    }
}

fn source() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let numbers = node.service_builder(&"numbers".try_into()?).publish_subscribe::<u32>();
    let numbers = numbers.subscriber_max_buffer_size(8).enable_safe_overflow(false);
    let numbers = numbers.open_or_create()?;
    let publisher = numbers.publisher_builder().create()?;
    let start = |_| Command::new(std::env::current_exe()?).arg("other").spawn();
    let mut others = (0..5).map(start).collect::<Result<Vec<_>, _>>()?;
    while numbers.dynamic_config().number_of_subscribers() < 5 {
        node.wait(LOOK)?;
    }
    for number in 1..=100 {
        publisher.send_copy(number)?;
    }
    others.iter_mut().try_for_each(|other| other.wait().map(drop))?;
    Ok(())
}

fn sum() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let numbers = node.service_builder(&"numbers".try_into()?).publish_subscribe::<u32>();
    let numbers = numbers.subscriber_max_buffer_size(8).enable_safe_overflow(false);
    let subscriber = numbers.open_or_create()?.subscriber_builder().create()?;
    let (mut count, mut sum) = (0, 0);
    while count < 100 {
        match subscriber.receive()? {
            Some(number) => (count, sum) = (count + 1, sum + *number),
            None => node.wait(LOOK)?,
        }
    }
    println!("the sum is {sum}");
    Ok(())
}
