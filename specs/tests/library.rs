//! The library: every file is listed, readable, legal and for something.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wavesmith_specs::{
    Choice, Dtype, FAMILIES, Family, GateKind, HeadMap, KernelKind, LIBRARY, ReductionKind,
};
use wavesmith_specs::{Spec, StateContractKind, StateLayout, Target, read_spec};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("library")
}

fn all() -> Vec<(&'static str, Spec)> {
    let read = LIBRARY
        .iter()
        .map(|entry| (entry.file, entry.spec().unwrap_or_else(|error| panic!("{error}"))));
    read.collect()
}

#[test]
fn the_list_and_the_folder_agree() {
    let listed: BTreeSet<String> = LIBRARY.iter().map(|entry| entry.file.to_owned()).collect();
    let entries = std::fs::read_dir(folder()).expect("the library's folder");
    let found =
        entries.map(|entry| entry.expect("entry").file_name().into_string().expect("UTF-8 name"));
    assert_eq!(listed, found.collect::<BTreeSet<_>>());
}

#[test]
fn every_file_is_legal_and_says_what_it_is_for() {
    for entry in LIBRARY {
        let spec = entry.spec().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.check(), [], "{}", entry.file);
        assert!(entry.purpose().len() > 20, "{}: {}", entry.file, entry.purpose());
        assert_eq!(read_spec(&folder().join(entry.file)).expect("readable"), spec);
    }
}

#[test]
fn file_names_say_family_kernel_and_target() {
    for (file, spec) in all() {
        let start = match spec.kernel() {
            KernelKind::DecodeStep => format!("{}_decode", spec.family()),
            kernel @ (KernelKind::ConvStep
            | KernelKind::ConvChunk
            | KernelKind::AttentionDecode
            | KernelKind::AttentionChunk) => kernel.to_string(),
            kernel => format!("{}_{kernel}", spec.family()),
        };
        assert!(file.starts_with(&start), "{file}");
        assert!(file.ends_with(&format!("_{}.toml", spec.target())), "{file}");
    }
}

#[test]
fn no_two_files_describe_the_same_kernel() {
    let kernels: BTreeSet<_> = all().iter().map(|(_, spec)| (spec.target(), spec.name())).collect();
    assert_eq!(kernels.len(), LIBRARY.len());
    let hashes: BTreeSet<_> = all().iter().map(|(_, spec)| spec.spec_hash()).collect();
    assert_eq!(hashes.len(), LIBRARY.len());
}

#[test]
fn every_target_of_a_kernel_has_the_same_variants() {
    let of = |target| {
        let steps = |spec: &Spec| spec.target() == target && !matches!(spec, Spec::Chunk(_));
        let specs = all().into_iter().filter(move |(_, spec)| steps(spec));
        specs.map(|(_, spec)| spec.name()).collect::<Vec<_>>()
    };
    assert_eq!(of(Target::Gfx950), of(Target::Gfx1100));
}

/// Of prefill, targets have room and operations for other geometries; what is computed is the same.
#[test]
fn every_target_has_every_form_of_prefill() {
    let of = |target| -> BTreeSet<String> {
        let specs = all().into_iter().filter(|(_, spec)| spec.target() == target);
        let forms = specs.filter_map(|(_, spec)| match spec {
            Spec::Chunk(spec) => {
                let common = spec.common();
                let kind = common.accuracy.kind();
                Some(format!("{} {} {kind}", common.family, spec.kernel()))
            }
            _ => None,
        });
        forms.collect()
    };
    assert_eq!(of(Target::Gfx950), of(Target::Gfx1100));
}

#[test]
fn every_family_of_the_registry_has_files() {
    for family in FAMILIES {
        for kernel in family.kernels {
            let found = all()
                .iter()
                .any(|(_, spec)| spec.family() == family.name && spec.kernel() == *kernel);
            assert!(found, "{} {kernel}", family.name);
        }
    }
    let known = |spec: &Spec| FAMILIES.iter().any(|family| family.name == spec.family());
    assert!(all().iter().all(|(_, spec)| known(spec)));
}

#[test]
fn every_named_value_of_the_decode_step_is_exercised() {
    let specs = all();
    let steps = specs.iter().filter_map(|(_, spec)| match spec {
        Spec::DecodeStep(step) => Some(step),
        _ => None,
    });
    let steps: Vec<_> = steps.collect();
    assert!(Family::ALL.iter().all(|value| steps.iter().any(|step| step.family == *value)));
    assert!(GateKind::ALL.iter().all(|value| steps.iter().any(|step| step.gate.kind() == *value)));
    assert!(Dtype::ALL.iter().all(|value| steps.iter().any(|step| step.dtype == *value)));
    assert!(HeadMap::ALL.iter().all(|value| steps.iter().any(|step| step.head_map == *value)));
    assert!(
        StateLayout::ALL.iter().all(|value| steps.iter().any(|step| step.state_layout == *value))
    );
    assert!(
        StateContractKind::ALL
            .iter()
            .all(|value| steps.iter().any(|step| step.state_contract.kind() == *value))
    );
    assert!(
        ReductionKind::ALL
            .iter()
            .all(|value| steps.iter().any(|step| step.reduction.kind() == *value))
    );
    for waves in [1, 2, 4, 8] {
        assert!(steps.iter().any(|step| step.waves == waves), "{waves} waves");
    }
}
