//! Attention with an online softmax: Q·Kᵀ and P·V by matrix instructions, P through LDS between them.
//!
//! Two waves a workgroup, 16 queries each; both use the K and V of a step, which the workgroup loads to LDS.
//! `D` is 32; the keys of a step are what one instruction takes of k.

use half::f16;
use isa::Target;

use crate::bench::{Arg, BOTH, Bench, Program, random_floats};
use crate::ir::{Ir, kernel, s, v};

pub const PROGRAMS: &[Program] =
    &[Program { name: "attention", targets: BOTH, levels: &[0, 2, 3], source: attention, check }];

const D: u32 = 32;
const WAVES: u32 = 2;
const MINUS_INFINITY: &str = "0xFFF0000000000000";
/// log2(e) / √32, rounded to binary32.
const SCALE: f32 = 0.255_034_86;

/// What differs between the two matrix instructions.
struct Mma {
    /// Elements of k, and of one lane.
    k: u32,
    per_lane: u32,
    results: u32,
}

fn mma(target: Target) -> Mma {
    match target {
        Target::Gfx950 => Mma { k: 32, per_lane: 8, results: 4 },
        Target::Gfx1100 => Mma { k: 16, per_lane: 16, results: 8 },
    }
}

/// Distance of rows in LDS in halves: 16 bytes over what they need.
const K_PITCH: u32 = D + 8;

struct Shape {
    mma: Mma,
    /// Distance of rows of V (transposed) and P, along keys.
    key_pitch: u32,
    lane: String,
    column: String,
    part: String,
    threads: u32,
}

fn attention(target: Target) -> String {
    let params = "ptr addrspace(1) %q, ptr addrspace(1) %k, ptr addrspace(1) %v, \
                  ptr addrspace(1) %out, i32 %queries, i32 %keys";
    let mma = mma(target);
    let threads = WAVES * target.wave_width();
    kernel(target, "attention", params, threads, |ir| {
        let key_pitch = mma.k + 8;
        let ks = ir.lds("ks", "half", mma.k * K_PITCH);
        let vs = ir.lds("vs", "half", D * key_pitch);
        let ps = ir.lds("ps", "half", WAVES * 16 * key_pitch);
        let (lane, wave, group) = (ir.lane(), ir.wave(), ir.group());
        let column = v!(ir, "and i32 {lane}, 15");
        let part = match mma.per_lane == mma.k {
            true => "0".into(),
            false => {
                let group = v!(ir, "lshr i32 {lane}, 4");
                v!(ir, "mul i32 {group}, {}", mma.per_lane)
            }
        };
        let first = v!(ir, "mul i32 {group}, {}", WAVES * 16);
        let of_wave = v!(ir, "mul i32 {wave}, 16");
        let first = v!(ir, "add i32 {first}, {of_wave}");
        let p_start = v!(ir, "mul i32 {of_wave}, {key_pitch}");
        let ps = ir.at(3, "half", &ps, &p_start);
        let shape = Shape { mma, key_pitch, lane, column, part, threads };
        let q = load_queries(ir, &shape, &first);
        let rows = shape.mma.results as usize;
        let acc = format!("<{rows} x float>");
        let mut carried: Vec<(&str, &str)> = vec![("float", MINUS_INFINITY); rows];
        carried.extend(vec![("float", "0.0"); rows]);
        carried.extend([(acc.as_str(), "zeroinitializer"); 2]);
        let step = shape.mma.k.to_string();
        let state = ir.each(["0", "%keys", &step], &carried, |ir, key, state| {
            load_keys(ir, &shape, key, &ks, &vs);
            ir.barrier();
            let state = online_step(ir, &shape, key, &q, [&ks, &vs, &ps], state);
            ir.barrier();
            state
        });
        store(ir, &shape, &first, &state);
    })
}

