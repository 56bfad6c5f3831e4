//! Layouts made ready to run: for every slot and lane the position of its element in a row-major matrix.

use std::sync::OnceLock;

use isa::fragment::{Fragment, Index, Part, Place, Shape};
use isa::table::Matrix;

use super::tiles::Tiles;
use crate::prepare::Prepared;
use crate::wave::ROW_LANES;

/// The layouts of an operation.
#[derive(Debug)]
pub(super) struct Plan {
    pub shape: Shape,
    pub a: Layout,
    pub b: Layout,
    /// Of C too.
    pub d: Layout,
    /// How to go fast, where that is possible.
    pub tiles: Option<Tiles>,
}

/// How one operand lies.
#[derive(Debug)]
pub(super) struct Layout {
    pub fragment: Fragment,
    n_lanes: usize,
    /// By slot, then lane.
    positions: Vec<u16>,
}

impl Plan {
    /// The plan of a dense operation, built once.
    pub(super) fn of(op: Matrix) -> Option<&'static Plan> {
        static PLANS: [OnceLock<Option<Plan>>; Matrix::ROWS.len()] =
            [const { OnceLock::new() }; Matrix::ROWS.len()];
        PLANS[op as usize].get_or_init(|| Plan::build(op)).as_ref()
    }

    fn build(op: Matrix) -> Option<Plan> {
        let layout = |part| Some(Layout::build(op, Fragment::of(op, part)?));
        Some(Plan {
            shape: Shape::of(op)?,
            a: layout(Part::A)?,
            b: layout(Part::B)?,
            d: layout(Part::D)?,
            tiles: Tiles::build(op),
        })
    }

    /// The layout of the source at a position of the row.
    pub(super) fn layout(&self, k: usize) -> &Layout {
        [&self.a, &self.b, &self.d][k]
    }
}

impl Layout {
    fn build(op: Matrix, fragment: Fragment) -> Layout {
        let n_lanes = if op.row().gfx1100.is_some() { 32 } else { 64 };
        let position = |lane, slot| {
            let Index { block, row, column } = fragment.index(Place { lane, slot });
            let at = (block * fragment.rows() + row) * fragment.columns() + column;
            u16::try_from(at).expect("at most 4096 elements")
        };
        let slots = 0..fragment.slots();
        let positions =
            slots.flat_map(|slot| (0..n_lanes).map(move |lane| position(lane, slot))).collect();
        Layout { fragment, n_lanes: n_lanes as usize, positions }
    }

    /// Elements of all blocks.
    pub(super) fn len(&self) -> usize {
        (self.fragment.blocks() * self.fragment.rows() * self.fragment.columns()) as usize
    }

    /// Elements of a lane.
    pub(super) fn slots(&self) -> usize {
        self.fragment.slots() as usize
    }

    /// Lanes of the wave, second copies included.
    pub(super) fn lanes(&self) -> usize {
        self.n_lanes
    }

    /// Registers of a lane.
    pub(super) fn registers(&self) -> u16 {
        self.fragment.registers() as u16
    }

    /// The row-major position of an element.
    #[inline]
    pub(super) fn position(&self, slot: usize, lane: usize) -> usize {
        self.positions[slot * self.n_lanes + lane].into()
    }

    /// The row-major positions of a slot in a row of lanes.
    #[inline]
    pub(super) fn positions(&self, slot: usize, row: usize) -> &[u16] {
        let first = slot * self.n_lanes + row * ROW_LANES;
        &self.positions[first..first + ROW_LANES]
    }

    /// The register of a slot, its first bit there, and the mask of its width.
    #[inline]
    pub(super) fn bits(&self, slot: usize) -> (u16, u32, u64) {
        let (register, bit) = self.fragment.register(slot as u32);
        (register as u16, bit, u64::MAX >> (64 - self.fragment.element().bits()))
    }

    /// The first bit of the half that OP_SEL chooses for 16-bit fragments of one element a register.
    pub(super) fn half(&self, inst: &Prepared) -> u32 {
        let is_halved =
            self.registers() as usize == self.slots() && self.fragment.element().bits() == 16;
        if is_halved && inst.inst.mods.op_sel & 4 != 0 { 16 } else { 0 }
    }
}
