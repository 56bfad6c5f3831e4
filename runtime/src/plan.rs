//! Running a launch plan: tensors in, launches in order, tensors out.
//!
//! Before anything is allocated, the inputs are checked against the plan and the plan against the
//! kernels: names, sizes, slots, argument order, access. Every tensor gets a buffer of its own, so none
//! overlap; tensors that the plan only reads are read-only on devices that can enforce it; tensors that
//! it only writes start as [`Fill::POISON`]. A status word is zeroed before the first launch, read after the last, and
//! refused with bits that have no meaning.

use std::collections::BTreeMap;
use std::fmt;

use codeobj::KernelArg;
use specs::plan::{
    ArgBinding, ArgValue, Launch, LaunchPlan, PagedContract, SlotsContract, TensorDecl,
};
use specs::signature::{Access, Role};
use specs::status::{StatusWord, UnknownStatusBits};
use specs::suggest::nearest;
use thiserror::Error;

use crate::buffer::{BUFFER_ALIGN_BYTES, Buffer, BufferAccess, BufferRequest, Fill};
use crate::device::{Device, LaunchReport};
use crate::error::DeviceError;
use crate::launch::{Arg, LaunchDims};
use crate::module::{Kernel, Module};

/// Tensors by name, as bytes: contiguous, slowest axis first, little-endian elements.
pub type Tensors = BTreeMap<String, Vec<u8>>;

/// What a plan left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutcome {
    /// Every tensor that the plan writes, but for the status word.
    pub outputs: Tensors,
    /// What the kernels reported, of plans whose kernels take a status word. Anything but a clean one invalidates the
    /// outputs.
    pub status: Option<StatusWord>,
    /// A report for each launch, in order.
    pub launches: Vec<LaunchReport>,
}

/// Why a plan has no outcome.
#[derive(Debug, Error)]
pub enum PlanFailure {
    /// The plan, its inputs and its kernels do not fit together; nothing was run.
    #[error("{}", Refusal(.0))]
    Refused(Vec<PlanProblem>),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The status word is none that any kernel writes; nothing that the plan wrote may be used.
    #[error("tensor '{tensor}': {problem}")]
    Status {
        /// The plan's tensor.
        tensor: String,
        /// The word.
        problem: UnknownStatusBits,
    },
}

