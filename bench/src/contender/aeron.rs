//! Aeron over shared memory, by its C client. Its media driver, which makes the log buffers and
//! moves the limit up to which may be sent, is a third process on the same two cores.

use std::ffi::CString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusteron_client::Handlers;
use rusteron_client::{Aeron as Client, AeronContext, AeronExclusivePublication, AeronImage};
use rusteron_media_driver::{AeronDriver, AeronDriverContext};

use super::{Contender, Counted, End, Mode, POLLED, Port, Role, Setup, failed};
use crate::control::Control;
use crate::payload;

/// The longest message that is made where it is sent from; a longer one goes in fragments.
const CLAIMED: usize = 4096;
/// A claim has to fit into one packet, with its header; half a term may be under way.
const CHANNEL: &str = "aeron:ipc?term-length=4m|mtu=8192";
/// Messages taken by one look.
const LIMIT: usize = 16;
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Aeron;

impl Contender for Aeron {
    fn name(&self) -> &'static str {
        "Aeron IPC"
    }
    fn version(&self) -> String {
        let binding = crate::versions::of("rusteron-client");
        format!("its C client and media driver, as the crates rusteron {binding} carry them")
    }
    fn copies(&self, bytes: usize) -> &'static str {
        if bytes <= CLAIMED { "0" } else { "1: into the log, in fragments" }
    }
    fn waits(&self, mode: Mode) -> Result<&'static str, &'static str> {
        match mode {
            Mode::Spinning => Ok("polls the image"),
            Mode::Blocked | Mode::Hybrid => Err(POLLED),
        }
    }
    fn open(&self, role: Role, setup: &Setup, control: &mut Control) -> io::Result<Box<dyn End>> {
        let directory = Path::new("/dev/shm").join(format!("{}-aeron", setup.tag));
        let driver = match role {
            Role::Caller => Some(Driver::start(&directory, setup)?),
            Role::Callee => {
                control.wait_done()?;
                None
            }
        };
        if role == Role::Caller {
            control.done()?;
        }
        let client = client(&directory).map_err(|error| failed("client", error))?;
        let (out, into) = match role {
            Role::Caller => (1, 2),
            Role::Callee => (2, 1),
        };
        let channel = CString::new(CHANNEL)?;
        let publication = client
            .async_add_exclusive_publication(&channel, out)
            .and_then(|adding| adding.poll_blocking(PATIENCE))
            .map_err(|error| failed("publication", error))?;
        let subscription = client
            .async_add_subscription(&channel, into, Handlers::NONE, Handlers::NONE)
            .and_then(|adding| adding.poll_blocking(PATIENCE))
            .map_err(|error| failed("subscription", error))?;
        let deadline = Instant::now() + PATIENCE;
        let image = loop {
            if publication.is_connected()
                && let Some(image) = subscription.image_at_index(0)
            {
                break image;
            }
            if Instant::now() > deadline {
                return Err(failed("connect", "the other end does not"));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let out = vec![0; setup.bytes];
        Ok(Counted::boxed(Ends {
            publication,
            image,
            out,
            arriving: Arriving::default(),
            _subscription: subscription,
            _client: client,
            _driver: driver,
        }))
    }
}

fn client(directory: &Path) -> Result<Client, Box<dyn std::error::Error>> {
    let context = AeronContext::new()?;
    context.set_dir(&CString::new(directory.display().to_string())?)?;
    context.set_pre_touch_mapped_memory(true)?;
    let client = Client::new(&context)?;
    client.start()?;
    Ok(client)
}

/// The media driver's process, which ends with this.
struct Driver(Child);

impl Driver {
    fn start(directory: &Path, setup: &Setup) -> io::Result<Driver> {
        let mut command = Command::new(std::env::current_exe()?);
        let (caller, callee) = setup.cores;
        command.arg("aeron-driver").arg(directory).arg(format!("{caller},{callee}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let driver = Driver(child);
        let deadline = Instant::now() + PATIENCE;
        while !directory.join("cnc.dat").exists() {
            if Instant::now() > deadline {
                return Err(failed("media driver", "it does not start"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(driver)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Is the media driver, until it is killed.
pub fn serve_driver(directory: &Path, cores: (usize, usize)) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cores.0);
    set.set(cores.1);
    rustix::thread::sched_setaffinity(None, &set)?;
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        let context = AeronDriverContext::new()?;
        context.set_dir(&CString::new(directory.display().to_string())?)?;
        context.set_dir_delete_on_start(true)?;
        context.set_term_buffer_sparse_file(false)?;
        let driver = AeronDriver::new(&context)?;
        driver.start(true)?;
        loop {
            let work = driver.main_do_work()?;
            driver.main_idle_strategy(work);
        }
    };
    run().map_err(|error| failed("media driver", error))
}

struct Ends {
    publication: AeronExclusivePublication,
    image: AeronImage,
    out: Vec<u8>,
    arriving: Arriving,
    // In the order in which they are closed.
    _subscription: rusteron_client::AeronSubscription,
    _client: Client,
    _driver: Option<Driver>,
}

/// What has come of messages that were not received yet.
#[derive(Default)]
struct Arriving {
    /// Whole ones.
    whole: u64,
    /// The next one's fragments.
    reader: payload::Reader,
    bytes: usize,
}

impl Port for Ends {
    fn send(&mut self, number: u64) -> io::Result<()> {
        let Ends { publication, out, .. } = self;
        if out.len() > CLAIMED {
            payload::make(number, out);
        }
        loop {
            let sent = if out.len() > CLAIMED {
                publication.offer(out).map(|_| None)
            } else {
                publication.try_claim_owned(out.len()).map(Some)
            };
            match sent {
                Ok(None) => return Ok(()),
                Ok(Some(mut claim)) => {
                    payload::make(number, claim.data());
                    return claim.commit().map(|_| ()).map_err(|error| failed("commit", error));
                }
                Err(error) if error.is_retryable() => std::hint::spin_loop(),
                Err(error) => return Err(failed("send", error)),
            }
        }
    }

    fn receive(&mut self, number: u64) -> io::Result<()> {
        let (bytes, arriving, image) = (self.out.len(), &mut self.arriving, &self.image);
        let mut checked = Ok(());
        while arriving.whole == 0 {
            let polled = image.poll_fn(
                |part, _| {
                    arriving.reader.read(part);
                    arriving.bytes += part.len();
                    if arriving.bytes >= bytes {
                        let reader = std::mem::take(&mut arriving.reader);
                        // Several that came together have numbers in a row.
                        let number = number.wrapping_add(arriving.whole);
                        let read = reader.finish(number, bytes);
                        if checked.is_ok() {
                            checked = read;
                        }
                        arriving.whole += 1;
                        arriving.bytes = 0;
                    }
                },
                LIMIT,
            );
            if polled.map_err(|error| failed("poll", error))? == 0 {
                std::hint::spin_loop();
            }
        }
        arriving.whole -= 1;
        checked
    }
}
