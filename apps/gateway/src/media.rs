//! RTP in and out, with GStreamer: one pipeline for each direction of a media line.
//!
//! ```text
//!   udpsrc ► jitter buffer ► depayloader ► (concealment) ► appsink ──► the link's thread
//!   udpsink ◄ payloader ◄ appsrc ◄────────────────────────────────────────┘
//! ```

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gio::prelude::*;
use gstreamer as gst;
use gstreamer::prelude::*;
use gstreamer_app::{AppSink, AppSinkCallbacks, AppSrc};
use gstreamer_net::NetAddressMeta;
use gstreamer_rtp::RTPBuffer;

use crate::frame::{Codec, Kind, LONGEST};

/// How long the jitter buffer holds packets, in milliseconds: S1 section 5.1 has 40 to 60.
const BUFFER: u32 = 60;
/// A sender that was silent for this long may be followed by one that sends from elsewhere.
const SILENT: Duration = Duration::from_secs(1);
/// What is concealed at most at once: what is longer is a break, and noise in its place no help.
const CONCEALED: gst::ClockTime = gst::ClockTime::from_mseconds(200);
/// By how much a frame of sound may come later than the one before ends, so that they are one
/// stream: a network that held packets up for a while leaves no break.
const BREAK: gst::ClockTime = CONCEALED;
/// Ports of media. Even ones, as the next is RTCP's, which the gateway does not speak.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 5_000;

/// A port on which one side's media come, and from which it is sent to.
#[derive(Clone)]
pub struct Port {
    socket: gio::Socket,
    pub number: u16,
}

/// Hands out ports that nobody has.
pub struct Ports {
    address: Ipv4Addr,
    next: u16,
}

impl Ports {
    #[must_use]
    pub fn new(address: Ipv4Addr) -> Ports {
        // Another gateway begins elsewhere, so that they seldom meet.
        Ports { address, next: fastrand::u16(..PORTS) }
    }

