//! The grammar of argument values: `KIND:…`, or the name of a file.

use std::path::PathBuf;

use crate::emulate::element::Element;
use crate::emulate::tensor::{self, Tensor, TensorError};

/// What the help of `--arg` says; `docs/emulate.md` has the same, with examples.
pub const GRAMMAR: &str = "\
Values of arguments:
  TYPE:NUMBER               a number by value; integers also as 0x…
  bytes:HEX                 these bytes by value
  zeros:TYPE:COUNT          a buffer of zeros
  nan:TYPE:COUNT            a buffer of NaN, of a float type
  fill:TYPE:NUMBER:COUNT    a buffer of one number
  iota:TYPE:COUNT           a buffer of 0, 1, 2, …
  FILE.npy                  a buffer from an array of NumPy
  FILE.safetensors#TENSOR   a buffer from a tensor
  same:ARGUMENT             the buffer of another argument, of this launch or an earlier one
  same:N/ARGUMENT           the buffer of an argument of launch N, counted from 1
  null                      a null pointer
TYPE is one of i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64.

Several launches over the same memory, in order:
  emulate FILE.hsaco --kernel first  --grid 8 --block 64 --arg x=iota:f32:512 --arg y=nan:f32:512
              --then --kernel second --grid 1 --block 64 --arg in=same:y --arg sum=nan:f32:1
  emulate --launches FILE.toml
with FILE.toml: [[launch]] tables of object, kernel, grid, block, dynamic_lds, args, as docs/emulate.md
shows.";

/// What an argument is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes by value.
    Scalar(Vec<u8>),
    /// A pointer to a buffer of its own.
    Buffer(Contents),
    /// A pointer to the buffer of another argument, by its name or `N/NAME`.
    Same(String),
    /// A null pointer.
    Null,
}

/// What a buffer holds before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The same bytes in every element.
    Repeat {
        /// Type of the elements.
        element: Element,
        /// Bytes of one element.
        pattern: Vec<u8>,
        /// How many elements.
        count: u64,
    },
    /// 0, 1, 2, …
    Iota {
        /// Type of the elements.
        element: Element,
        /// How many elements.
        count: u64,
    },
    /// An array from a file.
    Tensor(Tensor),
}

impl Contents {
    /// The type of the elements.
    pub fn element(&self) -> Element {
        match self {
            Contents::Repeat { element, .. } | Contents::Iota { element, .. } => *element,
            Contents::Tensor(tensor) => tensor.element,
        }
    }

    /// The extent of each axis.
    pub fn shape(&self) -> Vec<u64> {
        match self {
            Contents::Repeat { count, .. } | Contents::Iota { count, .. } => vec![*count],
            Contents::Tensor(tensor) => tensor.shape.iter().map(|extent| *extent as u64).collect(),
        }
    }

    /// The bytes of the buffer.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Contents::Tensor(tensor) => tensor.bytes.len() as u64,
            Contents::Repeat { element, count, .. } | Contents::Iota { element, count } => {
                // `elements` refused products that overflow.
                count * element.size_bytes() as u64
            }
        }
    }

    /// The bytes of the elements from one number up to another.
    pub fn bytes(&self, from: u64, to: u64) -> Vec<u8> {
        match self {
            Contents::Repeat { pattern, .. } => {
                pattern.iter().copied().cycle().take((to - from) as usize * pattern.len()).collect()
            }
            Contents::Iota { element, .. } => {
                (from..to).flat_map(|i| element.integer(i.into()).unwrap_or_default()).collect()
            }
            Contents::Tensor(tensor) => {
                let size = tensor.element.size_bytes();
                tensor.bytes[from as usize * size..to as usize * size].to_vec()
            }
        }
    }
}

