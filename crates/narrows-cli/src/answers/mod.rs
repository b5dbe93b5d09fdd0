//! What conclusions are drawn: [`tune`] chooses strategies, [`doctor`] says what spoils a
//! measurement.

pub mod doctor;
pub mod tune;
