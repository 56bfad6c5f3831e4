//! `docs/rules.md` is the rules' own explanations.
//!
//! `WAVESMITH_WRITE_MANUAL=1 cargo test -p wavesmith-specs --test manual` writes it anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wavesmith_specs::{Rule, rules};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules.md")
}

fn pages<S>(list: &'static [Rule<S>]) -> BTreeMap<&'static str, String> {
    list.iter().map(|rule| (rule.id, rule.explanation())).collect()
}

/// The rules of a step, and those of the kernel that takes many of them.
fn both(
    step: BTreeMap<&'static str, String>,
    own: BTreeMap<&'static str, String>,
) -> BTreeMap<&'static str, String> {
    step.into_iter().chain(own).collect()
}

fn manual() -> String {
    let kernels = [
        ("decode step", pages(rules::DECODE_STEP)),
        ("conv step", pages(rules::CONV_STEP)),
        ("recurrent", both(pages(rules::DECODE_STEP), pages(rules::RECURRENT))),
        ("conv chunk", both(pages(rules::CONV_STEP), pages(rules::CONV_CHUNK))),
        ("attention", pages(rules::ATTENTION)),
        ("attention chunk", both(pages(rules::ATTENTION), pages(rules::ATTENTION_CHUNK))),
        ("chunk tile", pages(rules::CHUNK_TILE)),
        ("chunk scan", pages(rules::CHUNK_SCAN)),
        ("chunk fused", pages(rules::CHUNK_FUSED)),
        ("split prefill (tile and scan)", pages(rules::CHUNK_SPLIT)),
        ("problem files of prefill", pages(rules::PREFILL_PROBLEM)),
    ];
    let mut text = "# Rules\n\nWhat a spec must satisfy before any code is made. `wavesmith check SPEC` reports every \
                    broken rule with what was\nfound, the limit, its source and the nearest legal choice. This page is \
                    made from the rules' own files.\n"
        .to_owned();
    let all: BTreeMap<_, _> = kernels.iter().flat_map(|(_, pages)| pages).collect();
    for (id, explanation) in all {
        let obliged = kernels.iter().filter(|(_, pages)| pages.contains_key(id));
        let names: Vec<_> = obliged.map(|(name, _)| *name).collect();
        text.push_str(&format!("\n## {id}\n\nKernels: {}.\n\n{explanation}\n", names.join(", ")));
    }
    text
}

#[test]
fn the_manual_is_in_step() {
    if std::env::var_os("WAVESMITH_WRITE_MANUAL").is_some() {
        std::fs::write(path(), manual()).expect("the docs folder");
    }
    let stored = std::fs::read_to_string(path()).expect("docs/rules.md");
    assert!(
        stored == manual(),
        "stale: WAVESMITH_WRITE_MANUAL=1 cargo test -p wavesmith-specs --test manual"
    );
}
