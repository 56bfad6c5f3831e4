//! The emulator from outside: whole programs, planted faults, damaged code objects.

mod bench;
mod faults;
mod kernels;
mod launches;
mod lint;
mod mutations;
mod programs;
mod schedule;
mod states;
mod stats;