struct Refusal<'p>(&'p [PlanProblem]);

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [problem] => write!(f, "launch plan refused: {problem}"),
            problems => {
                write!(f, "launch plan refused ({} problems)", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum PlanProblem {
    #[error("input tensor '{tensor}' is missing: {expected_bytes} bytes, dims {dims:?}")]
    MissingInput { tensor: String, expected_bytes: u64, dims: Vec<u64> },
    #[error("'{got}' is no tensor of the plan, which has {}{}", .known.join(", "), hint(.nearest))]
    UnknownInput { got: String, known: Vec<String>, nearest: Option<String> },
    #[error("tensor '{tensor}' is declared twice")]
    TensorTwice { tensor: String },
    #[error("tensor '{tensor}' is written by the plan and takes no input")]
    InputForOutput { tensor: String },
    #[error("tensor '{tensor}' has {got_bytes} bytes, dims {dims:?} take {expected_bytes} bytes")]
    InputSize { tensor: String, got_bytes: u64, expected_bytes: u64, dims: Vec<u64> },
    #[error(
        "tensor '{tensor}' asks for an alignment of {got} bytes, buffers are aligned to {BUFFER_ALIGN_BYTES} bytes"
    )]
    Alignment { tensor: String, got: u32 },
    #[error(
        "tensor '{tensor}', row {row}: slot {got} is neither in 0..{pool_slots} nor the sentinel {sentinel}"
    )]
    SlotOutOfRange { tensor: String, row: usize, got: i32, pool_slots: u32, sentinel: i32 },
    #[error(
        "tensor '{tensor}': slot {slot} is live in rows {first_row} and {second_row}: two sequences would update one state; live slots must be distinct"
    )]
    DuplicateSlot { tensor: String, slot: i32, first_row: usize, second_row: usize },
    #[error(
        "tensor '{tensor}', number {index}: the end of a sequence is {got}, but must be {expected}: sequences lie one behind the other"
    )]
    SequenceEnd { tensor: String, index: usize, got: i32, expected: String },
    #[error(
        "tensor '{tensor}', sequence {row}: a context of {got} tokens, but the block table reaches 0 to {most}; give the table more entries or the sequence fewer tokens"
    )]
    Context { tensor: String, row: usize, got: i32, most: u64 },
    #[error(
        "tensor '{tensor}', sequence {row}: a context of {got} tokens, but the sequence has {queries} queries, whose tokens are part of it; count them in the context"
    )]
    ShortContext { tensor: String, row: usize, got: i32, queries: i32 },
    #[error(
        "tensor '{tensor}', sequence {row}, entry {entry}: block {got} is not in 0..{blocks}, but a context of {context} tokens reads it"
    )]
    BlockOutOfRange {
        tensor: String,
        row: usize,
        entry: usize,
        got: i32,
        blocks: u32,
        context: i32,
    },
    #[error("kernel '{kernel}' is in none of the modules, which have {}{}", .available.join(", "), hint(.nearest))]
    UnknownKernel { kernel: String, available: Vec<String>, nearest: Option<String> },
    #[error("kernel '{kernel}' takes {expected} arguments ({}), the plan binds {got}", .names.join(", "))]
    ArgumentCount { kernel: String, got: usize, expected: usize, names: Vec<String> },
    #[error(
        "kernel '{kernel}', argument {index} is '{expected}', the plan binds '{got}': they come from different specs"
    )]
    ArgumentName { kernel: String, index: usize, got: String, expected: String },
    #[error("kernel '{kernel}', argument '{argument}': the plan has no tensor '{tensor}'")]
    UnboundTensor { kernel: String, argument: String, tensor: String },
    #[error(
        "kernel '{kernel}', argument '{argument}': the plan says {plan}, the kernel was compiled as {compiled}"
    )]
    Access { kernel: String, argument: String, plan: &'static str, compiled: &'static str },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// Runs a plan on a device, with kernels of these modules.
///
/// # Errors
/// [`PlanFailure::Refused`] before anything is allocated; the device's errors afterwards. Buffers are
/// freed in either case.
pub fn run_plan(
    device: &mut dyn Device,
    modules: &[Module],
    plan: &LaunchPlan,
    inputs: &Tensors,
) -> Result<PlanOutcome, PlanFailure> {
    let mut problems = check_inputs(plan, inputs);
    let kernels = resolve(modules, plan, &mut problems);
    if !problems.is_empty() {
        return Err(PlanFailure::Refused(problems));
    }
    let mut buffers = BTreeMap::new();
    let outcome = run(device, plan, &kernels, inputs, &mut buffers);
    let freed = buffers.into_values().try_for_each(|buffer| device.free(buffer));
    let outcome = outcome?;
    freed?;
    Ok(outcome)
}

/// What does not fit between a plan and its inputs.
pub fn check_inputs(plan: &LaunchPlan, inputs: &Tensors) -> Vec<PlanProblem> {
    let mut problems: Vec<PlanProblem> =
        plan.tensors.iter().flat_map(|tensor| check_input(tensor, inputs)).collect();
    let aligned =
        |tensor: &&TensorDecl| BUFFER_ALIGN_BYTES.checked_rem(tensor.align_bytes) == Some(0);
    for TensorDecl { name, align_bytes, .. } in
        plan.tensors.iter().filter(|tensor| !aligned(tensor))
    {
        problems.push(PlanProblem::Alignment { tensor: name.clone(), got: *align_bytes });
    }
    let mut names = std::collections::BTreeSet::new();
    for tensor in plan.tensors.iter().filter(|tensor| !names.insert(&tensor.name)) {
        problems.push(PlanProblem::TensorTwice { tensor: tensor.name.clone() });
    }
    for got in inputs.keys().filter(|name| plan.tensor(name).is_none()) {
        let known: Vec<String> = plan.tensors.iter().map(|tensor| tensor.name.clone()).collect();
        let nearest = nearest(got, known.iter().map(String::as_str)).map(str::to_owned);
        problems.push(PlanProblem::UnknownInput { got: got.clone(), known, nearest });
    }
    problems
}

