//! What the caller has the other side do.

use std::fmt;
use std::str::FromStr;

use crate::formats::linx::{Counter, DriverName, Stack};

/// How the nodes of a trial are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Bytes of the longest frame, if that is said.
    pub mtu: Option<usize>,
    /// What is done against bursts, if that is said.
    pub counter: Option<Counter>,
    /// One of the five drivers; none for the nodes of this host.
    pub driver: Option<DriverName>,
    /// Bytes of the longest signal that a driver is to carry.
    pub longest: usize,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counter = self.counter.map_or("none", Counter::name);
        let driver = self.driver.map_or("none", DriverName::name);
        write!(f, "{} {counter} {driver} {}", self.mtu.unwrap_or(0), self.longest)
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
            ["open", own, mtu, counter, driver, longest] => {
                let mtu = Some(number(mtu)? as usize).filter(|mtu| *mtu > 0);
                let counter = named(counter, &Counter::ALL, Counter::name)?;
                let driver = named(driver, &DriverName::ALL, DriverName::name)?;
                let longest = number(longest)? as usize;
                Ok(Order::Open(number(own)?, How { mtu, counter, driver, longest }))
            }
            ["serve", on, signals] => Ok(Order::Serve(stack(on)?, number(signals)?)),
            ["echo", on, signals] => Ok(Order::Echo(stack(on)?, number(signals)?)),
            ["close"] => Ok(Order::Close),
            _ => Err(()),
        }
    }
}

/// Which of all has this name; none, if that is `none`.
fn named<T: Copy>(name: &str, all: &[T], of: fn(T) -> &'static str) -> Result<Option<T>, ()> {
    if name == "none" {
        return Ok(None);
    }
    all.iter().copied().find(|one| of(*one) == name).map(Some).ok_or(())
}
