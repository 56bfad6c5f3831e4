//! Code objects from files.

use std::path::Path;

use codeobj::{CodeObject, MAX_IMAGE_BYTES};

use crate::error::CliError;
use crate::files;

/// The bytes of a file and the code object they are.
///
/// # Errors
/// A file that cannot be read, or every reason why it is no code object.
pub fn read(path: &Path) -> Result<(Vec<u8>, CodeObject), CliError> {
    let bytes = files::read(path, "a code object", MAX_IMAGE_BYTES)?;
    let object = CodeObject::parse(&bytes)
        .map_err(|source| CliError::CodeObject { file: path.display().to_string(), source })?;
    Ok((bytes, object))
}
