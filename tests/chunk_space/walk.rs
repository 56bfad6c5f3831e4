//! A seeded walk through the specs of chunked prefill: library specs with a few fields set otherwise, to any value that a
//! file could have. Every one is refused by a named rule with what it got and what would be legal, or becomes a kernel
//! whose LDS is its map's.

use std::collections::{BTreeMap, BTreeSet};

use codeobj::CodeObject;
use dsl::ir::Kernel;
use emit::gcn;
use specs::field::{Field, FieldKind, Presence, Settings, Value};
use specs::registry::LIBRARY;
use specs::{ChunkSpec, Spec, Violation};

use super::random::Random;

/// What became of one combination of fields.
#[derive(Debug)]
pub enum Fate {
    /// Rules refuse it.
    Refused(Vec<Violation>),
    /// It is legal; its kernel was built and verified.
    Built(ChunkSpec, Box<Kernel>),
}

/// What a whole walk saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// Rules that refused something.
    pub rules: BTreeSet<&'static str>,
    /// Field and value of every kernel that was built.
    pub values: BTreeSet<String>,
    /// Kernels that were built.
    pub built: usize,
}

/// Values that a field is given: every name of a choice, both truths, and of numbers those at which something turns.
fn values(field: &Field) -> Vec<Value> {
    let counts = |counts: &[u32]| counts.iter().map(|count| Value::Count(*count)).collect();
    match field.kind {
        FieldKind::Choice(names) => names.iter().map(|name| Value::Name(name)).collect(),
        FieldKind::Flag => vec![Value::Flag(false), Value::Flag(true)],
        FieldKind::Number => [-5.0, -1.0, -0.1, 0.0, 1.0, 100.0, 65_504.0, f32::MAX, f32::NAN]
            .map(Value::Number)
            .into(),
        FieldKind::Count => match field.key {
            "chunk" => counts(&[0, 16, 32, 48, 64]),
            "head_k" | "head_v" => counts(&[0, 16, 64, 96, 128, 256]),
            "key_heads" | "value_heads" => counts(&[0, 1, 2, 3, 4, 8, 16, 65_536]),
            "waves" | "value_splits" => counts(&[0, 1, 2, 3, 4, 8, 32]),
            "tile_atom_m" | "scan_atom_m" | "solve_block" => counts(&[0, 8, 16, 32, 64]),
            "pad_dk" | "pad_cb" | "pad_c" => counts(&[0, 4, 8, 12, 16, 32, u32::MAX]),
            "min_groups_per_cu" => counts(&[0, 1, 2, 3, 4, 8]),
            "wave_width" => counts(&[0, 32, 64]),
            other => {
                panic!("the walk knows no values of `{other}`: add those at which something turns")
            }
        },
        FieldKind::SlotIndex | FieldKind::Constant(_) => {
            panic!("the walk knows no values of `{}`: say how to choose them", field.key)
        }
    }
}

/// One combination: a library spec with up to four fields changed, those that come into play with them given a value.
fn combination(random: &mut Random, bases: &[ChunkSpec]) -> ChunkSpec {
    let base = random.pick(bases);
    let fields = base.kernel().fields();
    let mut settings = base.settings();
    for _ in 0..=random.below(4) {
        let field = random.pick(fields);
        if settings.get(field.key).is_some() {
            settings.insert(field.key, *random.pick(&values(field)));
        }
    }
    let mut whole = Settings::default();
    for field in fields {
        let in_play = match field.presence {
            Presence::With { key, values, .. } => {
                whole.name(key).is_some_and(|name| values.contains(&name))
            }
            _ => true,
        };
        if in_play {
            let value = settings.get(field.key).unwrap_or_else(|| *random.pick(&values(field)));
            whole.insert(field.key, value);
        }
    }
    ChunkSpec::from_settings(base.kernel(), &whole).expect("every field in play is there")
}

/// Prefill specs of the library.
fn bases() -> Vec<ChunkSpec> {
    let specs = LIBRARY.iter().map(|entry| entry.spec().expect("the library reads"));
    specs.filter_map(|spec| if let Spec::Chunk(spec) = spec { Some(spec) } else { None }).collect()
}

/// Walks over `count` combinations and shows each fate to `visit`.
pub fn walk(seed: u64, count: usize, mut visit: impl FnMut(&Fate)) -> Seen {
    let (mut random, bases) = (Random::new(seed, "prefill specs"), bases());
    let mut seen = Seen::default();
    for _ in 0..count {
        let spec = combination(&mut random, &bases);
        let fate = judged(spec);
        match &fate {
            Fate::Refused(violations) => seen.rules.extend(violations.iter().map(|v| v.rule)),
            Fate::Built(..) => {
                seen.built += 1;
                let settings = spec.settings();
                seen.values.extend(settings.iter().map(|(key, value)| format!("{key} = {value}")));
            }
        }
        visit(&fate);
    }
    seen
}

fn judged(spec: ChunkSpec) -> Fate {
    let violations = spec.check();
    for Violation { rule, field, got, limit, hint, .. } in &violations {
        let said = [rule, *field, got, limit, hint].iter().all(|words| !words.is_empty());
        assert!(said && got != limit, "{spec:?}: {violations:?}");
    }
    if !violations.is_empty() {
        return Fate::Refused(violations);
    }
    let kernel = kernels::build_chunk(&spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    Fate::Built(spec, Box::new(kernel))
}

/// Bytes of LDS that a kernel of a code object declares.
pub fn segment(code_object: &[u8], name: &str) -> u64 {
    let object = CodeObject::parse(code_object).expect("our own object");
    object.kernel(name).expect("its kernel").descriptor.group_segment_bytes.into()
}

/// Compiles through the GCN back end and holds the object's LDS against the map; gives whether registers sufficed, the only
/// thing that may be missing.
pub fn fits_the_map(spec: &ChunkSpec, kernel: &Kernel) -> bool {
    match gcn::compile(kernel, &gcn::Options::default()) {
        Ok(artefacts) => {
            let got = segment(&artefacts.code_object, &kernel.name);
            assert_eq!(got, spec.lds_map().total_bytes(), "{spec:?}");
            true
        }
        Err(gcn::GcnError { cause: gcn::Cause::Registers { needed, limit, .. }, .. }) => {
            assert!(needed > limit, "{spec:?}: {needed} registers, {limit} are there");
            false
        }
        Err(error) => panic!("{spec:?}: {error}"),
    }
}

/// How often each rule refused, for a report.
pub fn tally(violations: &[Violation], into: &mut BTreeMap<&'static str, u64>) {
    violations.iter().for_each(|violation| *into.entry(violation.rule).or_default() += 1);
}
