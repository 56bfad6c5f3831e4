//! Problems from `.safetensors` files: inputs by the names of kernel arguments or by the names that
//! flash-linear-attention uses, problem sizes from their shapes, expected results under `expected.*`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use oracle::tensors::Tensors;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use specs::signature::{Access, BufferArgument, Extent, Role};
use specs::{DecodeStepSpec, Element, Spec, StateLayout};

use crate::files::{self, FileError};

/// Largest tensor file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Argument → other names under which a file may hold it. [`Known::KFirst`] says that the
/// convention of that name fixes the orientation of the state, whatever the spec's is.
const ALIASES: &[(&str, &str, Known)] = &[
    ("state", "h0", Known::KFirst),
    ("next_state", "ht", Known::KFirst),
    ("a_log", "A_log", Known::AsSpec),
];

/// Orientation of a state under a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// As the spec says.
    AsSpec,
    /// [.., K, V] always.
    KFirst,
}

/// A problem out of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileProblem {
    /// Problem parameters that follow from the file, as `key=value`.
    pub assignments: Vec<String>,
    /// Inputs under the names of the kernel's arguments.
    pub tensors: Tensors,
    /// Expected results under the names of the kernel's arguments.
    pub expected: BTreeMap<String, Vec<f64>>,
}

/// Expected results by argument, and the names of the tensors that hold them.
type Expected = (BTreeMap<String, Vec<f64>>, Vec<String>);

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

/// Reads the problem of a spec out of a file.
///
/// # Errors
/// [`TensorFileError`] names the file, the tensor and what is wrong with it.
pub fn read(path: &Path, spec: &Spec) -> Result<FileProblem, TensorFileError> {
    let bytes = files::read(path, "a tensor file", MAX_FILE_BYTES)?;
    let format = |problem: safetensors::SafeTensorError| TensorFileError::Format {
        path: path.to_owned(),
        problem: problem.to_string(),
    };
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(format)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let file = SafeTensors::deserialize(&bytes).map_err(format)?;
    let reader = Reader { path, spec, file, sizes: BTreeMap::new() };
    reader.refuse_other_problems(&metadata)?;
    reader.problem(metadata.get("scale").cloned())
}

struct Reader<'a> {
    path: &'a Path,
    spec: &'a Spec,
    file: SafeTensors<'a>,
    /// Problem parameter → value and the tensor that fixed it.
    sizes: BTreeMap<&'static str, (usize, String)>,
}

