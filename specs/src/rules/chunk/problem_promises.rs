//! What a problem promises beside its shapes makes sense: a bound of the gates where each channel has one
//! (required with the bounded sigmoid, whose bound is part of the model; finite, and at most 0 as log decays are),
//! a value bound above 0 and at most 65504 wherever it is stated, sequences that a launch can number, and chunks and
//! value splits that there are, where the problem asks for some.

use super::value_bound;
use crate::chunk::ChunkGateKind;
use crate::dispatch::PrefillRequest;
use crate::plan::MAX_GRID_YZ;
use crate::rule::{Rule, Violation};

const ID: &str = "problem_promises";

pub(super) const RULE: Rule<PrefillRequest> =
    Rule { id: ID, file: include_str!("problem_promises.rs"), check };

fn check(request: &PrefillRequest) -> Vec<Violation> {
    let mut violations = Vec::new();
    violations.extend(gate_bound(request));
    violations.extend(request.value_bound.and_then(value_bound::out_of_range));
    if !(1..=MAX_GRID_YZ).contains(&request.batch) {
        violations.push(violation(
            "batch",
            request.batch.to_string(),
            format!("1 to {MAX_GRID_YZ}"),
            format!("nearest legal: batch = {}", request.batch.clamp(1, MAX_GRID_YZ)),
        ));
    }
    let tokens = u64::from(request.batch) * u64::from(request.tokens);
    let most = u64::from(i32::MAX.unsigned_abs());
    if tokens > most {
        let batch = request.batch.clamp(1, MAX_GRID_YZ);
        violations.push(violation(
            "tokens",
            format!("{tokens} in all sequences"),
            format!("at most {most} in all"),
            format!("nearest legal: tokens = {}", most / u64::from(batch)),
        ));
    }
    if request.accuracy == crate::dispatch::AccuracyChoice::F16 && request.value_bound.is_none() {
        violations.push(violation(
            "value_bound",
            "none".to_owned(),
            "a bound, with accuracy = \"f16\"".to_owned(),
            "state what |v|, |S|, |R| and |V~| stay below, or take accuracy = \"auto\"".to_owned(),
        ));
    }
    let asked = [
        ("chunk", request.chunk, [16, 32, 64].as_slice()),
        ("value_splits", request.value_splits, &[1, 2, 4, 8]),
    ];
    violations.extend(asked.into_iter().filter_map(|(field, got, legal)| {
        let got = got.filter(|got| !legal.contains(got))?;
        let listed: Vec<_> = legal.iter().map(ToString::to_string).collect();
        let nearest = legal.iter().min_by_key(|legal| legal.abs_diff(got)).unwrap_or(&16);
        let hint = format!("nearest legal: {field} = {nearest}, or leave it out");
        Some(violation(field, got.to_string(), listed.join(" or "), hint))
    }));
    violations
}

fn gate_bound(request: &PrefillRequest) -> Option<Violation> {
    let field = "gate_lower_bound_nats";
    let takes_one =
        matches!(request.gate, ChunkGateKind::LogDecayPerChannel | ChunkGateKind::BoundedSigmoid);
    match request.gate_lower_bound_nats {
        Some(bound) if !takes_one => Some(violation(
            field,
            format!("{bound:?}"),
            format!("no bound with gate = \"{}\"", request.gate),
            "leave it out: gates of this kind have none".to_owned(),
        )),
        // The sigmoid's own range is the rule gate_lower_bound.
        Some(bound) if request.gate == ChunkGateKind::LogDecayPerChannel => {
            (!(bound.is_finite() && bound <= 0.0)).then(|| {
                let limit = "a finite number, at most 0.0".to_owned();
                let hint = "state what the problem's gates are at least, such as -5.0".to_owned();
                violation(field, format!("{bound:?}"), limit, hint)
            })
        }
        None if request.gate == ChunkGateKind::BoundedSigmoid => Some(violation(
            field,
            "none".to_owned(),
            "the model's own bound, in [-5, 0)".to_owned(),
            "state the bound that the model was trained with; the usual one is -5.0".to_owned(),
        )),
        _ => None,
    }
}

fn violation(field: &'static str, got: String, limit: String, hint: String) -> Violation {
    Violation {
        rule: ID,
        field,
        got,
        limit,
        unit: "a problem's promise",
        source: "docs/dispatch.md",
        hint,
    }
}
