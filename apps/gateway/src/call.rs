//! A call: two sides, and for each media line a port towards either of them and a direction each
//! way.

use std::net::Ipv4Addr;
use std::time::Instant;

use crate::carry::Carrier;
use crate::frame::{Codec, Kind};
use crate::media::{Direction, Plan, Port, Ports};
use crate::sdp::{Described, Line};
use crate::statistics::Row;

/// One of the two sides of a media line.
struct Side {
    /// Where the gateway receives from this side and sends to it from.
    port: Port,
    line: Option<Line>,
}

/// A way through the gateway, from one side to the other.
struct Way {
    id: u64,
    direction: Option<Direction>,
    codecs: [Codec; 2],
}

/// A media line: `sides[0]` is the one that called, `ways[0]` goes from there to the other side.
struct Media {
    kind: Kind,
    sides: [Side; 2],
    ways: [Option<Way>; 2],
}

/// See the module page.
pub struct Call {
    name: String,
    tags: [Option<String>; 2],
    media: Vec<Option<Media>>,
    pub offered: Instant,
    pub answered: bool,
    /// How much had come when it was looked at last, and when that had changed.
    pub heard: (u64, Instant),
}

/// What calls need of the gateway.
pub struct Tools<'a> {
    pub carrier: &'a Carrier,
    pub ports: &'a mut Ports,
    pub address: Ipv4Addr,
    pub began: Instant,
    pub log: fn(&str),
    pub next: &'a mut dyn FnMut() -> u64,
}

impl Call {
    /// A call that is offered: ports and room for it.
    ///
    /// # Errors
    /// Why it cannot be, as a sentence; nothing of it is left.
    pub fn new(
        name: &str,
        tag: &str,
        described: &Described,
        tools: &mut Tools<'_>,
    ) -> Result<Call, String> {
        let mut call = Call {
            name: name.to_owned(),
            tags: [Some(tag.to_owned()), None],
            media: Vec::new(),
            offered: Instant::now(),
            answered: false,
            heard: (0, Instant::now()),
        };
        for line in &described.lines {
            let made = match line {
                Some(line) => call.line(*line, tools),
                None => {
                    call.media.push(None);
                    Ok(())
                }
            };
            if let Err(why) = made {
                call.end(tools);
                return Err(why);
            }
        }
        if call.media.iter().all(Option::is_none) {
            return Err("there is no media line that can be carried: RTP/AVP with PCMU, PCMA or \
                        H263"
                .into());
        }
        Ok(call)
    }

    fn line(&mut self, line: Line, tools: &mut Tools<'_>) -> Result<(), String> {
        let near = Side { port: tools.ports.take()?, line: Some(line) };
        let far = Side { port: tools.ports.take()?, line: None };
        let mut media = Media { kind: line.kind, sides: [near, far], ways: [None, None] };
        let mut refused = None;
        for (way, wanted) in media.ways.iter_mut().zip([line.sends, line.receives]) {
            if !wanted || refused.is_some() {
                continue;
            }
            let id = (tools.next)();
            // What the other side takes is known once it has answered.
            let codecs = [line.codec; 2];
            match tools.carrier.admit(id, codecs[0], codecs[1]) {
                Ok(()) => *way = Some(Way { id, direction: None, codecs }),
                Err(why) => refused = Some(format!("refused: {why}")),
            }
        }
        // With what was admitted of it, so that the call can give that back.
        self.media.push(Some(media));
        refused.map_or(Ok(()), Err)
    }

    /// Which side a tag is of: the second one if it is nobody's yet.
    #[must_use]
    pub fn side(&self, tag: &str) -> usize {
        usize::from(self.tags[0].as_deref() != Some(tag))
    }

    /// What the other side is offered.
    pub fn offer(
        &mut self,
        from: usize,
        described: &Described,
        tools: &Tools<'_>,
    ) -> Result<String, String> {
        self.take(from, described)?;
        self.follow();
        let lines = self.media.iter().map(|media| {
            let media = media.as_ref()?;
            let own = media.sides[from].line?.codec;
            let others = Codec::ALL.into_iter();
            let others = others.filter(|codec| codec.kind() == media.kind && *codec != own);
            let far = &media.sides[1 - from];
            let codecs = match far.line {
                // One that has chosen keeps to it.
                Some(line) => vec![line.codec],
                None => [own].into_iter().chain(others).collect(),
            };
            Some((far.port.number, codecs))
        });
        Ok(described.rewritten(tools.address, &lines.collect::<Vec<_>>()))
    }

