//! Reading real code objects, and refusing damaged ones.

mod agreement;
mod descriptors;
mod fingerprint;
mod fixture;
mod mutations;
mod refusals;
