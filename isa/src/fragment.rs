//! Where the elements of matrix operations lie: lane and register ↔ block, row and column, as closed forms.
//!
//! An operation multiplies `blocks` pairs of matrices at once: `D[b] = A[b] · B[b] + C[b]`, with A of m × k,
//! B of k × n, and C and D of m × n elements. A [`Fragment`] says how one of them lies in the registers of
//! a wave. All follow one form: along one axis (k for A and B, rows for D) a *run* of consecutive elements
//! stays in a lane, the next run goes to the next *group* of lanes, and after the last group the first
//! continues in its next registers; along the other axis each element has its own lane.
//!
//! Sources: the form agrees with AMD's matrix instruction calculator on every element of every dense
//! instruction of CDNA3 and RDNA3 (`tests/vectors/matrix_layouts.txt`). The shapes that gfx950 adds
//! (16x16x32 and 32x32x16 of 16 bits, 16x16x64 and 32x32x32 of i8) are not in the calculator: they follow
//! the same form with more elements in a run.

use crate::table::{Element, Matrix, Op, Row, Ty};
use crate::target::Target;

/// Extents of a matrix operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A and D.
    pub m: u32,
    /// Columns of B and D.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Independent products.
    pub blocks: u32,
}

impl Shape {
    const fn new(m: u32, k: u32, blocks: u32) -> Shape {
        Shape { m, n: m, k, blocks }
    }

    /// The shape of a dense operation; `None` for sparse and f8f6f4 rows.
    #[rustfmt::skip]
    pub const fn of(op: Matrix) -> Option<Shape> {
        match op {
            Matrix::VMfmaF324x4x116bF32 => Some(Shape::new(4, 1, 16)),
            Matrix::VMfmaF644x4x44bF64 => Some(Shape::new(4, 4, 4)),
            Matrix::VMfmaF324x4x416bF16 | Matrix::VMfmaF324x4x416bBf16 | Matrix::VMfmaI324x4x416bI8 => Some(Shape::new(4, 4, 16)),
            Matrix::VMfmaF3216x16x14bF32 => Some(Shape::new(16, 1, 4)),
            Matrix::VMfmaF3216x16x4F32 | Matrix::VMfmaF6416x16x4F64 => Some(Shape::new(16, 4, 1)),
            Matrix::VMfmaF3216x16x44bF16 | Matrix::VMfmaF3216x16x44bBf16 | Matrix::VMfmaI3216x16x44bI8 => Some(Shape::new(16, 4, 4)),
            Matrix::VMfmaF3216x16x16F16 | Matrix::VMfmaF3216x16x16Bf16 | Matrix::VWmmaF3216x16x16F16 | Matrix::VWmmaF3216x16x16Bf16 | Matrix::VWmmaF1616x16x16F16 | Matrix::VWmmaBf1616x16x16Bf16 | Matrix::VWmmaI3216x16x16Iu8 | Matrix::VWmmaI3216x16x16Iu4 => Some(Shape::new(16, 16, 1)),
            Matrix::VMfmaF3216x16x32F16 | Matrix::VMfmaF3216x16x32Bf16 | Matrix::VMfmaF3216x16x32Bf8Bf8 | Matrix::VMfmaF3216x16x32Fp8Bf8 | Matrix::VMfmaF3216x16x32Bf8Fp8 | Matrix::VMfmaF3216x16x32Fp8Fp8 | Matrix::VMfmaI3216x16x32I8 => Some(Shape::new(16, 32, 1)),
            Matrix::VMfmaI3216x16x64I8 => Some(Shape::new(16, 64, 1)),
            Matrix::VMfmaF3232x32x12bF32 => Some(Shape::new(32, 1, 2)),
            Matrix::VMfmaF3232x32x2F32 => Some(Shape::new(32, 2, 1)),
            Matrix::VMfmaF3232x32x42bF16 | Matrix::VMfmaF3232x32x42bBf16 | Matrix::VMfmaI3232x32x42bI8 => Some(Shape::new(32, 4, 2)),
            Matrix::VMfmaF3232x32x8F16 | Matrix::VMfmaF3232x32x8Bf16 => Some(Shape::new(32, 8, 1)),
            Matrix::VMfmaF3232x32x16F16 | Matrix::VMfmaF3232x32x16Bf16 | Matrix::VMfmaF3232x32x16Bf8Bf8 | Matrix::VMfmaF3232x32x16Fp8Bf8 | Matrix::VMfmaF3232x32x16Bf8Fp8 | Matrix::VMfmaF3232x32x16Fp8Fp8 | Matrix::VMfmaI3232x32x16I8 => Some(Shape::new(32, 16, 1)),
            Matrix::VMfmaI3232x32x32I8 => Some(Shape::new(32, 32, 1)),
            Matrix::VMfmaF3216x16x128F8f6f4 | Matrix::VMfmaF3232x32x64F8f6f4 | Matrix::VSmfmacF3216x16x32F16 | Matrix::VSmfmacF3216x16x64F16 | Matrix::VSmfmacF3232x32x16F16 | Matrix::VSmfmacF3232x32x32F16 | Matrix::VSmfmacF3216x16x32Bf16 | Matrix::VSmfmacF3216x16x64Bf16 | Matrix::VSmfmacF3232x32x16Bf16 | Matrix::VSmfmacF3232x32x32Bf16 | Matrix::VSmfmacF3216x16x128Bf8Bf8 | Matrix::VSmfmacF3216x16x128Fp8Bf8 | Matrix::VSmfmacF3216x16x64Bf8Bf8 | Matrix::VSmfmacF3216x16x64Fp8Bf8 | Matrix::VSmfmacF3232x32x32Bf8Bf8 | Matrix::VSmfmacF3232x32x32Fp8Bf8 | Matrix::VSmfmacF3232x32x64Bf8Bf8 | Matrix::VSmfmacF3232x32x64Fp8Bf8 | Matrix::VSmfmacF3216x16x128Bf8Fp8 | Matrix::VSmfmacF3216x16x128Fp8Fp8 | Matrix::VSmfmacF3216x16x64Bf8Fp8 | Matrix::VSmfmacF3216x16x64Fp8Fp8 | Matrix::VSmfmacF3232x32x32Bf8Fp8 | Matrix::VSmfmacF3232x32x32Fp8Fp8 | Matrix::VSmfmacF3232x32x64Bf8Fp8 | Matrix::VSmfmacF3232x32x64Fp8Fp8 | Matrix::VSmfmacI3216x16x128I8 | Matrix::VSmfmacI3216x16x64I8 | Matrix::VSmfmacI3232x32x32I8 | Matrix::VSmfmacI3232x32x64I8 | Matrix::VMfmaScaleF3216x16x128F8f6f4 | Matrix::VMfmaScaleF3232x32x64F8f6f4 => None,
        }
    }
}