impl Reader<'_> {
    fn problem(mut self, scale: Option<String>) -> Result<FileProblem, TensorFileError> {
        let signature = self.spec.signature();
        let mut tensors = Tensors::new();
        let mut used = Vec::new();
        let inputs = signature.buffers().filter(|(_, buffer)| buffer.access != Access::WriteOnly);
        for (argument, buffer) in inputs {
            let (name, convention) = self.find(argument, "")?;
            tensors.insert(argument.to_owned(), self.input(&name, convention, buffer)?);
            used.push(name);
        }
        let (expected, compared) = self.expected()?;
        used.extend(compared);
        if let Some(name) = self.file.names().iter().find(|name| !used.iter().any(|u| u == *name)) {
            return Err(self.unused(name));
        }
        let mut assignments: Vec<String> =
            self.sizes.iter().map(|(key, (value, _))| format!("{key}={value}")).collect();
        if self.spec.problem_parameters().contains(&"scale") {
            assignments.extend(scale.map(|scale| format!("scale={}", scale.trim_matches('"'))));
        }
        Ok(FileProblem { assignments, tensors, expected })
    }

    /// A tensor that would be silently ignored.
    fn unused(&self, name: &str) -> TensorFileError {
        let signature = self.spec.signature();
        let (section, outputs) = match name.strip_prefix("expected.") {
            Some(_) => ("output", true),
            None => ("input", false),
        };
        let is_listed =
            |access| if outputs { access != Access::ReadOnly } else { access != Access::WriteOnly };
        let names: Vec<_> = signature
            .buffers()
            .filter(|(_, b)| is_listed(b.access))
            .map(|(name, _)| name)
            .collect();
        let (kernel, names) = (self.spec.name(), names.join(", "));
        let problem =
            format!("is no {section} of {kernel}, or there under two names; it has {names}");
        self.wrong(name, problem)
    }

    /// Metadata that says the file is of another model or of many tokens.
    fn refuse_other_problems(
        &self,
        metadata: &HashMap<String, String>,
    ) -> Result<(), TensorFileError> {
        let said = |key: &str| metadata.get(key).map(|value| value.trim_matches('"'));
        match (said("kind"), said("cu_seqlens")) {
            (Some(kind), _) if kind != self.spec.family() => {
                let family = self.spec.family();
                Err(self.wrong(
                    "metadata 'kind'",
                    format!("is '{kind}', the spec's family is '{family}'"),
                ))
            }
            (_, Some(offsets)) if offsets != "null" => {
                let problem =
                    format!("is {offsets}: a step kernel takes one token of each sequence");
                Err(self.wrong("metadata 'cu_seqlens'", problem))
            }
            _ => Ok(()),
        }
    }

    /// The name under which the file holds an argument, with the prefix of its section.
    fn find(&self, argument: &str, section: &str) -> Result<(String, Known), TensorFileError> {
        let names = self.file.names();
        let own = format!("{section}{argument}");
        if names.contains(&own.as_str()) {
            return Ok((own, Known::AsSpec));
        }
        let alias = ALIASES.iter().find(|(of, alias, _)| {
            *of == argument && names.contains(&format!("{section}{alias}").as_str())
        });
        match alias {
            Some((_, alias, known)) => Ok((format!("{section}{alias}"), *known)),
            None => Err(self.wrong(&own, format!("is missing: {} takes it", self.spec.name()))),
        }
    }

    /// The bytes of an input in the spec's own layout.
    fn input(
        &mut self,
        name: &str,
        known: Known,
        buffer: &BufferArgument,
    ) -> Result<Vec<u8>, TensorFileError> {
        let view = self.view(name)?;
        let (got, want) = (view.dtype(), dtype(buffer.element));
        if got != want {
            return Err(self.wrong(name, format!("is {got:?}; the spec's type here is {want:?}")));
        }
        let dims = self.without_token_axis(name, view.shape(), buffer.shape.len())?;
        let bytes = view.data().to_vec();
        let oriented = self.file_axes(known, buffer);
        self.check_dims(name, &dims, &oriented)?;
        Ok(match self.transposed_state(known, buffer) {
            Some((k, v)) => transpose(&bytes, buffer.element.size_bytes() as usize, k, v),
            None => bytes,
        })
    }

    fn expected(&mut self) -> Result<Expected, TensorFileError> {
        let (mut expected, mut names) = (BTreeMap::new(), Vec::new());
        let signature = self.spec.signature();
        let outputs = signature.buffers().filter(|(_, buffer)| buffer.access != Access::ReadOnly);
        for (argument, buffer) in outputs {
            let Ok((name, known)) = self.find(argument, "expected.") else { continue };
            let view = self.view(&name)?;
            let dims = self.without_token_axis(&name, view.shape(), buffer.shape.len())?;
            let values = floats(&view).ok_or_else(|| {
                self.wrong(&name, format!("is {:?}; expected values are floats", view.dtype()))
            })?;
            let oriented = self.file_axes(known, buffer);
            self.check_dims(&name, &dims, &oriented)?;
            let values = match self.transposed_state(known, buffer) {
                Some((k, v)) => transpose(&values, 1, k, v),
                None => values,
            };
            expected.insert(argument.to_owned(), values);
            names.push(name);
        }
        Ok((expected, names))
    }

    fn view(&self, name: &str) -> Result<TensorView<'_>, TensorFileError> {
        self.file.tensor(name).map_err(|error| self.wrong(name, error.to_string()))
    }

    /// Files of token sequences have an axis T behind the batch; a step takes one token.
    fn without_token_axis(
        &self,
        name: &str,
        dims: &[usize],
        axes: usize,
    ) -> Result<Vec<usize>, TensorFileError> {
        match dims {
            [batch, 1, rest @ ..] if dims.len() == axes + 1 => Ok([&[*batch], rest].concat()),
            [_, tokens, ..] if dims.len() == axes + 1 => {
                Err(self.wrong(name, format!("has {tokens} tokens; a step kernel takes 1")))
            }
            _ => Ok(dims.to_vec()),
        }
    }

    /// The axes as the file orders them.
    fn file_axes(&self, known: Known, buffer: &BufferArgument) -> Vec<specs::signature::Axis> {
        let mut axes = buffer.shape.clone();
        if self.transposed_state(known, buffer).is_some() {
            let last = axes.len() - 1;
            axes.swap(last - 1, last);
        }
        axes
    }

    /// K and V when a state must be transposed from [.., K, V] to the spec's [.., V, K].
    fn transposed_state(&self, known: Known, buffer: &BufferArgument) -> Option<(usize, usize)> {
        let Spec::DecodeStep(DecodeStepSpec { state_layout, head_k, head_v, .. }) = self.spec
        else {
            return None;
        };
        let is_state = matches!(buffer.role, Role::State | Role::NextState);
        let turned = known == Known::KFirst && *state_layout == StateLayout::VFirst;
        (is_state && turned).then_some((*head_k as usize, *head_v as usize))
    }

    fn check_dims(
        &mut self,
        name: &str,
        dims: &[usize],
        axes: &[specs::signature::Axis],
    ) -> Result<(), TensorFileError> {
        let symbols: Vec<_> = axes.iter().map(|axis| axis.symbol).collect();
        let shape = symbols.join(", ");
        if dims.len() != axes.len() {
            return Err(self.wrong(name, format!("has shape {dims:?}; the kernel takes [{shape}]")));
        }
        for (&dim, axis) in dims.iter().zip(axes) {
            let want = match axis.extent {
                Extent::Fixed(extent) => Some((extent as usize, "the spec".to_owned())),
                Extent::Batch => self.sizes.get("batch").cloned(),
                Extent::PoolSlots => self.sizes.get("pool_slots").cloned(),
            };
            match (want, axis.extent) {
                (Some((want, by)), _) if want != dim => {
                    let problem = format!(
                        "has shape {dims:?} for [{shape}]: {} is {dim}, {by} says {want}",
                        axis.symbol
                    );
                    return Err(self.wrong(name, problem));
                }
                (None, Extent::Batch) => {
                    self.sizes.insert("batch", (dim, name.to_owned()));
                }
                (None, Extent::PoolSlots) => {
                    self.sizes.insert("pool_slots", (dim, name.to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn wrong(&self, tensor: &str, problem: String) -> TensorFileError {
        TensorFileError::Tensor { path: self.path.to_owned(), tensor: tensor.to_owned(), problem }
    }
}

fn dtype(element: Element) -> Dtype {
    match element {
        Element::F32 => Dtype::F32,
        Element::Bf16 => Dtype::BF16,
        Element::F16 => Dtype::F16,
        Element::I32 => Dtype::I32,
    }
}

/// Every value of a float tensor, exactly.
fn floats(view: &TensorView<'_>) -> Option<Vec<f64>> {
    let data = view.data();
    let halves = || data.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
    Some(match view.dtype() {
        Dtype::F64 => {
            data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
        }
        Dtype::F32 => {
            data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect()
        }
        Dtype::BF16 => halves().map(|bits| bf16::from_bits(bits).to_f64()).collect(),
        Dtype::F16 => halves().map(|bits| f16::from_bits(bits).to_f64()).collect(),
        _ => return None,
    })
}

/// Turns every [K, V] matrix into [V, K]; an element is `unit` items.
fn transpose<T: Copy>(items: &[T], unit: usize, k: usize, v: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(items.len());
    for matrix in items.chunks_exact(k * v * unit) {
        for column in 0..v {
            for row in 0..k {
                let at = (row * v + column) * unit;
                out.extend_from_slice(&matrix[at..at + unit]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::transpose;

    #[test]
    fn matrices_are_transposed_each_by_itself() {
        let two = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16];
        assert_eq!(transpose(&two, 1, 2, 3), [1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16]);
        assert_eq!(transpose(&[1, 2, 3, 4], 2, 1, 2), [1, 2, 3, 4]);
    }
}
