//! Conv chunk on the emulator: within limits of float64, bitwise equal to the host twin, to the conv step token by
//! token, and to itself however the tokens are cut.

mod common;
#[path = "common/tokens.rs"]
mod tokens;

use common::Subject;
use isa::Target;
use oracle::inputs::GateRange;
use specs::{Activation, ConvChunkSpec, ConvStepSpec, Dtype};

/// A channel tail in the last workgroup, several waves, segments that end inside a run of 8 tokens.
fn base(target: Target) -> ConvChunkSpec {
    let step = ConvStepSpec {
        target,
        channels: 150,
        width: 4,
        dtype: Dtype::F32,
        bias: false,
        activation: Activation::None,
        waves: 2,
        wave_width: target.wave_width(),
    };
    ConvChunkSpec { step, segment: 11 }
}

/// Empty sequences in front, between and behind; one token, less than the history, exactly one segment, several.
const LENGTHS: &str = "lengths=0,1,0,0,2,11,40,3,0";

fn verify(spec: ConvChunkSpec) {
    // Convolutions have no gates; the range is without effect.
    let seed = u64::from(spec.step.width);
    Subject::new(spec).verify(LENGTHS, GateRange::Mixed, seed);
}

fn with(spec: ConvChunkSpec, change: impl FnOnce(&mut ConvStepSpec)) -> ConvChunkSpec {
    let mut changed = spec;
    change(&mut changed.step);
    changed
}

#[test]
fn every_width_and_dtype() {
    for base in Target::ALL.map(base) {
        for (width, dtype) in
            (1..=16).zip([Dtype::F32, Dtype::Bf16, Dtype::F16].into_iter().cycle())
        {
            let spec = ConvChunkSpec { segment: 17, ..base };
            verify(with(spec, |step| (step.width, step.dtype) = (width, dtype)));
        }
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
            verify(with(base, |step| step.dtype = dtype));
        }
    }
}

#[test]
fn bias_and_silu_alone_and_together() {
    for base in Target::ALL.map(base) {
        for (bias, activation) in
            [(true, Activation::None), (false, Activation::Silu), (true, Activation::Silu)]
        {
            for (width, dtype) in [(1, Dtype::Bf16), (4, Dtype::F32)] {
                verify(with(base, |step| {
                    *step = ConvStepSpec { width, dtype, bias, activation, ..*step };
                }));
            }
        }
    }
}

#[test]
fn segments_of_every_kind() {
    for base in Target::ALL.map(base) {
        for segment in [3, 8, 16, 1000] {
            verify(ConvChunkSpec { segment, ..base });
        }
        verify(with(base, |step| (step.channels, step.waves) = (1, 1)));
        for sizes in ["tokens=0", "lengths=0,0,0", "tokens=1", "tokens=100"] {
            Subject::new(base).verify(sizes, GateRange::Mixed, 3);
        }
    }
}

#[test]
fn cuts_and_steps_give_the_bits_of_one_call() {
    for base in Target::ALL.map(base) {
        for (width, dtype) in [(1, Dtype::F16), (4, Dtype::Bf16), (12, Dtype::F32)] {
            let spec = with(base, |step| (step.width, step.dtype) = (width, dtype));
            tokens::cuts_change_nothing(spec, spec.step, 14);
        }
    }
}

#[test]
fn empty_calls_keep_histories_and_poison_stays_in_its_sequence() {
    for base in Target::ALL.map(base) {
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
            let spec = with(base, |step| step.dtype = dtype);
            tokens::no_tokens_change_nothing(spec);
        }
        tokens::poison_stays_in_its_sequence(base);
    }
}
