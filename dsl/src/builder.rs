//! The builder: the language in which kernels are written.
//!
//! A [`KernelBuilder`] hands out [`Expr`]s: values with operators. What is written is what is emitted, in order, each
//! statement with the author's line; only constants and values of the launch are shared and stand at the top.
//! `a * b + c` is a product and a sum, each rounded; `a.fma(b, c)` is rounded once. Layout objects keep lane and
//! address arithmetic out of kernels: [`View`]s of buffers, [`LaneGroups`], [`RowElements`].
//!
//! Which values are uniform is inferred when the kernel is finished. Mistakes of the author (types, shapes, scopes)
//! never panic: [`KernelBuilder::finish`] reports all of them, each with its line.
//!
//! ```
//! use wavesmith_dsl::{KernelBuilder, Scalar};
//! let k = KernelBuilder::new("double", isa::Target::Gfx1100, 64);
//! let x = k.input("x", Scalar::Bf16, &[Some(64)]);
//! let y = k.output("y", Scalar::Bf16, &[Some(64)]);
//! let thread = k.thread_id();
//! y.store(thread, x.load(thread) * 2.0);
//! let kernel = k.finish().expect("a valid kernel");
//! assert!(wavesmith_dsl::text::print(&kernel).contains("fmul"));
//! ```

mod blocks;
mod control;
mod expr;
mod halves;
mod held;
mod index;
mod infer;
mod lanes;
mod mask;
mod matrix;
mod multiple;
mod operand;
mod order;
mod rows;
mod stride;
mod tile;
mod view;

pub use blocks::WaveBlocks;
pub use control::Carried;
pub use expr::Expr;
pub use held::{Factor, Held, SplitFactor};
pub use index::{Index, Indices};
pub use lanes::LaneGroups;
pub use mask::Mask;
pub use matrix::{Accumulator, Atom, Left, Right};
pub use operand::Operand;
pub use rows::{RowElements, RowVector};
pub use tile::{TileVectors, WaveTile};
pub use view::View;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;

use isa::Target;

use crate::ir::{
    Access, Block, Kernel, LdsBuffer, LdsId, Loc, Op, Param, ParamKind, Scalar, Special, Stmt,
    Type, Uniformity, Value, ValueInfo,
};
use crate::verify::{VerifyError, verify};

/// Why a kernel was not built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A layout, an index or an operation that cannot be expressed.
    #[error("{loc}: {what}: got {got}, expected {expected}")]
    Author {
        /// The author's line.
        loc: Loc,
        /// What was asked for.
        what: &'static str,
        /// What was found.
        got: String,
        /// What would be right.
        expected: String,
    },
    /// A statement that the verifier refuses.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// A kernel under construction.
#[derive(Debug)]
pub struct KernelBuilder {
    name: String,
    target: Target,
    workgroup_size: u32,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    params: Vec<Param>,
    lds: Vec<LdsBuffer>,
    max_vgprs: Option<u32>,
    values: Vec<Facts>,
    /// Constants and values of the launch: they stand before the body.
    prologue: Vec<Stmt>,
    constants: BTreeMap<(Type, u64), Value>,
    specials: Vec<(Special, Value)>,
    /// Open blocks, the innermost last.
    blocks: Vec<Block>,
    /// Whose line statements get, when not their caller's.
    author: Option<Loc>,
    /// Loops around this place.
    loops: usize,
    errors: Vec<BuildError>,
}

/// What the builder knows of a value.
#[derive(Clone, Copy, Debug)]
struct Facts {
    ty: Type,
    /// The bits, for a constant.
    bits: Option<u64>,
    /// The value is a multiple of two to this power.
    log2_multiple: u32,
}

impl KernelBuilder {
    /// An empty kernel for workgroups of `workgroup_size` work-items.
    pub fn new(name: &str, target: Target, workgroup_size: u32) -> KernelBuilder {
        let state = State { blocks: vec![Block::default()], ..State::default() };
        KernelBuilder { name: name.to_owned(), target, workgroup_size, state: RefCell::new(state) }
    }

