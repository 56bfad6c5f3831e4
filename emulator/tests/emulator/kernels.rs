//! The kernels of the benches, softmax and GEMM, against binary64.

use crate::bench::{Args, Bench, random_words};
use isa::Target;

fn as_f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[test]
fn softmax_of_rows_in_registers() {
    for target in Target::ALL {
        let mut bench = Bench::new("softmax", target);
        let n = 256 * 32;
        let x: Vec<f32> = random_words(11, n)
            .into_iter()
            .map(|word| (word >> 8) as f32 / f32::from(0x4000_u16) - 500.0)
            .collect();
        let input = bench.words("in", &x.iter().map(|x| x.to_bits()).collect::<Vec<_>>());
        let out = bench.poisoned("out", n);
        let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
        bench.run([1, 1, 1], [256, 1, 1], args);
        let got = bench.read(out);
        let row = target.wave_width() as usize * 32;
        for (x, got) in x.chunks(row).zip(got.chunks(row)) {
            let most = x.iter().fold(f64::MIN, |most, x| most.max(f64::from(*x)));
            let powers: Vec<f64> = x.iter().map(|x| (f64::from(*x) - most).exp()).collect();
            let sum: f64 = powers.iter().sum();
            for (power, got) in powers.iter().zip(got) {
                let error = f64::from(as_f32(*got)) - power / sum;
                // Ten rounding steps of 2^-24 and subnormal results.
                assert!(error.abs() <= power / sum * 1e-6 + 1e-44, "{target}: off by {error:e}");
            }
        }
    }
}

#[test]
fn gemm_through_lds_and_matrix_units() {
    let (m, n, k) = (128, 256, 96);
    for mut bench in Target::ALL.into_iter().flat_map(|t| Bench::in_every_mode("gemm", t)) {
        let halves = |seed: u64, rows: usize| -> Vec<u32> {
            // Binary16 between 1 and 2, either sign.
            random_words(seed, rows * k / 2)
                .iter()
                .map(|word| word & 0x83ff_83ff | 0x3c00_3c00)
                .collect()
        };
        let (a, b) = (halves(12, m), halves(13, n));
        let (pa, pb) = (bench.words("a", &a), bench.words("b", &b));
        let out = bench.poisoned("c", m * n);
        let args = Args::default()
            .pointer(&bench.machine, pa)
            .pointer(&bench.machine, pb)
            .pointer(&bench.machine, out)
            .u32(n as u32)
            .u32(k as u32);
        let mode = bench.run([2, 1, 1], [256, 1, 1], args).numerics;
        let value = |matrix: &[u32], row: usize, at: usize| {
            let half = matrix[(row * k + at) / 2] >> (16 * (at % 2)) & 0xffff;
            let size = 1.0 + f64::from(half & 0x3ff) / 1024.0;
            if half & 0x8000 == 0 { size } else { -size }
        };
        for (place, got) in bench.read(out).into_iter().enumerate() {
            let (i, j) = (place / n, place % n);
            let exact: f64 = (0..k).map(|at| value(&a, i, at) * value(&b, j, at)).sum();
            let error = f64::from(as_f32(got)) - exact;
            // 96 sums below 400, each rounded to within 2^-24, in any order; a step of two products in
            // rdna3-candidate stays within that of two such sums.
            assert!(error.abs() <= 96.0 * 400.0 / f64::from(1 << 24), "{mode}: off by {error:e}");
        }
    }
}
