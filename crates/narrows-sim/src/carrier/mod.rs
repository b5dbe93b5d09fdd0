//! Carriers of frames over the ports of a chip whose cores have no memory in common: `fifo_port`
//! and `comm_port`, by what the port is.
//!
//! A frame is asked for and answered, and then travels by DMA from the buffer that [`try_send`]
//! names to those that [`read`] names, past all caches. Software sees to the rest, at both ends, in
//! the interrupts of the port and of its controllers, or when an [`End`] is used:
//!
//! | | sender | receiver |
//! |---|---|---|
//! | 1 | writes a command and the frame's header to the port | |
//! | 2 | | is interrupted, reads them; once it has a buffer and a controller, it answers |
//! | 3 | starts its controller | |
//! | 4 | is interrupted by its controller: the buffer is free | so is this: the frame is there |
//!
//! Step 3 depends on the [mode]. In bursts, packets of half a FIFO follow each other: the
//! sender looks at the half-full flag before each but the first, and the receiver is interrupted
//! when each has come, and by its controller when that has it. Otherwise the controllers follow the
//! port's flags, element by element or frame by frame.
//!
//! Both ends may ask at once. The port is then the first core's, whose own frame goes first; the
//! answer to the other follows. Where each end has [a controller for each
//! direction](crate::chip::Chip::is_dedicated), nothing is asked and nothing answered: frames
//! follow their commands at once.
//!
//! [mode]: crate::chip::DmaMode
//! [`try_send`]: narrows::driver::Frames::try_send
//! [`read`]: narrows::driver::Frames::read

mod command;
mod end;
pub mod raw;
mod receive;
mod send;

pub use command::MOST_HEADER;
pub use end::{End, Told, lay, mtu};
