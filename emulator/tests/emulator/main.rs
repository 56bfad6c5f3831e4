//! The emulator from outside: whole programs, planted faults, damaged code objects.

mod bench;
mod faults;
mod mutations;
mod programs;