    /// The next one that is free.
    ///
    /// # Errors
    /// None is, or what the system says.
    pub fn take(&mut self) -> Result<Port, String> {
        for _ in 0..PORTS {
            let number = FIRST_PORT + 2 * self.next;
            self.next = (self.next + 1) % PORTS;
            match UdpSocket::bind((self.address, number)) {
                Ok(socket) => {
                    let socket = gio::Socket::from_fd(socket.into())
                        .map_err(|error| format!("no socket for media: {error}"))?;
                    return Ok(Port { socket, number });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
                Err(error) => {
                    return Err(format!("no socket for media at {}: {error}", self.address));
                }
            }
        }
        Err(format!("no port for media is free at {}", self.address))
    }
}

/// What a direction has received and sent.
#[derive(Debug, Default)]
pub struct Counters {
    /// RTP packets that were taken.
    pub received: AtomicU64,
    /// Datagrams that were not: no RTP, another codec, another sender.
    pub rejected: AtomicU64,
    pub sent: AtomicU64,
    /// Frames that stand for lost ones.
    pub concealed: AtomicU64,
}

/// A frame as it came out of the jitter buffer.
pub struct Frame {
    pub bytes: Vec<u8>,
    pub time: Option<gst::ClockTime>,
    pub due: Instant,
}

/// Where coded frames go.
pub struct Output {
    source: AppSrc,
    to: Codec,
    /// When the frame behind the latest one begins.
    next: Option<gst::ClockTime>,
}

impl Output {
    /// Sends a frame, with the time that it came with.
    pub fn send(&mut self, frame: &[u8], time: Option<gst::ClockTime>) {
        let mut buffer = gst::Buffer::from_slice(frame.to_vec());
        if let Some(buffer) = buffer.get_mut() {
            buffer.set_pts(time);
            // Sound is stamped by counting samples: a break has to be said.
            if self.next.zip(time).is_none_or(|(next, time)| time > next + BREAK) {
                buffer.set_flags(gst::BufferFlags::DISCONT);
            }
        }
        let took = match self.to.kind() {
            Kind::Audio => gst::ClockTime::from_useconds(125 * frame.len() as u64),
            Kind::Video => gst::ClockTime::ZERO,
        };
        self.next = time.map(|time| time + took);
        // It refuses when the session is over.
        let _ = self.source.push_buffer(buffer);
    }
}

/// What a direction is made of.
pub struct Plan {
    /// For the log.
    pub call: String,
    pub from: Codec,
    pub to: Codec,
    pub listen: Port,
    pub send: Port,
    pub remote: SocketAddrV4,
}

/// A direction that runs until it is dropped.
pub struct Direction {
    pipeline: gst::Pipeline,
    jitter: gst::Element,
    out: gst::Element,
    output: Option<Output>,
    pub counters: Arc<Counters>,
}

/// The sender that is listened to.
struct Sender {
    address: Option<(String, u16)>,
    last: Instant,
}

impl Direction {
    /// Starts to receive; frames go to `take`, which must not wait.
    ///
    /// # Errors
    /// What GStreamer says: an element is not installed, mostly.
    pub fn start(
        plan: Plan,
        log: fn(&str),
        take: impl Fn(Frame) + Send + Sync + 'static,
    ) -> Result<Direction, String> {
        let pipeline = gst::parse::launch(&described(&plan)).map_err(|error| wrong(&error))?;
        let pipeline =
            pipeline.downcast::<gst::Pipeline>().map_err(|_| wrong(&"it is no pipeline"))?;
        let element =
            |name: &str| pipeline.by_name(name).ok_or_else(|| wrong(&format!("no {name} in it")));
        let (input, jitter, out) = (element("in")?, element("jitter")?, element("out")?);
        input.set_property("socket", &plan.listen.socket);
        out.set_property("socket", &plan.send.socket);
        let counters = Arc::new(Counters::default());
        admit(&plan, &pad(&input, "src")?, &counters, log);
        if plan.from.kind() == Kind::Audio {
            conceal(&pad(&element("depay")?, "src")?, &counters);
        }
        let counted = Arc::clone(&counters);
        pad(&element("pay")?, "src")?.add_probe(
            gst::PadProbeType::BUFFER | gst::PadProbeType::BUFFER_LIST,
            move |_, info| {
                let count = match &info.data {
                    Some(gst::PadProbeData::BufferList(list)) => list.len() as u64,
                    _ => 1,
                };
                counted.sent.fetch_add(count, Ordering::Relaxed);
                gst::PadProbeReturn::Ok
            },
        );
        let sink = element("frames")?.downcast::<AppSink>().map_err(|_| wrong(&"no appsink"))?;
        let pull = move |sink: &AppSink| {
            let sample = sink.pull_sample().map_err(|_| gst::FlowError::Eos)?;
            let Some(buffer) = sample.buffer() else { return Ok(gst::FlowSuccess::Ok) };
            let Ok(bytes) = buffer.map_readable() else { return Ok(gst::FlowSuccess::Ok) };
            if !bytes.is_empty() && bytes.len() <= LONGEST {
                let bytes = bytes.to_vec();
                take(Frame { bytes, time: buffer.pts(), due: Instant::now() });
            }
            Ok(gst::FlowSuccess::Ok)
        };
        sink.set_callbacks(AppSinkCallbacks::builder().new_sample(pull).build());
        let source = element("coded")?.downcast::<AppSrc>().map_err(|_| wrong(&"no appsrc"))?;
        if let Some(bus) = pipeline.bus() {
            let call = plan.call;
            bus.set_sync_handler(move |_, message| {
                if let gst::MessageView::Error(error) = message.view() {
                    log(&format!("call {call}: GStreamer: {}", error.error()));
                }
                // Nobody waits for any of them, so that they do not pile up.
                gst::BusSyncReply::Drop
            });
        }
        let output = Some(Output { source, to: plan.to, next: None });
        let made = Direction { pipeline, jitter, out, output, counters };
        made.pipeline.set_state(gst::State::Playing).map_err(|error| wrong(&error))?;
        Ok(made)
    }

    /// Where its coded frames go: for the thread that codes them, once.
    pub fn output(&mut self) -> Option<Output> {
        self.output.take()
    }

    /// Sends to another address from now on.
    pub fn send_to(&self, remote: SocketAddrV4) {
        self.out.set_property("host", remote.ip().to_string());
        self.out.set_property("port", i32::from(remote.port()));
    }

    /// Packets that never came.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let stats = self.jitter.property::<Option<gst::Structure>>("stats");
        stats.and_then(|stats| stats.get::<u64>("num-lost").ok()).unwrap_or(0)
    }
}

impl Drop for Direction {
    fn drop(&mut self) {
        // Its threads end here; what it says about that concerns nobody.
        let _ = self.pipeline.set_state(gst::State::Null);
    }
}

