//! Arguments of attention kernels.

use super::{AttentionSpec, CacheLayout};
use crate::element::Element;
use crate::signature::{
    Access, Argument, ArgumentKind, Axis, BATCH, Extent, Role, ScalarType, Signature, buffer,
    fixed, input, output, scale,
};

/// Blocks of the cache.
const BLOCKS: Axis = Axis { symbol: "blocks", extent: Extent::CacheBlocks };

/// Entries of a row of the block table.
const ENTRIES: Axis = Axis { symbol: AttentionSpec::ENTRIES, extent: Extent::TableEntries };

impl AttentionSpec {
    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        self.signature_of(BATCH)
    }

    /// The arguments of a kernel with a row of q and o for each of `rows`.
    pub(crate) fn signature_of(&self, rows: Axis) -> Signature {
        let element = self.dtype.into();
        let read = |name, element, role, shape: &[Axis]| {
            buffer(name, element, Access::ReadOnly, role, shape)
        };
        let arguments: Vec<Argument> = vec![
            input("q", element, &self.rows(rows)),
            read("k_cache", element, Role::Cache, &self.cache_shape()),
            read("v_cache", element, Role::Cache, &self.cache_shape()),
            Argument { name: AttentionSpec::ENTRIES, kind: ArgumentKind::Scalar(ScalarType::I32) },
            read("block_table", Element::I32, Role::BlockTable, &[BATCH, ENTRIES]),
            read(AttentionSpec::CONTEXTS, Element::I32, Role::Contexts, &[BATCH]),
            output("o", element, &self.rows(rows)),
            scale(),
        ];
        Signature { arguments }
    }

    /// The shape of q and o, a row of `rows` each.
    fn rows(&self, rows: Axis) -> [Axis; 3] {
        [rows, fixed("HQ", self.query_heads), fixed("D", self.head_dim)]
    }

    fn cache_shape(&self) -> [Axis; 4] {
        let tokens = fixed("block_size", self.block_size);
        let (heads, channels) = (fixed("HKV", self.key_heads), fixed("D", self.head_dim));
        match self.cache_layout {
            CacheLayout::TokenFirst => [BLOCKS, tokens, heads, channels],
            CacheLayout::HeadFirst => [BLOCKS, heads, tokens, channels],
        }
    }
}
