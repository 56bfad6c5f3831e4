//! Prefill spec files, read by their field tables.

use super::{ChunkKernel, ChunkSpec, fields};
use crate::spec_file::{UnreadableSpec, parse_with};

/// Reads a prefill spec from a file's text; `file` names it in errors.
///
/// # Errors
/// Everything that keeps the text from being read, not only the first thing.
pub fn parse_chunk_spec(file: &str, text: &str) -> Result<ChunkSpec, UnreadableSpec> {
    parse_with(file, text, |reader| {
        reader.read(fields::HEADER);
        reader.settings().count("schema")?;
        reader.settings().name("kind")?;
        let Some(kernel) = reader.settings().choice::<ChunkKernel>("kernel") else {
            reader.refuse_unknown_keys(&[fields::FUSED]);
            return None;
        };
        reader.read(kernel.fields());
        reader.refuse_unknown_keys(&[kernel.fields()]);
        ChunkSpec::from_settings(kernel, reader.settings())
    })
}
