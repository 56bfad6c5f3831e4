//! What the emulator watches for beyond computing: one file a check.
//!
//! A check never changes what a kernel computes. Out-of-bounds accesses have no meaning to go on with and
//! are faults of the memories themselves ([`Cause`](crate::Cause)); everything here is a
//! [`Finding`](crate::Finding): the run goes on and its result is not to be trusted.
//!
//! Each file says what its check misses.

pub(crate) mod alignment;
pub(crate) mod barriers;
pub(crate) mod conflict;
mod exchange;
pub(crate) mod origins;
pub(crate) mod races;
mod shadow;
mod site;
pub(crate) mod sync;
pub(crate) mod undefined;
mod visibility;
pub(crate) mod wait_states;
pub(crate) mod waits;