/// Why a text is no value.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// No form starts like this.
    #[error("'{got}' is no value{}; see the forms in emulate --help", did_you_mean(nearest))]
    UnknownForm {
        /// The text.
        got: String,
        /// The form that looks most like it.
        nearest: Option<&'static str>,
    },
    /// A form with too few or too many parts.
    #[error("'{got}' has not the parts of {form}")]
    Parts {
        /// The text.
        got: String,
        /// How the form goes.
        form: &'static str,
    },
    /// No such element type.
    #[error("'{got}' is no element type{}; there are {}", did_you_mean(nearest), names())]
    UnknownElement {
        /// The text.
        got: String,
        /// The type that looks most like it.
        nearest: Option<&'static str>,
    },
    /// A number that is none, or none of its type.
    #[error("{0}")]
    Number(String),
    /// A number of elements that no buffer can have.
    #[error("'{got}' is no number of elements{}", too_many(*.limit))]
    Count {
        /// The text.
        got: String,
        /// The largest number, where that is what is wrong.
        limit: Option<u64>,
    },
    /// Hexadecimal digits that are no bytes.
    #[error("'{got}' are no bytes: two hexadecimal digits each")]
    Hex {
        /// The text.
        got: String,
    },
    /// A safetensors file without the name of a tensor.
    #[error("'{got}' names no tensor: append #TENSOR")]
    NoTensor {
        /// The text.
        got: String,
    },
    /// A file that gives no array.
    #[error(transparent)]
    File(#[from] TensorError),
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(", did you mean `{nearest}`?"))
}

fn names() -> String {
    Element::names().collect::<Vec<_>>().join(", ")
}

fn too_many(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(": the limit is {limit}"))
}

/// Forms that start with a word and a colon, and how they go.
const FORMS: [(&str, &str); 7] = [
    ("bytes", "bytes:HEX"),
    ("zeros", "zeros:TYPE:COUNT"),
    ("nan", "nan:TYPE:COUNT"),
    ("fill", "fill:TYPE:NUMBER:COUNT"),
    ("iota", "iota:TYPE:COUNT"),
    ("same", "same:ARGUMENT"),
    ("null", "null"),
];

/// The value that a text means; files are read.
///
/// # Errors
/// [`ValueError`] says which part is wrong, with the nearest form or type.
pub fn parse(text: &str) -> Result<Value, ValueError> {
    let (head, rest) = text.split_once(':').unwrap_or((text, ""));
    if let Some((word, form)) = FORMS.iter().find(|(word, _)| *word == head) {
        return parse_form(text, word, form, rest);
    }
    if let Some(element) = Element::from_name(head) {
        return Ok(Value::Scalar(element.parse(rest).map_err(ValueError::Number)?));
    }
    parse_file(text, head)
}

fn parse_form(text: &str, word: &str, form: &'static str, rest: &str) -> Result<Value, ValueError> {
    let parts: Vec<&str> = rest.split(':').collect();
    Ok(match (word, parts.as_slice()) {
        ("null", [""]) => Value::Null,
        ("same", [name]) if !name.is_empty() => Value::Same((*name).to_owned()),
        ("bytes", [digits]) => Value::Scalar(hex(digits)?),
        ("zeros", [element, count]) => {
            let element = element_of(element)?;
            repeat(element, vec![0; element.size_bytes()], count)?
        }
        ("nan", [element, count]) => {
            let element = element_of(element)?;
            let nan = element.nan().ok_or_else(|| {
                ValueError::Number(format!("{} has no NaN; fill it with a number", element.name()))
            })?;
            repeat(element, nan, count)?
        }
        ("fill", [element, number, count]) => {
            let element = element_of(element)?;
            repeat(element, element.parse(number).map_err(ValueError::Number)?, count)?
        }
        ("iota", [element, count]) => iota(element_of(element)?, count)?,
        _ => return Err(ValueError::Parts { got: text.to_owned(), form }),
    })
}

/// The file that a value is read from, if it is.
pub fn file_of(text: &str) -> Option<PathBuf> {
    match text.rsplit_once(".safetensors#") {
        Some((stem, _)) => Some(PathBuf::from(format!("{stem}.safetensors"))),
        None => text.ends_with(".npy").then(|| PathBuf::from(text)),
    }
}

fn parse_file(text: &str, head: &str) -> Result<Value, ValueError> {
    if let Some((stem, tensor)) = text.rsplit_once(".safetensors#") {
        let path = PathBuf::from(format!("{stem}.safetensors"));
        let tensor = tensor::read_safetensors(&path, tensor)?;
        return Ok(Value::Buffer(Contents::Tensor(tensor)));
    }
    if text.ends_with(".safetensors") {
        return Err(ValueError::NoTensor { got: text.to_owned() });
    }
    if text.ends_with(".npy") {
        return Ok(Value::Buffer(Contents::Tensor(tensor::read_npy(&PathBuf::from(text))?)));
    }
    let forms = FORMS.iter().map(|(word, _)| *word);
    Err(ValueError::UnknownForm {
        got: text.to_owned(),
        nearest: nearest(head, forms.chain(Element::names())),
    })
}

