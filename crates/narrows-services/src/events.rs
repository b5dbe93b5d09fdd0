//! What happens to services and topics, as events of the crate `tracing` and counters of the crate
//! `metrics`, if those features are on. Without them nothing here is left when it is compiled.

use narrows::link::Name;

/// What happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A client found its service.
    Found,
    /// The service, or the publisher, of this program has gone.
    Lost,
    /// A subscriber found its topic.
    Joined,
    /// A publisher let a subscriber in.
    LetIn,
    /// A subscriber has left, or is gone.
    Left,
    /// Two programs do not fit: their types, or what one wants.
    Refused,
    /// A publisher had no slot in time.
    Full,
}

impl What {
    #[cfg(any(feature = "tracing", feature = "metrics"))]
    fn name(self) -> &'static str {
        match self {
            What::Found => "found",
            What::Lost => "lost",
            What::Joined => "joined",
            What::LetIn => "let in",
            What::Left => "left",
            What::Refused => "refused",
            What::Full => "full",
        }
    }
}

/// Tells the subscriber of `tracing` and the recorder of `metrics` that something happened to a
/// service or topic of this name.
pub(crate) fn tell(what: What, name: &Name) {
    #[cfg(feature = "tracing")]
    {
        let (said, name) = (what.name(), name.as_str());
        match what {
            What::Lost | What::Refused | What::Full => {
                tracing::warn!(target: "narrows", what = said, name);
            }
            What::Found | What::Joined | What::LetIn | What::Left => {
                tracing::info!(target: "narrows", what = said, name);
            }
        }
    }
    #[cfg(feature = "metrics")]
    metrics::counter!("narrows_events", "what" => what.name(), "name" => name.to_string())
        .increment(1);
    let _ = (what, name);
}

/// Counts what goes by a service or topic.
pub(crate) struct Count {
    #[cfg(feature = "metrics")]
    counter: metrics::Counter,
}

impl Count {
    /// Of what is `called`, published or taken, by this name.
    pub(crate) fn new(what: &'static str, name: &Name) -> Count {
        let _ = (what, name);
        Count {
            #[cfg(feature = "metrics")]
            counter: metrics::counter!("narrows_messages", "what" => what, "name" => name.to_string()),
        }
    }

    /// One more.
    #[inline]
    pub(crate) fn add(&self) {
        #[cfg(feature = "metrics")]
        self.counter.increment(1);
    }
}
