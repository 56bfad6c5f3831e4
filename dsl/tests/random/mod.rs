//! Random programs with one meaning: a stream of choices drives the builder, so that shrinking the stream shrinks the
//! program. Every stream stands for a kernel that no two runs can differ about: accesses stay inside their buffers,
//! waves meet before they read what others wrote, matrix operations get whole numbers, and no NaN becomes an integer.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dsl::builder::Index;
use dsl::ir::{Access, Kernel, Type};
use dsl::{Atom, Expr, KernelBuilder, Mask, Scalar, View};
use isa::Target;

/// Workgroups of a launch.
pub const GROUPS: u32 = 2;
/// Elements of each input, and of a table that all work-items set bits of.
pub const INPUTS: u32 = 256;
/// Values of each kind that a work-item writes.
pub const RESULTS: u32 = 6;
/// Rows and columns of the matrices of whole numbers, and how many there are.
pub const MATRICES: [u32; 3] = [4, 32, 32];

const WIDE: Type = Type::Vector(Scalar::F32, 8);
const QUAD: Type = Type::Vector(Scalar::F32, 4);
const HALF: Type = Type::Scalar(Scalar::F16);
const PAIR: Type = Type::Vector(Scalar::F16, 2);
/// What a loop may carry.
const CARRIED: [Type; 7] = [Type::F32, Type::I32, Type::I64, HALF, PAIR, QUAD, WIDE];

/// The program that a stream of choices stands for.
pub fn program(target: Target, choices: &[u8]) -> Kernel {
    let mut choices = Choices { bytes: choices, next: 0 };
    let waves = 1 + choices.below(3) as u32;
    let k = KernelBuilder::new("random", target, waves * target.wave_width());
    let mut author = Author::new(&k, &mut choices);
    author.block(&mut choices, Place { depth: 0, together: true });
    author.finish();
    k.finish().unwrap_or_else(|errors| panic!("{errors:#?}"))
}

struct Choices<'c> {
    bytes: &'c [u8],
    next: usize,
}

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        let byte = self.bytes.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(byte) % count
    }

    fn is_empty(&self) -> bool {
        self.next >= self.bytes.len()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// Where a statement will stand.
#[derive(Clone, Copy)]
struct Place {
    /// Blocks around it.
    depth: usize,
    /// Whether all work-items come here together.
    together: bool,
}

impl Place {
    fn inside(self, together: bool) -> Place {
        Place { depth: self.depth + 1, together: self.together && together }
    }
}

/// What may be used at a place in the program.
#[derive(Clone)]
struct Author<'k> {
    k: &'k KernelBuilder,
    numbers: View<'k>,
    words: View<'k>,
    matrices: View<'k>,
    flags: View<'k>,
    out_numbers: View<'k>,
    out_words: View<'k>,
    /// A row of each work-item's own, which it writes and reads again.
    kept: View<'k>,
    /// LDS that work-items exchange values in.
    exchange: View<'k>,
    /// LDS of which each work-item has its own vector.
    own: View<'k>,
    /// A matrix of whole numbers in LDS.
    tile: View<'k>,
    atom: Atom<'k>,
    /// Values by type; the last are the youngest.
    values: BTreeMap<Type, Vec<Expr<'k>>>,
    /// Results of matrix operations: whole numbers.
    sums: Vec<dsl::Accumulator<'k>>,
}

