//! The spec of causal chunk attention: any number of new tokens of packed sequences against keys and values that lie in
//! blocks of a cache, those of the new tokens among them.

use crate::attention::{self, AttentionSpec};
use crate::field::{Field, FieldKind, InName, Presence, Settings, Value, without};
use crate::signature::{Signature, TOKENS, sequence_ends};

/// Which chunk attention kernel, with every choice that changes its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionChunkSpec {
    /// The decode kernel whose body every query takes.
    pub step: AttentionSpec,
    /// Neighbouring queries of a sequence that a workgroup takes together, so that it reads keys and values once for
    /// all.
    pub queries_per_workgroup: u32,
}

/// The keys of a chunk attention kernel's spec file, beside [`crate::field::HEADER_FIELDS`].
pub const FIELDS: &[Field] = &{
    const N: usize = attention::FIELDS.len() + QUERIES.len();
    without::<N>(attention::FIELDS, &[], QUERIES)
};

const QUERIES: &[Field] = &[Field {
    key: "queries_per_workgroup",
    meaning: "neighbouring queries of a sequence that a workgroup takes together",
    kind: FieldKind::Count,
    presence: Presence::Default(Value::Count(1)),
    in_name: InName::Prefixed("queries"),
}];

impl AttentionChunkSpec {
    /// The spec that settings describe, when every field in play is there.
    pub fn from_settings(settings: &Settings) -> Option<AttentionChunkSpec> {
        let step = AttentionSpec::from_settings(settings)?;
        let queries_per_workgroup = settings.count("queries_per_workgroup")?;
        Some(AttentionChunkSpec { step, queries_per_workgroup })
    }

    /// Every field that is in play.
    pub fn settings(&self) -> Settings {
        // Destructured, so that a new field cannot be left out of name and hash.
        let AttentionChunkSpec { step, queries_per_workgroup } = *self;
        let mut settings = step.settings();
        settings.insert("queries_per_workgroup", Value::Count(queries_per_workgroup));
        settings
    }

    /// The kernel's arguments: those of decode, with rows for all tokens, and the sequences' ends.
    pub fn signature(&self) -> Signature {
        let mut signature = self.step.signature_of(TOKENS);
        let caches = signature.arguments.iter().position(|argument| argument.name == "k_cache");
        signature.arguments.insert(caches.unwrap_or(0), sequence_ends());
        signature
    }

    /// f32 registers a lane that hold queries, sums and the scores of a block.
    pub fn held_registers_per_lane(&self) -> u32 {
        self.queries_per_workgroup.saturating_mul(self.step.held_registers_per_lane())
    }

    /// Bytes of LDS in which waves hand over what they have of each query's heads.
    pub fn lds_bytes(&self) -> u64 {
        self.step.lds_bytes().saturating_mul(self.queries_per_workgroup.into())
    }

    /// Workgroups that share the queries of the longest of sequences with so many, and one for sequences without any.
    pub fn segments(&self, lengths: &[u32]) -> u32 {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        longest.div_ceil(self.queries_per_workgroup.max(1)).max(1)
    }
}