fn check_input(decl: &TensorDecl, inputs: &Tensors) -> Vec<PlanProblem> {
    let input = inputs.get(&decl.name);
    let (tensor, dims, expected_bytes) = (decl.name.clone(), decl.dims.clone(), decl.size_bytes());
    match (decl.takes_input(), input) {
        (false, None) => Vec::new(),
        (false, Some(_)) => vec![PlanProblem::InputForOutput { tensor }],
        (_, None) => vec![PlanProblem::MissingInput { tensor, expected_bytes, dims }],
        (_, Some(bytes)) if bytes.len() as u64 != expected_bytes => {
            let got_bytes = bytes.len() as u64;
            vec![PlanProblem::InputSize { tensor, got_bytes, expected_bytes, dims }]
        }
        (_, Some(bytes)) => match (decl.slots, decl.ends_at, &decl.paged) {
            (Some(contract), ..) => check_slots(&tensor, contract, bytes),
            (None, Some(tokens), _) => check_ends(&tensor, tokens, bytes),
            (None, None, Some(contract)) => check_paged(decl, contract, bytes, inputs),
            (None, None, None) => Vec::new(),
        },
    }
}

/// The contract that the kernel trusts: every slot in range or the sentinel, live slots distinct.
fn check_slots(tensor: &str, contract: SlotsContract, bytes: &[u8]) -> Vec<PlanProblem> {
    let SlotsContract { sentinel, pool_slots } = contract;
    let mut problems = Vec::new();
    let mut first_rows = BTreeMap::new();
    for (row, slot) in whole_numbers(bytes).into_iter().enumerate() {
        let tensor = tensor.to_owned();
        if slot == sentinel {
            continue;
        }
        if u32::try_from(slot).is_ok_and(|slot| slot < pool_slots) {
            let first_row = *first_rows.entry(slot).or_insert(row);
            if first_row != row {
                problems.push(PlanProblem::DuplicateSlot {
                    tensor,
                    slot,
                    first_row,
                    second_row: row,
                });
            }
        } else {
            problems.push(PlanProblem::SlotOutOfRange {
                tensor,
                row,
                got: slot,
                pool_slots,
                sentinel,
            });
        }
    }
    problems
}

/// The contract that the kernel trusts: ends of packed sequences go from 0 to all tokens and never back.
fn check_ends(tensor: &str, tokens: u64, bytes: &[u8]) -> Vec<PlanProblem> {
    let ends = whole_numbers(bytes);
    let wrong = |index: usize, expected: String| PlanProblem::SequenceEnd {
        tensor: tensor.to_owned(),
        index,
        got: ends[index],
        expected,
    };
    let first = ends.first().filter(|end| **end != 0).map(|_| wrong(0, "0".to_owned()));
    let back = (1..ends.len()).find(|index| ends[*index] < ends[index - 1]);
    let back = back.map(|index| wrong(index, format!("at least {}", ends[index - 1])));
    let last = ends.len().saturating_sub(1);
    let is_last_wrong = ends.last().is_some_and(|end| i64::from(*end) != tokens.cast_signed());
    let past = is_last_wrong.then(|| wrong(last, format!("{tokens}, the number of all tokens")));
    first.into_iter().chain(back).chain(past).collect()
}

