//! A row-wise RMS norm in the kernel language: `y[r, c] = x[r, c] · weight[c] / √(mean(x[r, :]²) + epsilon)`.
//!
//! One workgroup a row, rows of any length, several waves. The example builds it for both targets and prints the
//! IR with the line that asked for each statement: `cargo run --example rms_norm`.

use dsl::builder::BuildError;
use dsl::{Kernel, KernelBuilder, Scalar};
use isa::Target;

/// Waves in a workgroup.
pub const WAVES: u32 = 4;

/// The kernel for rows of `length` elements. Arguments `x` [rows, length], `weight` [length], `y` [rows, length], all
/// `elem` (f32, bf16 or f16), and `epsilon` (f32 by value); grid (rows, 1, 1).
pub fn rms_norm(target: Target, elem: Scalar, length: u32) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new("rms_norm", target, WAVES * target.wave_width());
    let x = k.input("x", elem, &[None, Some(length)]);
    let weight = k.input("weight", elem, &[Some(length)]);
    let y = k.output("y", elem, &[None, Some(length)]);
    let epsilon = k.scalar("epsilon", Scalar::F32);

    let row = k.workgroup_id_x();
    let (x, y) = (x.at(row), y.at(row));
    let elements = k.row_elements(&x);
    let squares = elements.fold(k.f32(0.0), |mine, sum| {
        mine.load(&x).elements().into_iter().fold(sum, |sum, x| x.fma(x, sum))
    });
    let mean = k.workgroup_sum(squares) * (1.0 / length as f32);
    let factor = (mean + epsilon).rsq();
    elements.for_each(|mine| mine.store(&y, mine.load(&x) * factor * mine.load(&weight)));
    k.finish()
}

fn main() {
    for target in Target::ALL {
        match rms_norm(target, Scalar::Bf16, 5120) {
            Ok(kernel) => print!("{}", dsl::text::print_with_locations(&kernel)),
            Err(errors) => errors.iter().for_each(|error| eprintln!("{error}")),
        }
    }
}
