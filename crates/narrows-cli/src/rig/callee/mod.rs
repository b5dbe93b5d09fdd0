//! `narrows callee`: the process on the other core. `run` and `bench` start it, through
//! [`crate::rig::peer::Peer`].
//!
//! It serves the library and what [`crate::rig::service`] describes. It leaves when the link to its
//! caller is lost, and when its standard input is closed, whatever it is busy with: so it never
//! outlives its caller, however that ends.

pub mod flags;
mod requests;

pub(crate) use requests::streamed;

use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::formats::functions;
use crate::formats::functions::foreign::Named;
use crate::formats::workload::{Body as Answers, Offer};
use crate::rig::limit::{Callee as LimitCallee, Limits, Served};
use crate::rig::peer::{self, Settings, caller};
use crate::rig::place::{Core, Place, sleep_until};
use crate::rig::service::{self, Mode, Page, TraceOrder};
use crate::rig::{linx, mcapi, sink};
use flags::Callee;
use narrows::endpoint::{
    Failure as CallFailure, Function, Message, Node, Received, Sink, Source, What,
};
use narrows_host::{Trace, system};
use requests::whole;
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Says on standard output that the node is open.
const READY: &[u8] = b"\n";
/// How long the work under way may go on after the caller is gone.
const GRACE: Duration = Duration::from_millis(500);
/// How long a batch of the limits is waited for before calls are looked at.
const LIMIT_WAIT: Duration = Duration::from_millis(2);

/// Serves until the caller is gone.
///
/// # Errors
/// It cannot begin: core, name or directory.
pub fn run(global: &Global, args: &Callee) -> Result<(), Failure> {
    // First: the numbers in the argument are those of descriptors that were open at the start.
    let limits = args.limits.as_deref().map(Limits::inherit).transpose();
    let limits = limits.map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let offers = offers(args)?;
    let gone = watch_caller(args.directory.clone());
    let settings = Settings {
        directory: args.directory.clone(),
        domain: args.domain.clone(),
        name: args.name.clone(),
        core: args.core,
        engine: args.engine.map(|core| usize::try_from(core).ok()),
        longest: args.longest,
        links: args.links,
    };
    let mut node = peer::open(&settings)?;
    // The caller has said it, if the machine refuses; here it would only be said twice.
    if let Some(priority) = global.priority {
        let _ = system::real_time(priority);
    }
    if global.lock_memory {
        let _ = system::lock_memory();
    }
    let _ = system::precise_timers();
    crate::base::output::print(READY)?;
    serve(&mut node, args.longest, &offers, limits);
    drop(node);
    // A caller that was killed could not tidy up.
    if gone.recv_timeout(GRACE) == Ok(()) {
        remove(&args.directory);
    }
    Ok(())
}

/// What the caller asks for beside the library, by the names that it gives it.
fn offers(args: &Callee) -> Result<Vec<Offer>, Failure> {
    let named = args.library.iter().zip(&args.function).enumerate();
    let load = |(number, (file, function)): (usize, (&PathBuf, &String))| {
        let named = Named { file: file.clone(), function: function.clone() };
        Ok(Offer::foreign(number, Arc::new(named.load()?)))
    };
    named.map(load).collect()
}

/// Tells when standard input is closed. If the process is still there some time later, busy with
/// something, it ends here.
fn watch_caller(directory: PathBuf) -> Receiver<()> {
    let (tell, told) = channel();
    std::thread::spawn(move || watch(&tell, &directory));
    told
}

fn watch(tell: &Sender<()>, directory: &Path) {
    let mut byte = [0];
    while std::io::stdin().read(&mut byte).is_ok_and(|read| read > 0) {}
    // The process ends meanwhile, unless something holds it up.
    let _ = tell.send(());
    std::thread::sleep(GRACE);
    remove(directory);
    std::process::exit(i32::from(Kind::Peer.code()));
}

/// Removes the directory of the two nodes, if it is one that was made for them.
pub(crate) fn remove(directory: &Path) {
    let ours = directory.file_name().and_then(|name| name.to_str());
    if ours.is_some_and(|name| name.starts_with(peer::DIRECTORY)) {
        let _ = std::fs::remove_dir_all(directory);
    }
}

/// What service functions leave to be done once they have answered.
#[derive(Default)]
struct Desk {
    mode: Cell<Option<Mode>>,
    tracing: Cell<Option<bool>>,
    trace: RefCell<Trace>,
}

