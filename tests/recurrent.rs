//! Recurrent kernel on the emulator: within limits of float64, bitwise equal to the host twin, to the decode step
//! token by token, and to itself however the tokens are cut.

mod common;
#[path = "common/tokens.rs"]
mod tokens;

use common::Subject;
use isa::Target;
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use runtime::plan::check_inputs;
use specs::{DecodeStepSpec, Dtype, Family, Gate, HeadMap, RecurrentSpec, Spec};
use specs::{Reduction, StateContract, StateLayout};

/// K ≠ V, HV = 2·HK, a column tail in the last workgroup, several waves.
fn base(target: Target) -> RecurrentSpec {
    let step = DecodeStepSpec {
        family: Family::Gdn,
        target,
        gate: Gate::LogDecay,
        key_heads: 2,
        value_heads: 4,
        head_k: 32,
        head_v: 76,
        dtype: Dtype::F32,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::Separate,
        reduction: Reduction::LaneTree { k_lanes: 8 },
        waves: 2,
        wave_width: target.wave_width(),
    };
    RecurrentSpec { step, initial_state: true, final_state: true }
}

fn with(spec: RecurrentSpec, change: impl FnOnce(&mut DecodeStepSpec)) -> RecurrentSpec {
    let mut changed = spec;
    change(&mut changed.step);
    changed
}

/// Empty sequences in front, between and behind, and one token.
const LENGTHS: &str = "lengths=0,1,0,0,9,2,0";

fn verify_all_gates(spec: RecurrentSpec) {
    let subject = Subject::new(spec);
    for (seed, gates) in (1..).zip(GateRange::ALL) {
        subject.verify(LENGTHS, gates, seed);
    }
}

#[test]
fn both_families_layouts_and_all_dtypes() {
    for base in Target::ALL.map(base) {
        for (family, state_layout, dtype) in [
            (Family::Gdn, StateLayout::KFirst, Dtype::F32),
            (Family::Gdn, StateLayout::VFirst, Dtype::Bf16),
            (Family::Kda, StateLayout::KFirst, Dtype::F16),
            (Family::Kda, StateLayout::VFirst, Dtype::F32),
            (Family::Kda, StateLayout::KFirst, Dtype::Bf16),
        ] {
            verify_all_gates(with(base, |step| {
                *step = DecodeStepSpec { family, state_layout, dtype, ..*step };
            }));
        }
    }
}

#[test]
fn raw_gates_are_evaluated_in_the_kernel() {
    for base in Target::ALL.map(base) {
        let bounded = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };
        for (family, gate, dtype) in [
            (Family::Gdn, Gate::Softplus, Dtype::Bf16),
            (Family::Kda, Gate::Softplus, Dtype::F32),
            (Family::Kda, bounded, Dtype::Bf16),
        ] {
            verify_all_gates(with(base, |step| {
                *step = DecodeStepSpec { family, gate, dtype, ..*step };
            }));
        }
    }
}

#[test]
fn three_value_heads_a_key_head_under_both_head_maps() {
    for base in Target::ALL.map(base) {
        for head_map in [HeadMap::Grouped, HeadMap::Tiled] {
            let spec = with(base, |step| (step.value_heads, step.head_map) = (6, head_map));
            Subject::new(spec).verify(LENGTHS, GateRange::Trained, 3);
        }
    }
}

#[test]
fn serial_sums_take_any_size() {
    for base in Target::ALL.map(base) {
        for (state_layout, family) in
            [(StateLayout::KFirst, Family::Gdn), (StateLayout::VFirst, Family::Kda)]
        {
            for (head_k, head_v) in [(37, 53), (1, 1)] {
                let reduction = Reduction::Serial;
                let spec = with(base, |step| {
                    *step =
                        DecodeStepSpec { state_layout, family, head_k, head_v, reduction, ..*step };
                });
                Subject::new(spec).verify(LENGTHS, GateRange::Weak, 4);
            }
        }
    }
}

