//! GEMM through LDS: four waves a workgroup, a K loop with barriers, sizes that no tile divides.
//!
//! Fragments are laid out as the ISA manuals say: lane `l` of an MFMA holds row (A) or column (B) `l % m`
//! and the elements `l / m * per_lane ..` of k; lanes of a WMMA hold all 16 elements of k, both halves of
//! the wave the same.

use emulator::Numerics;
use half::f16;
use isa::Target;

use crate::bench::{Arg, BOTH, Bench, GFX950, GFX1100, Plain, Program};
use crate::ir::{Ir, kernel, v};

mod matrix;
mod mma;

use matrix::matrix;
use mma::*;

macro_rules! gemm {
    ($name:literal, $targets:expr, $levels:expr, $mma:expr) => {
        Program {
            name: $name,
            targets: $targets,
            levels: $levels,
            source: |target| source(target, $name, &$mma),
            check: |bench| check(bench, &$mma),
        }
    };
}

pub const PROGRAMS: &[Program] = &[
    gemm!("gemm_f16_16x16x32", GFX950, &[0, 2, 3], MFMA_F16_16),
    gemm!("gemm_f16_32x32x16", GFX950, &[2, 3], MFMA_F16_32),
    gemm!("gemm_f16_32x32x8", GFX950, &[2], MFMA_F16_32X8),
    gemm!("gemm_bf16_16x16x32", GFX950, &[2, 3], MFMA_BF16_16),
    gemm!("gemm_bf16_32x32x16", GFX950, &[0, 2], MFMA_BF16_32),
    gemm!("gemm_f32_16x16x4", GFX950, &[0, 2, 3], MFMA_F32_16),
    gemm!("gemm_f32_32x32x2", GFX950, &[2], MFMA_F32_32),
    gemm!("gemm_f64_16x16x4", GFX950, &[0, 2, 3], MFMA_F64),
    gemm!("gemm_fp8_16x16x32", GFX950, &[0, 2, 3], MFMA_FP8_16),
    gemm!("gemm_fp8_32x32x16", GFX950, &[2], MFMA_FP8_32),
    gemm!("gemm_bf8_16x16x32", GFX950, &[2], MFMA_BF8_16),
    gemm!("gemm_i8_16x16x64", GFX950, &[0, 2, 3], MFMA_I8_16),
    gemm!("gemm_i8_32x32x32", GFX950, &[2], MFMA_I8_32),
    gemm!("gemm_wmma_f16", GFX1100, &[0, 2, 3], WMMA_F16),
    gemm!("gemm_wmma_bf16", GFX1100, &[0, 2, 3], WMMA_BF16),
    gemm!("gemm_wmma_f16_f16", GFX1100, &[0, 2, 3], WMMA_F16_F16),
    gemm!("gemm_wmma_iu8", GFX1100, &[0, 2, 3], WMMA_IU8),
    gemm!("gemm_vector_f32", BOTH, &[0, 2, 3], VECTOR_F32),
];

const WAVES: u32 = 4;

/// A tile of 2 by 2 waves and two instructions of k.
struct Tile {
    side: u32,
    depth: u32,
    /// Elements from row to row in LDS: a multiple of 16 bytes, padded against bank conflicts.
    pitch: u32,
    threads: u32,
}

fn tile(target: Target, mma: &Mma) -> Tile {
    let depth = 2 * mma.k;
    let unit = 16 / mma.element.bytes();
    let pitch = (depth + 1).next_multiple_of(unit);
    Tile { side: 2 * mma.m, depth, pitch, threads: WAVES * target.wave_width() }
}

