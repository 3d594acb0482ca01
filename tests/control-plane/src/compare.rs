//! The world held to a real API server: the same requests go to both, and the answers are compared field by field.

pub mod differences;
pub mod known;
pub mod pairing;
pub mod play;
pub mod private;
pub mod real;
pub mod run;
pub mod scenario;
pub mod scheduling;
pub mod side;
pub mod simulated;
pub mod table;
mod variables;