impl Desk {
    fn apply<P: Place>(&self, node: &mut Node<P>, mode: &mut Mode) {
        if let Some(new) = self.mode.take() {
            *mode = new;
        }
        match self.tracing.take() {
            Some(true) => {
                node.platform().take_trace();
                node.platform_mut().set_tracing(true);
            }
            Some(false) => {
                node.platform_mut().set_tracing(false);
                self.trace.replace(node.platform().take_trace());
            }
            None => {}
        }
    }
}

/// Serves until the link to the caller is lost; with requests and responses of up to `longest`
/// bytes; what is offered beside the library too.
pub(crate) fn serve<P: Place>(
    node: &mut Node<P>,
    longest: usize,
    offers: &[Offer],
    mut limits: Option<LimitCallee>,
) {
    let desk = Desk::default();
    let mut bodies = bodies(&desk, node.platform().core(), longest, offers);
    let mut library: Vec<Function<'_>> = bodies
        .iter_mut()
        .filter_map(|(name, body)| Some(Function { name: name.parse().ok()?, run: &mut **body }))
        .collect();
    let mut mode = Mode::Calls;
    let mut mcapi = mcapi::side::Callee::default();
    let mut linx = linx::side::Callee::default();
    let mut susan = mcapi::strips::Further::default();
    let mut linked = false;
    loop {
        match (mode, &mut limits) {
            (Mode::Messages(_) | Mode::Ports(..) | Mode::Late(_), _) => {
                if !echo(node, longest, mode) {
                    return;
                }
                mode = Mode::Calls;
            }
            (Mode::Sink(strategy) | Mode::SinkAll(strategy), _) => {
                if !sink::serve(node, strategy, longest, matches!(mode, Mode::SinkAll(_))) {
                    return;
                }
                mode = Mode::Calls;
            }
            (Mode::Mcapi(order), _) => {
                if let Err(error) = mcapi.obey(order) {
                    // The caller reads it when it sees that this process has left.
                    eprintln!("narrows: {error}");
                    return;
                }
                mode = Mode::Calls;
            }
            (Mode::Linx(order), _) => {
                if let Err(error) = linx.obey(order, || node.platform().now()) {
                    eprintln!("narrows: {error}");
                    return;
                }
                mode = Mode::Calls;
            }
            (Mode::Susan(order), _) => {
                if let Err(error) = susan.obey(order) {
                    eprintln!("narrows: {error}");
                    return;
                }
                mode = Mode::Calls;
            }
            (Mode::Limits, Some(callee)) => match callee.serve_one(LIMIT_WAIT) {
                Ok(Served::Batch(_)) => continue,
                Ok(Served::Nothing) => {
                    node.poll();
                    node.try_serve(&mut library);
                }
                Ok(Served::Dismissed) | Err(_) => {
                    limits = None;
                    mode = Mode::Calls;
                }
            },
            _ => {
                let _ = node.serve(&mut library, None);
            }
        }
        desk.apply(node, &mut mode);
        let up = caller(node).is_some();
        if linked && !up {
            return;
        }
        linked |= up;
    }
}

/// Sends messages back until one says that it is the last; false if the caller is gone.
fn echo<P: Place>(node: &mut Node<P>, longest: usize, mode: Mode) -> bool {
    let (strategy, ports, late) = match mode {
        Mode::Messages(strategy) => (strategy, service::ECHO_PORT..service::ECHO_PORT + 1, None),
        Mode::Late(strategy) => {
            (strategy, service::ECHO_PORT..service::ECHO_PORT + 1, Some(service::LATE))
        }
        Mode::Ports(count, strategy) => {
            (strategy, service::MANY_PORTS..service::MANY_PORTS.saturating_add(count), None)
        }
        _ => return true,
    };
    let Some(link) = caller(node) else { return false };
    for port in ports.clone() {
        let opened = node.open(port).is_ok();
        if opened && port == service::ECHO_PORT && node.link(link).attach(port).is_err() {
            return false;
        }
    }
    node.set_strategy(strategy);
    node.set_notification(strategy.at_callee());
    let mut buffer = vec![0; longest];
    let answered = ports.clone().cycle().find_map(|port| {
        let last = answer(node, port, &mut buffer, late);
        last.map_or_else(|| Some(false), |last| last.then_some(true))
    });
    for port in ports.filter(|port| *port != service::ECHO_PORT) {
        // It was opened above.
        let _ = node.close(port);
    }
    answered == Some(true)
}

