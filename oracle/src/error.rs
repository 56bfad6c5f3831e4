//! Why a reference cannot be computed.

/// Arguments that do not describe one problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// A tensor has the wrong number of elements.
    #[error("tensor '{tensor}' has {got} elements, the problem's shape needs {want}")]
    Length {
        /// Name of the kernel argument.
        tensor: &'static str,
        /// Elements given.
        got: usize,
        /// Elements that the shape asks for.
        want: usize,
    },
    /// A strided tensor that ends before its last row does.
    #[error("tensor '{tensor}' has {got} elements, its layout reaches to {need}")]
    TooShort {
        /// Name of the kernel argument.
        tensor: &'static str,
        /// Elements given.
        got: usize,
        /// Elements that shape and strides ask for.
        need: usize,
    },
    /// Ends of packed sequences that are no partition of the tokens.
    #[error("cu_seqlens[{index}] is {got:?}; it must be {limit}")]
    Sequences {
        /// Which number.
        index: usize,
        /// The number; none when it is missing.
        got: Option<i64>,
        /// What it must be.
        limit: &'static str,
    },
    /// A log decay above zero, under which a state would grow.
    #[error("log decay {index} is {got}; gates are at most 0 nats")]
    PositiveGate {
        /// Which element of the tensor.
        index: usize,
        /// The gate in nats.
        got: f32,
    },
    /// A log decay below what the spec promises its kernel.
    #[error(
        "log decay {index} is {got}; the spec says gate_lower_bound_nats = {bound}: decay factors beyond it are finite and wrong"
    )]
    GateBelowBound {
        /// Which element of the tensor.
        index: usize,
        /// The gate in nats.
        got: f32,
        /// The spec's bound.
        bound: f32,
    },
    /// An element that matrix products would spread over its whole chunk.
    #[error("tensor '{tensor}', element {index} is {got}; chunked prefill takes finite numbers")]
    NonFinite {
        /// Name of the kernel argument.
        tensor: &'static str,
        /// Which element.
        index: usize,
        /// What it is.
        got: f64,
    },
    /// A kernel that cannot be judged by itself on inputs from outside.
    #[error(
        "a scan kernel alone reads stage tensors, which only its tile kernel makes: give both spec files, the tile's first"
    )]
    ScanAlone,
    /// A kernel for which there is no bitwise twin.
    #[error("prefill kernels have a model of their rounding (twin::prefill), no bitwise twin")]
    NoTwin,
    /// A dimension out of its range.
    #[error("{field} is {got}; it must be {limit}")]
    Dimension {
        /// Name of the dimension.
        field: &'static str,
        /// Value given.
        got: usize,
        /// What it must be.
        limit: &'static str,
    },
    /// A tensor is present or absent against the contract.
    #[error("tensor '{tensor}' {problem}")]
    Presence {
        /// Name of the kernel argument.
        tensor: &'static str,
        /// What is wrong with it being there or not.
        problem: &'static str,
    },
    /// A slot index that is neither the sentinel nor a slot of the pool.
    #[error(
        "slots[{row}] is {got}; live slots are 0 to {slots} exclusive, the sentinel is {sentinel}"
    )]
    Slot {
        /// Batch row.
        row: usize,
        /// Index given.
        got: i32,
        /// Slots in the pool.
        slots: usize,
        /// The index that means *no sequence*.
        sentinel: i32,
    },
    /// Two batch rows name the same live slot.
    #[error("slots[{row}] is {got}, which slots[{first}] names too; live slots must be distinct")]
    DuplicateSlot {
        /// Second batch row.
        row: usize,
        /// First batch row.
        first: usize,
        /// The slot.
        got: i32,
    },
    /// A context that is negative or longer than a row of the block table reaches.
    #[error("context_len[{row}] is {got}; a row of the block table reaches 0 to {most} tokens")]
    Context {
        /// Sequence.
        row: usize,
        /// Tokens given.
        got: i32,
        /// Tokens that the row reaches.
        most: usize,
    },
    /// A sequence with more queries than tokens, or ends that decrease.
    #[error(
        "context_len[{row}] is {got}; the sequence has {queries} queries, whose tokens are part of it"
    )]
    Queries {
        /// Sequence.
        row: usize,
        /// Tokens given.
        got: i32,
        /// Queries of the sequence.
        queries: i32,
    },
    /// An entry of the block table that a context reads and that is no block of the cache.
    #[error("block_table[{row}, {entry}] is {got}; the cache has blocks 0 to {blocks} exclusive")]
    Block {
        /// Sequence.
        row: usize,
        /// Entry of the sequence's row.
        entry: usize,
        /// Index given.
        got: i32,
        /// Blocks of the cache.
        blocks: usize,
    },
    /// A problem of another kernel than the spec's.
    #[error("the problem belongs to another kernel than the spec")]
    ForeignProblem,
    /// Bytes that are not a whole number of elements.
    #[error("tensor '{tensor}' has {got} bytes, not a whole number of elements of {unit} bytes")]
    Bytes {
        /// Name of the kernel argument.
        tensor: &'static str,
        /// Bytes given.
        got: usize,
        /// Bytes of one element.
        unit: usize,
    },
}

impl OracleError {
    /// Whether it is about tensors that a file holds against the kernels' contract: their lengths or their values.
    pub fn is_about_inputs(&self) -> bool {
        matches!(
            self,
            OracleError::Length { .. }
                | OracleError::TooShort { .. }
                | OracleError::PositiveGate { .. }
                | OracleError::GateBelowBound { .. }
                | OracleError::NonFinite { .. }
                | OracleError::Context { .. }
                | OracleError::Queries { .. }
                | OracleError::Block { .. }
                | OracleError::ScanAlone
        )
    }
}

/// Refuses a tensor whose number of elements is not `want`.
pub(crate) fn expect_len(tensor: &'static str, got: usize, want: usize) -> Result<(), OracleError> {
    match got == want {
        true => Ok(()),
        false => Err(OracleError::Length { tensor, got, want }),
    }
}
