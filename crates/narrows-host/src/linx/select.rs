//! Which signals an endpoint receives.

use narrows::linx::Spid;

use super::signal::Signal;

/// Which signals are wanted: by number, and by sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    numbers: Vec<u32>,
    except: bool,
    from: Option<Spid>,
}

impl Select {
    /// Any signal.
    #[must_use]
    pub fn any() -> Select {
        Select { numbers: Vec::new(), except: true, from: None }
    }

    /// Only signals of these numbers.
    #[must_use]
    pub fn only(numbers: &[u32]) -> Select {
        Select { numbers: numbers.to_vec(), except: false, from: None }
    }

    /// Signals of all but these numbers.
    #[must_use]
    pub fn except(numbers: &[u32]) -> Select {
        Select { numbers: numbers.to_vec(), except: true, from: None }
    }

    /// The same, from one sender alone.
    #[must_use]
    pub fn from(self, sender: Spid) -> Select {
        Select { from: Some(sender), ..self }
    }

    /// Whether a signal is wanted.
    #[must_use]
    #[inline]
    pub fn wants(&self, signal: &Signal) -> bool {
        let listed = !self.numbers.is_empty() && self.numbers.contains(&signal.number());
        self.from.is_none_or(|from| from == signal.sender()) && listed != self.except
    }
}