#[test]
fn every_split_of_k_and_every_number_of_waves() {
    for base in Target::ALL.map(base) {
        for (k_lanes, waves) in [(2, 8), (4, 4), (8, 1), (16, 2)] {
            let reduction = Reduction::LaneTree { k_lanes };
            let spec = with(base, |step| {
                *step = DecodeStepSpec { reduction, waves, head_k: 64, ..*step };
            });
            Subject::new(spec).verify("lengths=3,0,2", GateRange::Mixed, 9);
        }
    }
}

#[test]
fn states_are_optional() {
    for base in Target::ALL.map(base) {
        for (initial_state, final_state) in [(false, true), (true, false), (false, false)] {
            let spec = RecurrentSpec { initial_state, final_state, ..base };
            Subject::new(spec).verify(LENGTHS, GateRange::Trained, 6);
        }
    }
}

#[test]
fn many_tokens_without_decay_stay_within_limits() {
    for base in Target::ALL.map(base) {
        let spec = with(base, |step| (step.key_heads, step.value_heads, step.head_v) = (1, 1, 32));
        let subject = Subject::new(spec);
        for gates in [GateRange::Zero, GateRange::Weak] {
            subject.verify("lengths=200,17", gates, 8);
        }
    }
}

#[test]
fn cuts_and_steps_give_the_bits_of_one_call() {
    for base in Target::ALL.map(base) {
        let bounded = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };
        for (family, gate, state_layout, reduction) in [
            (Family::Gdn, Gate::Softplus, StateLayout::KFirst, Reduction::LaneTree { k_lanes: 8 }),
            (Family::Kda, bounded, StateLayout::VFirst, Reduction::LaneTree { k_lanes: 4 }),
            (Family::Kda, Gate::LogDecay, StateLayout::KFirst, Reduction::Serial),
        ] {
            let spec = with(base, |step| {
                *step = DecodeStepSpec {
                    family,
                    gate,
                    state_layout,
                    reduction,
                    dtype: Dtype::Bf16,
                    ..*step
                };
            });
            tokens::cuts_change_nothing(spec, spec.step, 7);
        }
    }
}

#[test]
fn empty_calls_keep_states_and_poison_stays_in_its_sequence() {
    for base in Target::ALL.map(base) {
        for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
            tokens::no_tokens_change_nothing(with(base, |step| step.state_layout = state_layout));
        }
        tokens::poison_stays_in_its_sequence(with(base, |step| step.family = Family::Kda));
    }
}

/// Outputs that flash-linear-attention's recurrence gave for packed sequences.
#[test]
fn results_from_outside_are_met() {
    for (spec, inputs) in [
        ("kda_varlen_recurrent_gfx1100", "kda_varlen"),
        ("gdn_varlen_recurrent_gfx950", "gdn_varlen"),
    ] {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_wavesmith"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["run", &format!("tests/data/specs/{spec}.toml"), "--inputs"])
            .arg(format!("tests/data/reference/{inputs}.safetensors"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{spec}: {text}{}", String::from_utf8_lossy(&run.stderr));
        assert!(text.contains("o (file)") && text.contains("next_state (file)"), "{text}");
    }
}

/// The kernel trusts the ends of sequences, so whoever launches must not.
#[test]
fn wrong_ends_are_refused_before_anything_runs() {
    let spec = Spec::from(base(Target::Gfx1100));
    let problem = spec.problem(&["lengths=2,1"]).unwrap();
    let plan = spec.plan(&problem).unwrap();
    let case = Case::generate(&spec, &problem, &Sample { gates: GateRange::Weak, seed: 1 });
    let mut inputs = case.unwrap().tensors().unwrap();
    assert_eq!(check_inputs(&plan, &inputs), []);
    for (ends, words) in [
        ([1, 2, 3], "number 0: the end of a sequence is 1, but must be 0"),
        ([0, 4, 3], "number 2: the end of a sequence is 3, but must be at least 4"),
        (
            [0, 2, 4],
            "number 2: the end of a sequence is 4, but must be 3, the number of all tokens",
        ),
    ] {
        let bytes = ends.iter().flat_map(|end: &i32| end.to_le_bytes()).collect();
        inputs.insert("cu_seqlens".to_owned(), bytes);
        let problems = check_inputs(&plan, &inputs);
        assert!(problems.len() == 1 && problems[0].to_string().contains(words), "{problems:?}");
    }
}
