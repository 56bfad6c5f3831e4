//! Tensors as bytes under the names of kernel arguments: what runtimes copy and files hold.

use std::collections::BTreeMap;

use specs::{Dtype, Element};

use crate::{OracleError, Stored};

/// Little-endian bytes of each tensor, by the name of the kernel argument.
pub type Tensors = BTreeMap<String, Vec<u8>>;

/// Bytes of `elements` poisoned elements: NaN where the type has it, else a value that no index,
/// size or slot can be. For outputs that a kernel must write whole, and for padding.
pub fn poison(element: Element, elements: usize) -> Vec<u8> {
    match element {
        Element::F32 => Stored::poison(Dtype::F32, elements).to_le_bytes(),
        Element::Bf16 => Stored::poison(Dtype::Bf16, elements).to_le_bytes(),
        Element::F16 => Stored::poison(Dtype::F16, elements).to_le_bytes(),
        Element::I32 => i32::MIN.to_le_bytes().repeat(elements),
    }
}

pub(crate) fn put(tensors: &mut Tensors, name: &str, bytes: Vec<u8>) {
    tensors.insert(name.to_owned(), bytes);
}

/// Takes typed tensors out of bytes.
pub(crate) struct Take<'a> {
    tensors: &'a Tensors,
}

impl<'a> Take<'a> {
    pub(crate) fn new(tensors: &'a Tensors) -> Take<'a> {
        Take { tensors }
    }

    fn bytes(&self, tensor: &'static str) -> Result<&'a [u8], OracleError> {
        let bytes = self.tensors.get(tensor).map(Vec::as_slice);
        bytes.ok_or(OracleError::Presence { tensor, problem: "is missing" })
    }

    pub(crate) fn floats(&self, tensor: &'static str, dtype: Dtype) -> Result<Stored, OracleError> {
        Stored::from_le_bytes(tensor, dtype, self.bytes(tensor)?)
    }

    pub(crate) fn f32s(&self, tensor: &'static str) -> Result<Vec<f32>, OracleError> {
        let stored = self.floats(tensor, Dtype::F32)?;
        Ok((0..stored.len()).map(|index| stored.f32_at(index)).collect())
    }

    pub(crate) fn i32s(&self, tensor: &'static str) -> Result<Vec<i32>, OracleError> {
        let bytes = self.bytes(tensor)?;
        match bytes.as_chunks::<4>() {
            (whole, []) => Ok(whole.iter().map(|&b| i32::from_le_bytes(b)).collect()),
            _ => Err(OracleError::Bytes { tensor, got: bytes.len(), unit: 4 }),
        }
    }
}
