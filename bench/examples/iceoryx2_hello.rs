//! A message each way, over iceoryx2.
//! docs/COMPARE.md counts its lines beside those of examples/hello.rs.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use iceoryx2::prelude::*;

const LOOK: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().count() > 1 {
        return dsp();
    }
    let mut other = Command::new(std::env::current_exe()?).arg("other").spawn()?;
    gpp()?;
    other.wait()?;
    Ok(())
}

fn gpp() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let out = node.service_builder(&"hello".try_into()?).publish_subscribe::<[u8]>();
    let back = node.service_builder(&"answer".try_into()?).publish_subscribe::<[u8]>();
    let (out, back) = (out.open_or_create()?, back.open_or_create()?);
    let answers = back.subscriber_builder().create()?;
    let publisher = out.publisher_builder().initial_max_slice_len(64).create()?;
    while out.dynamic_config().number_of_subscribers() == 0 {
        node.wait(LOOK)?;
    }
    publisher.loan_slice_uninit(5)?.write_from_slice(b"hello").send()?;
    while node.wait(LOOK).is_ok() {
        if let Some(answer) = answers.receive()? {
            println!("gpp received: {}", std::str::from_utf8(&answer)?);
            break;
        }
    }
    Ok(())
}

fn dsp() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let into = node.service_builder(&"hello".try_into()?).publish_subscribe::<[u8]>();
    let back = node.service_builder(&"answer".try_into()?).publish_subscribe::<[u8]>();
    let (into, back) = (into.open_or_create()?, back.open_or_create()?);
    let publisher = back.publisher_builder().initial_max_slice_len(64).create()?;
    let subscriber = into.subscriber_builder().create()?;
    while node.wait(LOOK).is_ok() {
        if let Some(hello) = subscriber.receive()? {
            println!("dsp received: {}", std::str::from_utf8(&hello)?);
            publisher.loan_slice_uninit(10)?.write_from_slice(b"hello, gpp").send()?;
            break;
        }
    }
    // Until it has been read: what a publisher that ends has lent is gone.
    std::thread::sleep(100 * LOOK);
    Ok(())
}