/// The pipeline as GStreamer's own notation has it.
fn described(plan: &Plan) -> String {
    let (depay, decoded) = match plan.from {
        Codec::Pcmu => ("rtppcmudepay", "! mulawdec ! spanplc ! mulawenc"),
        Codec::Pcma => ("rtppcmadepay", "! alawdec ! spanplc ! alawenc"),
        Codec::H263 => ("rtph263depay", ""),
    };
    let (pay, caps) = match plan.to {
        Codec::Pcmu => ("rtppcmupay", "audio/x-mulaw,rate=8000,channels=1"),
        Codec::Pcma => ("rtppcmapay", "audio/x-alaw,rate=8000,channels=1"),
        Codec::H263 => ("rtph263pay", "video/x-h263,variant=itu,h263version=h263"),
    };
    // A jump of more than a second is a new beginning, not a thousand packets lost.
    format!(
        "udpsrc name=in close-socket=false auto-multicast=false \
         caps=application/x-rtp,media={},clock-rate={},encoding-name={},payload={} \
         ! rtpjitterbuffer name=jitter latency={BUFFER} do-lost=true \
         max-dropout-time=1000 max-misorder-time=500 \
         ! {depay} name=depay {decoded} \
         ! appsink name=frames sync=true enable-last-sample=false max-buffers=64 drop=true \
         appsrc name=coded is-live=true format=time caps={caps} \
         ! {pay} name=pay pt={} mtu=1400 \
         ! udpsink name=out close-socket=false auto-multicast=false sync=false async=false \
         enable-last-sample=false host={} port={}",
        plan.from.kind().name(),
        plan.from.clock_rate(),
        plan.from.name(),
        plan.from.payload_type(),
        plan.to.payload_type(),
        plan.remote.ip(),
        plan.remote.port(),
    )
}

fn pad(element: &gst::Element, name: &str) -> Result<gst::Pad, String> {
    element.static_pad(name).ok_or_else(|| wrong(&format!("no pad {name} in it")))
}

fn wrong(error: &dyn std::fmt::Display) -> String {
    format!("GStreamer makes no pipeline: {error} (ci/setup gateway installs what it needs)")
}

/// Lets RTP of the agreed codec through that comes from one sender. Any other sender here is heard
/// only once that one has been silent.
fn admit(plan: &Plan, pad: &gst::Pad, counters: &Arc<Counters>, log: fn(&str)) {
    let (call, payload_type) = (plan.call.clone(), plan.from.payload_type());
    let counters = Arc::clone(counters);
    let sender = Mutex::new(Sender { address: None, last: Instant::now() });
    let said = AtomicU64::new(0);
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let Some(buffer) = info.buffer() else { return gst::PadProbeReturn::Ok };
        let found = RTPBuffer::from_buffer_readable(buffer).ok().map(|rtp| rtp.payload_type());
        if found != Some(payload_type) || !known(&sender, buffer) {
            counters.rejected.fetch_add(1, Ordering::Relaxed);
            if let Some(other) = found.filter(|found| *found != payload_type)
                && said.fetch_add(1, Ordering::Relaxed) == 0
            {
                log(&format!(
                    "call {call}: packets of payload type {other} come where {payload_type} was \
                     agreed: they are ignored"
                ));
            }
            return gst::PadProbeReturn::Drop;
        }
        counters.received.fetch_add(1, Ordering::Relaxed);
        gst::PadProbeReturn::Ok
    });
}

/// Whether a datagram is of the sender that is listened to.
fn known(sender: &Mutex<Sender>, buffer: &gst::BufferRef) -> bool {
    let from = buffer.meta::<NetAddressMeta>().map(|meta| meta.addr());
    let from = from.and_then(|from| from.downcast::<gio::InetSocketAddress>().ok());
    let Some(from) = from else { return false };
    let from = (from.address().to_str().to_string(), from.port());
    // Nothing that holds it panics.
    let mut sender = sender.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let same = sender.address.as_ref() == Some(&from);
    if !same && sender.address.is_some() && now.duration_since(sender.last) < SILENT {
        return false;
    }
    sender.last = now;
    if !same {
        sender.address = Some(from);
    }
    true
}

/// Counts what the concealment will make up, and keeps what would be too long from it.
fn conceal(pad: &gst::Pad, counters: &Arc<Counters>) {
    let counters = Arc::clone(counters);
    pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM, move |_, info| {
        let Some(event) = info.event() else { return gst::PadProbeReturn::Ok };
        let gst::EventView::Gap(gap) = event.view() else { return gst::PadProbeReturn::Ok };
        let (_, duration) = gap.get();
        if duration.is_some_and(|duration| duration <= CONCEALED) {
            counters.concealed.fetch_add(1, Ordering::Relaxed);
            gst::PadProbeReturn::Ok
        } else {
            gst::PadProbeReturn::Drop
        }
    });
}