impl<'k> Author<'k> {
    fn new(k: &'k KernelBuilder, choices: &mut Choices<'_>) -> Author<'k> {
        let elem = choices.of(&[Scalar::Bf16, Scalar::F16]);
        let size = k.workgroup_size();
        let [count, rows, columns] = MATRICES;
        let results = [None, Some(size), Some(RESULTS)];
        let (m, depth) = match k.target() {
            Target::Gfx950 => choices.of(&[(16, 32), (32, 16), (16, 16)]),
            Target::Gfx1100 => (16, 16),
        };
        let mut author = Author {
            k,
            numbers: k.input("numbers", Scalar::F32, &[Some(INPUTS)]),
            words: k.input("words", Scalar::I32, &[Some(INPUTS)]),
            matrices: k.input("matrices", elem, &[Some(count), Some(rows), Some(columns)]),
            flags: k.buffer("flags", Scalar::I32, Access::ReadWrite, &[Some(INPUTS)]),
            out_numbers: k.output("out_numbers", Scalar::F32, &results),
            out_words: k.output("out_words", Scalar::I32, &results),
            kept: k.buffer("kept", Scalar::F32, Access::ReadWrite, &results),
            exchange: k.lds("exchange", Scalar::F32, &[size]),
            own: k.lds("own", Scalar::F32, &[size, 4]),
            tile: k.lds("tile", elem, &[rows, columns]),
            atom: k.matrix_atom(elem, m, depth),
            values: BTreeMap::new(),
            sums: Vec::new(),
        };
        author.begin();
        author
    }

    /// A value of every type, and LDS that is written.
    fn begin(&mut self) {
        let k = self.k;
        let (factor, count) = (k.scalar("factor", Scalar::F32), k.scalar("count", Scalar::I32));
        let thread = k.thread_id();
        let number = self.numbers.load(thread & (INPUTS - 1));
        let quad = k.pack(&[number, factor, number * 0.5, factor - number]);
        k.copy_tile(&self.matrices.at(0), &self.tile, MATRICES[1], MATRICES[2]);
        self.own.store((thread, 0), quad);
        k.barrier();
        let elements = quad.elements();
        let wide = k.pack(&[elements.clone(), elements].concat());
        let half = number.narrow(Scalar::F16);
        let pair = k.pack(&[half, factor.narrow(Scalar::F16)]);
        let starts = [number, factor, quad, wide, half, pair, count, thread, k.wave_id()];
        starts.into_iter().for_each(|value| self.put(value));
        self.put(k.workgroup_id_x());
        self.put(thread.zero_extend(Scalar::I64));
        self.put(thread.lt(count));
    }

    fn put(&mut self, value: Expr<'k>) {
        self.values.entry(value.ty()).or_default().push(value);
    }

    /// A value of a type, more often a young one.
    fn pick(&self, ty: Type, choices: &mut Choices<'_>) -> Expr<'k> {
        let all = &self.values[&ty];
        let young = &all[all.len().saturating_sub(4)..];
        if choices.below(4) == 0 { choices.of(all) } else { choices.of(young) }
    }

    fn block(&mut self, choices: &mut Choices<'_>, place: Place) {
        while !choices.is_empty() {
            match choices.below(16) {
                0 if place.depth > 0 => return,
                1 | 2 => self.float(choices),
                3 | 4 => self.integer(choices),
                5 => self.long(choices),
                6 => self.half(choices),
                7 => self.vector(choices),
                8 => self.truth(choices),
                9 => self.memory(choices),
                10 | 11 if place.depth < 3 => self.repeat(choices, place),
                12 | 13 if place.depth < 3 => self.branch(choices, place),
                14 | 15 if place.together => self.together(choices),
                _ => self.constant(choices),
            }
        }
    }

    fn float(&mut self, choices: &mut Choices<'_>) {
        let [a, b, c] = [(); 3].map(|()| self.pick(Type::F32, choices));
        let integer = self.pick(Type::I32, choices);
        let value = match choices.below(14) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => a.fma(b, c),
            4 => a.min(b),
            5 => a.max(b),
            6 => (a * 0.125).exp2(),
            7 => -a.abs(),
            8 => integer.signed_to_f32(),
            9 => integer.unsigned_to_f32(),
            10 => (b + 0.5).rcp(),
            11 => a.round_even(),
            12 => (a * a + 1.0).rsq(),
            _ => a.narrow(Scalar::Bf16).widen(),
        };
        self.put(value);
    }

    fn integer(&mut self, choices: &mut Choices<'_>) {
        let [a, b] = [(); 2].map(|()| self.pick(Type::I32, choices));
        let value = match choices.below(16) {
            0 => a + b,
            1 => a * b,
            2 => a << 3,
            3 => a.div_u(7),
            4 => a.max(b),
            5 => self.pick(Type::F32, choices).to_i32(),
            6 => a.rem_u(1 + choices.below(200) as u32),
            7 => a.read_first_lane(),
            8 => self.bits(self.pick(Type::F32, choices)),
            9 => a.shr_s(b),
            10 => a.min_u(b),
            11 => a.mul_high_u(b),
            12 => a & b,
            13 => self.pick(Type::I64, choices).truncate(Scalar::I32),
            14 => a - b,
            _ => !(a ^ b),
        };
        self.put(value);
    }

    /// The bits of a number; zero for NaN, whose payload no one promises.
    fn bits(&self, number: Expr<'k>) -> Expr<'k> {
        number.eq(number).select(number.bitcast(Type::I32), self.k.i32(0))
    }

    fn long(&mut self, choices: &mut Choices<'_>) {
        let [a, b] = [(); 2].map(|()| self.pick(Type::I64, choices));
        let integer = self.pick(Type::I32, choices);
        let value = match choices.below(8) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => integer.sign_extend(),
            4 => a ^ b,
            5 => a << integer.zero_extend(Scalar::I64),
            6 => a.shr_s(5),
            _ => a.shr_u(integer.zero_extend(Scalar::I64)) & b,
        };
        self.put(value);
    }

    fn half(&mut self, choices: &mut Choices<'_>) {
        let ty = choices.of(&[HALF, PAIR]);
        let [a, b, c] = [(); 3].map(|()| self.pick(ty, choices));
        let value = match choices.below(6) {
            0 => a + b,
            1 => a * b,
            2 => a.fma(b, c),
            3 => -a,
            4 => a - b,
            _ => self.pick(Type::F32, choices).narrow(Scalar::F16),
        };
        self.put(value);
        match value.ty() {
            HALF => self.put(value.widen()),
            _ => self.put(value.element(1)),
        }
    }

    fn vector(&mut self, choices: &mut Choices<'_>) {
        let ty = choices.of(&[QUAD, WIDE]);
        let [a, b] = [(); 2].map(|()| self.pick(ty, choices));
        let value = match choices.below(4) {
            0 => a + b,
            1 => a.fma(self.pick(Type::F32, choices), b),
            2 => a * b,
            _ => {
                let elements: Vec<_> =
                    (0..ty.lanes()).map(|_| self.pick(Type::F32, choices)).collect();
                self.k.pack(&elements)
            }
        };
        self.put(value);
        self.put(value.element(choices.below(4) as u8));
    }

    fn truth(&mut self, choices: &mut Choices<'_>) {
        let [a, b] = [(); 2].map(|()| self.pick(Type::F32, choices));
        let [i, j] = [(); 2].map(|()| self.pick(Type::I32, choices));
        let [p, q] = [(); 2].map(|()| self.pick(Type::I1, choices));
        let truth = match choices.below(8) {
            0 => i.lt(j),
            1 => a.le(b),
            2 => i.eq(choices.below(5) as u32),
            3 => a.ne(b),
            4 => p & q,
            5 => !p,
            6 => self.pick(Type::I64, choices).lt_u(self.pick(Type::I64, choices)),
            _ => (i & 3).le_u(j & 3),
        };
        self.put(truth);
        let ty = choices.of(&CARRIED);
        let chosen = truth.select(self.pick(ty, choices), self.pick(ty, choices));
        self.put(chosen);
    }

    fn memory(&mut self, choices: &mut Choices<'_>) {
        let index = self.pick(Type::I32, choices) & (INPUTS - 1);
        let thread = self.k.thread_id();
        match choices.below(9) {
            0 => self.put(self.numbers.load(index)),
            1 => self.put(self.words.load(index)),
            2 => {
                let quad = self.numbers.load_vector((index & 63) << 2, 4);
                self.put(quad);
            }
            3 => self.own.store((thread, 0), self.pick(QUAD, choices)),
            4 => self.put(self.own.load_vector((thread, 0), 4)),
            5 => self.flags.atomic_or(index, self.pick(Type::I32, choices)),
            6 => {
                let place = self.row(choices.below(RESULTS as usize) as u32);
                self.kept.store(place, self.pick(Type::F32, choices));
            }
            7 => {
                let place = self.row(choices.below(RESULTS as usize) as u32);
                self.put(self.kept.load(place));
            }
            _ => self.put(self.own.load((thread, choices.below(4) as u32))),
        }
    }

    fn repeat(&mut self, choices: &mut Choices<'_>, place: Place) {
        let count = choices.below(4);
        let inits: Vec<_> = (0..count)
            .map(|_| {
                let ty = choices.of(&CARRIED);
                self.pick(ty, choices)
            })
            .collect();
        let types: Vec<Type> = inits.iter().map(|init| init.ty()).collect();
        let sums: Vec<_> =
            if place.together { self.sums.last().copied() } else { None }.into_iter().collect();
        let k = self.k;
        let lower = k.i32(choices.below(3) as i32);
        // Bounds that differ between waves, between launches, or not at all.
        let (upper, together) = match choices.below(4) {
            0 => (k.wave_id() + 1, false),
            1 => (self.values[&Type::I32][0] & 3, true),
            _ => (k.i32(choices.below(6) as i32), true),
        };
        let step = 1 + choices.below(3) as u32;
        let (values, sums) =
            k.for_range(lower, upper, step, (inits, sums), |index, (values, sums)| {
                let mut inner = self.clone();
                inner.put(index);
                values.into_iter().for_each(|value| inner.put(value));
                let carries_sum = !sums.is_empty();
                inner.sums.extend(sums);
                inner.block(choices, place.inside(together));
                let next = types.iter().map(|ty| inner.pick(*ty, choices)).collect();
                let sums = inner.sums.last().copied().filter(|_| carries_sum);
                (next, sums.into_iter().collect::<Vec<_>>())
            });
        values.into_iter().for_each(|value| self.put(value));
        self.sums.extend(sums);
    }

    fn branch(&mut self, choices: &mut Choices<'_>, place: Place) {
        let cond = match choices.below(4) {
            0 => self.pick(Type::I32, choices).read_first_lane().lt(3),
            _ => self.pick(Type::I1, choices),
        };
        let place = place.inside(false);
        let (mut then, mut otherwise) = (self.clone(), self.clone());
        if choices.below(3) == 0 {
            return Mask::Where(cond).run(|| then.block(choices, place));
        }
        let types = [(); 2].map(|()| choices.of(&CARRIED));
        // Both arms draw from one stream, one after the other.
        let stream = RefCell::new(choices);
        let arm = |author: &mut Author<'k>| {
            let choices = &mut *stream.borrow_mut();
            author.block(choices, place);
            types.map(|ty| author.pick(ty, choices))
        };
        let results = self.k.if_else(cond, || arm(&mut then), || arm(&mut otherwise));
        results.into_iter().for_each(|value| self.put(value));
    }

    /// What all work-items do together.
    fn together(&mut self, choices: &mut Choices<'_>) {
        let (k, float) = (self.k, self.pick(Type::F32, choices));
        let turn = 1 + choices.below(31) as u32;
        match choices.below(7) {
            0 => self.put(k.workgroup_sum(float)),
            1 => self.put(k.lane_groups(8).sum(float)),
            2 => self.put(float.lane_xor(turn)),
            3 => self.put(self.pick(Type::I32, choices).lane_xor(turn)),
            4 => {
                self.exchange.store(k.thread_id(), float);
                k.barrier();
                let other = (k.thread_id() + turn).rem_u(k.workgroup_size());
                self.put(self.exchange.load(other));
                k.barrier();
            }
            _ => self.product(choices),
        }
    }

    fn product(&mut self, choices: &mut Choices<'_>) {
        let which = self.pick(Type::I32, choices).read_first_lane() & 3;
        let stored = self.matrices.at(which);
        let (left, right) = match choices.below(3) {
            0 => (&stored, &self.tile),
            1 => (&self.tile, &stored),
            _ => (&stored, &stored),
        };
        let sum = match self.sums.last() {
            Some(sum) if choices.below(4) > 0 => *sum,
            _ => self.atom.zeros(),
        };
        let sum = self.atom.multiply_add(self.atom.left(left), self.atom.right(right), sum);
        self.put(sum.vector().element(choices.below(4) as u8));
        self.sums.push(sum);
    }

    fn constant(&mut self, choices: &mut Choices<'_>) {
        self.put(self.k.f32(choices.below(256) as f32 - 100.5));
        self.put(self.k.i32(choices.below(256) as i32 - 100));
    }

    /// A place in what this work-item alone writes.
    fn row(&self, at: u32) -> [Index<'k>; 3] {
        [self.k.workgroup_id_x().into(), self.k.thread_id().into(), at.into()]
    }

    /// Writes the youngest values of each kind.
    fn finish(&self) {
        let youngest = |ty| self.values[&ty].iter().rev().take(RESULTS as usize).copied();
        for (at, value) in (0..).zip(youngest(Type::F32)) {
            self.out_numbers.store(self.row(at), value);
        }
        let longs = youngest(Type::I64).take(1).map(|long| long.shr_u(17).truncate(Scalar::I32));
        let vectors = [QUAD, WIDE].into_iter().filter_map(|ty| self.values[&ty].last());
        let vectors = vectors.map(|vector| self.bits(vector.element(3)));
        let sums = self.sums.last().map(|sum| sum.vector().element(3).to_i32());
        let words = longs.chain(vectors).chain(sums).chain(youngest(Type::I32));
        for (at, value) in (0..RESULTS).zip(words) {
            self.out_words.store(self.row(at), value);
        }
    }
}
