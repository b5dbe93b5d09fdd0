//! What the caller has the other side do.

use std::fmt;
use std::str::FromStr;

use crate::bench::linx::flags::Stack;

/// What the other side is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Open an endpoint of each stack, for a caller of this process number.
    Open(u32),
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
            Order::Open(number) => write!(f, "open {number}"),
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
        let number = |text: &str| text.parse().map_err(|_| ());
        match text.split(' ').collect::<Vec<_>>()[..] {
            ["open", own] => Ok(Order::Open(number(own)?)),
            ["serve", on, signals] => Ok(Order::Serve(stack(on)?, number(signals)?)),
            ["echo", on, signals] => Ok(Order::Echo(stack(on)?, number(signals)?)),
            ["close"] => Ok(Order::Close),
            _ => Err(()),
        }
    }
}