impl Matrix {
    /// The operations of a target with their mnemonics.
    pub fn of_target(target: Target) -> impl Iterator<Item = (Matrix, &'static str)> {
        Matrix::ROWS.iter().filter_map(move |row| match row.op {
            Op::Matrix(op) => row.form(target).map(|form| (op, form.mnemonic)),
            _ => None,
        })
    }

    /// The operation that a target spells so.
    pub fn named(mnemonic: &str, target: Target) -> Option<Matrix> {
        Matrix::of_target(target).find_map(|(op, name)| (name == mnemonic).then_some(op))
    }

    /// The dense operation of one block whose factors are `element`s of `m` × `k` and `k` × `m`, summed in binary32.
    pub fn dense(target: Target, element: Element, m: u32, k: u32) -> Option<Matrix> {
        let of = |op, part| Fragment::of(op, part).map(|fragment| fragment.element());
        Matrix::of_target(target).map(|(op, _)| op).find(|op| {
            Shape::of(*op) == Some(Shape::new(m, k, 1))
                && of(*op, Part::A) == Some(element)
                && of(*op, Part::B) == Some(element)
                && of(*op, Part::D) == Some(Element::F32)
        })
    }
}

/// An operand of a matrix operation. C lies as D does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The result, and the addend C.
    D,
}

/// An element of the blocks of an operand, all from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Index {
    /// The block.
    pub block: u32,
    /// The row: below k for B, below m otherwise.
    pub row: u32,
    /// The column: below k for A, below n otherwise.
    pub column: u32,
}

/// Where an element lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The lane; in A and B of WMMA the lane 16 above holds the element again.
    pub lane: u32,
    /// The number of the element in its lane, low bits of the first register first.
    pub slot: u32,
}

/// How an operand lies in the registers of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    part: Part,
    element: Element,
    /// Bits from one slot to the next.
    slot_bits: u32,
    /// Elements on the axis that has a lane each.
    across: u32,
    /// Elements on the other axis.
    along: u32,
    blocks: u32,
    /// Consecutive elements of the long axis in a lane.
    run: u32,
    /// Groups of lanes that the runs are dealt to.
    groups: u32,
    /// Blocks side by side in a group of lanes; further ones follow in further registers.
    side_by_side: u32,
    /// Distance in lanes of a second copy of everything.
    copy: Option<u32>,
}

impl Fragment {
    /// How `part` of a dense operation lies; `None` for sparse and f8f6f4 rows.
    pub fn of(op: Matrix, part: Part) -> Option<Fragment> {
        let (shape, row) = (Shape::of(op)?, op.row());
        let is_wmma = row.gfx1100.is_some();
        let element = element(row, part)?;
        Some(match (part, is_wmma) {
            (Part::D, true) => Fragment::wmma_result(element, shape),
            (Part::D, false) => Fragment::mfma_result(element, shape),
            (_, true) => Fragment::wmma_factor(part, element, shape),
            (_, false) => Fragment::mfma_factor(part, element, shape),
        })
    }