fn source(target: Target, name: &str, mma: &Mma) -> String {
    let params = "ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %m, i32 %n, \
                  i32 %k, i32 %lda, i32 %ldb, i32 %ldc";
    let tile = tile(target, mma);
    kernel(target, name, params, tile.threads, |ir| {
        let int = mma.element.int();
        let (a, b) =
            (ir.lds("a", int, tile.side * tile.pitch), ir.lds("b", int, tile.side * tile.pitch));
        let column = ir.group();
        let row = v!(ir, "call i32 @llvm.amdgcn.workgroup.id.y()");
        let [row, column] = [row, column].map(|id| v!(ir, "mul i32 {id}, {}", tile.side));
        let (wave, lane) = (ir.wave(), ir.lane());
        let wave_row = v!(ir, "and i32 {wave}, 1");
        let wave_column = v!(ir, "lshr i32 {wave}, 1");
        let [wave_row, wave_column] =
            [wave_row, wave_column].map(|id| v!(ir, "mul i32 {id}, {}", mma.m));
        let position = Position { row, column, wave_row, wave_column, lane };
        let n_acc = accumulators(target, mma);
        let zero = match mma.results {
            0 => "0.0",
            _ => "zeroinitializer",
        };
        let ty = if mma.results == 0 { "float" } else { mma.accumulator };
        let initial: Vec<(&str, &str)> = (0..n_acc).map(|_| (ty, zero)).collect();
        let depth = tile.depth.to_string();
        let sums = ir.each(["0", "%k", &depth], &initial, |ir, k, sums| {
            load_tile(ir, mma, &tile, Side::A, &a, &position.row, k);
            load_tile(ir, mma, &tile, Side::B, &b, &position.column, k);
            ir.barrier();
            let sums = multiply(ir, mma, &tile, [&a, &b], &position, sums.to_vec());
            ir.barrier();
            sums
        });
        store(ir, mma, &position, &sums);
    })
}

/// Results that one lane carries separately: matrix instructions have one vector of them.
fn accumulators(target: Target, mma: &Mma) -> u32 {
    match mma.results {
        0 => 256 / target.wave_width(),
        _ => 1,
    }
}

struct Position {
    row: String,
    column: String,
    wave_row: String,
    wave_column: String,
    lane: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    A,
    B,
}

/// One tile of A or B to LDS, rows of A and columns of B along k; zeros beyond the edges.
fn load_tile(ir: &mut Ir, mma: &Mma, tile: &Tile, side: Side, lds: &str, first: &str, k: &str) {
    let int = mma.element.int();
    let item = ir.item();
    for step in 0..(tile.side * tile.depth).div_ceil(tile.threads) {
        let at = v!(ir, "add i32 {item}, {}", step * tile.threads);
        // Neighbouring work-items load neighbouring elements: along k in A, along n in B.
        let fast = if side == Side::A { tile.depth } else { tile.side };
        let (slow, fast) = (v!(ir, "udiv i32 {at}, {fast}"), v!(ir, "urem i32 {at}, {fast}"));
        let (line, along) = if side == Side::A { (slow, fast) } else { (fast, slow) };
        let (outer, inner) = (v!(ir, "add i32 {first}, {line}"), v!(ir, "add i32 {k}, {along}"));
        let limit = if side == Side::A { "%m" } else { "%n" };
        let inside = v!(ir, "icmp slt i32 {outer}, {limit}");
        let deep = v!(ir, "icmp slt i32 {inner}, %k");
        let inside = v!(ir, "and i1 {inside}, {deep}");
        let value = ir.when_else(&inside, int, "0", |ir| {
            let (major, minor, stride, base) = match side {
                Side::A => (&outer, &inner, "%lda", "%a"),
                Side::B => (&inner, &outer, "%ldb", "%b"),
            };
            let start = v!(ir, "mul i32 {major}, {stride}");
            let at = v!(ir, "add i32 {start}, {minor}");
            ir.load(1, int, base, &at)
        });
        let start = v!(ir, "mul i32 {line}, {}", tile.pitch);
        let place = v!(ir, "add i32 {start}, {along}");
        match (tile.side * tile.depth).is_multiple_of(tile.threads) {
            true => ir.store(3, int, &value, lds, &place),
            false => {
                let fits = v!(ir, "icmp ult i32 {at}, {}", tile.side * tile.depth);
                ir.when(&fits, |ir| ir.store(3, int, &value, lds, &place));
            }
        }
    }
}

