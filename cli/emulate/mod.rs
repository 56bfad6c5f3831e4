//! What `emulate` is made of: argument values ([`value`]), their element types ([`element`]) and files
//! ([`tensor`], [`npy`]), binding them to a kernel's metadata ([`bind`]), the launch with its trace
//! ([`launch`], [`trace`]), how far to trust it ([`fidelity`]), and what is told of it ([`report`]).

pub mod bind;
pub mod element;
pub mod fidelity;
pub mod launch;
pub mod npy;
pub mod report;
pub mod tensor;
pub mod trace;
pub mod value;