/// The contract that the kernel trusts: contexts end where the table does, and every entry that a context reads is a
/// block of the cache. Of each row the first wrong entry is told.
fn check_paged(
    decl: &TensorDecl,
    contract: &PagedContract,
    bytes: &[u8],
    inputs: &Tensors,
) -> Vec<PlanProblem> {
    let tensor = || decl.name.clone();
    match contract {
        PagedContract::Contexts { most, ends } => {
            let ends = ends.as_ref().and_then(|ends| inputs.get(ends));
            let ends = ends.map(|bytes| whole_numbers(bytes)).unwrap_or_default();
            // Ends that are missing or wrong are told where they stand.
            let queries = |row: usize| Some(ends.get(row + 1)?.saturating_sub(ends[row]));
            let problem = |(row, got): (usize, i32)| {
                if u64::try_from(got).map_or(true, |got| got > *most) {
                    return Some(PlanProblem::Context { tensor: tensor(), row, got, most: *most });
                }
                let queries = queries(row).filter(|queries| *queries > got)?;
                Some(PlanProblem::ShortContext { tensor: tensor(), row, got, queries })
            };
            whole_numbers(bytes).into_iter().enumerate().filter_map(problem).collect()
        }
        PagedContract::Blocks { contexts, block_size, blocks } => {
            let contexts = inputs.get(contexts).map(|bytes| whole_numbers(bytes));
            let entries = whole_numbers(bytes);
            let per_row = decl.dims.get(1).and_then(|entries| usize::try_from(*entries).ok());
            let rows = entries.chunks(per_row.unwrap_or(1).max(1));
            let of_row = |(row, (entries, context)): (usize, (&[i32], i32))| {
                let read = u32::try_from(context).unwrap_or(0).div_ceil((*block_size).max(1));
                let mut read = entries.iter().take(read as usize);
                let is_block = |got: &i32| u32::try_from(*got).is_ok_and(|got| got < *blocks);
                let entry = read.position(|got| !is_block(got))?;
                let (got, blocks) = (entries[entry], *blocks);
                Some(PlanProblem::BlockOutOfRange {
                    tensor: tensor(),
                    row,
                    entry,
                    got,
                    blocks,
                    context,
                })
            };
            // A context that is missing or wrong is told where it stands.
            rows.zip(contexts.unwrap_or_default()).enumerate().filter_map(of_row).collect()
        }
    }
}

fn whole_numbers(bytes: &[u8]) -> Vec<i32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| i32::from_le_bytes(*number)).collect()
}

/// The kernel of each launch, its arguments checked against the bindings.
fn resolve(modules: &[Module], plan: &LaunchPlan, problems: &mut Vec<PlanProblem>) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for launch in &plan.launches {
        match modules.iter().find_map(|module| module.kernel(&launch.kernel).ok()) {
            Some(kernel) => {
                problems.extend(check_bindings(plan, launch, &kernel));
                kernels.push(kernel);
            }
            None => problems.push(unknown_kernel(modules, &launch.kernel)),
        }
    }
    kernels
}

fn unknown_kernel(modules: &[Module], kernel: &str) -> PlanProblem {
    let kernels = modules.iter().flat_map(|module| &module.code_object.kernels);
    let available: Vec<String> = kernels.map(|kernel| kernel.name.clone()).collect();
    let nearest = nearest(kernel, available.iter().map(String::as_str)).map(str::to_owned);
    PlanProblem::UnknownKernel { kernel: kernel.to_owned(), available, nearest }
}

fn check_bindings(plan: &LaunchPlan, launch: &Launch, kernel: &Kernel) -> Vec<PlanProblem> {
    let expected: Vec<&KernelArg> = kernel.metadata().explicit_args().collect();
    if expected.len() != launch.args.len() {
        let names = expected
            .iter()
            .map(|arg| arg.name.clone().unwrap_or_else(|| "unnamed".to_owned()))
            .collect();
        let (got, expected) = (launch.args.len(), expected.len());
        return vec![PlanProblem::ArgumentCount {
            kernel: launch.kernel.clone(),
            got,
            expected,
            names,
        }];
    }
    let pairs = expected.into_iter().zip(&launch.args).enumerate();
    pairs
        .flat_map(|(index, (expected, binding))| {
            check_binding(plan, &launch.kernel, index, expected, binding)
        })
        .collect()
}

