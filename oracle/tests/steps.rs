//! The float32 twins against float64, and what the judgement of a step refuses.

use specs::{
    Activation, Choice, ConvStepSpec, DecodeStepSpec, Dtype, Element, Family, Gate, HeadMap,
    Problem, Reduction, Spec, StateContract, StateLayout, Target,
};
use wavesmith_oracle::inputs::{GateRange, Sample};
use wavesmith_oracle::tensors::{Tensors, poison};
use wavesmith_oracle::{Case, OracleError, decode_step};

const TREE: Reduction = Reduction::LaneTree { k_lanes: 8 };

/// K ≠ V, HV = 2·HK.
fn decode() -> DecodeStepSpec {
    DecodeStepSpec {
        family: Family::Gdn,
        target: Target::Gfx1100,
        gate: Gate::LogDecay,
        key_heads: 2,
        value_heads: 4,
        head_k: 64,
        head_v: 20,
        dtype: Dtype::F32,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::Separate,
        reduction: TREE,
        waves: 2,
        wave_width: 32,
    }
}

fn pool(sentinel: i32) -> DecodeStepSpec {
    DecodeStepSpec { state_contract: StateContract::PoolInPlace { sentinel }, ..decode() }
}

fn conv() -> ConvStepSpec {
    ConvStepSpec {
        target: Target::Gfx950,
        channels: 300,
        width: 4,
        dtype: Dtype::F32,
        bias: true,
        activation: Activation::Silu,
        waves: 2,
        wave_width: 64,
    }
}

/// Four sequences.
fn problem(spec: &Spec) -> Problem {
    spec.problem(&["batch=4"]).unwrap()
}

fn case_with(spec: &Spec, gates: GateRange) -> Case {
    Case::generate(spec, &problem(spec), &Sample { gates, seed: 11 }).unwrap()
}

fn case(spec: impl Into<Spec>) -> Case {
    case_with(&spec.into(), GateRange::Mixed)
}

/// The twin's outputs must pass.
#[track_caller]
fn twin_passes(spec: impl Into<Spec>, gates: GateRange) {
    let spec = spec.into();
    let case = case_with(&spec, gates);
    for (output, verdict) in case.judge(&case.twin().unwrap()).unwrap() {
        assert!(verdict.passed, "{output} of {spec:?} with {gates:?} gates: {verdict:?}");
    }
}

/// Outputs that differ from the twin's by `change` must fail, for the reason given.
#[track_caller]
fn refused(case: &Case, output: &str, change: impl Fn(&mut Vec<u8>), reason: &str) {
    let mut outputs = case.twin().unwrap();
    change(outputs.get_mut(output).unwrap());
    for (name, verdict) in case.judge(&outputs).unwrap() {
        let why = verdict.failure.as_deref().unwrap_or_default();
        assert_eq!(verdict.passed, name != output, "{name}: {verdict:?}");
        assert!(name != output || why.contains(reason), "{why}");
    }
}

fn gates() -> Vec<(Family, Gate)> {
    let bounded = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };
    let both = |gate| [(Family::Gdn, gate), (Family::Kda, gate)];
    [both(Gate::LogDecay), both(Gate::Softplus)]
        .concat()
        .into_iter()
        .chain([(Family::Kda, bounded)])
        .collect()
}

#[test]
fn decode_twins_are_within_the_limits() {
    for (family, gate) in gates() {
        for range in GateRange::ALL {
            for &dtype in Dtype::ALL {
                for &state_layout in StateLayout::ALL {
                    for reduction in [Reduction::Serial, TREE] {
                        let spec = decode();
                        let spec =
                            DecodeStepSpec { family, gate, dtype, state_layout, reduction, ..spec };
                        twin_passes(spec, range);
                    }
                }
            }
        }
    }
}

