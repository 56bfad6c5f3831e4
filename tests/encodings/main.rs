//! Encodings proven by LLVM: random instances of every row on every target, disassembled and assembled by
//! LLVM; and random bytes, read by LLVM and by our decoder.
//!
//! `facts` checks every kind of fact by itself, and with a planted error.
//!
//! What may differ stands in `exceptions`, each with its reason; how often each was needed is printed.

#![cfg(feature = "llvm")]

mod exceptions;
mod facts;
mod fuzz;
#[path = "../instances/mod.rs"]
mod instances;
mod instances_of_rows;
mod witness;

use std::collections::BTreeMap;

use exceptions::Exception;
use isa::Target;
use witness::{Divergence, Witness};

/// Seed of all tests here; the bench takes others.
const SEED: u64 = 0x5eed_0001;

/// Divergences that no exception explains; how often each exception was needed.
struct Sorted {
    unexplained: Vec<Divergence>,
    used: BTreeMap<&'static str, usize>,
}

fn sort(divergences: Vec<Divergence>, exceptions: &[Exception]) -> Sorted {
    let mut sorted = Sorted { unexplained: Vec::new(), used: BTreeMap::new() };
    for divergence in divergences {
        match exceptions.iter().find(|exception| (exception.applies)(&divergence)) {
            Some(exception) => *sorted.used.entry(exception.reason).or_default() += 1,
            None => sorted.unexplained.push(divergence),
        }
    }
    sorted
}

/// Prints the counts, and fails on what is not explained.
fn judge(title: &str, count: usize, divergences: Vec<Divergence>, exceptions: &[Exception]) {
    let sorted = sort(divergences, exceptions);
    println!("{title}: {count} cases, seed {SEED:#x}");
    for (reason, times) in &sorted.used {
        println!("  {times} excepted: {reason}");
    }
    let shown: Vec<_> = sorted.unexplained.iter().take(80).map(ToString::to_string).collect();
    assert!(
        shown.is_empty(),
        "{title}, seed {SEED:#x}: {} of {count} cases differ\n{}",
        sorted.unexplained.len(),
        shown.join("\n")
    );
    for exception in exceptions.iter().filter(|found| !sorted.used.contains_key(found.reason)) {
        println!("  not needed with this seed: {}", exception.reason);
    }
}

fn rows(target: Target) {
    let witness = Witness::new(target);
    let outcome = instances_of_rows::check(&witness, SEED, 6);
    let title = format!("rows of {target}");
    judge(&title, outcome.cases, outcome.divergences, exceptions::of_rows(target));
    assert_eq!(
        outcome.unwitnessed,
        Vec::<String>::new(),
        "{target}: rows that LLVM never confirmed"
    );
}

#[test]
fn every_row_of_gfx950_is_what_llvm_says() {
    rows(Target::Gfx950);
}

#[test]
fn every_row_of_gfx1100_is_what_llvm_says() {
    rows(Target::Gfx1100);
}

fn words(target: Target) {
    let witness = Witness::new(target);
    let outcome = fuzz::check(&witness, SEED, 20_000);
    let (summary, both_accept) = (outcome.summary(), outcome.both_accept);
    println!("{target}: {summary}, {} crashed LLVM", witness.crashes.get());
    let title = format!("random bytes on {target}");
    judge(&title, outcome.cases, outcome.divergences, exceptions::of_bytes(target));
    assert!(both_accept > 1000, "{target}: the bytes test nothing: {summary}");
}

#[test]
fn random_bytes_of_gfx950_mean_what_llvm_says() {
    words(Target::Gfx950);
}

#[test]
fn random_bytes_of_gfx1100_mean_what_llvm_says() {
    words(Target::Gfx1100);
}
