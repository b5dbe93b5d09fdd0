//! Names of strategies, as written in workload files and after `--strategy`.
//!
//! A name is `transfer/notify/placement`, for example `in_place/hybrid/internal`. Parts left
//! off at the end take their defaults ([`Notify::Hybrid`], [`Placement::Internal`]); `all` in
//! a part stands for every choice of that part, and `all` alone for every transfer with every
//! notification in internal memory.

use clap::ValueEnum;
use std::fmt;

macro_rules! axis {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
        pub enum $name {
            $($(#[$vdoc])* #[value(name = $text)] $variant,)+
        }

        impl $name {
            /// Every choice, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The name in workload files, on the command line and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

axis! {
    /// How the bytes get from one core to the other.
    Transfer {
        /// copied in and out, acknowledged by a bell
        Copy => "copy",
        /// copied in and out, acknowledged in a status word
        CopyLazy => "copy_lazy",
        /// the receiver copies straight from the sender's pool
        SingleCopy => "single_copy",
        /// nothing is copied
        InPlace => "in_place",
        /// a copy engine moves the bytes
        CopyEngine => "copy_engine",
    }
}

axis! {
    /// How a core learns that a message is there.
    Notify {
        /// sleep until the doorbell rings
        Interrupt => "interrupt",
        /// look all the time
        Spin => "spin",
        /// look every so often
        Poll => "poll",
        /// spin for a while, then sleep
        Hybrid => "hybrid",
        /// one bell for several messages
        Coalesced => "coalesced",
    }
}

axis! {
    /// Where the payload lies.
    Placement {
        /// small pool that stays in the cache
        Internal => "internal",
        /// large pool that does not
        External => "external",
    }
}

/// One choice on each axis that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// How the bytes move.
    pub transfer: Transfer,
    /// How the other side learns of them.
    pub notify: Notify,
    /// Where they lie.
    pub placement: Placement,
}

impl Strategy {
    /// The strategies that a name stands for: one, or several if it contains `all`.
    ///
    /// # Errors
    /// A name that is not a strategy gives what was expected instead.
    pub fn parse(name: &str) -> Result<Vec<Strategy>, Unknown> {
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > 3 {
            return Err(Unknown::new("a strategy", "transfer/notify/placement"));
        }
        let part = |at: usize| parts.get(at).copied();
        let everything = parts == ["all"];
        let transfers = choose(part(0), Transfer::ALL, &[], "a transfer")?;
        let notify: &[Notify] = if everything { Notify::ALL } else { &[Notify::Hybrid] };
        let notifications = choose(part(1), Notify::ALL, notify, "a notification")?;
        let inside = &[Placement::Internal];
        let placements = choose(part(2), Placement::ALL, inside, "a placement")?;
        let mut found = Vec::new();
        for &transfer in &transfers {
            for &notify in &notifications {
                for &placement in &placements {
                    found.push(Strategy { transfer, notify, placement });
                }
            }
        }
        Ok(found)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.transfer, self.notify, self.placement)
    }
}

/// A name that is no strategy; displays as what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    expected: String,
}

impl Unknown {
    fn new(what: &str, choices: &str) -> Self {
        Self { expected: format!("{what}: {choices}") }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expected)
    }
}

impl std::error::Error for Unknown {}

fn choose<T: Copy + ValueEnum>(
    part: Option<&str>,
    all: &[T],
    default: &[T],
    what: &str,
) -> Result<Vec<T>, Unknown> {
    match part {
        None => Ok(default.to_vec()),
        Some("all") => Ok(all.to_vec()),
        Some(name) => match T::from_str(name, false) {
            Ok(one) => Ok(vec![one]),
            Err(_) => {
                let names: Vec<String> = all
                    .iter()
                    .filter_map(|one| Some(one.to_possible_value()?.get_name().to_owned()))
                    .collect();
                Err(Unknown::new(what, &format!("{}, all", names.join(", "))))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for one in Strategy::parse("all/all/all").unwrap() {
            assert_eq!(Strategy::parse(&one.to_string()), Ok(vec![one]));
        }
    }

    #[test]
    fn parts_left_off_take_defaults() {
        let found = Strategy::parse("copy_lazy").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "copy_lazy/hybrid/internal");
    }

    #[test]
    fn all_multiplies() {
        assert_eq!(Strategy::parse("all").unwrap().len(), 25);
        assert_eq!(Strategy::parse("in_place/all").unwrap().len(), 5);
        assert_eq!(Strategy::parse("all/all/all").unwrap().len(), 50);
    }

    #[test]
    fn unknown_names_say_what_was_expected() {
        let text = Strategy::parse("copy/shout").unwrap_err().to_string();
        assert!(text.starts_with("a notification: interrupt, spin"), "{text}");
        assert!(Strategy::parse("a/b/c/d").is_err());
        assert!(Strategy::parse("").is_err());
    }
}
