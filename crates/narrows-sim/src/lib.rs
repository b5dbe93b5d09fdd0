//! Narrows on a chip that is not on the desk: the stack's own code, run by a deterministic
//! discrete-event simulator that charges it the time of a described chip.
//!
//! A [`Chip`](chip::Chip) is a table of facts: cores with their clocks, caches and costs, buses,
//! memories, copy engines. A [`Simulation`](engine::Simulation) of it runs processes; each is a
//! [`Cpu`](cpu::Cpu), which is a [`Platform`](narrows::platform::Platform) of the stack.

pub mod chip;
pub mod cpu;
pub mod engine;
mod part;
pub mod rtos;
pub mod time;
