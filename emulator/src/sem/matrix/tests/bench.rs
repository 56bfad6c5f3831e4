//! One wave and one matrix operation, with elements put in and read back.

use isa::fragment::Shape;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{Element, Matrix, Op, Ty};
use isa::{Operand, Target};

use crate::exec::alone::{self, Around};
use crate::fault::Cause;
use crate::finding::Finding;
use crate::lds::Lds;
use crate::machine::Options;
use crate::memory::Memory;
use crate::numerics::Numerics;
use crate::scratch::Scratch;
use crate::wave::{Wave, scalar};

/// First registers of the operands.
pub(super) const D: u8 = 0;
pub(super) const A: u8 = 64;
pub(super) const B: u8 = 96;
pub(super) const C: u8 = 128;

/// One wave and one matrix operation.
pub(super) struct Bench {
    pub(super) target: Target,
    pub(super) op: Matrix,
    pub(super) shape: Shape,
    pub(super) wave: Wave,
    pub(super) inst: Inst,
    pub(super) numerics: Numerics,
}

impl Bench {
    pub(super) fn new(op: Matrix) -> Bench {
        let row = op.row();
        let target = if row.gfx950.is_some() { Target::Gfx950 } else { Target::Gfx1100 };
        let mut operands = [Operand::None; MAX_OPERANDS];
        operands[..4].copy_from_slice(&[D, A, B, C].map(Operand::Vgpr));
        let inst = Inst {
            op: Op::Matrix(op),
            encoding: row.form(target).expect("the target has it").encoding,
            size_bytes: 8,
            operands,
            mods: Modifiers::default(),
            dual: None,
        };
        let mut wave = Wave::new(target, [256, 256]);
        wave.n_vectors = [256, 256];
        wave.reset(0, 0, 0x3f0);
        wave.set_mask(scalar::EXEC, u64::MAX >> (64 - wave.width), 0);
        wave.active = wave.exec();
        let shape = Shape::of(op).expect("dense");
        let numerics = Numerics::default();
        let mut bench = Bench { target, op, shape, wave, inst, numerics };
        for register in 0..160 {
            (0..bench.lanes()).for_each(|lane| bench.write(register, lane, u32::MAX, 0x5555_5555));
        }
        bench
    }

    pub(super) fn lanes(&self) -> usize {
        self.wave.width as usize
    }

    pub(super) fn element(&self, position: usize) -> Element {
        let Ty::Tile(element, _) = self.op.row().operands[position].ty else {
            panic!("{:?}: no fragment", self.op)
        };
        element
    }

    pub(super) fn write(&mut self, register: u8, lane: usize, mask: u32, value: u32) {
        self.wave.vectors.write_lane(register.into(), lane, mask, value, 0);
    }

    /// Lane and number in the lane of A[block][i][k], and of B[block][k][j] with j for i.
    pub(super) fn factor_place(&self, block: usize, i: usize, k: usize) -> (usize, usize) {
        let Shape { m, k: depth, blocks, .. } = self.shape;
        if self.target == Target::Gfx1100 {
            return (i, k);
        }
        let lanes_per_step = (m * blocks) as usize;
        let elements = depth as usize * lanes_per_step / 64;
        (k / elements * lanes_per_step + block * m as usize + i, k % elements)
    }

    /// Lane and number in the lane of D[block][i][j].
    pub(super) fn result_place(&self, block: usize, i: usize, j: usize) -> (usize, usize) {
        let Shape { m, blocks, .. } = self.shape;
        match (m, blocks, self.element(0)) {
            (_, _, _) if self.target == Target::Gfx1100 => (i % 2 * 16 + j, i / 2),
            (16, 1, Element::F64) => (i % 4 * 16 + j, i / 4),
            (4, _, Element::F64) => (i * 16 + block * 4 + j, 0),
            (32, ..) => (i / 4 % 2 * 32 + j, block * 16 + i / 8 * 4 + i % 4),
            (16, ..) => (i / 4 * 16 + j, block * 4 + i % 4),
            (4, ..) => (block * 4 + j, i),
            other => panic!("{other:?}"),
        }
    }

    /// Puts element `number` of a lane.
    pub(super) fn put(
        &mut self,
        first: u8,
        position: usize,
        (lane, number): (usize, usize),
        bits: u64,
    ) {
        let width = self.element(position).bits();
        let is_result = position == 0 || position == 3;
        if self.target == Target::Gfx1100 && is_result {
            let half = if width == 16 && self.inst.mods.op_sel & 4 != 0 { 16 } else { 0 };
            let mask = (u64::MAX >> (64 - width)) as u32;
            return self.write(first + number as u8, lane, mask << half, (bits as u32) << half);
        }
        let copies =
            if self.target == Target::Gfx1100 { vec![lane, lane + 16] } else { vec![lane] };
        for lane in copies {
            for word in 0..width.div_ceil(32) {
                let bit = number as u32 * width + 32 * word;
                let mask = (u64::MAX >> (64 - width.min(32))) as u32;
                let value = (bits >> (32 * word)) as u32;
                let register = first + (bit / 32) as u8;
                self.write(register, lane, mask << (bit % 32), value << (bit % 32));
            }
        }
    }

