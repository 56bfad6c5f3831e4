//! Whole programs: LLVM IR of ours, compiled by LLVM when the test runs, executed on the emulator with
//! every check on, compared with what the host computes. Every launch must be without finding.

mod atomics;
mod attention;
mod bench;
mod bits;
mod buffers;
mod control;
mod elementwise;
mod gemm;
mod integers;
mod ir;
mod lanes;
mod memory;
mod modules;
mod ordering;
mod rows;

use bench::{run_family, run_family_in_modes};

#[test]
fn elementwise() {
    run_family(elementwise::PROGRAMS);
}

#[test]
fn gemm() {
    run_family_in_modes(gemm::PROGRAMS);
}

#[test]
fn rows() {
    run_family(rows::PROGRAMS);
}

#[test]
fn attention() {
    run_family_in_modes(attention::PROGRAMS);
}

#[test]
fn integers() {
    run_family(integers::PROGRAMS);
}

#[test]
fn lanes() {
    run_family(lanes::PROGRAMS);
}

#[test]
fn atomics() {
    run_family(atomics::PROGRAMS);
}

#[test]
fn ordering() {
    run_family(ordering::PROGRAMS);
}

#[test]
fn memory() {
    run_family(memory::PROGRAMS);
}

#[test]
fn bits() {
    run_family(bits::PROGRAMS);
}

#[test]
fn control() {
    run_family(control::PROGRAMS);
}

#[test]
fn buffers() {
    run_family(buffers::PROGRAMS);
}
