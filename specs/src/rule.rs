//! Rules: what cannot be right is refused before any code exists.
//!
//! One rule is one file of [`crate::rules`], whose opening comment is the rule's page in the manual. A
//! rule says only what cannot be right; a preference would be a field with a rule of its own. A check
//! reports every failed rule, each with what was found, the limit, its source and a legal way out.

use std::fmt;

use isa::Target;
use serde::Serialize;

use crate::attention::AttentionSpec;
use crate::attention_chunk::AttentionChunkSpec;
use crate::chunk::{ChunkParts, ChunkSpec, KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec};
use crate::conv_chunk::ConvChunkSpec;
use crate::conv_step::ConvStepSpec;
use crate::decode_step::DecodeStepSpec;
use crate::recurrent::RecurrentSpec;
use crate::rules;
use crate::spec::Spec;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule's id.
    pub rule: &'static str,
    /// The field that breaks it.
    pub field: &'static str,
    /// What the spec has.
    pub got: String,
    /// What would be legal.
    pub limit: String,
    /// The unit of `got` and `limit`.
    pub unit: &'static str,
    /// Where the limit comes from.
    pub source: &'static str,
    /// The nearest legal choice.
    pub hint: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { rule, field, got, limit, unit, source, hint } = self;
        write!(
            f,
            "{field}: got {got}, limit {limit} ({unit}); {hint} [rule {rule}; source: {source}]"
        )
    }
}

impl std::error::Error for Violation {}

/// One rule for specs of type `S`.
pub struct Rule<S> {
    /// Unique name, also the name of its file.
    pub id: &'static str,
    /// The source text of its file.
    pub(crate) file: &'static str,
    /// Every way in which a spec breaks the rule.
    pub(crate) check: fn(&S) -> Vec<Violation>,
}

impl<S> Rule<S> {
    /// What the rule says and why: its page in the manual.
    pub fn explanation(&self) -> String {
        let comment = self.file.lines().map_while(|line| line.strip_prefix("//!"));
        comment.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// Every way in which a spec breaks the rule.
    pub fn check(&self, spec: &S) -> Vec<Violation> {
        (self.check)(spec)
    }
}

/// What rules about waves and workgroups need to know of a spec.
pub(crate) trait WaveGeometry {
    /// The GPU that the kernel is built for.
    fn target(&self) -> Target;
    /// Waves in a workgroup.
    fn waves(&self) -> u32;
    /// Lanes of a wave.
    fn wave_width(&self) -> u32;
}

impl WaveGeometry for DecodeStepSpec {
    fn target(&self) -> Target {
        self.target
    }

    fn waves(&self) -> u32 {
        self.waves
    }

    fn wave_width(&self) -> u32 {
        self.wave_width
    }
}

impl WaveGeometry for ConvStepSpec {
    fn target(&self) -> Target {
        self.target
    }

    fn waves(&self) -> u32 {
        self.waves
    }

    fn wave_width(&self) -> u32 {
        self.wave_width
    }
}

impl WaveGeometry for AttentionSpec {
    fn target(&self) -> Target {
        self.target
    }

    fn waves(&self) -> u32 {
        self.waves
    }

    fn wave_width(&self) -> u32 {
        self.wave_width
    }
}

impl<S: ChunkParts> WaveGeometry for S {
    fn target(&self) -> Target {
        self.common().target
    }

    fn waves(&self) -> u32 {
        self.common().waves
    }

    fn wave_width(&self) -> u32 {
        self.common().wave_width
    }
}

impl KdaTileSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        rules::CHUNK_TILE.iter().flat_map(|rule| rule.check(self)).collect()
    }
}

impl KdaChunkScanSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        rules::CHUNK_SCAN.iter().flat_map(|rule| rule.check(self)).collect()
    }
}

impl KdaChunkFusedSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        rules::CHUNK_FUSED.iter().flat_map(|rule| rule.check(self)).collect()
    }
}

impl ChunkSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        match self {
            ChunkSpec::Tile(spec) => spec.check(),
            ChunkSpec::Scan(spec) => spec.check(),
            ChunkSpec::Fused(spec) => spec.check(),
        }
    }
}

impl DecodeStepSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        rules::DECODE_STEP.iter().flat_map(|rule| rule.check(self)).collect()
    }
}

impl ConvStepSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        rules::CONV_STEP.iter().flat_map(|rule| rule.check(self)).collect()
    }
}

impl RecurrentSpec {
    /// Every broken rule: those of the step that its tokens take, and its own.
    pub fn check(&self) -> Vec<Violation> {
        let own = rules::RECURRENT.iter().flat_map(|rule| rule.check(self));
        self.step.check().into_iter().chain(own).collect()
    }
}

impl ConvChunkSpec {
    /// Every broken rule: those of the step that its tokens take, and its own.
    pub fn check(&self) -> Vec<Violation> {
        let own = rules::CONV_CHUNK.iter().flat_map(|rule| rule.check(self));
        self.step.check().into_iter().chain(own).collect()
    }
}

impl AttentionSpec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        rules::ATTENTION.iter().flat_map(|rule| rule.check(self)).collect()
    }
}

impl AttentionChunkSpec {
    /// Every broken rule: those of the decode kernel whose body its queries take, and its own.
    pub fn check(&self) -> Vec<Violation> {
        let own = rules::ATTENTION_CHUNK.iter().flat_map(|rule| rule.check(self));
        self.step.check().into_iter().chain(own).collect()
    }
}

impl Spec {
    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        match self {
            Spec::DecodeStep(spec) => spec.check(),
            Spec::ConvStep(spec) => spec.check(),
            Spec::Chunk(spec) => spec.check(),
            Spec::Recurrent(spec) => spec.check(),
            Spec::ConvChunk(spec) => spec.check(),
            Spec::Attention(spec) => spec.check(),
            Spec::AttentionChunk(spec) => spec.check(),
        }
    }
}

/// Whether a decode step's spec can be right.
///
/// # Errors
/// Every broken rule.
pub fn is_valid_decode_step_spec(spec: &DecodeStepSpec) -> Result<(), Vec<Violation>> {
    none_of(spec.check())
}

/// Whether a conv step's spec can be right.
///
/// # Errors
/// Every broken rule.
pub fn is_valid_conv_step_spec(spec: &ConvStepSpec) -> Result<(), Vec<Violation>> {
    none_of(spec.check())
}

/// Whether a tile kernel's spec can be right.
///
/// # Errors
/// Every broken rule.
pub fn is_valid_tile_spec(spec: &KdaTileSpec) -> Result<(), Vec<Violation>> {
    none_of(spec.check())
}

/// Whether a scan kernel's spec can be right.
///
/// # Errors
/// Every broken rule.
pub fn is_valid_scan_spec(spec: &KdaChunkScanSpec) -> Result<(), Vec<Violation>> {
    none_of(spec.check())
}

/// Whether a fused kernel's spec can be right.
///
/// # Errors
/// Every broken rule.
pub fn is_valid_fused_spec(spec: &KdaChunkFusedSpec) -> Result<(), Vec<Violation>> {
    none_of(spec.check())
}

/// Whether a spec can be right.
///
/// # Errors
/// Every broken rule.
pub fn is_valid_spec(spec: &Spec) -> Result<(), Vec<Violation>> {
    none_of(spec.check())
}

fn none_of(violations: Vec<Violation>) -> Result<(), Vec<Violation>> {
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}