/// The products of one tile.
fn multiply(
    ir: &mut Ir,
    mma: &Mma,
    tile: &Tile,
    lds: [&str; 2],
    at: &Position,
    mut sums: Vec<String>,
) -> Vec<String> {
    if mma.results == 0 {
        return multiply_by_lanes(ir, tile, lds, at, sums);
    }
    let line = v!(ir, "urem i32 {}, {}", at.lane, mma.m);
    let part = match mma.per_lane == mma.k {
        true => "0".into(),
        false => {
            let group = v!(ir, "udiv i32 {}, {}", at.lane, mma.m);
            v!(ir, "mul i32 {group}, {}", mma.per_lane)
        }
    };
    for step in 0..2 {
        let [a, b] = [(lds[0], &at.wave_row), (lds[1], &at.wave_column)].map(|(lds, first)| {
            let line = v!(ir, "add i32 {first}, {line}");
            let start = v!(ir, "mul i32 {line}, {}", tile.pitch);
            let place = v!(ir, "add i32 {start}, {part}");
            let place = v!(ir, "add i32 {place}, {}", step * mma.k);
            let place = ir.at(3, mma.element.int(), lds, &place);
            let bytes = (mma.per_lane * mma.element.bytes()).min(8);
            v!(ir, "load {}, ptr addrspace(3) {place}, align {bytes}", mma.operand)
        });
        let call = mma
            .call
            .replace("A,", &format!("{} {a},", mma.operand))
            .replace("B,", &format!("{} {b},", mma.operand))
            .replace("C", &format!("{} {}", mma.accumulator, sums[0]));
        sums[0] = ir.value(&call);
    }
    sums
}

/// Lane `l` has column `l % 16` and rows `l / 16`, `l / 16 + groups`, …
fn multiply_by_lanes(
    ir: &mut Ir,
    tile: &Tile,
    lds: [&str; 2],
    at: &Position,
    mut sums: Vec<String>,
) -> Vec<String> {
    let groups = ir.target.wave_width() / 16;
    let (column, group) = (v!(ir, "urem i32 {}, 16", at.lane), v!(ir, "udiv i32 {}, 16", at.lane));
    for k in 0..tile.depth {
        let column = v!(ir, "add i32 {column}, {}", at.wave_column);
        let start = v!(ir, "mul i32 {column}, {}", tile.pitch);
        let place = v!(ir, "add i32 {start}, {k}");
        let b = ir.load(3, "float", lds[1], &place);
        for (i, sum) in sums.iter_mut().enumerate() {
            let row = v!(ir, "add i32 {group}, {}", i as u32 * groups);
            let row = v!(ir, "add i32 {row}, {}", at.wave_row);
            let start = v!(ir, "mul i32 {row}, {}", tile.pitch);
            let place = v!(ir, "add i32 {start}, {k}");
            let a = ir.load(3, "float", lds[0], &place);
            *sum = v!(ir, "call float @llvm.fma.f32(float {a}, float {b}, float {sum})");
        }
    }
    sums
}

fn store(ir: &mut Ir, mma: &Mma, at: &Position, sums: &[String]) {
    let m = mma.m;
    let (column, group) =
        (v!(ir, "urem i32 {}, {m}", at.lane), v!(ir, "udiv i32 {}, {m}", at.lane));
    let column = v!(ir, "add i32 {column}, {}", at.column);
    let column = v!(ir, "add i32 {column}, {}", at.wave_column);
    let groups = ir.target.wave_width() / m;
    let n = if mma.results == 0 { sums.len() as u32 } else { mma.results };
    for i in 0..n {
        let (fixed, by_group) = match mma.layout {
            Layout::Mfma => (4 * groups * (i / 4) + i % 4, 4),
            Layout::Interleaved => (groups * i, 1),
        };
        let row = v!(ir, "mul i32 {group}, {by_group}");
        let row = v!(ir, "add i32 {row}, {fixed}");
        let row = v!(ir, "add i32 {row}, {}", at.row);
        let row = v!(ir, "add i32 {row}, {}", at.wave_row);
        let (inside, right) =
            (v!(ir, "icmp slt i32 {row}, %m"), v!(ir, "icmp slt i32 {column}, %n"));
        let inside = v!(ir, "and i1 {inside}, {right}");
        let element = i * mma.stride + mma.stride - 1;
        let value = match mma.results {
            0 => sums[i as usize].clone(),
            _ => v!(ir, "extractelement {} {}, i32 {element}", mma.accumulator, sums[0]),
        };
        ir.when(&inside, |ir| {
            let start = v!(ir, "mul i32 {row}, %ldc");
            let place = v!(ir, "add i32 {start}, {column}");
            ir.store(1, mma.result, &value, "%c", &place);
        });
    }
}

