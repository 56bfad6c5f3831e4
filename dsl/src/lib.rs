//! The kernel language: IR, builder, verifier and text form.

pub mod ir;
pub mod text;
pub mod verify;

mod walk;
