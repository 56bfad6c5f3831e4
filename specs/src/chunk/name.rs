//! Names and hashes of prefill specs, by the rules of [`crate::name`].

use super::ChunkSpec;
use crate::choice::Choice;
use crate::field::{Field, Value};
use crate::name;

impl ChunkSpec {
    /// The fields that deviate from a default or have none, in the order of the kernel's field table.
    pub fn deviations(&self) -> Vec<(&'static Field, Value)> {
        name::deviations(self.kernel().fields(), &self.settings(), self.common().target)
    }

    /// The variant's name, which is also the kernel's symbol: `[a-z0-9_]+`.
    pub fn name(&self) -> String {
        let operation = format!("{}_{}", self.common().family.name(), self.kernel().name());
        name::joined(operation, &self.deviations())
    }

    /// SHA-256 over `kernel` and the deviating fields, one `key=value` line each, sorted; 64 hexadecimal
    /// digits.
    pub fn spec_hash(&self) -> String {
        name::hash(self.kernel().name(), &self.deviations())
    }
}
