//! The kernel language: IR, builder, verifier and text form.

pub mod ir;
