//! wavesmith
fn main() {}
