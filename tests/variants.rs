//! Every field of a spec that changes code moves the variant's name, its hash and the kernel IR; what
//! stays at its default is in none of them.

use dsl::text::print;
use isa::Target;
use specs::{
    Activation, ConvStepSpec, DecodeStepSpec, Dtype, Family, Gate, HeadMap, Reduction, Spec,
    StateContract, StateLayout,
};

fn decode() -> DecodeStepSpec {
    DecodeStepSpec {
        family: Family::Kda,
        target: Target::Gfx1100,
        gate: Gate::BoundedSigmoid { lower_bound_nats: -5.0 },
        key_heads: 2,
        value_heads: 4,
        head_k: 64,
        head_v: 84,
        dtype: Dtype::Bf16,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::PoolInPlace { sentinel: -1 },
        reduction: Reduction::LaneTree { k_lanes: 8 },
        waves: 4,
        wave_width: 32,
    }
}

fn conv() -> ConvStepSpec {
    ConvStepSpec {
        target: Target::Gfx1100,
        channels: 300,
        width: 4,
        dtype: Dtype::Bf16,
        bias: false,
        activation: Activation::None,
        waves: 4,
        wave_width: 32,
    }
}

/// The kernel IR without the line that states its name.
fn nameless_ir(spec: &Spec) -> String {
    let kernel = kernels::build(spec).unwrap_or_else(|error| panic!("{error}"));
    print(&kernel)
        .lines()
        .filter(|line| !line.starts_with("kernel "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[track_caller]
fn moves_everything(base: impl Into<Spec>, flipped: impl Into<Spec>) {
    let (base, flipped) = (base.into(), flipped.into());
    let same_target = base.target() == flipped.target();
    assert_eq!(base.name() == flipped.name(), !same_target, "name of {}", flipped.name());
    assert_ne!(base.spec_hash(), flipped.spec_hash(), "hash of {}", flipped.name());
    assert_ne!(nameless_ir(&base), nameless_ir(&flipped), "kernel IR of {}", flipped.name());
}

#[test]
fn every_field_of_the_decode_step() {
    let base = decode();
    let flips = [
        DecodeStepSpec { family: Family::Gdn, gate: Gate::Softplus, ..base },
        DecodeStepSpec { target: Target::Gfx950, wave_width: 64, ..base },
        DecodeStepSpec { gate: Gate::LogDecay, ..base },
        DecodeStepSpec { gate: Gate::Softplus, ..base },
        DecodeStepSpec { gate: Gate::BoundedSigmoid { lower_bound_nats: -4.5 }, ..base },
        DecodeStepSpec { key_heads: 1, ..base },
        DecodeStepSpec { value_heads: 8, ..base },
        DecodeStepSpec { head_k: 128, ..base },
        DecodeStepSpec { head_v: 88, ..base },
        DecodeStepSpec { dtype: Dtype::F16, ..base },
        DecodeStepSpec { dtype: Dtype::F32, ..base },
        DecodeStepSpec { head_map: HeadMap::Tiled, ..base },
        DecodeStepSpec { state_layout: StateLayout::VFirst, ..base },
        DecodeStepSpec { state_contract: StateContract::Separate, ..base },
        DecodeStepSpec { state_contract: StateContract::PoolInPlace { sentinel: 0 }, ..base },
        DecodeStepSpec { reduction: Reduction::Serial, ..base },
        DecodeStepSpec { reduction: Reduction::LaneTree { k_lanes: 4 }, ..base },
        DecodeStepSpec { waves: 2, ..base },
    ];
    flips.into_iter().for_each(|flipped| moves_everything(base, flipped));
}

#[test]
fn every_field_of_the_conv_step() {
    let base = conv();
    let flips = [
        ConvStepSpec { target: Target::Gfx950, wave_width: 64, ..base },
        ConvStepSpec { channels: 301, ..base },
        ConvStepSpec { width: 3, ..base },
        ConvStepSpec { dtype: Dtype::F32, ..base },
        ConvStepSpec { bias: true, ..base },
        ConvStepSpec { activation: Activation::Silu, ..base },
        ConvStepSpec { waves: 2, ..base },
    ];
    flips.into_iter().for_each(|flipped| moves_everything(base, flipped));
}

#[test]
fn a_default_written_out_is_the_same_variant() {
    let text = include_str!("../specs/library/gdn_decode_gfx1100.toml");
    let defaults = "wave_width = 32\nwaves = 4\nreduction = \"lane_tree\"\nk_lanes = 8\n\
                    state_contract = \"separate\"\n# a comment\n";
    let short = specs::parse_spec("short", text).unwrap();
    let long = specs::parse_spec("long", &format!("{text}{defaults}")).unwrap();
    assert_eq!(short.name(), long.name());
    assert_eq!(short.spec_hash(), long.spec_hash());
    assert_eq!(nameless_ir(&short), nameless_ir(&long));
}
