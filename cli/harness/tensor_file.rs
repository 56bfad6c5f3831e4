//! Problems from `.safetensors` files: inputs by the names of kernel arguments or by the names that
//! flash-linear-attention uses, problem sizes from their shapes, expected results under `expected.*`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use oracle::tensors::Tensors;
use safetensors::{SafeTensors, tensor::TensorView};
use specs::signature::{Access, BufferArgument, Extent, Role};
use specs::{AttentionSpec, DecodeStepSpec, Job, Spec, StateLayout};

pub use super::tensor_error::TensorFileError;
use super::tensor_values::{dtype, floats, listed, transpose, whole_numbers};
use crate::files;

/// Largest tensor file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Argument → other names under which a file may hold it. [`Known::KFirst`] says that the
/// convention of that name fixes the orientation of the state, whatever the spec's is.
const ALIASES: &[(&str, &str, Known)] = &[
    ("state", "h0", Known::KFirst),
    ("next_state", "ht", Known::KFirst),
    ("h0", "state", Known::AsSpec),
    ("ht", "next_state", Known::AsSpec),
    ("a_log", "A_log", Known::AsSpec),
    ("beta", "beta_raw", Known::AsSpec),
];

/// Names that fix the orientation of the state, also where they are the argument's own.
const KFIRST_NAMES: [&str; 2] = ["h0", "ht"];

/// Expected tensors of files that no kernel writes: gates and stages of other implementations. They are told apart
/// from misspelled names.
const INTERMEDIATES: [&str; 8] = ["g", "Ainv", "Aqk", "gcum_log2", "h", "u", "v_new", "w"];

/// Where tokens of all sequences are kept among sizes.
const ALL_TOKENS: &str = "all tokens";

/// The tensor of the ends of packed sequences, N + 1 whole numbers of 32 or 64 bits.
const ENDS: &str = "cu_seqlens";

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
    /// Expected tensors that no kernel writes, so that nothing is compared with them.
    pub uncompared: Vec<String>,
}

/// Expected results by argument, and the names of the tensors that hold them.
type Expected = (BTreeMap<String, Vec<f64>>, Vec<String>);

/// Reads the problem of a spec out of a file.
///
/// # Errors
/// [`TensorFileError`] names the file, the tensor and what is wrong with it.
pub fn read(path: &Path, job: &Job) -> Result<FileProblem, TensorFileError> {
    let bytes = files::read(path, "a tensor file", MAX_FILE_BYTES)?;
    let format = |problem: safetensors::SafeTensorError| TensorFileError::Format {
        path: path.to_owned(),
        problem: problem.to_string(),
    };
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(format)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let file = SafeTensors::deserialize(&bytes).map_err(format)?;
    let (name, job) = (job.name(), &job.with_token_major_rows());
    let sizes = BTreeMap::new();
    let mut reader =
        Reader { path, name, job, lead: job.lead(), file, sizes, has_batch_axis: false };
    reader.has_batch_axis = reader.has_batch_axis()?;
    reader.refuse_other_problems(&metadata)?;
    reader.problem(metadata.get("scale").cloned())
}

/// Whether a tensor is made for the run and never in a file.
fn is_made(role: Role) -> bool {
    matches!(role, Role::Table | Role::Status)
}

struct Reader<'a> {
    path: &'a Path,
    /// The job's own name.
    name: String,
    /// The job with rows as files have them.
    job: &'a Job,
    /// The spec that says what a problem is.
    lead: Spec,
    file: SafeTensors<'a>,
    /// Problem parameter → value and the tensor that fixed it.
    sizes: BTreeMap<&'static str, (usize, String)>,
    /// Whether rows of tokens have the axis of the batch before them.
    has_batch_axis: bool,
}