/// The fragments of Q: zeros for queries beyond the last.
fn load_queries(ir: &mut Ir, shape: &Shape, first: &str) -> Vec<String> {
    let ty = format!("<{} x half>", shape.mma.per_lane);
    let row = v!(ir, "add i32 {first}, {}", shape.column);
    let inside = v!(ir, "icmp slt i32 {row}, %queries");
    let fragments = 0..D / shape.mma.k;
    fragments
        .map(|step| {
            ir.when_else(&inside, &ty, "zeroinitializer", |ir| {
                let at = v!(ir, "mul i32 {row}, {D}");
                let at = v!(ir, "add i32 {at}, {}", shape.part);
                let at = v!(ir, "add i32 {at}, {}", step * shape.mma.k);
                let place = ir.at(1, "half", "%q", &at);
                v!(ir, "load {ty}, ptr addrspace(1) {place}, align 16")
            })
        })
        .collect()
}

/// The keys of a step as they are, the values transposed; zeros beyond the last.
fn load_keys(ir: &mut Ir, shape: &Shape, key: &str, ks: &str, vs: &str) {
    let item = ir.item();
    for step in 0..shape.mma.k * D / shape.threads {
        let at = v!(ir, "add i32 {item}, {}", step * shape.threads);
        let (line, along) = (v!(ir, "udiv i32 {at}, {D}"), v!(ir, "urem i32 {at}, {D}"));
        let row = v!(ir, "add i32 {key}, {line}");
        let inside = v!(ir, "icmp slt i32 {row}, %keys");
        let source = v!(ir, "mul i32 {row}, {D}");
        let source = v!(ir, "add i32 {source}, {along}");
        for (base, lds, pitch) in [("%k", ks, K_PITCH), ("%v", vs, shape.key_pitch)] {
            let value =
                ir.when_else(&inside, "half", "0.0", |ir| ir.load(1, "half", base, &source));
            let (major, minor) = if base == "%k" { (&line, &along) } else { (&along, &line) };
            let place = v!(ir, "mul i32 {major}, {pitch}");
            let place = v!(ir, "add i32 {place}, {minor}");
            ir.store(3, "half", &value, lds, &place);
        }
    }
}

/// A fragment from LDS: line `column + lines` of rows with a pitch, `along` elements on.
fn fragment(ir: &mut Ir, shape: &Shape, lds: &str, pitch: u32, lines: u32, along: u32) -> String {
    let ty = format!("<{} x half>", shape.mma.per_lane);
    let line = v!(ir, "add i32 {}, {lines}", shape.column);
    let at = v!(ir, "mul i32 {line}, {pitch}");
    let at = v!(ir, "add i32 {at}, {}", shape.part);
    let at = v!(ir, "add i32 {at}, {along}");
    let place = ir.at(3, "half", lds, &at);
    v!(ir, "load {ty}, ptr addrspace(3) {place}, align 16")
}

fn multiply(ir: &mut Ir, a: &str, b: &str, c: &str) -> String {
    match ir.target {
        Target::Gfx950 => v!(
            ir,
            "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half> {a}, <8 x half> {b}, \
             <4 x float> {c}, i32 0, i32 0, i32 0)"
        ),
        Target::Gfx1100 => v!(
            ir,
            "call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> {a}, \
             <16 x half> {b}, <8 x float> {c})"
        ),
    }
}

/// Row of result `i`, beside what [`row_group`] adds.
fn fixed_row(target: Target, i: u32) -> u32 {
    if target == Target::Gfx950 { i } else { 2 * i }
}

/// What the lane's group of 16 adds to the rows of its results.
fn row_group(ir: &mut Ir, shape: &Shape) -> String {
    let group = v!(ir, "lshr i32 {}, 4", shape.lane);
    let by = if ir.target == Target::Gfx950 { 4 } else { 1 };
    v!(ir, "mul i32 {group}, {by}")
}