    /// A or B of MFMA: each of the `64 / (m · blocks)` groups of lanes holds one run of k.
    fn mfma_factor(part: Part, element: Element, shape: Shape) -> Fragment {
        let groups = WAVE64 / (shape.m * shape.blocks);
        Fragment {
            part,
            element,
            slot_bits: element.bits(),
            across: shape.m,
            along: shape.k,
            blocks: shape.blocks,
            run: shape.k / groups,
            groups,
            side_by_side: shape.blocks,
            copy: None,
        }
    }

    /// D of MFMA: runs of four rows (binary64: of one), as many blocks side by side as lanes allow.
    fn mfma_result(element: Element, shape: Shape) -> Fragment {
        let run = if element == Element::F64 { 1 } else { 4 };
        let runs_per_block = shape.m / run;
        let side_by_side = (WAVE64 / (runs_per_block * shape.n)).clamp(1, shape.blocks);
        Fragment {
            part: Part::D,
            element,
            slot_bits: element.bits(),
            across: shape.n,
            along: shape.m,
            blocks: shape.blocks,
            run,
            groups: WAVE64 / (shape.n * side_by_side),
            side_by_side,
            copy: None,
        }
    }

    /// A or B of WMMA: all of k in each lane, and the upper half of the lanes repeats the lower.
    fn wmma_factor(part: Part, element: Element, shape: Shape) -> Fragment {
        Fragment {
            part,
            element,
            slot_bits: element.bits(),
            across: shape.m,
            along: shape.k,
            blocks: 1,
            run: shape.k,
            groups: 1,
            side_by_side: 1,
            copy: Some(shape.m),
        }
    }

    /// D of WMMA: rows alternate between the halves of the lanes; one register an element.
    fn wmma_result(element: Element, shape: Shape) -> Fragment {
        Fragment {
            part: Part::D,
            element,
            slot_bits: 32,
            across: shape.n,
            along: shape.m,
            blocks: 1,
            run: 1,
            groups: 2,
            side_by_side: 1,
            copy: None,
        }
    }

    /// The type of its elements.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Matrices in it.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Rows of each matrix.
    pub fn rows(&self) -> u32 {
        if self.part == Part::A { self.across } else { self.along }
    }

    /// Columns of each matrix.
    pub fn columns(&self) -> u32 {
        if self.part == Part::A { self.along } else { self.across }
    }

    /// Elements in each lane.
    pub fn slots(&self) -> u32 {
        self.blocks / self.side_by_side * self.slots_per_block()
    }

    /// Registers in each lane.
    pub fn registers(&self) -> u32 {
        (self.slots() * self.slot_bits).div_ceil(32)
    }

    /// Consecutive elements of the long axis (k of A and B, rows of D) that a lane holds before the next group of lanes
    /// goes on.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Groups of lanes that share the long axis.
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Distance in lanes of the second copy that A and B of WMMA must have.
    pub fn copy(&self) -> Option<u32> {
        self.copy
    }

    /// The register, counted from the first of the operand, and its first bit that a slot is in.
    pub fn register(&self, slot: u32) -> (u32, u32) {
        (slot * self.slot_bits / 32, slot * self.slot_bits % 32)
    }

    /// Where an element lies. The index must be inside the matrices.
    pub fn place(&self, index: Index) -> Place {
        let Index { block, row, column } = index;
        let (across, along) = if self.part == Part::A { (row, column) } else { (column, row) };
        let (run, inside) = (along / self.run, along % self.run);
        let lane = ((run % self.groups) * self.side_by_side + block % self.side_by_side)
            * self.across
            + across;
        let slot = block / self.side_by_side * self.slots_per_block()
            + run / self.groups * self.run
            + inside;
        Place { lane, slot }
    }

    /// The element at a place; the second copy of WMMA names the same elements.
    pub fn index(&self, place: Place) -> Index {
        let (group, across) = (place.lane / self.across, place.lane % self.across);
        let (block_register, slot) =
            (place.slot / self.slots_per_block(), place.slot % self.slots_per_block());
        let block = block_register * self.side_by_side + group % self.side_by_side;
        let run = slot / self.run * self.groups + group / self.side_by_side % self.groups;
        let along = run * self.run + slot % self.run;
        let (row, column) = if self.part == Part::A { (across, along) } else { (along, across) };
        Index { block, row, column }
    }

    fn slots_per_block(&self) -> u32 {
        self.along / self.groups
    }
}

const WAVE64: u32 = 64;

/// The element type of a part, from its row.
fn element(row: &Row, part: Part) -> Option<Element> {
    let position = match part {
        Part::D => 0,
        Part::A => 1,
        Part::B => 2,
    };
    match row.operands.get(position)?.ty {
        Ty::Tile(element, _) => Some(element),
        _ => None,
    }
}
