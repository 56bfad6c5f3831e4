//! Kernels of many tokens in the oracle: convolutions by hand, and a delta rule whose rounding stays within its limits
//! and near them.

use specs::{
    Activation, ConvChunkProblem, ConvChunkSpec, ConvStepSpec, DecodeStepSpec, Dtype, Family, Gate,
    HeadMap, PrefillProblem, RecurrentSpec, Reduction, StateContract, StateLayout, Target,
};
use wavesmith_oracle::inputs::{self, GateRange, Sample};
use wavesmith_oracle::measure::rmse_ratio;
use wavesmith_oracle::{Stored, conv_chunk, twin};

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn convolutions_by_hand() {
    let step = ConvStepSpec {
        target: Target::Gfx1100,
        channels: 1,
        width: 3,
        dtype: Dtype::F32,
        bias: false,
        activation: Activation::None,
        waves: 1,
        wave_width: 32,
    };
    let spec = ConvChunkSpec { step, segment: 2 };
    // Sequences of no, three and one tokens.
    let problem = ConvChunkProblem { lengths: vec![0, 3, 1] };
    let tensors = [
        ("x", bytes(&[4.0, 8.0, 16.0, 7.0])),
        ("weight", bytes(&[1.0, 10.0, 100.0])),
        ("history", bytes(&[5.0, 6.0, 1.0, 2.0, 3.0, 9.0])),
    ];
    let tensors = tensors.map(|(name, bytes)| (name.to_owned(), bytes)).into();
    let case = conv_chunk::Case::from_tensors(&spec, &problem, &tensors).unwrap();
    let want = case.reference().unwrap();
    assert_eq!(want.y, [421.0, 842.0, 1684.0, 793.0]);
    assert_eq!(want.next_history, Some(vec![5.0, 6.0, 8.0, 16.0, 9.0, 7.0]));
    let got = case.twin().unwrap();
    assert_eq!(got["y"], bytes(&[421.0, 842.0, 1684.0, 793.0]));
    assert_eq!(got["next_history"], bytes(&[5.0, 6.0, 8.0, 16.0, 9.0, 7.0]));
}

fn recurrent(family: Family, gate: Gate) -> RecurrentSpec {
    let step = DecodeStepSpec {
        family,
        target: Target::Gfx1100,
        gate,
        key_heads: 1,
        value_heads: 2,
        head_k: 64,
        head_v: 20,
        dtype: Dtype::F32,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::Separate,
        reduction: Reduction::LaneTree { k_lanes: 8 },
        waves: 1,
        wave_width: 32,
    };
    RecurrentSpec { step, initial_state: true, final_state: true }
}

#[test]
fn roundings_of_many_tokens_stay_within_limits_and_near_them() {
    let mut nearest = [0.0f64; 2];
    for (family, gate) in [
        (Family::Gdn, Gate::LogDecay),
        (Family::Kda, Gate::LogDecay),
        (Family::Kda, Gate::Softplus),
    ] {
        let spec = recurrent(family, gate);
        for (gates, tokens) in
            GateRange::ALL.into_iter().flat_map(|gates| [1, 7, 60, 250].map(|n| (gates, n)))
        {
            let problem = PrefillProblem::of(vec![tokens], 0.125);
            let case = inputs::recurrent(&spec, &problem, &Sample { gates, seed: 3 });
            let want = case.reference().unwrap();
            let got = twin::recurrent::run(&case.problem, spec.step.reduction).unwrap();
            let state = Stored::F32(got.state).to_f64();
            let ratios = [
                rmse_ratio(&got.o.to_f64(), &want.o) / case.output_limit(Dtype::F32, 0.0),
                rmse_ratio(&state, &want.state) / case.state_limit(),
            ];
            assert!(ratios.iter().all(|r| *r < 1.0), "{family} {gates:?} {tokens}: {ratios:?}");
            nearest = [nearest[0].max(ratios[0]), nearest[1].max(ratios[1])];
        }
    }
    assert!(nearest.iter().all(|ratio| *ratio > 0.5), "limits are far away: {nearest:?}");
}
