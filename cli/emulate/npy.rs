//! Arrays in NumPy's .npy format, versions 1 to 3, as its documentation (`numpy.lib.format`) says.
//!
//! Read and written here because the crates for it bring a parser generator and big integers for a
//! header of three fixed keys, and want the element type at compile time.

use crate::emulate::element::Element;
use crate::emulate::tensor::Tensor;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Headers end where a multiple of this begins.
const ALIGN_BYTES: usize = 64;

/// Why bytes are no array that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// The magic string is missing.
    #[error("not a .npy file: it does not start with \\x93NUMPY")]
    Magic,
    /// A version of the format that does not exist yet.
    #[error(".npy format version {got}, known are 1 to 3")]
    Version {
        /// The major version.
        got: u8,
    },
    /// The header ends before it should or lacks a key.
    #[error(".npy header: {problem}")]
    Header {
        /// What is wrong.
        problem: String,
    },
    /// An element type that no buffer can have.
    #[error("dtype '{got}' cannot be used; write the array as one of {known} first, little-endian")]
    Dtype {
        /// The array's `descr`.
        got: String,
        /// What can be used.
        known: String,
    },
    /// Column-major order.
    #[error("the array is in Fortran order; save numpy.ascontiguousarray of it")]
    FortranOrder,
    /// Too few or too many bytes of data.
    #[error("{got} bytes of data, the shape {shape:?} of {element} needs {expected}")]
    Length {
        /// Bytes that are there.
        got: usize,
        /// Bytes that should be.
        expected: u128,
        /// The array's shape.
        shape: Vec<usize>,
        /// The array's element type.
        element: &'static str,
    },
}

/// Reads an array in row-major order.
///
/// # Errors
/// [`NpyError`] says what is wrong with the bytes.
pub fn read(bytes: &[u8]) -> Result<Tensor, NpyError> {
    let (header, data) = split(bytes)?;
    let element = element(value_of(header, "descr")?)?;
    match value_of(header, "fortran_order")? {
        rest if rest.starts_with("False") => {}
        rest if rest.starts_with("True") => return Err(NpyError::FortranOrder),
        _ => return Err(header_problem("fortran_order is neither True nor False")),
    }
    let shape = shape(value_of(header, "shape")?)?;
    let expected = shape
        .iter()
        .try_fold(element.size_bytes() as u128, |product, extent| {
            product.checked_mul(*extent as u128)
        })
        .ok_or_else(|| header_problem("the shape has more elements than memory can hold"))?;
    if data.len() as u128 != expected {
        let (got, element) = (data.len(), element.name());
        return Err(NpyError::Length { got, expected, shape, element });
    }
    Ok(Tensor { element, shape, bytes: data.to_vec() })
}

/// The bytes of a .npy file, version 1.
pub fn write(tensor: &Tensor) -> Vec<u8> {
    let extents: String = tensor.shape.iter().map(|extent| format!("{extent}, ")).collect();
    // A tuple of one has its comma, longer ones do without the last.
    let extents =
        if tensor.shape.len() > 1 { extents.trim_end_matches(", ") } else { extents.trim_end() };
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({extents}), }}",
        tensor.element.npy()
    );
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(ALIGN_BYTES) - before - 1;
    header.push_str(&" ".repeat(padded - header.len()));
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a shape that was read or given has few axes");
    let mut bytes = [MAGIC.as_slice(), &[1, 0], &length.to_le_bytes()].concat();
    bytes.extend(header.as_bytes());
    bytes.extend(&tensor.bytes);
    bytes
}

fn header_problem(problem: &str) -> NpyError {
    NpyError::Header { problem: problem.to_owned() }
}

/// Header text and data.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), NpyError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
    let short = || header_problem("the file ends within it");
    let (version, rest) = rest.split_at_checked(2).ok_or_else(short)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(size, rest)| (u16::from_le_bytes(*size).into(), rest)),
        2 | 3 => rest.split_first_chunk().map(|(size, rest)| (u32::from_le_bytes(*size), rest)),
        got => return Err(NpyError::Version { got }),
    }
    .ok_or_else(short)?;
    let length = usize::try_from(length).map_err(|_| short())?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|_| header_problem("it is not text"))?;
    Ok((header, data))
}