/// A butterfly over the 16 lanes that hold a row.
fn across_row(
    ir: &mut Ir,
    shape: &Shape,
    value: &str,
    combine: fn(&str, &str) -> String,
) -> String {
    let mut value = value.to_owned();
    for distance in [1, 2, 4, 8] {
        let source = v!(ir, "xor i32 {}, {distance}", shape.lane);
        let other = ir.permute("float", &value, &source);
        value = ir.value(&combine(&value, &other));
    }
    value
}

fn max(a: &str, b: &str) -> String {
    format!("call float @llvm.maxnum.f32(float {a}, float {b})")
}

fn sum(a: &str, b: &str) -> String {
    format!("fadd float {a}, {b}")
}

/// Scores of one step, the new maximum and sum of each row, and the rescaled output plus P·V.
fn online_step(
    ir: &mut Ir,
    shape: &Shape,
    key: &str,
    q: &[String],
    [ks, vs, ps]: [&str; 3],
    state: &[String],
) -> Vec<String> {
    let rows = shape.mma.results as usize;
    let acc = format!("<{rows} x float>");
    let tiles = shape.mma.k / 16;
    let mut scores: Vec<Vec<String>> = Vec::new();
    for tile in 0..tiles {
        let mut s = "zeroinitializer".to_owned();
        for (step, q) in q.iter().enumerate() {
            let k = fragment(ir, shape, ks, K_PITCH, 16 * tile, step as u32 * shape.mma.k);
            s = multiply(ir, q, &k, &s);
        }
        let key = v!(ir, "add i32 {key}, {}", 16 * tile);
        let key = v!(ir, "add i32 {key}, {}", shape.column);
        let inside = v!(ir, "icmp slt i32 {key}, %keys");
        let scaled = (0..rows).map(|i| {
            let s = v!(ir, "extractelement {acc} {s}, i32 {i}");
            let s = v!(ir, "fmul float {s}, 0x{:016X}", f64::from(SCALE).to_bits());
            v!(ir, "select i1 {inside}, float {s}, float {MINUS_INFINITY}")
        });
        scores.push(scaled.collect());
    }
    let mut next = vec![String::new(); 2 * rows];
    let (mut o0, mut o1) = (state[2 * rows].clone(), state[2 * rows + 1].clone());
    let group = row_group(ir, shape);
    for i in 0..rows {
        let mut top = scores[0][i].clone();
        for other in &scores[1..] {
            top = ir.value(&max(&top, &other[i]));
        }
        let top = across_row(ir, shape, &top, max);
        let top = ir.value(&max(&top, &state[i]));
        let down = v!(ir, "fsub float {}, {top}", state[i]);
        let down = v!(ir, "call float @llvm.exp2.f32(float {down})");
        let mut total = "0.0".to_owned();
        for (tile, scores) in scores.iter().enumerate() {
            let p = v!(ir, "fsub float {}, {top}", scores[i]);
            let p = v!(ir, "call float @llvm.exp2.f32(float {p})");
            total = ir.value(&sum(&total, &p));
            let narrow = v!(ir, "fptrunc float {p} to half");
            let row = v!(ir, "add i32 {group}, {}", fixed_row(ir.target, i as u32));
            let at = v!(ir, "mul i32 {row}, {}", shape.key_pitch);
            let at = v!(ir, "add i32 {at}, {}", shape.column);
            let at = v!(ir, "add i32 {at}, {}", 16 * tile);
            ir.store(3, "half", &narrow, ps, &at);
        }
        let total = across_row(ir, shape, &total, sum);
        let old = v!(ir, "fmul float {}, {down}", state[rows + i]);
        next[i] = top;
        next[rows + i] = v!(ir, "fadd float {old}, {total}");
        for o in [&mut o0, &mut o1] {
            let value = v!(ir, "extractelement {acc} {o}, i32 {i}");
            let value = v!(ir, "fmul float {value}, {down}");
            *o = v!(ir, "insertelement {acc} {o}, float {value}, i32 {i}");
        }
    }
    // P belongs to this wave alone, but LDS is only ordered for other lanes behind a fence.
    s!(ir, "fence syncscope(\"wavefront\") seq_cst");
    ir.barrier();
    let p = fragment(ir, shape, ps, shape.key_pitch, 0, 0);
    for (half, o) in [&o0, &o1].into_iter().enumerate() {
        let v = fragment(ir, shape, vs, shape.key_pitch, 16 * half as u32, 0);
        next.push(multiply(ir, &p, &v, o));
    }
    next
}