#[test]
fn decode_twins_over_heads_shapes_and_pools() {
    for (key_heads, value_heads) in [(1, 1), (2, 6), (3, 9), (4, 4)] {
        for &head_map in HeadMap::ALL {
            twin_passes(
                DecodeStepSpec { key_heads, value_heads, head_map, ..decode() },
                GateRange::Weak,
            );
        }
    }
    for (head_k, head_v, reduction) in [
        (7, 33, Reduction::Serial),
        (256, 8, Reduction::Serial),
        (8, 64, Reduction::LaneTree { k_lanes: 2 }),
        (192, 64, Reduction::LaneTree { k_lanes: 16 }),
    ] {
        twin_passes(DecodeStepSpec { head_k, head_v, reduction, ..decode() }, GateRange::Mixed);
    }
    for sentinel in [-1, 0, i32::MAX] {
        twin_passes(pool(sentinel), GateRange::Mixed);
        twin_passes(DecodeStepSpec { family: Family::Kda, ..pool(sentinel) }, GateRange::Strong);
    }
}

#[test]
fn reductions_and_layouts_differ_in_bits() {
    let twin = |spec: DecodeStepSpec| case(spec).twin().unwrap();
    let serial = DecodeStepSpec { reduction: Reduction::Serial, ..decode() };
    assert_ne!(twin(serial)["o"], twin(decode())["o"]);
    let four = DecodeStepSpec { reduction: Reduction::LaneTree { k_lanes: 4 }, ..decode() };
    assert_ne!(twin(four)["o"], twin(decode())["o"]);
}

#[test]
fn stronger_gates_leave_less_state() {
    let size = |range| {
        let case = case_with(&decode().into(), range);
        let Case::DecodeStep(case) = case else { panic!("a decode spec made another case") };
        case.reference().unwrap().state.iter().map(|s| s * s).sum::<f64>()
    };
    let sizes = GateRange::ALL.map(size);
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
}

#[test]
fn limits_keep_the_promise() {
    let Case::DecodeStep(decode_step::Case { shape, inputs, .. }) =
        case(DecodeStepSpec { gate: Gate::Softplus, head_k: 1024, head_v: 1, ..decode() })
    else {
        panic!("a decode spec made another case")
    };
    let limit =
        |dtype| decode_step::output_limit(&shape, &inputs.gate, Reduction::Serial, dtype, 2e-3);
    assert!(decode_step::state_limit(&inputs.gate) <= 3e-7);
    assert!(limit(Dtype::F32) <= 1e-6);
    assert_eq!((limit(Dtype::Bf16), limit(Dtype::F16)), (1.05 * 2e-3, 1.05 * 2e-3));
}

#[test]
fn conv_twins_are_within_the_limits() {
    for width in 1..=16 {
        for &dtype in Dtype::ALL {
            for (bias, activation) in [(false, Activation::None), (true, Activation::Silu)] {
                twin_passes(
                    ConvStepSpec { width, dtype, bias, activation, ..conv() },
                    GateRange::Zero,
                );
            }
        }
    }
}

#[test]
fn conv_history_moves_by_one() {
    let case = case(ConvStepSpec { channels: 1, width: 3, ..conv() });
    let (before, after) = (case.tensors().unwrap(), case.twin().unwrap());
    for b in 0..4 {
        let at =
            |tensors: &Tensors, name: &str, index: usize| tensors[name][index * 4..][..4].to_vec();
        assert_eq!(at(&after, "next_history", 2 * b), at(&before, "history", 2 * b + 1));
        assert_eq!(at(&after, "next_history", 2 * b + 1), at(&before, "x", b));
    }
}

#[test]
fn what_a_kernel_did_not_write_fails() {
    let fill = |bytes: &mut Vec<u8>| *bytes = poison(Element::F32, bytes.len() / 4);
    for output in ["o", "next_state"] {
        refused(&case(decode()), output, fill, "element 0 is NaN");
    }
    for output in ["y", "next_history"] {
        refused(&case(conv()), output, fill, "element 0 is NaN");
    }
    refused(&case(decode()), "o", |bytes| bytes.truncate(8), "2 elements, the reference has 320");
}

