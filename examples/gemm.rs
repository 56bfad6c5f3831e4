//! A matrix product in the kernel language: `D = A · Bᵀ`, A `[M, K]`, B `[N, K]`, D `[M, N]` in f32.
//!
//! Four waves share a tile of 64 × 64: they stage 64 × 32 of both factors in LDS, in rows padded against bank conflicts,
//! and each multiplies a quarter. The fragments differ between the targets, the kernel does not. The example builds it
//! for both and prints the IR: `cargo run --example gemm`.

use dsl::builder::BuildError;
use dsl::{Kernel, KernelBuilder, Scalar};
use isa::Target;

/// Waves in a workgroup.
pub const WAVES: u32 = 4;
/// Rows and columns of D that a workgroup computes.
pub const TILE: u32 = 64;
/// Rows and columns of D that a wave computes.
const PART: u32 = TILE / 2;
/// Terms of the sums that are staged at a time.
pub const STEP: u32 = 32;

/// The kernel for factors of `elem` (bf16 or f16) with `columns` rows of B and sums of `depth` terms; grid
/// (columns / [`TILE`], rows / [`TILE`], 1).
pub fn gemm(
    target: Target,
    elem: Scalar,
    columns: u32,
    depth: u32,
) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new("gemm", target, WAVES * target.wave_width());
    let a = k.input("a", elem, &[None, Some(depth)]);
    let b = k.input("b", elem, &[Some(columns), Some(depth)]);
    let d = k.output("d", Scalar::F32, &[None, Some(columns)]);

    let (row, column) = (k.workgroup_id_y() * TILE, k.workgroup_id_x() * TILE);
    let (a, b) = (a.window((row, 0)), b.window((column, 0)));
    let (a_tile, b_tile) = (
        k.lds_padded("a_tile", elem, [TILE, STEP], 8),
        k.lds_padded("b_tile", elem, [TILE, STEP], 8),
    );
    let (my_row, my_column) = (k.wave_id().shr_u(1) * PART, (k.wave_id() & 1) * PART);
    let (mine, theirs) = (a_tile.window((my_row, 0)), b_tile.window((my_column, 0)));

    let m = if target == Target::Gfx950 { 32 } else { 16 };
    let zeros = k.matrix_atom(elem, m, 16).zero_tile(PART, PART);
    let sum = k.for_range(0, depth, STEP, zeros, |start, sum| {
        k.copy_tile(&a.window((0, start)), &a_tile, TILE, STEP);
        k.copy_tile(&b.window((0, start)), &b_tile, TILE, STEP);
        k.barrier();
        let sum = sum.add_product(&mine, &theirs, STEP);
        k.barrier();
        sum
    });
    sum.store(&d.window((row + my_row, column + my_column)));
    k.finish()
}

fn main() {
    for target in Target::ALL {
        match gemm(target, Scalar::Bf16, 128, 256) {
            Ok(kernel) => print!("{}", dsl::text::print_with_locations(&kernel)),
            Err(errors) => errors.iter().for_each(|error| eprintln!("{error}")),
        }
    }
}
