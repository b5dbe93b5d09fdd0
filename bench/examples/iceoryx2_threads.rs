//! One client for several threads, over iceoryx2.
//! docs/COMPARE.md counts its lines beside those of examples/threads.rs.

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
    let node = NodeBuilder::new().create::<ipc_threadsafe::Service>()?;
    let service = node.service_builder(&"square".try_into()?).request_response::<u64, u64>();
    let service = service.max_active_requests_per_client(4).open_or_create()?;
    let client = service.client_builder().create()?;
    while service.dynamic_config().number_of_servers() == 0 {
        node.wait(LOOK)?;
    }
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let client = &client;
            scope.spawn(move || {
                for number in 100 * thread..100 * (thread + 1) {
                    let pending = client.send_copy(number).expect("it is sent");
                    while pending.receive().expect("it is answered").is_none() {
                        std::hint::spin_loop();
                    }
                }
            });
        }
    });
    println!("3 threads made 300 calls");
    Ok(())
}

fn dsp() -> Result<(), Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = node.service_builder(&"square".try_into()?).request_response::<u64, u64>();
    let service = service.max_active_requests_per_client(4).open_or_create()?;
    let server = service.server_builder().create()?;
    let mut count = 0;
    while count < 300 {
        match server.receive()? {
            Some(request) => {
                request.send_copy(*request * *request)?;
                count += 1;
            }
            None => std::hint::spin_loop(),
        }
    }
    // Until it has been read: what a server that ends has lent is gone.
    std::thread::sleep(100 * LOOK);
    Ok(())
}
