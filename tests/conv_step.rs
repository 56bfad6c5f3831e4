//! Conv step on the emulator: within limits of float64 and bitwise equal to the host twin.

mod common;

use common::Subject;
use isa::Target;
use oracle::inputs::GateRange;
use specs::{Activation, ConvStepSpec, Dtype};

/// A channel tail in the last workgroup, several waves.
fn base(target: Target) -> ConvStepSpec {
    ConvStepSpec {
        target,
        channels: 300,
        width: 4,
        dtype: Dtype::F32,
        bias: false,
        activation: Activation::None,
        waves: 4,
        wave_width: target.wave_width(),
    }
}

fn verify(spec: ConvStepSpec) {
    // Convolutions have no gates; the range is without effect.
    Subject::new(spec).verify("batch=3", GateRange::Mixed, u64::from(spec.width));
}

#[test]
fn widths_one_to_eight_and_sixteen() {
    for base in Target::ALL.map(base) {
        for width in (1..=8).chain([16]) {
            for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
                verify(ConvStepSpec { width, dtype, ..base });
            }
        }
    }
}

#[test]
fn bias_and_silu_alone_and_together() {
    for base in Target::ALL.map(base) {
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
            for bias in [false, true] {
                for activation in [Activation::None, Activation::Silu] {
                    for width in [1, 4] {
                        verify(ConvStepSpec { width, dtype, bias, activation, ..base });
                    }
                }
            }
        }
    }
}

#[test]
fn every_number_of_waves_and_a_single_channel() {
    for base in Target::ALL.map(base) {
        for waves in [1, 2, 4, 8] {
            verify(ConvStepSpec { waves, ..base });
        }
        verify(ConvStepSpec { channels: 1, ..base });
    }
}