#[test]
fn wrong_values_fail() {
    let negate = |bytes: &mut Vec<u8>| bytes[3] ^= 0x80;
    refused(&case(decode()), "o", negate, "above its limit");
    refused(&case(decode()), "next_state", negate, "above its limit");
    let next_float = |bytes: &mut Vec<u8>| bytes[0] ^= 1;
    refused(&case(conv()), "next_history", next_float, "above its limit 0");
}

#[test]
fn pools_are_changed_only_where_they_may_be() {
    let case = case(pool(-1));
    let Case::DecodeStep(decode_step::Case { shape, inputs, .. }) = &case else {
        panic!("a decode spec made another case")
    };
    let live: Vec<_> = (0..4).filter_map(|b| inputs.state.row(b)).collect();
    assert_eq!(live.len(), 3, "sequence 1 has none");
    let foreign = (0..6).find(|slot| !live.contains(slot)).unwrap();
    let clear = |bytes: &mut Vec<u8>| bytes[foreign * shape.state_row_len() * 4] ^= 1;
    refused(&case, "pool", clear, &format!("no sequence owns slot {foreign}"));
    let row_bytes = shape.value_heads * shape.head_v * 4;
    let least = |bytes: &mut Vec<u8>| bytes[row_bytes] = 1;
    refused(&case, "o", least, "row 1 has no sequence");
}

#[test]
fn tensors_are_the_arguments_of_the_signature() {
    let mut specs: Vec<Spec> = vec![pool(-1).into(), conv().into()];
    specs.push(ConvStepSpec { width: 1, bias: false, ..conv() }.into());
    let gated = |(family, gate)| Spec::from(DecodeStepSpec { family, gate, ..decode() });
    specs.extend(gates().into_iter().map(gated));
    for spec in specs {
        let case = case(spec);
        let signature = spec.signature();
        let names = |tensors: &Tensors| tensors.keys().cloned().collect::<Vec<_>>();
        let buffers = |keep: fn(specs::Access) -> bool| {
            let kept = signature.buffers().filter(|(_, buffer)| keep(buffer.access));
            let mut names: Vec<_> = kept.map(|(name, _)| name.to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(
            names(&case.tensors().unwrap()),
            buffers(|access| access != specs::Access::WriteOnly)
        );
        assert_eq!(
            names(&case.twin().unwrap()),
            buffers(|access| access != specs::Access::ReadOnly)
        );
        let judged = case.judge(&case.twin().unwrap()).unwrap();
        let judged: Vec<_> = judged.iter().map(|(name, _)| *name).collect();
        let written =
            signature.buffers().filter(|(_, buffer)| buffer.access != specs::Access::ReadOnly);
        assert_eq!(judged, written.map(|(name, _)| name).collect::<Vec<_>>());
        let again = Case::from_tensors(&spec, &problem(&spec), &case.tensors().unwrap());
        assert_eq!(again.unwrap().tensors(), case.tensors());
    }
}

#[test]
fn tensors_that_fit_no_problem_are_refused() {
    let spec = Spec::from(decode());
    let refused_with = |change: &dyn Fn(&mut Tensors)| {
        let mut tensors = case(decode()).tensors().unwrap();
        change(&mut tensors);
        Case::from_tensors(&spec, &problem(&spec), &tensors).unwrap_err()
    };
    let missing = OracleError::Presence { tensor: "beta", problem: "is missing" };
    assert_eq!(refused_with(&|tensors| drop(tensors.remove("beta"))), missing);
    let short = OracleError::Length { tensor: "q", got: 1, want: 512 };
    assert_eq!(refused_with(&|tensors| tensors.get_mut("q").unwrap().truncate(4)), short);
    let torn = OracleError::Bytes { tensor: "state", got: 3, unit: 4 };
    assert_eq!(refused_with(&|tensors| tensors.get_mut("state").unwrap().truncate(3)), torn);
}
