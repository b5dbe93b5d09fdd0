//! Calls of a function, over iceoryx2.
//! docs/COMPARE.md counts its lines beside those of examples/call.rs.

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
    let service = node.service_builder(&"capitals".try_into()?).request_response::<[u8], [u8]>();
    let service = service.open_or_create()?;
    let client = service.client_builder().initial_max_slice_len(64).create()?;
    while service.dynamic_config().number_of_servers() == 0 {
        node.wait(LOOK)?;
    }
    for text in ["hello", "how are you"] {
        let request = client.loan_slice_uninit(text.len())?.write_from_slice(text.as_bytes());
        let pending = request.send()?;
        loop {
            if let Some(response) = pending.receive()? {
                println!("call gave: {}", std::str::from_utf8(&response)?);
                break;
            }
            node.wait(LOOK)?;
        }
    }
    Ok(())
}

fn dsp() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = node.service_builder(&"capitals".try_into()?).request_response::<[u8], [u8]>();
    let service = service.open_or_create()?;
    let server = service.server_builder().initial_max_slice_len(64).create()?;
    let mut count = 0;
    while count < 2 {
        if let Some(request) = server.receive()? {
            let text = request.to_ascii_uppercase();
            request.loan_slice_uninit(text.len())?.write_from_slice(&text).send()?;
            count += 1;
        }
        node.wait(LOOK)?;
    }
    std::thread::sleep(100 * LOOK);
    Ok(())
}