fn store(ir: &mut Ir, shape: &Shape, first: &str, state: &[String]) {
    let rows = shape.mma.results as usize;
    let group = row_group(ir, shape);
    for i in 0..rows {
        let row = v!(ir, "add i32 {group}, {}", fixed_row(ir.target, i as u32));
        let row = v!(ir, "add i32 {row}, {first}");
        let inside = v!(ir, "icmp slt i32 {row}, %queries");
        ir.when(&inside, |ir| {
            for half in 0..2 {
                let o = &state[2 * rows + half];
                let value = v!(ir, "extractelement <{rows} x float> {o}, i32 {i}");
                let value = v!(ir, "fdiv float {value}, {}", state[rows + i]);
                let at = v!(ir, "mul i32 {row}, {D}");
                let at = v!(ir, "add i32 {at}, {}", shape.column);
                let at = v!(ir, "add i32 {at}, {}", 16 * half);
                ir.store(1, "float", &value, "%out", &at);
            }
        });
    }
}

fn check(bench: &mut Bench) {
    let (queries, keys, d) = (53, 77, D as usize);
    let halves = |seed, n| -> Vec<f16> {
        random_floats(seed, n * d, -2.0, 2.0).into_iter().map(f16::from_f32).collect()
    };
    let (q, k, values) = (halves(31, queries), halves(32, keys), halves(33, keys));
    let pointers = [bench.input(&q), bench.input(&k), bench.input(&values)];
    let out = bench.output::<f32>((queries + 1) * d);
    let groups = (queries as u32).div_ceil(16 * WAVES);
    let sizes = [queries, keys].map(|size| Arg::U32(size as u32));
    let [pq, pk, pv] = pointers;
    let threads = WAVES * bench.target.wave_width();
    bench.launch(groups, threads, &[pq, pk, pv, out, sizes[0], sizes[1]]);
    let got: Vec<f32> = bench.read(out);
    for row in 0..queries {
        let score = |key: usize| -> f64 {
            let terms = (0..d).map(|i| f64::from(q[row * d + i]) * f64::from(k[key * d + i]));
            terms.sum::<f64>() * f64::from(SCALE)
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let p: Vec<f64> = scores.iter().map(|s| (s - top).exp2()).collect();
        let total: f64 = p.iter().sum();
        for column in 0..d {
            let weighted = (0..keys).map(|key| p[key] * f64::from(values[key * d + column]));
            let expected = weighted.clone().sum::<f64>() / total;
            let magnitude = weighted.map(f64::abs).sum::<f64>() / total;
            // P is rounded to f16 (2⁻¹¹, or 2⁻²⁵ where it is subnormal; the sum is not); a score's error of
            // 32 products of magnitude 4, truncated, times ln 2, enters numerator and denominator.
            let score_error = 32.0 * 32.0 * 4.0 * 2.0_f64.powi(-23) * f64::from(SCALE);
            let limit = magnitude
                * (2.0_f64.powi(-11) + 2.0 * score_error + 64.0 * 2.0_f64.powi(-23))
                + keys as f64 * 2.0 * 2.0_f64.powi(-25) / total;
            let got = f64::from(got[row * d + column]);
            assert!(
                (got - expected).abs() <= limit,
                "query {row}, column {column}: got {got}, expected {expected}, limit {limit:e}"
            );
        }
    }
    assert!(got[queries * d..].iter().all(|x| x.is_nan()), "written behind the end");
}