/// Sends the next message of a port back, and says whether it was the last; none if the caller is
/// gone.
fn answer<P: Place>(
    node: &mut Node<P>,
    port: u16,
    buffer: &mut [u8],
    late: Option<Duration>,
) -> Option<bool> {
    loop {
        let came = node.receive_into(port, buffer, None).ok()?;
        let Received { from: to, len, priority, tag, .. } = came;
        match came.what {
            What::PeerGone(_) => return None,
            What::Message => {}
            _ => continue,
        }
        let Some(bytes) = buffer.get(..len) else { continue };
        if let Some(late) = late {
            let until = node.platform().time() + late;
            sleep_until(node, until);
        }
        let message = Message::new(bytes).priority(priority).tag(tag);
        node.send(port, to, message, None).ok()?;
        return Some(tag == service::LAST);
    }
}

type Body<'a> = Box<dyn FnMut(&dyn Source, &mut dyn Sink) -> Result<(), CallFailure> + 'a>;

/// Everything that can be called here, by name.
fn bodies<'a>(
    desk: &'a Desk,
    core: impl Core + 'a,
    longest: usize,
    offers: &'a [Offer],
) -> Vec<(&'a str, Body<'a>)> {
    let library =
        functions::LIBRARY.iter().map(|entry| (entry.name, Answers::Library(entry), None));
    let further = offers.iter().map(|Offer { name, body, cost }| (&**name, body.clone(), *cost));
    let mut all: Vec<(&'a str, Body<'a>)> = Vec::new();
    for (name, answers, cost) in library.chain(further) {
        let core = core.clone();
        let stream = match &answers {
            Answers::Library(entry) => entry.stream,
            Answers::Foreign(_) => None,
        };
        let body: Body<'_> = match stream {
            Some(stream) => Box::new(move |from, to| {
                streamed(stream, from, to)?;
                core.charge(name, cost, from);
                Ok(())
            }),
            None => {
                let mut room = [vec![0; longest], vec![0; longest]];
                Box::new(move |from, to| {
                    whole(&answers, from, to, &mut room, |request| {
                        if let Some(time) = answers.work(request) {
                            core.work(time);
                        }
                        core.charge(name, cost, from);
                    })
                })
            }
        };
        all.push((name, body));
    }
    all.push((service::CPU, Box::new(move |_, to| to.write(0, &cpu_time(&core)))));
    all.push((service::MODE, Box::new(|from, _| order_mode(desk, from))));
    all.push((service::TRACE, Box::new(|from, to| order_trace(desk, from, to))));
    all
}

fn cpu_time(core: &impl Core) -> [u8; 8] {
    u64::try_from(core.used().as_nanos()).unwrap_or(u64::MAX).to_le_bytes()
}

/// The bytes of an order.
fn order(from: &dyn Source) -> Result<Vec<u8>, CallFailure> {
    /// More than the longest order has.
    const MOST: usize = 400;
    if from.len() > MOST {
        return Err(CallFailure::Refused);
    }
    let mut bytes = vec![0; from.len()];
    from.read(0, &mut bytes)?;
    Ok(bytes)
}

fn order_mode(desk: &Desk, from: &dyn Source) -> Result<(), CallFailure> {
    let mode = service::mode(&order(from)?).ok_or(CallFailure::Refused)?;
    desk.mode.set(Some(mode));
    Ok(())
}

fn order_trace(desk: &Desk, from: &dyn Source, to: &mut dyn Sink) -> Result<(), CallFailure> {
    match service::trace(&order(from)?).ok_or(CallFailure::Refused)? {
        TraceOrder::On => desk.tracing.set(Some(true)),
        TraceOrder::Off => desk.tracing.set(Some(false)),
        TraceOrder::Page(first) => {
            let trace = desk.trace.borrow();
            let records = trace.records.iter().skip(first as usize);
            let page = Page {
                kept: u32::try_from(trace.records.len()).unwrap_or(u32::MAX),
                overwritten: trace.overwritten,
                records: records.take(Page::fits(to.capacity())).copied().collect(),
            };
            return to.write(0, &page.to_bytes());
        }
    }
    Ok(())
}
