//! Arrays of numbers from and to files.

use std::path::{Path, PathBuf};

use safetensors::{SafeTensors, tensor::TensorView};

use crate::emulate::element::Element;
use crate::emulate::npy::{self, NpyError};
use crate::files::{self, FileError};

/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Numbers in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Their type.
    pub element: Element,
    /// The extent of each axis.
    pub shape: Vec<usize>,
    /// Their little-endian bytes.
    pub bytes: Vec<u8>,
}

/// Why a file gives or takes no array.
#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no usable .npy file.
    #[error("{}: {source}", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: NpyError,
    },
    /// It is no usable safetensors file.
    #[error("{} is not a safetensors file: {source}", path.display())]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// What the format's reader or writer says.
        source: safetensors::SafeTensorError,
    },
    /// The file has no such tensor.
    #[error("{} has no tensor '{got}'; it has {available}", path.display())]
    UnknownTensor {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        got: String,
        /// The names there are.
        available: String,
    },
    /// The tensor's elements cannot be those of a buffer.
    #[error("{}: tensor '{tensor}' is {got:?}, usable are {known}", path.display())]
    Dtype {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its type.
        got: safetensors::Dtype,
        /// What can be used.
        known: String,
    },
}

/// Reads the array of a .npy file.
///
/// # Errors
/// [`TensorError`] names the file and what is wrong.
pub fn read_npy(path: &Path) -> Result<Tensor, TensorError> {
    let bytes = files::read(path, "an array", MAX_FILE_BYTES)?;
    npy::read(&bytes).map_err(|source| TensorError::Npy { path: path.to_owned(), source })
}

/// Reads one tensor of a safetensors file.
///
/// # Errors
/// [`TensorError`] names the file and what is wrong, or the tensors there are.
pub fn read_safetensors(path: &Path, name: &str) -> Result<Tensor, TensorError> {
    let bytes = files::read(path, "a tensor file", MAX_FILE_BYTES)?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|source| TensorError::Safetensors { path: path.to_owned(), source })?;
    let view = file.tensor(name).map_err(|_| {
        let mut available = file.names();
        available.sort_unstable();
        TensorError::UnknownTensor {
            path: path.to_owned(),
            got: name.to_owned(),
            available: available.join(", "),
        }
    })?;
    let element = Element::from_safetensors(view.dtype()).ok_or_else(|| TensorError::Dtype {
        path: path.to_owned(),
        tensor: name.to_owned(),
        got: view.dtype(),
        known: Element::names().collect::<Vec<_>>().join(", "),
    })?;
    Ok(Tensor { element, shape: view.shape().to_vec(), bytes: view.data().to_vec() })
}

/// The formats that buffers can be saved in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NumPy's.
    Npy,
    /// One tensor, under the argument's name.
    Safetensors,
    /// Only the bytes.
    Raw,
}

impl Format {
    /// The format that a file's name asks for.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "npy" => Some(Format::Npy),
            "safetensors" => Some(Format::Safetensors),
            "bin" => Some(Format::Raw),
            _ => None,
        }
    }
}

/// Writes an array to a file that is either whole or as it was.
///
/// # Errors
/// [`TensorError`] names the file and what is wrong.
pub fn save(path: &Path, format: Format, name: &str, tensor: &Tensor) -> Result<(), TensorError> {
    let bytes = match format {
        Format::Npy => npy::write(tensor),
        Format::Raw => tensor.bytes.clone(),
        Format::Safetensors => {
            let wrong = |source| TensorError::Safetensors { path: path.to_owned(), source };
            let dtype = tensor.element.safetensors();
            let view =
                TensorView::new(dtype, tensor.shape.clone(), &tensor.bytes).map_err(wrong)?;
            safetensors::serialize([(name, view)], None).map_err(wrong)?
        }
    };
    Ok(files::write(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_keeps_the_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = (0..24).collect();
        let tensor = Tensor { element: Element::F32, shape: vec![2, 3], bytes };
        let path = |name: &str| folder.path().join(name);
        for name in ["a.npy", "a.safetensors", "a.bin"] {
            save(&path(name), Format::of(&path(name)).unwrap(), "x", &tensor).unwrap();
        }
        assert_eq!(read_npy(&path("a.npy")).unwrap(), tensor);
        assert_eq!(read_safetensors(&path("a.safetensors"), "x").unwrap(), tensor);
        assert_eq!(std::fs::read(path("a.bin")).unwrap(), tensor.bytes);
        let error = read_safetensors(&path("a.safetensors"), "y").unwrap_err().to_string();
        assert!(error.contains("no tensor 'y'; it has x"), "{error}");
        assert_eq!(Format::of(&path("a.txt")), None);
    }
}
