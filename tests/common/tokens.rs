//! Kernels of many tokens: the same tokens cut into several calls, or taken step by step, give the same bits.

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use specs::signature::{Extent, Role};
use specs::{Access, Spec};

use crate::common::Subject;

/// Inputs of one sequence of `tokens` tokens.
pub fn sequence(spec: &Spec, tokens: usize, gates: GateRange) -> Tensors {
    let problem = spec.problem(&[format!("tokens={tokens}")]).unwrap();
    let case = Case::generate(spec, &problem, &Sample { gates, seed: 7 }).unwrap();
    case.tensors().unwrap()
}

/// The tokens `from..to` of one sequence, with what the call before it left as its state.
fn part(spec: &Spec, all: &Tensors, [from, to]: [usize; 2], left: Option<&Tensors>) -> Tensors {
    let mut part = all.clone();
    let signature = spec.signature();
    for (name, buffer) in signature.buffers().filter(|(_, b)| b.access != Access::WriteOnly) {
        match buffer.shape[0].extent {
            Extent::Tokens => {
                let row = buffer.row_bytes().unwrap() as usize;
                part.insert(name.to_owned(), all[name][from * row..to * row].to_vec());
            }
            Extent::SequenceEnds => {
                let ends = [0, (to - from) as i32];
                part.insert(name.to_owned(), ends.iter().flat_map(|x| x.to_le_bytes()).collect());
            }
            _ => {}
        }
        if let (Role::State, Some(left)) = (buffer.role, left) {
            part.insert(name.to_owned(), left[&format!("next_{name}")].clone());
        }
    }
    part
}

/// What one call after the other over these parts of a sequence writes: outputs one behind the other, the last state.
pub fn in_calls(subject: &Subject, spec: &Spec, all: &Tensors, cuts: &[usize]) -> Tensors {
    let mut whole = Tensors::new();
    let mut left: Option<Tensors> = None;
    for pair in cuts.windows(2) {
        let inputs = part(spec, all, [pair[0], pair[1]], left.as_ref());
        let problem = spec.problem(&[format!("tokens={}", pair[1] - pair[0])]).unwrap();
        let outputs = subject.run(&problem, &inputs);
        append(&mut whole, &outputs);
        left = Some(outputs);
    }
    whole
}

/// The same by a step kernel, token by token.
pub fn in_steps(step: &Subject, spec: &Spec, all: &Tensors, tokens: usize) -> Tensors {
    let mut whole = Tensors::new();
    let mut left: Option<Tensors> = None;
    for token in 0..tokens {
        let mut inputs = part(spec, all, [token, token + 1], left.as_ref());
        inputs.remove("cu_seqlens");
        let outputs = step.run(&step.spec.problem(&["batch=1"]).unwrap(), &inputs);
        append(&mut whole, &outputs);
        left = Some(outputs);
    }
    whole
}

fn append(whole: &mut Tensors, outputs: &Tensors) {
    for (name, bytes) in outputs {
        let all = whole.entry(name.clone()).or_default();
        if name.starts_with("next_") {
            all.clear();
        }
        all.extend(bytes);
    }
}

/// Every cut of a sequence into two calls, one into three, and the step kernel's calls give the bits of one call.
pub fn cuts_change_nothing(spec: impl Into<Spec>, step: impl Into<Spec>, tokens: usize) {
    let spec = spec.into();
    let (subject, step) = (Subject::new(spec), Subject::new(step));
    let all = sequence(&spec, tokens, GateRange::Trained);
    let whole = in_calls(&subject, &spec, &all, &[0, tokens]);
    let two = (1..tokens).map(|cut| vec![0, cut, tokens]);
    for cuts in two.chain([vec![0, 1, tokens / 2, tokens]]) {
        let got = in_calls(&subject, &spec, &all, &cuts);
        assert!(got == whole, "{}: cut at {cuts:?}", spec.name());
    }
    assert!(in_steps(&step, &spec, &all, tokens) == whole, "{}: in steps", spec.name());
}

/// A call without tokens hands every bit of its states on, whatever they are.
pub fn no_tokens_change_nothing(spec: impl Into<Spec>) {
    let spec = spec.into();
    let mut inputs = sequence(&spec, 0, GateRange::Mixed);
    let signature = spec.signature();
    for (name, _) in signature.buffers().filter(|(_, buffer)| buffer.role == Role::State) {
        // Signalling NaNs, infinities, subnormals and negative zeros are among all bytes.
        let bytes = inputs.get_mut(name).unwrap();
        bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 167 + at / 256) as u8);
    }
    let outputs = Subject::new(spec).run(&spec.problem(&["tokens=0"]).unwrap(), &inputs);
    for (name, buffer) in signature.buffers().filter(|(_, buffer)| buffer.role == Role::State) {
        assert!(buffer.access == Access::ReadOnly);
        assert!(outputs[&format!("next_{name}")] == inputs[name], "{}: {name}", spec.name());
    }
}

/// NaN in one sequence's tokens and state leaves its neighbours' bits alone.
pub fn poison_stays_in_its_sequence(spec: impl Into<Spec>) {
    let spec = spec.into();
    let (lengths, subject) = ([3, 5, 0, 4], Subject::new(spec));
    let problem = spec.problem(&["lengths=3,5,0,4"]).unwrap();
    let sample = Sample { gates: GateRange::Weak, seed: 5 };
    let clean = Case::generate(&spec, &problem, &sample).unwrap().tensors().unwrap();
    let mut poisoned = clean.clone();
    let signature = spec.signature();
    // The bytes of sequence 1 in a tensor.
    let of_second = |name: &str| {
        let (_, buffer) = signature.buffers().find(|(known, _)| *known == name).unwrap();
        let row = buffer.row_bytes()? as usize;
        match buffer.shape[0].extent {
            Extent::Tokens => Some(lengths[0] * row..(lengths[0] + lengths[1]) * row),
            Extent::Batch => Some(row..2 * row),
            _ => None,
        }
    };
    for (name, bytes) in &mut poisoned {
        if let Some(range) = of_second(name) {
            bytes[range].fill(0xff);
        }
    }
    let (want, got) = (subject.run(&problem, &clean), subject.run(&problem, &poisoned));
    for (name, want) in &want {
        let (mut want, mut got) = (want.clone(), got[name].clone());
        let range = of_second(name).unwrap();
        assert!(
            want[range.clone()] != got[range.clone()],
            "{}: {name} is not poisoned",
            spec.name()
        );
        want.drain(range.clone());
        got.drain(range);
        assert!(want == got, "{}: {name}", spec.name());
    }
}
