//! Launch checks, plans and devices.

mod checks;
mod emulated;
mod plans;
mod recording;
