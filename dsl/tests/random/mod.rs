//! Random valid kernels: a stream of choices drives the builder, so that shrinking the stream shrinks the kernel.

use isa::Target;
use wavesmith_dsl::ir::{Kernel, Type};
use wavesmith_dsl::{Expr, KernelBuilder, Mask, Scalar, View};

/// The kernel that a stream of choices stands for. Every stream stands for one.
pub fn kernel(choices: &[u8]) -> Kernel {
    let mut choices = Choices { bytes: choices, next: 0 };
    let target = Target::ALL[choices.below(2)];
    let waves = 1 + choices.below(4) as u32;
    let k = KernelBuilder::new("random", target, waves * target.wave_width());
    let elem = [Scalar::F32, Scalar::F16, Scalar::Bf16][choices.below(3)];
    let length = 1 + choices.below(64) as u32;
    let mut author = Author {
        k: &k,
        input: k.input("input", elem, &[None, Some(length)]).at(k.workgroup_id_x()),
        output: k.output("output", elem, &[None, Some(length)]),
        tile: k.lds("tile", Scalar::F32, &[8, 4]),
        floats: vec![k.scalar("factor", Scalar::F32)],
        integers: vec![k.thread_id(), k.wave_id(), k.scalar("count", Scalar::I32)],
        truths: Vec::new(),
        vectors: Vec::new(),
        length,
    };
    author.block(&mut choices, 0);
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

/// What may be used at a place in the kernel.
#[derive(Clone)]
struct Author<'k> {
    k: &'k KernelBuilder,
    input: View<'k>,
    output: View<'k>,
    tile: View<'k>,
    floats: Vec<Expr<'k>>,
    integers: Vec<Expr<'k>>,
    truths: Vec<Expr<'k>>,
    /// Vectors of four f32.
    vectors: Vec<Expr<'k>>,
    length: u32,
}

impl<'k> Author<'k> {
    fn block(&mut self, choices: &mut Choices<'_>, depth: usize) {
        while !choices.is_empty() {
            match choices.below(12) {
                0 if depth > 0 => return,
                1 | 2 => self.float(choices),
                3 | 4 => self.integer(choices),
                5 => self.truth(choices),
                6 => self.vector(choices),
                7 => self.memory(choices),
                8 if depth < 4 => self.repeat(choices, depth),
                9 if depth < 4 => self.branch(choices, depth),
                10 if depth == 0 => self.together(choices),
                _ => self.constant(choices),
            }
        }
    }

    fn float(&mut self, choices: &mut Choices<'_>) {
        let [a, b, c] = [(); 3].map(|()| choices.of(&self.floats));
        self.floats.push(match choices.below(10) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => a.fma(b, c),
            4 => a.min(b),
            5 => (a + 1.0).exp2(),
            6 => -a.abs(),
            7 => choices.of(&self.integers).signed_to_f32(),
            8 => a.narrow(Scalar::Bf16).widen(),
            _ => a.bitcast(Type::I32).bitcast(Type::F32),
        });
    }

    fn integer(&mut self, choices: &mut Choices<'_>) {
        let [a, b] = [(); 2].map(|()| choices.of(&self.integers));
        self.integers.push(match choices.below(9) {
            0 => a + b,
            1 => a * b,
            2 => a << 3,
            3 => a.div_u(7),
            4 => a.max(b),
            5 => choices.of(&self.floats).to_i32(),
            6 => a.sign_extend().truncate(Scalar::I32),
            7 => a.read_first_lane(),
            _ => !(a ^ b),
        });
    }

    fn truth(&mut self, choices: &mut Choices<'_>) {
        let truth = match choices.below(3) {
            0 => choices.of(&self.integers).lt(choices.of(&self.integers)),
            1 => choices.of(&self.floats).le(choices.of(&self.floats)),
            _ => choices.of(&self.integers).eq(choices.below(5) as u32),
        };
        self.truths.push(truth);
        let chosen = truth.select(choices.of(&self.floats), choices.of(&self.floats));
        self.floats.push(chosen);
    }

    fn vector(&mut self, choices: &mut Choices<'_>) {
        let elements = [(); 4].map(|()| choices.of(&self.floats));
        let vector = self.k.pack(&elements);
        let other = self.vectors.last().copied().unwrap_or(vector);
        self.vectors.push(vector.fma(choices.of(&self.floats), other));
        self.floats.push(vector.element(choices.below(4) as u8));
    }

    fn memory(&mut self, choices: &mut Choices<'_>) {
        let index = choices.of(&self.integers);
        match choices.below(4) {
            0 => self.floats.push(self.input.load(index)),
            1 => self.output.store(
                (index, choices.below(self.length as usize) as u32),
                choices.of(&self.floats),
            ),
            2 => self.floats.extend(self.input.load_run(0, self.length.min(9))),
            _ => {
                self.tile.store((index, 3), choices.of(&self.floats));
                self.floats.push(self.tile.load((choices.below(8) as u32, index)));
            }
        }
    }

    fn repeat(&mut self, choices: &mut Choices<'_>, depth: usize) {
        let inits = (choices.of(&self.floats), choices.of(&self.integers));
        let (lower, upper) = (choices.below(3) as i32, choices.below(9) as i32);
        let step = 1 + choices.below(4) as u32;
        let (float, integer) =
            self.k.for_range(lower, upper, step, inits, |index, (float, integer)| {
                let mut inner = self.clone();
                inner.floats.push(float);
                inner.integers.extend([index, integer]);
                inner.block(choices, depth + 1);
                (choices.of(&inner.floats), choices.of(&inner.integers))
            });
        self.floats.push(float);
        self.integers.push(integer);
    }

    fn branch(&mut self, choices: &mut Choices<'_>, depth: usize) {
        let cond = self.truths.last().copied().unwrap_or(self.k.truth(true));
        let (mut then, mut otherwise) = (self.clone(), self.clone());
        if choices.below(2) == 0 {
            return Mask::Where(cond).run(|| then.block(choices, depth + 1));
        }
        // Both arms draw from one stream, one after the other.
        let stream = std::cell::RefCell::new(choices);
        let arm = |author: &mut Author<'k>| {
            let choices = &mut *stream.borrow_mut();
            author.block(choices, depth + 1);
            [choices.of(&author.floats), choices.of(&author.floats)]
        };
        let results = self.k.if_else(cond, || arm(&mut then), || arm(&mut otherwise));
        self.floats.extend(results);
    }

    /// What all lanes do together.
    fn together(&mut self, choices: &mut Choices<'_>) {
        let float = choices.of(&self.floats);
        self.floats.push(match choices.below(3) {
            0 => self.k.workgroup_sum(float),
            1 => self.k.lane_groups(8).sum(float),
            _ => {
                self.k.barrier();
                float.lane_xor(1 + choices.below(31) as u32)
            }
        });
    }

    fn constant(&mut self, choices: &mut Choices<'_>) {
        self.floats.push(self.k.f32(choices.below(256) as f32 - 100.5));
        self.integers.push(self.k.i32(choices.below(256) as i32 - 100));
    }
}
