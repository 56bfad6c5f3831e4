//! The kernels against float64 evaluations by another project (tests/data/reference/).

use std::path::Path;

use oracle::measure::{floor, rmse_ratio};
use oracle::prefill::{Beta, Layouts, Limits, Problem};
use oracle::{DeltaShape, GateInput, RawGate, Stored};
use safetensors::SafeTensors;
use specs::chunk::{Accuracy, AccuracyKind, BetaForm};
use specs::{Dtype, Family, HeadMap, StateLayout};

use super::FORMS;
use super::case::{Case, KDA, LEAST_GATE, Raw, everywhere};
use super::launch::run;
use oracle::inputs::GateRange;

/// A case's file.
struct Reference {
    name: &'static str,
    bytes: Vec<u8>,
}

impl Reference {
    fn read(name: &'static str) -> Reference {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reference");
        let path = folder.join(name).with_extension("safetensors");
        Reference { name, bytes: std::fs::read(path).expect("a reference case") }
    }

    fn tensors(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.bytes).expect("a safetensors file")
    }

    fn stored(&self, name: &'static str) -> Stored {
        let tensors = self.tensors();
        let view = tensors.tensor(name).expect("a tensor of the case");
        let dtype = match view.dtype() {
            safetensors::Dtype::F32 => Dtype::F32,
            safetensors::Dtype::BF16 => Dtype::Bf16,
            other => panic!("{name} is {other:?}"),
        };
        Stored::from_le_bytes(name, dtype, view.data()).expect("whole elements")
    }

    fn f32s(&self, name: &'static str) -> Vec<f32> {
        self.stored(name).to_f64().into_iter().map(|x| x as f32).collect()
    }

    /// Results, written in f64 or f32.
    fn wanted(&self, name: &'static str) -> Vec<f64> {
        let tensors = self.tensors();
        let view = tensors.tensor(name).expect("a result of the case");
        match view.dtype() {
            safetensors::Dtype::F64 => {
                view.data().as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
            }
            _ => self.stored(name).to_f64(),
        }
    }

    /// Ends of the packed sequences; a batch is packed, one sequence behind the other.
    fn ends(&self, batch: usize, tokens: usize) -> Vec<i64> {
        let tensors = self.tensors();
        let Ok(view) = tensors.tensor("cu_seqlens") else {
            return (0..=batch).map(|sequence| (sequence * tokens) as i64).collect();
        };
        view.data().as_chunks::<8>().0.iter().map(|&b| i64::from_le_bytes(b)).collect()
    }

    fn is_raw(&self) -> bool {
        self.name.contains("chain")
    }

    fn scale(&self) -> f32 {
        let (_, header) = SafeTensors::read_metadata(&self.bytes).expect("a header");
        let scale = &header.metadata().as_ref().expect("metadata")["scale"];
        scale.parse::<f64>().expect("a number") as f32
    }

    fn gate(&self, family: Family) -> GateInput {
        if !self.is_raw() {
            return GateInput::LogDecay(self.f32s("g"));
        }
        let raw = RawGate {
            g_raw: self.stored("g_raw"),
            a_log: self.f32s("A_log"),
            dt_bias: self.f32s("dt_bias"),
        };
        match family {
            Family::Kda => GateInput::BoundedSigmoid { raw, lower_bound_nats: LEAST_GATE },
            Family::Gdn => GateInput::Softplus(raw),
        }
    }

    /// The case as a problem, and the kernels for it.
    fn case(&self, accuracy: Accuracy) -> (Case, Problem) {
        let tensors = self.tensors();
        let dims = |name| tensors.tensor(name).expect("a tensor of the case").shape().to_vec();
        let (k, v) = (dims("k"), dims("v"));
        let family = if self.name.starts_with("kda") { Family::Kda } else { Family::Gdn };
        let shape = DeltaShape {
            batch: 1,
            tokens: k[0] * k[1],
            key_heads: k[2],
            value_heads: v[2],
            head_k: k[3],
            head_v: v[3],
            head_map: HeadMap::Grouped,
            state_layout: StateLayout::KFirst,
            per_channel_gate: family == Family::Kda,
        };
        // The range is that of generated gates; the file has its own.
        let raw = Raw { range: GateRange::Trained, dt_bias: true, beta: BetaForm::Sigmoid };
        let case = Case {
            family,
            accuracy,
            checked: accuracy.kind() == AccuracyKind::F16,
            key_heads: k[2] as u32,
            value_heads: v[2] as u32,
            head_k: k[3] as u32,
            head_v: v[3] as u32,
            raw: self.is_raw().then_some(raw),
            qk_l2norm: self.is_raw(),
            ..KDA
        };
        let beta = if self.is_raw() {
            Beta::Sigmoid(self.stored("beta_raw"))
        } else {
            Beta::Given(self.stored("beta"))
        };
        let problem = Problem {
            shape,
            cu_seqlens: Some(self.ends(k[0], k[1])),
            layouts: Layouts::token_major(&shape),
            q: self.stored("q"),
            k: self.stored("k"),
            v: self.stored("v"),
            beta,
            gate: self.gate(family),
            l2_norm: self.is_raw(),
            initial_state: Some(self.f32s("h0")),
            scale: self.scale(),
        };
        (case, problem)
    }
}

#[test]
fn reference_cases_are_right() {
    for name in [
        "gdn_t1",
        "gdn_t31",
        "gdn_t64_gva",
        "gdn_varlen",
        "kda_t31",
        "kda_t64_gva",
        "kda_t100_k128v64",
        "kda_varlen",
        "gdn_chain",
        "kda_chain_lb",
    ] {
        let reference = Reference::read(name);
        let (want_o, want_state) =
            (reference.wanted("expected.o"), reference.wanted("expected.ht"));
        let cases = FORMS.map(|form| reference.case(form.accuracy));
        let problem = &cases[0].1;
        for case in everywhere(cases.each_ref().map(|(case, _)| *case)) {
            let accuracy = case.accuracy;
            let got = run(&case, problem);
            let o = rmse_ratio(&got.o.to_f64(), &want_o);
            let state = rmse_ratio(&got.state, &want_state);
            let limits = Limits::of(accuracy.kind());
            let of_o = limits.o.at(floor(&want_o, Dtype::Bf16));
            println!("{name} {} {accuracy:?}: o {o:.2e}, state {state:.2e}", case.target);
            assert!(
                o <= of_o && state <= limits.state,
                "{name} {} {accuracy:?}: o {o:.2e}, limit {of_o:.2e}, state {state:.2e}, {limits:?}",
                case.target
            );
        }
    }
}
