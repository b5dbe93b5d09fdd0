//! What the caller has the other side do.

use std::fmt;
use std::str::FromStr;

use crate::bench::linx::flags::{Counter, Stack};

/// How the nodes of a trial are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Bytes of the longest frame, if that is said.
    pub mtu: Option<usize>,
    pub counter: Option<Counter>,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.mtu.unwrap_or(0), self.counter.map_or("none", Counter::name))
    }
}

/// What the other side is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Open an endpoint of each stack, for a caller of this process number.
    Open(u32, How),
    /// Receive so many signals of a test case, answer them, and report.
    Serve(Stack, u32),
    /// Send so many signals back.
    Echo(Stack, u32),
    /// Close the endpoints.
    Close,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Open(number, how) => write!(f, "open {number} {how}"),
            Order::Serve(stack, signals) => write!(f, "serve {} {signals}", stack.name()),
            Order::Echo(stack, signals) => write!(f, "echo {} {signals}", stack.name()),
            Order::Close => f.write_str("close"),
        }
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(text: &str) -> Result<Order, ()> {
        let stack = |name: &str| Stack::ALL.into_iter().find(|s| s.name() == name).ok_or(());
        let number = |text: &str| text.parse::<u32>().map_err(|_| ());
        match text.split(' ').collect::<Vec<_>>()[..] {
            ["open", own, mtu, counter] => {
                let mtu = Some(number(mtu)? as usize).filter(|mtu| *mtu > 0);
                let counter = match counter {
                    "none" => None,
                    name => Some(Counter::ALL.into_iter().find(|c| c.name() == name).ok_or(())?),
                };
                Ok(Order::Open(number(own)?, How { mtu, counter }))
            }
            ["serve", on, signals] => Ok(Order::Serve(stack(on)?, number(signals)?)),
            ["echo", on, signals] => Ok(Order::Echo(stack(on)?, number(signals)?)),
            ["close"] => Ok(Order::Close),
            _ => Err(()),
        }
    }
}