impl Reader<'_> {
    fn problem(mut self, scale: Option<String>) -> Result<FileProblem, TensorFileError> {
        let signature = self.job.signature();
        let mut tensors = Tensors::new();
        let mut used = Vec::new();
        let lengths = self.lengths()?;
        used.extend(lengths.as_ref().map(|_| ENDS.to_owned()));
        let inputs = signature
            .buffers()
            .filter(|(_, buffer)| buffer.access != Access::WriteOnly && !is_made(buffer.role));
        for (argument, buffer) in inputs {
            let (name, convention) = self.find(argument, "")?;
            tensors.insert(argument.to_owned(), self.input(&name, convention, buffer)?);
            used.push(name);
        }
        let (expected, compared) = self.expected()?;
        used.extend(compared);
        let uncompared = self.intermediates();
        used.extend(uncompared.iter().cloned());
        if let Some(name) = self.file.names().iter().find(|name| !used.iter().any(|u| u == *name)) {
            return Err(self.unused(name));
        }
        let mut assignments: Vec<String> = match lengths {
            Some(lengths) => vec![self.packed(&lengths)?],
            None => self.sizes(),
        };
        if let Some(contexts) = tensors.get(AttentionSpec::CONTEXTS) {
            // A list says the batch too.
            assignments.retain(|assignment| !assignment.starts_with("batch="));
            assignments.push(format!("contexts={}", listed(contexts)));
        }
        if self.lead.problem_parameters().contains(&"scale") {
            assignments.extend(scale.map(|scale| format!("scale={}", scale.trim_matches('"'))));
        }
        Ok(FileProblem { assignments, tensors, expected, uncompared })
    }

    /// A tensor that would be silently ignored.
    fn unused(&self, name: &str) -> TensorFileError {
        let signature = self.job.signature();
        let (section, outputs) = match name.strip_prefix("expected.") {
            Some(_) => ("output", true),
            None => ("input", false),
        };
        let is_listed =
            |access| if outputs { access != Access::ReadOnly } else { access != Access::WriteOnly };
        let names: Vec<_> = signature
            .buffers()
            .filter(|(_, b)| is_listed(b.access) && !is_made(b.role))
            .map(|(name, _)| name)
            .collect();
        let (kernel, names) = (&self.name, names.join(", "));
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
            (Some(kind), _) if kind != self.lead.family() => {
                let family = self.lead.family();
                let problem = format!("is '{kind}', the spec's family is '{family}'");
                Err(self.wrong_metadata("kind", problem))
            }
            (_, Some(offsets)) if offsets != "null" && !self.is_prefill() => {
                let problem =
                    format!("is {offsets}: a step kernel takes one token of each sequence");
                Err(self.wrong_metadata("cu_seqlens", problem))
            }
            _ => Ok(()),
        }
    }

    /// The name under which the file holds an argument, with the prefix of its section.
    fn find(&self, argument: &str, section: &str) -> Result<(String, Known), TensorFileError> {
        let names = self.file.names();
        let own = format!("{section}{argument}");
        if names.contains(&own.as_str()) {
            let is_kfirst = KFIRST_NAMES.contains(&argument);
            return Ok((own, if is_kfirst { Known::KFirst } else { Known::AsSpec }));
        }
        let alias = ALIASES.iter().find(|(of, alias, _)| {
            *of == argument && names.contains(&format!("{section}{alias}").as_str())
        });
        match alias {
            Some((_, alias, known)) => Ok((format!("{section}{alias}"), *known)),
            None => Err(self.wrong(&own, format!("is missing: {} takes it", self.name))),
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
        let shape = view.shape().to_vec();
        let bytes = view.data().to_vec();
        let dims = self.kernel_dims(name, &shape, buffer)?;
        let oriented = self.file_axes(known, buffer);
        self.check_dims(name, &dims, &oriented)?;
        Ok(match self.transposed_state(known, buffer) {
            Some((k, v)) => transpose(&bytes, buffer.element.size_bytes() as usize, k, v),
            None => bytes,
        })
    }

    fn expected(&mut self) -> Result<Expected, TensorFileError> {
        let (mut expected, mut names) = (BTreeMap::new(), Vec::new());
        let signature = self.job.signature();
        let outputs = signature
            .buffers()
            .filter(|(_, buffer)| buffer.access != Access::ReadOnly && !is_made(buffer.role));
        for (argument, buffer) in outputs {
            let Ok((name, known)) = self.find(argument, "expected.") else { continue };
            let view = self.view(&name)?;
            let shape = view.shape().to_vec();
            let values = floats(&view).ok_or_else(|| {
                self.wrong(&name, format!("is {:?}; expected values are floats", view.dtype()))
            })?;
            let dims = self.kernel_dims(&name, &shape, buffer)?;
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

    /// Problem parameters that follow from shapes; tokens without a batch axis are one sequence.
    fn sizes(&self) -> Vec<String> {
        let mut sizes: BTreeMap<&str, usize> =
            self.sizes.iter().map(|(key, (value, _))| (*key, *value)).collect();
        if let Some(all) = sizes.remove(ALL_TOKENS) {
            sizes.entry("tokens").or_insert(all);
        }
        sizes.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    fn intermediates(&self) -> Vec<String> {
        let names = INTERMEDIATES.map(|name| format!("expected.{name}"));
        let there = names
            .into_iter()
            .filter(|name| self.is_prefill() && self.file.names().contains(&name.as_str()));
        there.collect()
    }

    fn is_prefill(&self) -> bool {
        matches!(
            self.lead,
            Spec::Chunk(_) | Spec::Recurrent(_) | Spec::ConvChunk(_) | Spec::AttentionChunk(_)
        )
    }

    /// The tokens of packed sequences, when the file packs them.
    fn lengths(&self) -> Result<Option<Vec<u32>>, TensorFileError> {
        if !self.is_prefill() || !self.file.names().contains(&ENDS) {
            return Ok(None);
        }
        let view = self.view(ENDS)?;
        let ends = whole_numbers(&view).ok_or_else(|| {
            self.wrong(ENDS, format!("is {:?}; it takes I32 or I64", view.dtype()))
        })?;
        if !self.lead.problem_parameters().contains(&"lengths") {
            return Err(self.wrong(ENDS, "needs a spec with varlen = true".to_owned()));
        }
        if ends.len() < 2 || ends[0] != 0 {
            let got = &ends[..ends.len().min(2)];
            let problem = format!("starts with {got:?}; it takes 0, then the end of each sequence");
            return Err(self.wrong(ENDS, problem));
        }
        let length = |pair: &[i64]| match u32::try_from(pair[1].saturating_sub(pair[0])) {
            Ok(length) => Ok(length),
            Err(_) => Err(self.wrong(
                ENDS,
                format!("has {} and then {}; ends do not decrease", pair[0], pair[1]),
            )),
        };
        ends.windows(2).map(length).collect::<Result<_, _>>().map(Some)
    }

    /// The lengths as an assignment, when they are those of the file's tokens.
    fn packed(&self, lengths: &[u32]) -> Result<String, TensorFileError> {
        let end: u64 = lengths.iter().copied().map(u64::from).sum();
        let tokens = self.sizes.get(ALL_TOKENS).map_or(0, |(tokens, _)| *tokens as u64);
        let batch = self.sizes.get("batch").map_or(1, |(batch, _)| *batch);
        if end != tokens || batch > 1 {
            let problem = format!(
                "ends at {end}; the tensors have {tokens} tokens in {batch} rows, which is to be as many in one"
            );
            return Err(self.wrong(ENDS, problem));
        }
        let words: Vec<_> = lengths.iter().map(u32::to_string).collect();
        Ok(format!("lengths={}", words.join(",")))
    }

    /// The first tensor of tokens says it: with heads of one, [5, 1] of another could be five tokens or five sequences.
    fn has_batch_axis(&self) -> Result<bool, TensorFileError> {
        let signature = self.job.signature();
        let is_rows = |buffer: &BufferArgument| {
            buffer.access != Access::WriteOnly
                && buffer.shape.first().is_some_and(|axis| axis.extent == Extent::Tokens)
        };
        let Some((argument, buffer)) = signature.buffers().find(|(_, buffer)| is_rows(buffer))
        else {
            return Ok(false);
        };
        let (name, _) = self.find(argument, "")?;
        Ok(self.view(&name)?.shape().len() > buffer.shape.len())
    }

    /// A tensor's axes as the kernel counts them. Prefill kernels take all tokens as one axis, files may have the
    /// batch before it, and may leave the axis of a head's only gate out.
    fn kernel_dims(
        &mut self,
        name: &str,
        dims: &[usize],
        buffer: &BufferArgument,
    ) -> Result<Vec<usize>, TensorFileError> {
        if !self.is_prefill() {
            return self.without_token_axis(name, dims, buffer.shape.len());
        }
        let mut dims = dims.to_vec();
        let has_unit = buffer.shape.last().is_some_and(|axis| axis.extent == Extent::Fixed(1));
        let of_tokens = buffer.shape[0].extent == Extent::Tokens;
        let has_batch = of_tokens && self.has_batch_axis;
        let axes = buffer.shape.len() - usize::from(has_unit) + usize::from(has_batch);
        if has_unit && dims.len() == axes {
            dims.push(1);
        }
        if let (&[all], [heads, channels]) = (dims.as_slice(), buffer.shape.as_slice())
            && let (Extent::Fixed(heads), Extent::Fixed(channels)) = (heads.extent, channels.extent)
            && u64::from(heads) * u64::from(channels) == all as u64
        {
            dims = vec![heads as usize, channels as usize];
        }
        if has_batch && dims.len() == buffer.shape.len() + 1 {
            let (batch, tokens) = (dims.remove(0), dims[0]);
            self.fix("batch", batch, name)?;
            self.fix("tokens", tokens, name)?;
            dims[0] = batch.saturating_mul(tokens);
        }
        Ok(dims)
    }

    /// Notes a size, which every tensor must agree on.
    fn fix(&mut self, key: &'static str, value: usize, name: &str) -> Result<(), TensorFileError> {
        match self.sizes.get(key) {
            Some((known, by)) if *known != value => {
                Err(self.wrong(name, format!("has {key} {value}, {by} says {known}")))
            }
            Some(_) => Ok(()),
            None => {
                self.sizes.insert(key, (value, name.to_owned()));
                Ok(())
            }
        }
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
        let (state_layout, head_k, head_v) = match &self.lead {
            Spec::DecodeStep(DecodeStepSpec { state_layout, head_k, head_v, .. }) => {
                (*state_layout, *head_k, *head_v)
            }
            Spec::Chunk(spec) => {
                let scan = spec.scan()?;
                (scan.state_layout, spec.common().head_k, scan.head_v)
            }
            Spec::Recurrent(spec) => (spec.step.state_layout, spec.step.head_k, spec.step.head_v),
            Spec::ConvStep(_)
            | Spec::ConvChunk(_)
            | Spec::Attention(_)
            | Spec::AttentionChunk(_) => return None,
        };
        let is_state = matches!(buffer.role, Role::State | Role::NextState);
        let turned = known == Known::KFirst && state_layout == StateLayout::VFirst;
        (is_state && turned).then_some((head_k as usize, head_v as usize))
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
                // The states of packed sequences are counted with their lengths.
                Extent::Batch if self.is_prefill() => None,
                Extent::Batch => self.sizes.get("batch").cloned(),
                Extent::Tokens => self.sizes.get(ALL_TOKENS).cloned(),
                Extent::Chunks | Extent::SequenceEnds => None,
                // Rows of files are token-major without gaps.
                Extent::SequenceTokens | Extent::Gapped(_) => None,
                Extent::PoolSlots | Extent::CacheBlocks | Extent::TableEntries => {
                    axis.extent.parameter().and_then(|key| self.sizes.get(key)).cloned()
                }
            };
            match (want, axis.extent) {
                (Some((want, by)), _) if want != dim => {
                    let problem = format!(
                        "has shape {dims:?} for [{shape}]: {} is {dim}, {by} says {want}",
                        axis.symbol
                    );
                    return Err(self.wrong(name, problem));
                }
                (None, Extent::Tokens) => {
                    self.sizes.insert(ALL_TOKENS, (dim, name.to_owned()));
                }
                (None, Extent::Batch) if !self.is_prefill() => {
                    self.sizes.insert("batch", (dim, name.to_owned()));
                }
                (None, extent) => {
                    if let Some(key) = extent.parameter() {
                        self.sizes.insert(key, (dim, name.to_owned()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn wrong_metadata(&self, key: &'static str, problem: String) -> TensorFileError {
        TensorFileError::Metadata { path: self.path.to_owned(), key, problem }
    }

    fn wrong(&self, tensor: &str, problem: String) -> TensorFileError {
        TensorFileError::Tensor { path: self.path.to_owned(), tensor: tensor.to_owned(), problem }
    }
}