    /// The answer of side `from`: media flow from here on. What the other side is told.
    ///
    /// # Errors
    /// Why they cannot, as a sentence.
    pub fn answer(
        &mut self,
        from: usize,
        tag: Option<&str>,
        described: &Described,
        tools: &Tools<'_>,
    ) -> Result<String, String> {
        if let Some(tag) = tag
            && self.tags[1].is_none()
        {
            self.tags[1] = Some(tag.to_owned());
        }
        self.take(from, described)?;
        self.follow();
        for media in self.media.iter_mut().flatten() {
            media.start(&self.name, tools)?;
        }
        self.answered = true;
        self.heard.1 = Instant::now();
        let lines = self.media.iter().map(|media| {
            let media = media.as_ref()?;
            media.sides[from].line?;
            let other = &media.sides[1 - from];
            Some((other.port.number, vec![other.line?.codec]))
        });
        Ok(described.rewritten(tools.address, &lines.collect::<Vec<_>>()))
    }

    /// Notes what a side says of itself.
    fn take(&mut self, side: usize, described: &Described) -> Result<(), String> {
        for (media, line) in self.media.iter_mut().zip(&described.lines) {
            let Some(media) = media else { continue };
            let known = &mut media.sides[side].line;
            let runs = media.ways.iter().flatten().any(|way| way.direction.is_some());
            match (*known, line) {
                (Some(known), Some(line)) if runs && known.codec != line.codec => {
                    return Err(format!(
                        "{} was agreed and is {} now: codecs of a call do not change",
                        known.codec, line.codec
                    ));
                }
                (_, Some(line)) if line.kind == media.kind => *known = Some(*line),
                _ => {}
            }
        }
        Ok(())
    }

    /// Has media that flow already go where the sides say now.
    fn follow(&self) {
        for media in self.media.iter().flatten() {
            for (from, way) in media.ways.iter().enumerate() {
                let direction = way.as_ref().and_then(|way| way.direction.as_ref());
                if let Some((direction, line)) = direction.zip(media.sides[1 - from].line) {
                    direction.send_to(line.remote);
                }
            }
        }
    }

    /// RTP packets that have come.
    #[must_use]
    pub fn received(&self) -> u64 {
        let ways = self.media.iter().flatten().flat_map(|media| media.ways.iter().flatten());
        let directions = ways.filter_map(|way| way.direction.as_ref());
        let of = |direction: &Direction| {
            direction.counters.received.load(std::sync::atomic::Ordering::Relaxed)
        };
        directions.map(of).sum()
    }

    /// What was counted so far.
    #[must_use]
    pub fn rows(&self, tools: &Tools<'_>, end: bool) -> Vec<Row> {
        let ways = self.media.iter().flatten().flat_map(|media| media.ways.iter().flatten());
        let rows = ways.filter_map(|way| {
            let counters = way.direction.as_ref().map(|direction| &*direction.counters);
            let lost = way.direction.as_ref().map_or(0, Direction::lost);
            let counted = tools.carrier.figures(way.id, end)?;
            Some(Row::new(&self.name, way.codecs, &counted, counters, lost, tools.began))
        });
        rows.collect()
    }

    /// Ends it: nothing of it is left but what was counted.
    pub fn end(&mut self, tools: &Tools<'_>) -> Vec<Row> {
        let rows = self.rows(tools, true);
        // Its pipelines end here.
        self.media.clear();
        rows
    }
}

impl Media {
    /// Starts what both sides want and ends what one does not.
    fn start(&mut self, call: &str, tools: &Tools<'_>) -> Result<(), String> {
        let lines = [self.sides[0].line, self.sides[1].line];
        for (from, way) in self.ways.iter_mut().enumerate() {
            let Some(Way { id, direction, codecs }) = way else { continue };
            let id = *id;
            if direction.is_some() {
                continue;
            }
            let (near, far) = (lines[from], lines[1 - from]);
            let (Some(near), Some(far)) = (near, far) else {
                let _ = tools.carrier.figures(id, true);
                *way = None;
                continue;
            };
            if !near.sends || !far.receives {
                let _ = tools.carrier.figures(id, true);
                *way = None;
                continue;
            }
            *codecs = [near.codec, far.codec];
            let plan = Plan {
                call: call.to_owned(),
                from: near.codec,
                to: far.codec,
                listen: self.sides[from].port.clone(),
                send: self.sides[1 - from].port.clone(),
                remote: far.remote,
            };
            let carrier = tools.carrier.clone();
            let take = move |frame| {
                // Thrown away when thousands wait: counted as received and not as a frame.
                let _ = carrier.frame(id, frame);
            };
            let mut made = Direction::start(plan, tools.log, take)?;
            if let Some(output) = made.output() {
                tools.carrier.begin(id, *codecs, output);
            }
            *direction = Some(made);
        }
        Ok(())
    }
}
