//! The HIP device, through the emulated library: wrong loads and launches, what engines need, and leaks.
//!
//! The library reads its target from the environment once, so every test runs its body in a process of its own.

mod engine;
mod leaks;
mod support;
mod wrong;