fn repeat(element: Element, pattern: Vec<u8>, count: &str) -> Result<Value, ValueError> {
    let count = elements(element, count)?;
    Ok(Value::Buffer(Contents::Repeat { element, pattern, count }))
}

fn iota(element: Element, text: &str) -> Result<Value, ValueError> {
    let count = elements(element, text)?;
    let last = i128::from(count) - 1;
    if count > 0 && element.integer(last).is_none() {
        let why = format!("iota up to {last} is outside {}; take a wider type", element.name());
        return Err(ValueError::Number(why));
    }
    Ok(Value::Buffer(Contents::Iota { element, count }))
}

fn element_of(name: &str) -> Result<Element, ValueError> {
    Element::from_name(name).ok_or_else(|| ValueError::UnknownElement {
        got: name.to_owned(),
        nearest: nearest(name, Element::names()),
    })
}

/// A number of elements whose bytes can be counted.
fn elements(element: Element, text: &str) -> Result<u64, ValueError> {
    let wrong = |limit| ValueError::Count { got: text.to_owned(), limit };
    let count: u64 = text.parse().map_err(|_| wrong(None))?;
    let limit = isize::MAX as u64 / element.size_bytes() as u64;
    if count > limit { Err(wrong(Some(limit))) } else { Ok(count) }
}

fn hex(digits: &str) -> Result<Vec<u8>, ValueError> {
    let wrong = || ValueError::Hex { got: digits.to_owned() };
    let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
    if pairs.is_empty() || !odd.is_empty() {
        return Err(wrong());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = pairs.iter().map(|[high, low]| {
        let value = digit(*high)? * 16 + digit(*low)?;
        u8::try_from(value).ok()
    });
    bytes.collect::<Option<_>>().ok_or_else(wrong)
}

/// The known word that looks most like `got`, if one does. By edits, not by `specs::suggest`'s
/// similarity, which takes two swapped digits of a word as short as `f32` for another word.
fn nearest(got: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let scored = known.map(|word| (strsim::damerau_levenshtein(got, word), word));
    let (distance, word) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= 2 && distance < word.len()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_understood() {
        assert_eq!(parse("i32:-1").unwrap(), Value::Scalar(vec![0xff; 4]));
        assert_eq!(parse("bytes:00fF").unwrap(), Value::Scalar(vec![0, 0xff]));
        assert_eq!(parse("null").unwrap(), Value::Null);
        assert_eq!(parse("same:x").unwrap(), Value::Same("x".to_owned()));
        let contents = |text: &str| match parse(text).unwrap() {
            Value::Buffer(contents) => contents,
            other => panic!("{text}: {other:?}"),
        };
        let iota = contents("iota:u16:300");
        assert_eq!(iota.size_bytes(), 600);
        assert_eq!(iota.bytes(255, 257), [255, 0, 0, 1]);
        assert_eq!(contents("fill:i16:7:5").bytes(1, 3), [7, 0, 7, 0]);
        assert_eq!(contents("zeros:f64:0").size_bytes(), 0);
        assert_eq!(contents("nan:f32:2").bytes(0, 1), f32::NAN.to_le_bytes());
    }

    #[test]
    fn what_is_no_value_is_explained() {
        let cases = [
            ("zero:f32:4", "did you mean `zeros`"),
            ("f33:1", "did you mean `f32`"),
            ("5", "'5' is no value; see the forms"),
            ("zeros:f32", "zeros:TYPE:COUNT"),
            ("zeros:f32:4:4", "zeros:TYPE:COUNT"),
            ("zeros:float32:4", "'float32' is no element type"),
            ("zeros:f23:4", "did you mean `f32`"),
            ("nan:i32:4", "i32 has no NaN"),
            ("iota:u8:257", "256 is outside u8"),
            ("fill:u8:256:1", "256 is outside u8"),
            ("zeros:f32:-1", "'-1' is no number of elements"),
            ("zeros:f64:18446744073709551615", "the limit is"),
            ("bytes:0", "two hexadecimal digits"),
            ("bytes:", "two hexadecimal digits"),
            ("bytes:0g", "two hexadecimal digits"),
            ("bytes:ä", "two hexadecimal digits"),
            ("same:", "same:ARGUMENT"),
            ("null:0", "parts of null"),
            ("i32:", "'' is no i32 number"),
            ("a.safetensors", "append #TENSOR"),
            ("no/such.npy", "no/such.npy"),
            ("", "is no value"),
        ];
        for (text, word) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: no '{word}' in: {error}");
        }
    }
}
