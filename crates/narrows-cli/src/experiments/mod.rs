//! What is carried out on a rig, and measured: [`mod@run`] carries a workload, [`mod@bench`]
//! measures the stack beside what the machine allows, [`replay`] plays recordings, [`papers`] puts
//! published figures beside what a simulated chip gives, [`sweep`] goes through a grid of them,
//! [`calibrate`] writes a platform of this machine, [`mcapi`] runs programs in C on one, `cluster`
//! places tasks on processors that share no memory, `offload` takes flows through accelerators,
//! [`voip`] makes real calls and [`gateway`] carries real sessions, both of processes that live in
//! a `house`.

pub(crate) mod advice;
pub mod bench;
pub mod calibrate;
pub(crate) mod cluster;
pub mod gateway;
pub(crate) mod house;
pub mod mcapi;
pub(crate) mod offload;
pub mod papers;
pub mod replay;
pub mod run;
pub mod sweep;
pub mod voip;
