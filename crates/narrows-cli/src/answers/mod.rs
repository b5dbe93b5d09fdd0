//! What conclusions are drawn: [`tune`] chooses strategies, [`compare`] says what changed between
//! two runs, [`doctor`] what spoils a measurement.

pub mod compare;
pub mod doctor;
pub mod tune;