    /// The GPU that the kernel is built for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.workgroup_size
    }

    /// Waves in a workgroup.
    pub fn waves(&self) -> u32 {
        self.workgroup_size / self.target.wave_width()
    }

    /// The finished kernel, or everything that is wrong with it.
    pub fn finish(self) -> Result<Kernel, Vec<BuildError>> {
        let KernelBuilder { name, target, workgroup_size, state } = self;
        let State { params, lds, max_vgprs, values, prologue, blocks, errors, .. } =
            state.into_inner();
        if !errors.is_empty() {
            return Err(errors);
        }
        let stmts =
            prologue.into_iter().chain(blocks.into_iter().flat_map(|block| block.stmts)).collect();
        let values = values
            .iter()
            .map(|facts| ValueInfo { ty: facts.ty, uniformity: Uniformity::Varying })
            .collect();
        let body = Block { stmts, yields: Vec::new() };
        let mut kernel =
            Kernel { name, target, workgroup_size, max_vgprs, params, lds, body, values };
        kernel.renumber();
        infer::uniformity(&mut kernel);
        verify(&kernel).map_err(located)?;
        Ok(kernel)
    }

    /// A budget: the kernel is not to take more VGPRs (accumulation registers apart), so that as many waves as the author
    /// planned are resident. The GCN back end refuses a kernel that needs more, and names the value that does not fit;
    /// LLVM is not told.
    pub fn max_vgprs(&self, limit: u32) {
        self.state.borrow_mut().max_vgprs = Some(limit);
    }

    /// A buffer argument that is only read. `dims` are its axes, slowest first; the first may be `None`: any length.
    #[track_caller]
    pub fn input(&self, name: &str, elem: Scalar, dims: &[Option<u32>]) -> View<'_> {
        self.buffer(name, elem, Access::ReadOnly, dims)
    }

    /// A buffer argument that is only written.
    #[track_caller]
    pub fn output(&self, name: &str, elem: Scalar, dims: &[Option<u32>]) -> View<'_> {
        self.buffer(name, elem, Access::WriteOnly, dims)
    }

    /// A buffer argument, aligned to 16 bytes.
    #[track_caller]
    pub fn buffer(
        &self,
        name: &str,
        elem: Scalar,
        access: Access,
        dims: &[Option<u32>],
    ) -> View<'_> {
        let align_bytes = 16;
        let pointer =
            self.param(name, ParamKind::Buffer { elem, access, align_bytes }, Type::Pointer);
        View::global(pointer, elem, dims, align_bytes)
    }

    /// A buffer argument whose axes lie as the launch says: elements from one index of an axis to the next, where they
    /// are not those of axes without gaps. All axes but the last may be of any length.
    #[track_caller]
    pub fn strided<'k>(
        &'k self,
        name: &str,
        elem: Scalar,
        access: Access,
        axes: &[(Option<u32>, Option<Expr<'k>>)],
    ) -> View<'k> {
        let dims: Vec<_> = axes.iter().map(|(dim, _)| *dim).collect();
        let strides: Vec<_> = axes.iter().map(|(_, stride)| *stride).collect();
        let packed: Vec<_> = dims.iter().map(|dim| dim.or(Some(1))).collect();
        let mut view = self.buffer(name, elem, access, &packed).strided(&strides);
        view.set_dims(dims);
        view
    }

    /// An argument passed by value.
    pub fn scalar(&self, name: &str, scalar: Scalar) -> Expr<'_> {
        self.param(name, ParamKind::Scalar(scalar), Type::Scalar(scalar))
    }

    fn param(&self, name: &str, kind: ParamKind, ty: Type) -> Expr<'_> {
        let value = self.new_value(ty, None, 0);
        self.state.borrow_mut().params.push(Param { name: name.to_owned(), kind, value });
        Expr::new(self, value)
    }

    /// A buffer in LDS, rows packed, aligned to 16 bytes.
    #[track_caller]
    pub fn lds(&self, name: &str, elem: Scalar, dims: &[u32]) -> View<'_> {
        let elements: u64 = dims.iter().map(|dim| u64::from(*dim)).product();
        let size_bytes = elements.saturating_mul(u64::from(elem.size_bytes()));
        let (size_bytes, align_bytes) = (u32::try_from(size_bytes).unwrap_or(u32::MAX), 16);
        let id = {
            let mut state = self.state.borrow_mut();
            state.lds.push(LdsBuffer { name: name.to_owned(), size_bytes, align_bytes });
            LdsId(state.lds.len() as u32 - 1)
        };
        View::lds(self, id, elem, dims, align_bytes)
    }

    /// A matrix in LDS whose rows are `pad` elements apart beyond their length, so that rows start in other banks.
    #[track_caller]
    pub fn lds_padded(
        &self,
        name: &str,
        elem: Scalar,
        [rows, columns]: [u32; 2],
        pad: u32,
    ) -> View<'_> {
        let pitch = columns.saturating_add(pad);
        let view = self.lds(name, elem, &[rows, pitch]);
        view.narrowed(columns)
    }

    /// An LDS buffer's name that no buffer has yet.
    fn fresh_lds_name(&self, stem: &str) -> String {
        let state = self.state.borrow();
        let taken = |name: &String| state.lds.iter().any(|buffer| buffer.name == *name);
        let names =
            (0..).map(|count| if count == 0 { stem.to_owned() } else { format!("{stem}_{count}") });
        names.into_iter().find(|name| !taken(name)).unwrap_or_default()
    }
}

