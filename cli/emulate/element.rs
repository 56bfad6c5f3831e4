//! Element types of scalars and buffers: their names, bytes and spellings in files.

use half::{bf16, f16};
use safetensors::Dtype;

/// A type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the type of that name")]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// One line a type: its name here, its bytes, its `descr` in a .npy file, its type in safetensors.
/// NumPy has no bf16: such an array is one of two raw bytes an element.
const TABLE: [(Element, &str, usize, &str, Dtype); 12] = [
    (Element::I8, "i8", 1, "|i1", Dtype::I8),
    (Element::U8, "u8", 1, "|u1", Dtype::U8),
    (Element::I16, "i16", 2, "<i2", Dtype::I16),
    (Element::U16, "u16", 2, "<u2", Dtype::U16),
    (Element::I32, "i32", 4, "<i4", Dtype::I32),
    (Element::U32, "u32", 4, "<u4", Dtype::U32),
    (Element::I64, "i64", 8, "<i8", Dtype::I64),
    (Element::U64, "u64", 8, "<u8", Dtype::U64),
    (Element::F16, "f16", 2, "<f2", Dtype::F16),
    (Element::Bf16, "bf16", 2, "|V2", Dtype::BF16),
    (Element::F32, "f32", 4, "<f4", Dtype::F32),
    (Element::F64, "f64", 8, "<f8", Dtype::F64),
];

impl Element {
    /// Every name, in the order of listings.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|(_, name, ..)| *name)
    }

    /// The type of a name.
    pub fn from_name(name: &str) -> Option<Element> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The type that a .npy file calls `descr`; little-endian two-byte voids are bf16.
    pub fn from_npy(descr: &str) -> Option<Element> {
        let descr = if descr == "<V2" { "|V2" } else { descr };
        TABLE.iter().find(|row| row.3 == descr).map(|row| row.0)
    }

    /// The type that safetensors calls `dtype`.
    pub fn from_safetensors(dtype: Dtype) -> Option<Element> {
        TABLE.iter().find(|row| row.4 == dtype).map(|row| row.0)
    }

    fn row(self) -> &'static (Element, &'static str, usize, &'static str, Dtype) {
        // The table is in the order of the variants; a test holds it to that.
        &TABLE[self as usize]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of an element.
    pub fn size_bytes(self) -> usize {
        self.row().2
    }

    /// Its spelling in a .npy file.
    pub fn npy(self) -> &'static str {
        self.row().3
    }

    /// Its spelling in safetensors.
    pub fn safetensors(self) -> Dtype {
        self.row().4
    }

    /// The little-endian bytes of a number: decimal, hexadecimal after `0x` for integers, `nan` and `inf`
    /// for floats, which are rounded to nearest even.
    ///
    /// # Errors
    /// What is wrong, in words: not a number, or outside the type.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        match self {
            Element::F16 | Element::Bf16 | Element::F32 | Element::F64 => self.parse_float(text),
            _ => {
                let value = integer(text)
                    .ok_or_else(|| format!("'{text}' is no {} number", self.name()))?;
                self.integer(value).ok_or_else(|| format!("{value} is outside {}", self.name()))
            }
        }
    }

    fn parse_float(self, text: &str) -> Result<Vec<u8>, String> {
        let wrong = |_| format!("'{text}' is no {} number", self.name());
        // Straight to the type where that is possible: through f64, f32 would be rounded twice.
        if self == Element::F32 {
            return Ok(text.parse::<f32>().map_err(wrong)?.to_le_bytes().to_vec());
        }
        Ok(self.float(text.parse::<f64>().map_err(wrong)?))
    }

    /// The bytes of an integer in this type, if the type has it; float types round it.
    pub fn integer(self, value: i128) -> Option<Vec<u8>> {
        Some(match self {
            Element::I8 => i8::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::U8 => u8::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::I16 => i16::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::U16 => u16::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::I32 => i32::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::U32 => u32::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::I64 => i64::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::U64 => u64::try_from(value).ok()?.to_le_bytes().to_vec(),
            Element::F32 => (value as f32).to_le_bytes().to_vec(),
            Element::F16 | Element::Bf16 | Element::F64 => self.float(value as f64),
        })
    }

    /// The bytes of a quiet NaN; `None` for integer types.
    pub fn nan(self) -> Option<Vec<u8>> {
        self.is_float().then(|| self.float(f64::NAN))
    }

    fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    /// The bytes of a float in a float type.
    fn float(self, value: f64) -> Vec<u8> {
        match self {
            Element::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            Element::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            Element::F32 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        }
    }
}

fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    // The parsers below would take another sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = match digits.strip_prefix("0x") {
        Some(hexadecimal) if hexadecimal.starts_with(['+', '-']) => return None,
        Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_variants() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index);
            assert_eq!(row.0.parse("1").unwrap().len(), row.2, "{}", row.1);
            assert_eq!(Element::from_name(row.1), Some(row.0));
            assert_eq!(Element::from_npy(row.3), Some(row.0));
            assert_eq!(Element::from_safetensors(row.4), Some(row.0));
        }
    }

    #[test]
    fn numbers_are_parsed_into_their_type() {
        assert_eq!(Element::I32.parse("-2"), Ok(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!(Element::U8.parse("0xff"), Ok(vec![0xff]));
        assert_eq!(Element::F16.parse("1"), Ok(vec![0x00, 0x3c]));
        assert_eq!(Element::Bf16.parse("-1.5"), Ok(vec![0xc0, 0xbf]));
        assert_eq!(Element::F32.parse("inf"), Ok(f32::INFINITY.to_le_bytes().to_vec()));
        assert!(Element::U8.parse("256").unwrap_err().contains("outside u8"));
        assert!(Element::U32.parse("-1").unwrap_err().contains("outside u32"));
        for text in ["", "-", "+-1", "--1", "0x", "0x-1", "1.5", "one"] {
            assert!(Element::I64.parse(text).is_err(), "{text}");
        }
        assert!(Element::F32.parse("1,5").unwrap_err().contains("no f32 number"));
    }

    #[test]
    fn only_floats_have_nan() {
        assert_eq!(Element::F32.nan(), Some(f32::NAN.to_le_bytes().to_vec()));
        assert!(f16::from_le_bytes(Element::F16.nan().unwrap().try_into().unwrap()).is_nan());
        assert!(bf16::from_le_bytes(Element::Bf16.nan().unwrap().try_into().unwrap()).is_nan());
        assert_eq!(Element::I32.nan(), None);
    }
}
