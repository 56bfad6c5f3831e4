//! Why a tensor file is no problem of a spec.

use std::path::PathBuf;

use crate::files::FileError;

/// Why a file is no problem of a spec.
#[derive(Debug, thiserror::Error)]
pub enum TensorFileError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not in the safetensors format.
    #[error("{} is not a safetensors file: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the format's reader says.
        problem: String,
    },
    /// What the file says of itself is of another problem.
    #[error("{}: metadata '{key}' {problem}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// Its key.
        key: &'static str,
        /// What was found and what was expected.
        problem: String,
    },
    /// A tensor is missing, superfluous, or not what the spec fixes.
    #[error("{}: tensor '{tensor}' {problem}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// Its name in the file or in the kernel.
        tensor: String,
        /// What was found and what was expected.
        problem: String,
    },
}
