//! The command line of wavesmith and what its verbs share: the path from a spec file to verified
//! bytes ([`pipeline`]), the harness that runs and judges a kernel ([`harness`]), arguments of anybody's
//! kernel ([`emulate`]), and goldens ([`golden`]). The binaries are thin; tests, benches and examples use this library.

pub mod backend;
pub mod bundle;
pub mod cache;
pub mod code_object_file;
pub mod command_line;
pub mod emitted;
pub mod emulate;
pub mod error;
pub mod explain;
pub mod files;
pub mod golden;
pub mod harness;
pub mod mutation;
pub mod pipeline;
pub mod probe;
pub mod qualify;
pub mod report;
pub mod verbs;
