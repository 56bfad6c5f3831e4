//! What `emulate` is made of: argument values ([`value`]), their element types ([`element`]) and files
//! ([`tensor`], [`npy`]), which launches a call asks for ([`request`]), binding values to a kernel's metadata
//! ([`bind`]) and sharing buffers ([`share`]), the launches with their trace ([`launch`], [`trace`]), how far to
//! trust them ([`fidelity`]), where their results go ([`save`]), and what is told of them ([`report`], [`stats`]).

pub mod bind;
pub mod element;
pub mod fidelity;
pub mod launch;
pub mod npy;
pub mod report;
pub mod request;
pub mod save;
pub mod share;
pub mod stats;
pub mod tensor;
pub mod trace;
pub mod value;
