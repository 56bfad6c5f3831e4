//! The spec of paged decode attention: one query a sequence against keys and values that lie in blocks of a cache.

mod fields;
mod problem;
mod signature;

use isa::Target;

use crate::choice::{Choice, choice};
use crate::element::Dtype;
use crate::field::{Settings, Value};

pub use fields::FIELDS;
pub use problem::AttentionProblem;
pub(crate) use problem::{CHUNK_PARAMETERS, PARAMETERS, chunk_faults, faults, read, read_chunk};

choice! {
    /// Orientation of the cache's blocks in memory, slowest axis first.
    pub enum CacheLayout {
        /// [blocks, block_size, HKV, D]: a token's heads are neighbours.
        TokenFirst = "token_first",
        /// [blocks, HKV, block_size, D]: a head's tokens are neighbours.
        HeadFirst = "head_first",
    }
}

/// Which attention kernel, with every choice that changes its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionSpec {
    /// The GPU that the kernel is built for.
    pub target: Target,
    /// HQ: heads of q and o, a multiple of HKV.
    pub query_heads: u32,
    /// HKV: heads of keys and values.
    pub key_heads: u32,
    /// D: channels of a head.
    pub head_dim: u32,
    /// Type of q, of the caches and of o.
    pub dtype: Dtype,
    /// Tokens of a block of the cache.
    pub block_size: u32,
    /// Orientation of the cache's blocks.
    pub cache_layout: CacheLayout,
    /// Query heads of one key head that a workgroup takes together, so that it reads keys and values once for all.
    pub heads_per_workgroup: u32,
    /// Whether scores have a bias by distance. No kernel has it.
    pub alibi: bool,
    /// The last tokens that a query sees, when it does not see all. No kernel has it.
    pub window: Option<u32>,
    /// What scores are squeezed below, when they are. No kernel has it.
    pub soft_cap: Option<f32>,
    /// Waves in a workgroup, which share the blocks of a sequence.
    pub waves: u32,
    /// Lanes of a wave.
    pub wave_width: u32,
}

/// Neighbouring channels that a lane reads at once: 16 bytes of 16-bit elements.
pub const CHANNELS_PER_READ: u32 = 8;

impl AttentionSpec {
    /// Name of the family in listings, names and golden records.
    pub const FAMILY: &'static str = "attention";

    /// The argument that says how many entries a row of the block table has.
    pub const ENTRIES: &'static str = "max_blocks";

    /// The argument that holds every sequence's context.
    pub const CONTEXTS: &'static str = "context_len";

    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.waves.saturating_mul(self.wave_width)
    }

    /// Query heads of one key head.
    pub fn group(&self) -> u32 {
        self.query_heads / self.key_heads.max(1)
    }

    /// Lanes that share a key's channels, a power of two: 16 channels each, 24 of a head of 96.
    pub fn key_lanes(&self) -> u32 {
        match self.head_dim {
            128 => 8,
            256 => 16,
            _ => 4,
        }
    }

    /// Channels of a key that a lane holds.
    pub fn channels_per_lane(&self) -> u32 {
        self.head_dim / self.key_lanes()
    }

    /// Keys that a wave takes at once.
    pub fn keys_at_once(&self) -> u32 {
        (self.wave_width / self.key_lanes()).max(1)
    }

    /// How often a wave takes keys until a block is done.
    pub fn steps_per_block(&self) -> u32 {
        self.block_size.div_ceil(self.keys_at_once())
    }

    /// f32 registers a lane that hold queries, sums and the scores of a block.
    pub fn held_registers_per_lane(&self) -> u32 {
        let per_head = (2 * self.channels_per_lane()).saturating_add(self.steps_per_block());
        self.heads_per_workgroup.saturating_mul(per_head)
    }

    /// Bytes of LDS in which waves hand over what they have of each head: sums, weight and largest score.
    pub fn lds_bytes(&self) -> u64 {
        let rows = u64::from(self.waves).saturating_mul(self.heads_per_workgroup.into());
        let row = 4 * (u64::from(self.head_dim) + 2);
        if self.waves > 1 { rows.saturating_mul(row) } else { 0 }
    }

    /// The scale of a model that does not say otherwise: D^(−1/2), computed in f64 and rounded once.
    pub fn default_scale(&self) -> f32 {
        crate::chunk::problem::default_scale(self.head_dim)
    }

    /// Blocks that a context of so many tokens fills, the last one perhaps in part.
    pub fn blocks_of(&self, context: u32) -> u32 {
        context.div_ceil(self.block_size.max(1))
    }

    /// The spec that settings describe, when every field in play is there.
    pub fn from_settings(settings: &Settings) -> Option<AttentionSpec> {
        Some(AttentionSpec {
            target: settings.target()?,
            query_heads: settings.count("query_heads")?,
            key_heads: settings.count("key_heads")?,
            head_dim: settings.count("head_dim")?,
            dtype: settings.choice("dtype")?,
            block_size: settings.count("block_size")?,
            cache_layout: settings.choice("cache_layout")?,
            heads_per_workgroup: settings.count("heads_per_workgroup")?,
            alibi: settings.flag("alibi")?,
            window: settings.count("window"),
            soft_cap: settings.number("soft_cap"),
            waves: settings.count("waves")?,
            wave_width: settings.count("wave_width")?,
        })
    }

    /// Every field that is in play.
    pub fn settings(&self) -> Settings {
        // Destructured, so that a new field cannot be left out of name and hash.
        let AttentionSpec {
            target,
            query_heads,
            key_heads,
            head_dim,
            dtype,
            block_size,
            cache_layout,
            heads_per_workgroup,
            alibi,
            window,
            soft_cap,
            waves,
            wave_width,
        } = *self;
        let values = [
            ("target", Some(Value::Name(target.name()))),
            ("query_heads", Some(Value::Count(query_heads))),
            ("key_heads", Some(Value::Count(key_heads))),
            ("head_dim", Some(Value::Count(head_dim))),
            ("dtype", Some(Value::Name(dtype.name()))),
            ("block_size", Some(Value::Count(block_size))),
            ("cache_layout", Some(Value::Name(cache_layout.name()))),
            ("heads_per_workgroup", Some(Value::Count(heads_per_workgroup))),
            ("alibi", Some(Value::Flag(alibi))),
            ("window", window.map(Value::Count)),
            ("soft_cap", soft_cap.map(Value::Number)),
            ("waves", Some(Value::Count(waves))),
            ("wave_width", Some(Value::Count(wave_width))),
        ];
        values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}
