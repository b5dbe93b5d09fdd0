//! A service whose process is killed and started again, over iceoryx2.
//! docs/COMPARE.md counts its lines beside those of examples/reconnect.rs.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use iceoryx2::port::client::Client;
use iceoryx2::prelude::*;

const LOOK: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().count() > 1 {
        return dsp();
    }
    gpp()
}

fn gpp() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = node.service_builder(&"square".try_into()?).request_response::<u32, u64>();
    let service = service.open_or_create()?;
    let client = service.client_builder().create()?;
    for life in 1..=3 {
        let mut dsp = Command::new(std::env::current_exe()?).arg("other").spawn()?;
        while service.dynamic_config().number_of_servers() == 0 {
            node.wait(LOOK)?;
        }
        let square = call(&node, &client, life)?.ok_or("its service is gone")?;
        println!("life {life}: the square of {life} is {square}");
        dsp.kill()?;
        dsp.wait()?;
        if call(&node, &client, life)?.is_none() {
            println!("the call failed: its service is gone");
        }
    }
    Ok(())
}

/// The response; none if the server died. Nobody says that it did: a client that waits for it
/// looks.
fn call(
    node: &Node<ipc::Service>,
    client: &Client<ipc::Service, u32, (), u64, ()>,
    number: u32,
) -> Result<Option<u64>, Box<dyn Error>> {
    let pending = client.send_copy(number)?;
    loop {
        if let Some(response) = pending.receive()? {
            return Ok(Some(*response));
        }
        node.try_cleanup_dead_nodes();
        if !pending.is_connected() {
            return Ok(None);
        }
        node.wait(LOOK)?;
    }
}

fn dsp() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = node.service_builder(&"square".try_into()?).request_response::<u32, u64>();
    let service = service.open_or_create()?;
    let server = service.server_builder().create()?;
    loop {
        if let Some(request) = server.receive()? {
            request.send_copy(u64::from(*request).pow(2))?;
        }
        node.wait(LOOK)?;
    }
}
