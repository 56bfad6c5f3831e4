//! The product of the fields of prefill specs, sampled: rules refuse what cannot be right, and what they let through is
//! emitted with the LDS that its map says. `benches/chunk_space.rs` walks farther.

#[path = "../instances/random.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod random;
#[allow(dead_code, reason = "the bench uses all of it")]
mod walk;

use std::collections::BTreeSet;

use emit::llvm;
use specs::KernelKind;
use specs::field::FieldKind;
use specs::rules::{CHUNK_FUSED, CHUNK_SCAN, CHUNK_TILE};
use walk::{Fate, walk};

/// Combinations of fields, and what share of the legal ones goes through which back end: one in so many.
const COMBINATIONS: usize = 3_000;
const BY_GCN: usize = 16;
const BY_LLVM: usize = 160;

#[test]
fn every_combination_is_refused_by_a_rule_or_emitted_as_its_map_says() {
    let (mut n_legal, mut n_gcn, mut n_registers, mut n_llvm) = (0, 0, 0, 0);
    let seen = walk(1, COMBINATIONS, |fate| {
        let Fate::Built(spec, kernel) = fate else { return };
        n_legal += 1;
        if n_legal % BY_GCN == 0 {
            n_gcn += 1;
            n_registers += usize::from(!walk::fits_the_map(spec, kernel));
        }
        if n_legal % BY_LLVM == 0 {
            n_llvm += 1;
            let artefacts = llvm::compile(kernel, &llvm::Options::default()).expect("it compiles");
            let got = walk::segment(&artefacts.code_object, &kernel.name);
            assert_eq!(got, spec.lds_map().total_bytes(), "{spec:?}");
        }
    });
    println!("{n_legal} legal; GCN {n_gcn}, {n_registers} without registers; LLVM {n_llvm}");
    assert!(n_gcn - n_registers >= 10 && n_llvm >= 3, "too few went through a back end");
    // The walk comes everywhere: every rule refuses something, every value of the model is in some kernel.
    let tile = CHUNK_TILE.iter().map(|rule| rule.id);
    let rules = tile.chain(CHUNK_SCAN.iter().map(|rule| rule.id));
    let rules: BTreeSet<_> = rules.chain(CHUNK_FUSED.iter().map(|rule| rule.id)).collect();
    let silent: Vec<_> = rules.difference(&seen.rules).collect();
    assert!(silent.is_empty(), "rules that refused nothing: {silent:?}");
    let kernels = [KernelKind::ChunkTile, KernelKind::ChunkScan, KernelKind::ChunkFused];
    let fields = kernels.iter().flat_map(|kernel| kernel.fields());
    let names = fields.filter_map(|field| match field.kind {
        FieldKind::Choice(names) => {
            Some(names.iter().map(|name| format!("{} = \"{name}\"", field.key)))
        }
        _ => None,
    });
    let absent: Vec<_> = names.flatten().filter(|value| !seen.values.contains(value)).collect();
    // The kernels read and write bf16; β may be f32.
    let known = ["dtype = \"f16\"", "dtype = \"f32\"", "beta_dtype = \"f16\""];
    let unknown: Vec<_> = absent.iter().filter(|value| !known.contains(&value.as_str())).collect();
    assert!(unknown.is_empty(), "values in no kernel: {unknown:?}");
}