/// What follows a key and its colon.
fn value_of<'h>(header: &'h str, key: &str) -> Result<&'h str, NpyError> {
    let quoted = ['\'', '"'].map(|quote| format!("{quote}{key}{quote}"));
    let times: usize = quoted.iter().map(|quoted| header.matches(quoted.as_str()).count()).sum();
    if times > 1 {
        return Err(header_problem(&format!("key '{key}' stands there {times} times")));
    }
    let after = quoted.iter().find_map(|quoted| header.split_once(quoted.as_str()));
    let value = after.and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| header_problem(&format!("key '{key}' is missing")))
}

fn element(value: &str) -> Result<Element, NpyError> {
    let quote = value.chars().next().filter(|quote| ['\'', '"'].contains(quote));
    let descr = quote.and_then(|quote| value[1..].split_once(quote)).map(|(descr, _)| descr);
    let got = descr.unwrap_or("a structure");
    Element::from_npy(got).ok_or_else(|| NpyError::Dtype {
        got: got.to_owned(),
        known: Element::names().collect::<Vec<_>>().join(", "),
    })
}

fn shape(value: &str) -> Result<Vec<usize>, NpyError> {
    let inside = value.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (extents, _) = inside.ok_or_else(|| header_problem("shape is no tuple"))?;
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    extents
        .map(|extent| {
            extent
                .parse()
                .map_err(|_| header_problem(&format!("'{extent}' is no extent of a shape")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC.as_slice(), &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn what_is_written_is_read_and_aligned() {
        for shape in [vec![], vec![3], vec![2, 0, 5], vec![2, 3, 4]] {
            let n_bytes = 2 * shape.iter().product::<usize>();
            let bytes = (0..n_bytes).map(|byte| byte as u8).collect();
            let tensor = Tensor { element: Element::Bf16, shape, bytes };
            let written = write(&tensor);
            assert_eq!((written.len() - n_bytes) % ALIGN_BYTES, 0);
            assert_eq!(read(&written), Ok(tensor));
        }
    }

    #[test]
    fn a_file_of_numpy_is_read() {
        // numpy.save of numpy.array([1, 2], dtype="<i4"), which pads to 128 bytes.
        let mut header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }".to_owned();
        header.push_str(&" ".repeat(117 - header.len()));
        header.push('\n');
        let tensor = read(&file(&header, &[1, 0, 0, 0, 2, 0, 0, 0])).unwrap();
        assert_eq!((tensor.element, tensor.shape), (Element::I32, vec![2]));
        assert_eq!(write(&read(&file(&header, &[0; 8])).unwrap())[..10], file(&header, &[])[..10]);
    }

    #[test]
    fn what_is_no_usable_array_is_refused() {
        let refused = |bytes: &[u8], word: &str| {
            let error = read(bytes).unwrap_err().to_string();
            assert!(error.contains(word), "no '{word}' in: {error}");
        };
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        refused(b"PK\x03\x04", "\\x93NUMPY");
        refused(b"\x93NUMPY\x09\x00", "version 9");
        refused(b"\x93NUMPY\x01", "ends within");
        refused(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "ends within");
        refused(&file(good, &[0; 7]), "7 bytes of data, the shape [2] of f32 needs 8");
        refused(&file(&good.replace("False", "True"), &[0; 8]), "ascontiguousarray");
        refused(&file(&good.replace("<f4", ">f4"), &[0; 8]), "little-endian");
        refused(&file(&good.replace("'<f4'", "[('a', '<f4')]"), &[0; 8]), "a structure");
        refused(&file(&good.replace("shape", "shade"), &[0; 8]), "key 'shape' is missing");
        let twice = good.replace("(2,)", "(2,), \"shape\": (1,)");
        refused(&file(&twice, &[0; 8]), "key 'shape' stands there 2 times");
        refused(&file(&good.replace("(2,)", "(-2,)"), &[0; 8]), "'-2' is no extent");
        let huge = good.replace("(2,)", &format!("({0}, {0}, {0})", usize::MAX));
        refused(&file(&huge, &[0; 8]), "more elements than memory");
    }
}