fn check_binding(
    plan: &LaunchPlan,
    kernel: &str,
    index: usize,
    expected: &KernelArg,
    binding: &ArgBinding,
) -> Option<PlanProblem> {
    let (kernel, got) = (kernel.to_owned(), binding.argument.clone());
    match &expected.name {
        Some(name) if *name != got => {
            return Some(PlanProblem::ArgumentName { kernel, index, got, expected: name.clone() });
        }
        _ => {}
    }
    let ArgValue::Tensor(tensor) = &binding.value else { return None };
    let Some(decl) = plan.tensor(tensor) else {
        return Some(PlanProblem::UnboundTensor { kernel, argument: got, tensor: tensor.clone() });
    };
    let compiled = expected.known_access()?;
    let fits = match decl.access {
        Access::ReadOnly => compiled == codeobj::Access::ReadOnly,
        Access::WriteOnly => compiled == codeobj::Access::WriteOnly,
        Access::ReadWrite => true,
    };
    let (plan, compiled) = (access_word(decl.access), compiled.word());
    (!fits).then_some(PlanProblem::Access { kernel, argument: got, plan, compiled })
}

fn access_word(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => codeobj::Access::ReadOnly.word(),
        Access::WriteOnly => codeobj::Access::WriteOnly.word(),
        Access::ReadWrite => codeobj::Access::ReadWrite.word(),
    }
}

fn run(
    device: &mut dyn Device,
    plan: &LaunchPlan,
    kernels: &[Kernel],
    inputs: &Tensors,
    buffers: &mut BTreeMap<String, Buffer>,
) -> Result<PlanOutcome, PlanFailure> {
    for tensor in &plan.tensors {
        let buffer = device.allocate(request(tensor))?;
        if let Some(bytes) = inputs.get(&tensor.name) {
            device.write(&buffer, 0, bytes)?;
        }
        if tensor.role == Role::Status {
            device.write(&buffer, 0, &StatusWord::CLEAN.bits().to_le_bytes())?;
        }
        buffers.insert(tensor.name.clone(), buffer);
    }
    let mut launches = Vec::new();
    for (launch, kernel) in plan.launches.iter().zip(kernels) {
        let dims = LaunchDims { grid: launch.grid, workgroup: launch.workgroup };
        let args: Vec<Arg> =
            launch.args.iter().map(|binding| arg(&binding.value, buffers)).collect();
        launches.push(device.launch(kernel, dims, &args)?);
    }
    device.synchronize()?;
    let (mut outputs, mut status) = (Tensors::new(), None);
    for tensor in plan.tensors.iter().filter(|tensor| tensor.access != Access::ReadOnly) {
        let bytes = device.read(&buffers[&tensor.name].whole())?;
        if tensor.role == Role::Status {
            status = Some(status_word(&tensor.name, &bytes)?);
        } else {
            outputs.insert(tensor.name.clone(), bytes);
        }
    }
    Ok(PlanOutcome { outputs, status, launches })
}

/// The word that kernels left.
fn status_word(tensor: &str, bytes: &[u8]) -> Result<StatusWord, PlanFailure> {
    let word = bytes.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes));
    let unknown = |problem| PlanFailure::Status { tensor: tensor.to_owned(), problem };
    StatusWord::from_bits(word).map_err(unknown)
}

fn request(tensor: &TensorDecl) -> BufferRequest<'_> {
    let (access, fill) = match tensor.access {
        Access::ReadOnly => (BufferAccess::ReadOnly, Fill::Undefined),
        _ if !tensor.takes_input() => (BufferAccess::ReadWrite, Fill::POISON),
        Access::WriteOnly | Access::ReadWrite => (BufferAccess::ReadWrite, Fill::Undefined),
    };
    BufferRequest { label: &tensor.name, size_bytes: tensor.size_bytes(), access, fill }
}

/// The bytes of an argument that is passed by value; none for a tensor, whose address its device knows.
pub(crate) fn value_bytes(value: &ArgValue) -> Vec<u8> {
    match value {
        ArgValue::Tensor(_) => Vec::new(),
        ArgValue::F32(value) => value.to_le_bytes().to_vec(),
        ArgValue::I32(value) => value.to_le_bytes().to_vec(),
    }
}

fn arg(value: &ArgValue, buffers: &BTreeMap<String, Buffer>) -> Arg {
    match value {
        // Bindings of tensors that the plan does not have were refused before anything was allocated.
        ArgValue::Tensor(name) => Arg::Buffer(buffers[name].whole()),
        ArgValue::F32(value) => Arg::F32(*value),
        ArgValue::I32(value) => Arg::I32(*value),
    }
}
