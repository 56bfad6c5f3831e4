//! The float64 references against float64 evaluations by another project (tests/data/reference/).

use std::path::Path;

use safetensors::SafeTensors;
use specs::{Dtype, HeadMap, StateLayout};
use wavesmith_oracle::delta_rule::{Inputs, State, token_serial};
use wavesmith_oracle::measure::{rmse_ratio, triangle_rmse_ratios};
use wavesmith_oracle::prefill::{self, Beta, Layouts, Outputs, Problem};
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

    fn ends(&self) -> Option<Vec<i64>> {
        let tensors = self.tensors();
        let view = tensors.tensor("cu_seqlens").ok()?;
        Some(view.data().as_chunks::<8>().0.iter().map(|&b| i64::from_le_bytes(b)).collect())
    }

    /// What the values of a tensor lost when the file was written.
    fn rounding(&self, name: &str) -> f64 {
        match self.tensors().tensor(name).unwrap().dtype() {
            safetensors::Dtype::F64 => F64_ORDER,
            _ => F32_ROUNDING,
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
        self.exact_scale() as f32
    }

    fn exact_scale(&self) -> f64 {
        let (_, header) = SafeTensors::read_metadata(&self.bytes).unwrap();
        header.metadata().as_ref().unwrap()["scale"].parse().unwrap()
    }

    /// The case as a prefill problem.
    fn problem(&self, gate: GateInput) -> Problem {
        let shape = self.shape(self.is_per_channel());
        let raw = gate.raw().is_some();
        let beta = if raw { Beta::Sigmoid } else { Beta::Given };
        Problem {
            shape,
            cu_seqlens: self.ends(),
            layouts: Layouts::token_major(&shape),
            q: self.stored("q"),
            k: self.stored("k"),
            v: self.stored("v"),
            beta: beta(self.stored(if raw { "beta_raw" } else { "beta" })),
            gate,
            l2_norm: raw,
            initial_state: Some(self.f32s("h0")),
            scale: self.scale(),
        }
    }

    fn is_per_channel(&self) -> bool {
        let tensors = self.tensors();
        let gate = tensors.tensor("g").or_else(|_| tensors.tensor("g_raw")).unwrap();
        gate.shape().len() == 4
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

/// Every reference case as a prefill problem.
fn prefill_cases() -> Vec<(&'static str, Reference, Problem)> {
    let given = [
        "gdn_t1",
        "gdn_t31",
        "gdn_t64_gva",
        "gdn_varlen",
        "kda_t31",
        "kda_t64_gva",
        "kda_t100_k128v64",
        "kda_varlen",
    ];
    let given = given.map(|name| {
        let case = Reference::read(name);
        let problem = case.problem(GateInput::LogDecay(case.f32s("g")));
        (name, case, problem)
    });
    let raw = ["gdn_chain", "kda_chain_lb"].map(|name| {
        let case = Reference::read(name);
        let raw = case.raw_gate();
        let gate = match name {
            "gdn_chain" => GateInput::Softplus(raw),
            _ => GateInput::BoundedSigmoid { raw, lower_bound_nats: -5.0 },
        };
        let problem = case.problem(gate);
        (name, case, problem)
    });
    given.into_iter().chain(raw).collect()
}

/// The scale of a K of 128 is no f32. Outputs are linear in it, so the reference's own is put back.
fn rescaled(case: &Reference, x: &[f64]) -> Vec<f64> {
    let ratio = case.exact_scale() / f64::from(case.scale());
    x.iter().map(|x| x * ratio).collect()
}

#[track_caller]
fn agrees(what: &str, case: &Reference, got: &Outputs) {
    let o = rescaled(case, &got.o);
    within(what, &o, &case.f64s("expected.o"), case.rounding("expected.o"));
    within(what, &got.state, &case.f64s("expected.ht"), F32_ROUNDING);
}

#[test]
fn prefill_token_by_token() {
    for (name, case, problem) in prefill_cases() {
        agrees(name, &case, &prefill::serial::run(&problem).unwrap());
    }
}

#[test]
fn prefill_in_chunks() {
    for (name, case, problem) in prefill_cases() {
        for chunk in [16, 32, 64] {
            let (got, _) = prefill::tile::run(&problem, chunk).unwrap();
            agrees(&format!("{name} in chunks of {chunk}"), &case, &got);
        }
    }
}

/// Stage tensors are [1, 64, HV, ..] there, one chunk of 64 rows.
#[test]
fn stage_tensors_of_one_chunk() {
    for (name, case, problem) in prefill_cases() {
        if !name.ends_with("t64_gva") {
            continue;
        }
        let (_, chunks) = prefill::tile::run(&problem, 64).unwrap();
        let heads = problem.shape.value_heads;
        assert_eq!(chunks.len(), heads);
        for (h, chunk) in chunks.iter().enumerate() {
            let expected = |tensor: &'static str| -> Vec<f64> {
                let (values, width) = (case.f64s(tensor), *case.dims(tensor).last().unwrap());
                let rows = values.chunks(width).skip(h).step_by(heads);
                rows.flatten().copied().collect()
            };
            let head = |what: &str| format!("{what} of head {h} of {name}");
            within(&head("V~"), &chunk.v_tilde, &expected("expected.v_new"), F32_ROUNDING);
            let triangle = |what: &str, got: &[f64], want: &[f64]| {
                let ratios = triangle_rmse_ratios(got, want, 64);
                let worst = ratios.strict_lower.max(ratios.diagonal).max(ratios.above);
                assert!(worst <= F32_ROUNDING, "{}: {ratios:?}", head(what));
            };
            let scaled: Vec<f64> = chunk.aqk.iter().map(|x| case.exact_scale() * x).collect();
            triangle("Aqk", &scaled, &expected("expected.Aqk"));
            let beta: Vec<f64> =
                problem.beta.stored().to_f64().into_iter().skip(h).step_by(heads).collect();
            let inverse = expected("expected.Ainv");
            let a: Vec<f64> = inverse.iter().zip(beta.iter().cycle()).map(|(a, b)| a * b).collect();
            triangle("A", &chunk.a, &a);
            let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
                let entry =
                    |i: usize, d: usize| (0..64).map(|j| a[i * 64 + j] * b[j * 64 + d]).sum();
                (0..64)
                    .flat_map(|i| (0..64).map(move |d| (i, d)))
                    .map(|(i, d)| entry(i, d))
                    .collect()
            };
            within(
                &head("A GK"),
                &times(&chunk.a, &chunk.gk),
                &expected("expected.w"),
                F32_ROUNDING,
            );
            let v: Vec<f64> =
                problem.v.to_f64().chunks(64).skip(h).step_by(heads).flatten().copied().collect();
            within(&head("A V"), &times(&chunk.a, &v), &expected("expected.u"), F32_ROUNDING);
            let state = &case.f64s("expected.h")[h * 4096..(h + 1) * 4096];
            within(&head("S"), &chunk.state, state, F32_ROUNDING);
            let gates = problem.shape.gate_channels();
            let cumulated = case.f64s("expected.gcum_log2");
            let last = &cumulated[(63 * heads + h) * gates..][..gates];
            let log2: Vec<f64> = chunk.dec[..gates].iter().map(|dec| dec.log2()).collect();
            // A single number has no rms: half an ulp of f32.
            within(&head("dec"), &log2, last, 6e-8);
        }
    }
}