fn located(errors: Vec<VerifyError>) -> Vec<BuildError> {
    errors.into_iter().map(BuildError::Verify).collect()
}

/// Constants and values of the launch.
impl KernelBuilder {
    /// An `f32` constant.
    #[track_caller]
    pub fn f32(&self, number: f32) -> Expr<'_> {
        self.constant(Type::F32, u64::from(number.to_bits()))
    }

    /// An `i32` constant.
    #[track_caller]
    pub fn i32(&self, number: i32) -> Expr<'_> {
        self.constant(Type::I32, u64::from(number as u32))
    }

    /// An `i64` constant.
    #[track_caller]
    pub fn i64(&self, number: i64) -> Expr<'_> {
        self.constant(Type::I64, number as u64)
    }

    /// A truth value.
    #[track_caller]
    pub fn truth(&self, truth: bool) -> Expr<'_> {
        self.constant(Type::I1, u64::from(truth))
    }

    /// A constant by its bits; a vector gets them in every element. Equal constants are one value.
    #[track_caller]
    pub fn constant(&self, ty: Type, bits: u64) -> Expr<'_> {
        let key = (ty, bits);
        if let Some(value) = self.state.borrow().constants.get(&key) {
            return Expr::new(self, *value);
        }
        let log2_multiple = if bits == 0 { 64 } else { bits.trailing_zeros() };
        let value = self.new_value(ty, Some(bits), log2_multiple);
        self.state.borrow_mut().constants.insert(key, value);
        self.push_prologue(value, Op::Const { ty, bits })
    }

    /// The work-item's index in the workgroup.
    #[track_caller]
    pub fn thread_id(&self) -> Expr<'_> {
        self.special(Special::ThreadId)
    }

    /// The lane in its wave.
    #[track_caller]
    pub fn lane_id(&self) -> Expr<'_> {
        self.special(Special::LaneId)
    }

    /// The wave in its workgroup.
    #[track_caller]
    pub fn wave_id(&self) -> Expr<'_> {
        self.special(Special::WaveId)
    }

    /// The workgroup's index in x.
    #[track_caller]
    pub fn workgroup_id_x(&self) -> Expr<'_> {
        self.special(Special::WorkgroupIdX)
    }

    /// The workgroup's index in y.
    #[track_caller]
    pub fn workgroup_id_y(&self) -> Expr<'_> {
        self.special(Special::WorkgroupIdY)
    }

    /// The workgroup's index in z.
    #[track_caller]
    pub fn workgroup_id_z(&self) -> Expr<'_> {
        self.special(Special::WorkgroupIdZ)
    }

    #[track_caller]
    fn special(&self, special: Special) -> Expr<'_> {
        let known = |(known, value): &(Special, Value)| (*known == special).then_some(*value);
        if let Some(value) = self.state.borrow().specials.iter().find_map(known) {
            return Expr::new(self, value);
        }
        let value = self.new_value(Type::I32, None, 0);
        self.state.borrow_mut().specials.push((special, value));
        self.push_prologue(value, Op::Special(special))
    }

    #[track_caller]
    fn push_prologue(&self, value: Value, op: Op) -> Expr<'_> {
        let stmt = Stmt { results: vec![value], op, loc: self.here() };
        self.state.borrow_mut().prologue.push(stmt);
        Expr::new(self, value)
    }
}

