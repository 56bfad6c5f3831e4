//! An emulator of gfx950 and gfx1100 that executes HSA code objects, whoever made them.
//!
//! It sees bytes and nothing else: [`Machine::load`] maps a parsed code object, [`Machine::dispatch`] sets up
//! waves exactly as the kernel descriptor says and executes their instructions. It is strict where
//! hardware is not: what has no meaning is a [`Fault`], what hardware would answer with anything (a
//! register used before its load has been waited for, an undefined address) is a [`Finding`]. A
//! [`Report`] without findings means that the result is what the documented architecture computes, up
//! to the approximate instructions that the report lists ([`fidelity`]).
//!
//! The same input gives the same bits on every host: floating point is written out in `float`, lanes and
//! waves run in a fixed order, nothing depends on time.
//!
//! What is not modelled: time, caches, several dispatches at once, traps and debugging, graphics.

mod block;
mod checks;
mod exec;
mod fault;
pub mod fidelity;
mod finding;
mod float;
mod lanes;
mod launch;
mod lds;
pub mod lint;
mod machine;
mod memory;
mod numerics;
mod operand;
mod prepare;
mod program;
mod report;
mod scalars;
mod schedule;
mod scratch;
mod sem;
mod stats;
mod taint;
mod trace;
mod traffic;
mod wave;
mod workgroup;

pub use fault::{Activity, Cause, ExecutionFault, Fault, LaunchError, WaveState};
pub use finding::{Finding, Place, Rule, Site};
pub use machine::{Alignment, Dispatch, HostVectors, LdsOrder, LoadedObject, Machine, Options};
pub use memory::{Access, BufferId, Memory, MemoryError};
pub use numerics::{Numerics, UnknownNumerics, WrongNumerics};
pub use report::{Class, Report};
pub use stats::{Detail, Stats, WaveCounts, WaveStats};
pub use trace::{Step, Tracer};
pub use traffic::{GlobalTraffic, LdsTraffic, PlainTraffic, Traffic};
