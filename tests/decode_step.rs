//! Decode step on the emulator: within limits of float64 and bitwise equal to the host twin, on shapes
//! that break disguises: K ≠ V, HV ≠ HK, column tails, several waves, every gate strength.

mod common;

use common::Subject;
use isa::Target;
use oracle::inputs::GateRange;
use specs::{DecodeStepSpec, Dtype, Family, Gate, HeadMap, Reduction, StateContract, StateLayout};

/// K ≠ V, HV = 2·HK, a column tail in the last workgroup, several waves.
fn base(target: Target) -> DecodeStepSpec {
    DecodeStepSpec {
        family: Family::Gdn,
        target,
        gate: Gate::LogDecay,
        key_heads: 2,
        value_heads: 4,
        head_k: 64,
        head_v: 84,
        dtype: Dtype::F32,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::Separate,
        reduction: Reduction::LaneTree { k_lanes: 8 },
        waves: 4,
        wave_width: target.wave_width(),
    }
}

fn for_targets(check: impl Fn(DecodeStepSpec)) {
    Target::ALL.into_iter().map(base).for_each(check);
}

fn verify_all_gates(spec: DecodeStepSpec) {
    let subject = Subject::new(spec);
    for (seed, gates) in (1..).zip(GateRange::ALL) {
        subject.verify("batch=3", gates, seed);
    }
}

#[test]
fn gdn_both_state_layouts_and_all_dtypes() {
    for_targets(|base| {
        for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
            for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
                verify_all_gates(DecodeStepSpec { state_layout, dtype, ..base });
            }
        }
    });
}

#[test]
fn kda_both_state_layouts_and_all_dtypes() {
    for_targets(|base| {
        let base = DecodeStepSpec { family: Family::Kda, ..base };
        for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
            for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
                verify_all_gates(DecodeStepSpec { state_layout, dtype, ..base });
            }
        }
    });
}

#[test]
fn three_value_heads_a_key_head_under_both_head_maps() {
    for_targets(|base| {
        for head_map in [HeadMap::Grouped, HeadMap::Tiled] {
            for family in [Family::Gdn, Family::Kda] {
                let spec = DecodeStepSpec { value_heads: 6, head_map, family, ..base };
                verify_all_gates(spec);
            }
        }
    });
}

#[test]
fn serial_reduction_takes_any_size() {
    for_targets(|base| {
        for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
            for (family, dtype) in [(Family::Gdn, Dtype::Bf16), (Family::Kda, Dtype::F32)] {
                let (head_k, head_v, reduction) = (37, 53, Reduction::Serial);
                verify_all_gates(DecodeStepSpec {
                    family,
                    dtype,
                    head_k,
                    head_v,
                    reduction,
                    state_layout,
                    waves: 2,
                    ..base
                });
            }
        }
    });
}

#[test]
fn serial_reduction_of_one_channel_and_one_column() {
    for_targets(|base| {
        let spec =
            DecodeStepSpec { head_k: 1, head_v: 1, reduction: Reduction::Serial, waves: 1, ..base };
        verify_all_gates(spec);
    });
}

#[test]
fn every_split_of_k_and_every_number_of_waves() {
    for_targets(|base| {
        for k_lanes in [2, 4, 8, 16] {
            for waves in [1, 2, 4, 8] {
                let reduction = Reduction::LaneTree { k_lanes };
                let spec = DecodeStepSpec { reduction, waves, ..base };
                Subject::new(spec).verify("batch=2", GateRange::Mixed, u64::from(k_lanes + waves));
            }
        }
    });
}

#[test]
fn pool_in_place_leaves_foreign_slots_untouched_and_zeroes_sentinel_rows() {
    for_targets(|base| {
        for sentinel in [-1, 0, i32::MIN] {
            for reduction in [Reduction::Serial, Reduction::LaneTree { k_lanes: 8 }] {
                for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
                    let state_contract = StateContract::PoolInPlace { sentinel };
                    let spec = DecodeStepSpec { state_contract, reduction, state_layout, ..base };
                    Subject::new(spec).verify("batch=5", GateRange::Weak, 9);
                }
            }
        }
    });
}

#[test]
fn raw_gates_are_evaluated_in_the_kernel() {
    for_targets(|base| {
        for dtype in [Dtype::F32, Dtype::Bf16] {
            verify_all_gates(DecodeStepSpec { gate: Gate::Softplus, dtype, ..base });
            let kda = DecodeStepSpec { family: Family::Kda, dtype, ..base };
            verify_all_gates(DecodeStepSpec { gate: Gate::Softplus, ..kda });
            let bounded = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };
            verify_all_gates(DecodeStepSpec { gate: bounded, ..kda });
        }
    });
}

#[test]
fn model_shape_with_the_widest_head() {
    for_targets(|base| {
        let spec = DecodeStepSpec {
            key_heads: 1,
            value_heads: 1,
            head_k: 128,
            head_v: 1024,
            dtype: Dtype::Bf16,
            ..base
        };
        Subject::new(spec).verify("batch=1", GateRange::Mixed, 4);
    });
}