    pub(super) fn result(&self, block: usize, i: usize, j: usize) -> u64 {
        let (lane, number) = self.result_place(block, i, j);
        let width = self.element(0).bits();
        let words = if width == 64 { 2 } else { 1 };
        let word = |word: usize| {
            let register = usize::from(D) + number * words + word;
            u64::from(self.wave.vectors.lane(register as u16, lane)) << (32 * word)
        };
        let half = if width == 16 && self.inst.mods.op_sel & 4 != 0 { 16 } else { 0 };
        (0..words).map(word).sum::<u64>() >> half & (u64::MAX >> (64 - width))
    }

    pub(super) fn fill(
        &mut self,
        a: impl Fn(usize, usize, usize) -> u64,
        b: impl Fn(usize, usize, usize) -> u64,
    ) {
        let Shape { m, n, k, blocks } = self.shape;
        for block in 0..blocks as usize {
            for depth in 0..k as usize {
                for i in 0..m as usize {
                    self.put(A, 1, self.factor_place(block, i, depth), a(block, i, depth));
                }
                for j in 0..n as usize {
                    self.put(B, 2, self.factor_place(block, j, depth), b(block, depth, j));
                }
            }
        }
    }

    pub(super) fn fill_c(&mut self, c: impl Fn(usize, usize, usize) -> u64) {
        for (block, i, j) in self.results() {
            self.put(C, 3, self.result_place(block, i, j), c(block, i, j));
        }
    }

    pub(super) fn results(&self) -> Vec<(usize, usize, usize)> {
        let Shape { m, n, blocks, .. } = self.shape;
        let pairs = move |block| {
            (0..m as usize).flat_map(move |i| (0..n as usize).map(move |j| (block, i, j)))
        };
        (0..blocks as usize).flat_map(pairs).collect()
    }

    pub(super) fn run(&mut self) -> Result<Vec<Finding>, Box<Cause>> {
        let around = Around {
            memory: &mut Memory::new(0),
            lds: &mut Lds::new(0),
            scratch: &mut Scratch::new(0, 0),
            options: &Options { numerics: self.numerics, ..Options::default() },
        };
        let ran = alone::execute(&mut self.wave, around, self.target, self.inst);
        let (outcome, found) = ran.map_err(Box::new)?;
        outcome.map(|()| found)
    }
}

/// Operations whose products are compared. The completeness test asks this.
pub(in crate::sem) fn dense() -> impl Iterator<Item = Matrix> {
    let ops = Matrix::ROWS.iter().map(|row| match row.op {
        Op::Matrix(op) => op,
        other => panic!("{other:?}"),
    });
    ops.filter(|op| Shape::of(*op).is_some())
}

/// A small integer as an element.
pub(super) fn encode(element: Element, value: i32) -> u64 {
    match element {
        Element::F64 => f64::from(value).to_bits(),
        Element::F32 => (value as f32).to_bits().into(),
        Element::F16 => half::f16::from_f32(value as f32).to_bits().into(),
        Element::Bf16 => half::bf16::from_f32(value as f32).to_bits().into(),
        // Signed magnitudes 0 to 3 in E4M3 and E5M2.
        Element::Fp8 => [0x00, 0x38, 0x40, 0x44][value.unsigned_abs() as usize] | sign(value),
        Element::Bf8 => [0x00, 0x3c, 0x40, 0x42][value.unsigned_abs() as usize] | sign(value),
        Element::I32 => u64::from(value.cast_unsigned()),
        Element::I8 | Element::Iu8 => u64::from(value.cast_unsigned() & 0xff),
        Element::Iu4 => u64::from(value.cast_unsigned() & 0xf),
    }
}

fn sign(value: i32) -> u64 {
    if value < 0 { 0x80 } else { 0 }
}

/// A number from −3 to 3 that depends on every index.
pub(super) fn small(seed: usize, x: usize, y: usize, z: usize) -> i32 {
    let mixed = (seed + 131 * x + 31 * y + 7 * z + x * y * 13 + y * z * 5) * 2_654_435_761;
    (mixed / 128 % 7) as i32 - 3
}

/// The modes of the target that has an operation.
pub(super) fn modes(op: Matrix) -> Vec<Numerics> {
    Numerics::of_target(Bench::new(op).target).to_vec()
}

/// The value of a float element of D.
pub(super) fn decode(element: Element, bits: u64) -> f64 {
    match element {
        Element::F16 => half::f16::from_bits(bits as u16).to_f64(),
        Element::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
        _ => f32::from_bits(bits as u32).into(),
    }
}
