//! What conclusions are drawn: [`mod@advise`] tries strategies and says which to choose, [`tune`]
//! chooses them by the model alone, [`doctor`] says what spoils a measurement.

pub mod advise;
pub mod doctor;
pub mod tune;