fn check(bench: &mut Bench, mma: &Mma) {
    let side = tile(bench.target, mma).side;
    let threads = WAVES * bench.target.wave_width();
    let [m, n] = [side as usize + 5, 2 * side as usize - 3];
    let k = 2 * mma.k as usize + mma.k as usize / 2 + 3;
    let (lda, ldb, ldc) = (k + 4, n + 3, n + 2);
    let (a_bytes, a) = matrix(mma.element, [m, k, lda], 21);
    let (b_bytes, b) = matrix(mma.element, [k, n, ldb], 22);
    let (pa, pb) = (bench.input(&a_bytes), bench.input(&b_bytes));
    let sizes = [m, n, k, lda, ldb, ldc].map(|size| Arg::U32(size as u32));
    let groups = [n.div_ceil(side as usize) as u32, m.div_ceil(side as usize) as u32, 1];
    let got: Vec<f64> = match mma.result {
        "float" => run::<f32>(bench, pa, pb, sizes, groups, threads, m * ldc),
        "double" => run::<f64>(bench, pa, pb, sizes, groups, threads, m * ldc),
        "half" => run::<f16>(bench, pa, pb, sizes, groups, threads, m * ldc),
        _ => run::<i32>(bench, pa, pb, sizes, groups, threads, m * ldc),
    };
    let (relative, absolute) = limit(mma, k, bench.numerics);
    for row in 0..m {
        for column in 0..n {
            let terms = (0..k).map(|i| a[row * k + i] * b[i * n + column]);
            let magnitude: f64 = terms.clone().map(f64::abs).sum();
            let expected: f64 = terms.sum();
            let limit = relative * magnitude + absolute;
            let got = got[row * ldc + column];
            assert!(
                (got - expected).abs() <= limit,
                "C[{row}][{column}]: got {got}, expected {expected}, limit {limit:e}"
            );
        }
        let padding = &got[row * ldc + n..(row + 1) * ldc];
        assert!(
            padding.iter().all(|value| is_poison(*value)),
            "row {row} is written behind its end"
        );
    }
}

/// How far a sum of `k` products may be from the exact one: relative to the sum of their magnitudes, and at all.
fn limit(mma: &Mma, k: usize, numerics: Numerics) -> (f64, f64) {
    let unit: f64 = match mma.result {
        "float" => 2.0_f64.powi(-23),
        "double" => 2.0_f64.powi(-52),
        "half" => 2.0_f64.powi(-10),
        _ => 0.0,
    };
    match (mma.result, numerics) {
        // Two products a step, eight steps an instruction. A step rounds to nearest binary16 (half a unit, or
        // half of the smallest subnormal) after it cut off three terms, each by 2⁻²⁴ of the largest at most.
        ("half", Numerics::Rdna3Candidate) => {
            let steps = k.div_ceil(2) as f64;
            (steps * (unit / 2.0 + 3.0 * 2.0_f64.powi(-24)), steps * 2.0_f64.powi(-25))
        }
        // An instruction sums in binary32 and rounds its result.
        ("half", _) => (2.0 * k.div_ceil(16) as f64 * unit, 0.0),
        // One rounding, or truncation, a product and a sum: two units a product. The adders of the candidates do
        // better: a step of two products (`rdna3-candidate`) cuts off three terms and rounds, one of eight
        // (`cdna3-fdpa`) cuts off nine and rounds twice, each by half a unit of the largest term at most.
        _ => (2.0 * k as f64 * unit, 0.0),
    }
}

fn is_poison(value: f64) -> bool {
    value.is_nan() || value == f64::from(0x7fff_7fff)
}

trait Wide: Plain {
    fn wide(self) -> f64;
}
impl Wide for f32 {
    fn wide(self) -> f64 {
        self.into()
    }
}
impl Wide for f64 {
    fn wide(self) -> f64 {
        self
    }
}
impl Wide for f16 {
    fn wide(self) -> f64 {
        self.into()
    }
}
impl Wide for i32 {
    fn wide(self) -> f64 {
        self.into()
    }
}

fn run<T: Wide>(
    bench: &mut Bench,
    a: Arg,
    b: Arg,
    [m, n, k, lda, ldb, ldc]: [Arg; 6],
    groups: [u32; 3],
    threads: u32,
    size: usize,
) -> Vec<f64> {
    let c = bench.output::<T>(size);
    bench.launch_3d(groups, [threads, 1, 1], &[a, b, c, m, n, k, lda, ldb, ldc]);
    bench.read::<T>(c).into_iter().map(Wide::wide).collect()
}