/// Statements.
impl KernelBuilder {
    /// All waves of the workgroup meet; LDS accesses before it happen before LDS accesses after it.
    #[track_caller]
    pub fn barrier(&self) {
        self.push(Vec::new(), Op::Barrier);
    }

    /// A named intrinsic of the target without side effects: the escape hatch.
    #[track_caller]
    pub fn intrinsic(&self, name: &str, result: Type, args: &[Expr<'_>]) -> Expr<'_> {
        let args = args.iter().map(|arg| self.own(*arg)).collect();
        self.emit(result, Op::Intrinsic { name: name.to_owned(), args })
    }

    /// Whether this place is inside a loop.
    fn in_loop(&self) -> bool {
        self.state.borrow().loops > 0
    }

    /// A statement with one result.
    #[track_caller]
    fn emit(&self, ty: Type, op: Op) -> Expr<'_> {
        let log2_multiple = self.log2_multiple(&op);
        let value = self.new_value(ty, None, log2_multiple);
        self.push(vec![value], op);
        Expr::new(self, value)
    }

    #[track_caller]
    fn push(&self, results: Vec<Value>, op: Op) {
        let loc = self.here();
        // The outermost block is never closed.
        if let Some(block) = self.state.borrow_mut().blocks.last_mut() {
            block.stmts.push(Stmt { results, op, loc });
        }
    }

    fn new_value(&self, ty: Type, bits: Option<u64>, log2_multiple: u32) -> Value {
        let mut state = self.state.borrow_mut();
        state.values.push(Facts { ty, bits, log2_multiple });
        Value(state.values.len() as u32 - 1)
    }

    fn facts(&self, value: Value) -> Facts {
        self.state.borrow().values[value.0 as usize]
    }

    /// The expression's value, when it belongs to this kernel.
    #[track_caller]
    fn own(&self, expr: Expr<'_>) -> Value {
        if std::ptr::eq(self, expr.builder()) {
            return expr.value();
        }
        self.mistake(
            "an operand",
            format!("a value of kernel {}", expr.builder().name),
            "a value of this kernel",
        );
        self.constant(expr.ty(), 0).value()
    }

    /// Records a mistake of the author; building goes on, so that all of them are found at once.
    #[track_caller]
    fn mistake(&self, what: &'static str, got: impl ToString, expected: impl ToString) {
        let error = BuildError::Author {
            loc: self.here(),
            what,
            got: got.to_string(),
            expected: expected.to_string(),
        };
        self.state.borrow_mut().errors.push(error);
    }

    /// The line of the author.
    #[track_caller]
    fn here(&self) -> Loc {
        self.state.borrow().author.unwrap_or(Loc(Some(Location::caller())))
    }

    /// Runs `act` as if the author's line were `author`: closures of this library would hide it.
    fn on_behalf<T>(&self, author: Loc, act: impl FnOnce() -> T) -> T {
        let outer = self.state.borrow_mut().author.replace(author);
        let result = act();
        self.state.borrow_mut().author = outer;
        result
    }
}
