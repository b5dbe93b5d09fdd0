//! Narrows on a chip that is not on the desk: the stack's own code, run by a deterministic
//! discrete-event simulator that charges it the time of a described chip.
//!
//! A [`Chip`](chip::Chip) is a table of facts: cores with their clocks, caches and costs, buses,
//! memories, copy engines. A [`Simulation`](engine::Simulation) of it runs processes; each is a
//! [`Cpu`](cpu::Cpu), which is a [`Platform`](narrows::platform::Platform) of the stack, and has an
//! [operating system](rtos) with the processes of its core.
//!
//! ```
//! use narrows_sim::chip::Chip;
//! use narrows_sim::engine::{Settings, Simulation};
//! use narrows_sim::time::Time;
//! use std::cell::Cell;
//!
//! let chip = Chip::shipped("nios2-dual").expect("it comes with the crate");
//! let heard = Cell::new(None);
//! let mut simulation = Simulation::new(&chip, Settings::default());
//! let motor = simulation.process(0, "motor", 9, |cpu| {
//!     let signal = cpu.os().receive(&[7], Time::NEVER).expect("there is no limit");
//!     heard.set(Some((signal.bytes[0], cpu.time())));
//! });
//! simulation.process(0, "application", 12, move |cpu| {
//!     let start = cpu.os().alloc(7, vec![1]);
//!     cpu.os().send(start, motor).expect("it lives");
//! });
//! let outcome = simulation.run()?;
//! assert!(heard.get().is_some_and(|(what, at)| what == 1 && at <= outcome.end));
//! # Ok::<(), narrows_sim::engine::Stuck>(())
//! ```
//!
//! # When it cannot go on
//!
//! [`Simulation::run`](engine::Simulation::run) ends with a [`Stuck`](engine::Stuck), which is a
//! sentence: nothing can run any more, with each process and what it waits for; virtual time stands
//! still, because something goes on at one moment; an access is outside its memory. A panic in a
//! process comes out of it as it is. A process that is in the middle then, or when the time is up,
//! is unwound: what it holds is dropped, and nothing that this does has an effect.
//!
//! Time that stands still is noticed if the process calls anything here; a loop that calls nothing
//! is a loop of the host's.
//!
//! # Faults
//!
//! [`Settings::faults`](engine::Settings::faults) says what goes wrong: a process dies at one of
//! its stores, bells are lost, late or doubled, the regions of a hostile process change, drivers
//! forget caches. What is drawn follows from [`Settings::seed`](engine::Settings::seed), so that a
//! run is repeated by its numbers.

pub mod carrier;
pub mod chip;
pub mod cpu;
pub mod engine;
mod events;
pub mod file;
mod kernel;
mod part;
pub mod rtos;
pub mod time;
pub mod trace;
