//! The float64 recurrence against float64 evaluations by another project (tests/data/reference/).

use std::path::Path;

use safetensors::SafeTensors;
use specs::{Dtype, HeadMap, StateLayout};
use wavesmith_oracle::delta_rule::{Inputs, State, token_serial};
use wavesmith_oracle::measure::rmse_ratio;
use wavesmith_oracle::{DeltaShape, GateInput, RawGate, Stored};

/// f32 rounding of what the file holds, as rms of a uniform error within half an ulp.
const F32_ROUNDING: f64 = 3.5e-8;
/// Another order of float64 sums.
const F64_ORDER: f64 = 1e-14;

struct Reference {
    bytes: Vec<u8>,
}

impl Reference {
    fn read(name: &str) -> Reference {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/reference");
        let path = folder.join(name).with_extension("safetensors");
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Reference { bytes }
    }

    fn tensors(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.bytes).unwrap()
    }

    fn dims(&self, name: &str) -> Vec<usize> {
        self.tensors().tensor(name).unwrap().shape().to_vec()
    }

    fn stored(&self, name: &'static str) -> Stored {
        let tensors = self.tensors();
        let view = tensors.tensor(name).unwrap();
        let dtype = match view.dtype() {
            safetensors::Dtype::F32 => Dtype::F32,
            safetensors::Dtype::BF16 => Dtype::Bf16,
            other => panic!("{name} is {other:?}"),
        };
        Stored::from_le_bytes(name, dtype, view.data()).unwrap()
    }

    fn f32s(&self, name: &'static str) -> Vec<f32> {
        self.stored(name).to_f64().iter().map(|x| *x as f32).collect()
    }

    fn f64s(&self, name: &'static str) -> Vec<f64> {
        let tensors = self.tensors();
        let view = tensors.tensor(name).unwrap();
        match view.dtype() {
            safetensors::Dtype::F64 => {
                let (whole, _) = view.data().as_chunks::<8>();
                whole.iter().map(|&b| f64::from_le_bytes(b)).collect()
            }
            _ => self.stored(name).to_f64(),
        }
    }

    fn shape(&self, per_channel_gate: bool) -> DeltaShape {
        let (k, v) = (self.dims("k"), self.dims("v"));
        DeltaShape {
            batch: k[0],
            tokens: k[1],
            key_heads: k[2],
            value_heads: v[2],
            head_k: k[3],
            head_v: v[3],
            head_map: HeadMap::Grouped,
            state_layout: StateLayout::KFirst,
            per_channel_gate,
        }
    }

    fn scale(&self) -> f32 {
        let (_, header) = SafeTensors::read_metadata(&self.bytes).unwrap();
        header.metadata().as_ref().unwrap()["scale"].parse().unwrap()
    }

    fn inputs(&self, gate: GateInput) -> Inputs {
        Inputs {
            q: self.stored("q"),
            k: self.stored("k"),
            v: self.stored("v"),
            beta: self.stored("beta"),
            gate,
            state: State::Separate(self.f32s("h0")),
            scale: self.scale(),
        }
    }

    fn raw_gate(&self) -> RawGate {
        let (a_log, dt_bias) = (self.f32s("A_log"), self.f32s("dt_bias"));
        RawGate { g_raw: self.stored("g_raw"), a_log, dt_bias }
    }
}

#[track_caller]
fn within(what: &str, got: &[f64], want: &[f64], limit: f64) {
    let ratio = rmse_ratio(got, want);
    assert!(ratio <= limit, "{what}: rmse_ratio {ratio:.3e} is above {limit:.3e}");
}

#[test]
fn given_gates() {
    // The scale of a K of 128 is no f32; the kernel's argument, and so the oracle's, is one.
    for (name, per_channel_gate, scale_rounding) in
        [("gdn_t1", false, 5e-8), ("gdn_t31", false, 0.0), ("kda_t31", true, 0.0)]
    {
        let case = Reference::read(name);
        let inputs = case.inputs(GateInput::LogDecay(case.f32s("g")));
        let got = token_serial(&case.shape(per_channel_gate), &inputs).unwrap();
        within(name, &got.o, &case.f64s("expected.o"), scale_rounding + F64_ORDER);
        within(name, &got.state, &case.f64s("expected.ht"), F32_ROUNDING);
    }
}

#[test]
fn a_wrong_head_map_or_gate_shows() {
    let case = Reference::read("gdn_t31");
    let inputs = case.inputs(GateInput::LogDecay(case.f32s("g")));
    let want = case.f64s("expected.o");
    let swapped =
        GateInput::LogDecay(case.f32s("g").chunks(2).flat_map(|g| [g[1], g[0]]).collect());
    let got =
        token_serial(&case.shape(false), &Inputs { gate: swapped, ..inputs.clone() }).unwrap();
    assert!(rmse_ratio(&got.o, &want) > 1e-2);
    let v_first = DeltaShape { state_layout: StateLayout::VFirst, ..case.shape(false) };
    assert!(rmse_ratio(&token_serial(&v_first, &inputs).unwrap().o, &want) > 1e-2);
}

#[test]
fn raw_gates() {
    let bounded = |raw| GateInput::BoundedSigmoid { raw, lower_bound_nats: -5.0 };
    for (name, per_channel_gate, gate) in [
        ("gdn_chain", false, &(GateInput::Softplus as fn(RawGate) -> GateInput)),
        ("kda_chain_lb", true, &(bounded as fn(RawGate) -> GateInput)),
    ] {
        let case = Reference::read(name);
        let shape = case.shape(per_channel_gate);
        let gate = gate(case.raw_gate());
        let want = case.f64s("expected.g");
        within(name, &gate.log_decays(&shape).unwrap(), &want, F32_ROUNDING);

        let normalised = |x: Stored| Stored::F32(l2_normalised(&x.to_f64(), shape.head_k));
        let beta = case
            .stored("beta_raw")
            .to_f64()
            .iter()
            .map(|b| 1.0 / (1.0 + (-b).exp()))
            .collect::<Vec<_>>();
        let inputs = Inputs {
            q: normalised(case.stored("q")),
            k: normalised(case.stored("k")),
            v: case.stored("v"),
            beta: Stored::round(Dtype::F32, beta),
            gate,
            state: State::Separate(case.f32s("h0")),
            scale: case.scale(),
        };
        // q, k and β are rounded to f32 on the way, once each.
        let got = token_serial(&shape, &inputs).unwrap();
        within(name, &got.o, &case.f64s("expected.o"), 3.0 * F32_ROUNDING);
        within(name, &got.state, &case.f64s("expected.ht"), 3.0 * F32_ROUNDING);
    }
}

fn l2_normalised(x: &[f64], row: usize) -> Vec<f32> {
    let normalise = |row: &[f64]| {
        let length = (row.iter().map(|x| x * x).sum::<f64>() + 1e-6).sqrt();
        row.iter().map(|x| (x / length) as f32).collect::<Vec<_>>()
    };
    x.chunks(row).flat_map(normalise).collect()
}
