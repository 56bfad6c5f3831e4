//! Mutation proof of our own kernels: a sample of the library here, all of it in `benches/mutation.rs`.

use std::path::Path;

use wavesmith::backend::Backend;
use wavesmith::mutation::prove_spec;
use wavesmith::pipeline;

/// One of each family, state layout and reduction, and both targets of the first; kernels of chunked prefill in every form and
/// layout, another in `tests/chunk_prefill/`; the sizes of their problems. Spec files by their place from the library.
const SAMPLE: [(&str, &str); 20] = [
    ("kda_decode_gfx950.toml", "batch=1"),
    ("kda_decode_gfx1100.toml", "batch=1"),
    ("gdn_decode_v_first_gfx1100.toml", "batch=1"),
    ("gdn_decode_serial_gfx950.toml", "batch=1"),
    ("conv_step_gfx950.toml", "batch=1"),
    ("conv_step_gfx1100.toml", "batch=1"),
    ("kda_recurrent_fresh_gfx950.toml", "lengths=2,0,1"),
    ("gdn_recurrent_serial_gfx1100.toml", "lengths=2,0,1"),
    ("conv_chunk_bias_gfx950.toml", "lengths=39,0,1"),
    ("conv_chunk_plain_gfx1100.toml", "lengths=9,0,1"),
    ("attention_decode_mha_gfx950.toml", "contexts=33,0"),
    ("attention_decode_d64_gfx1100.toml", "contexts=33"),
    ("../../tests/data/specs/kda_varlen_tile_gfx950.toml", "lengths=21"),
    ("../../tests/data/specs/kda_varlen_scan_gfx950.toml", "lengths=33"),
    ("gdn_chunk_tile_f16_gfx950.toml", "tokens=21"),
    ("gdn_chunk_scan_strided_gfx950.toml", "tokens=33"),
    ("kda_chunk_fused_checked_gfx950.toml", "tokens=33"),
    ("gdn_chunk_fused_head_major_gfx950.toml", "lengths=33"),
    ("gdn_chunk_tile_c64_gfx950.toml", "tokens=21"),
    ("kda_chunk_tile_unbounded_gfx950.toml", "tokens=21"),
];

#[cfg(feature = "llvm")]
#[test]
fn every_mutant_of_llvms_code_is_caught_or_shown_redundant() {
    assert_proved(Backend::Llvm);
}

#[test]
fn every_mutant_of_the_gcn_back_ends_code_is_caught_or_shown_redundant() {
    assert_proved(Backend::Gcn);
}

fn assert_proved(backend: Backend) {
    let mut unexplained = Vec::new();
    let (mut n_dependency_waits, mut n_pitches) = (0, 0);
    for (file, sizes) in SAMPLE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/library").join(file);
        let spec = pipeline::legal_spec(&path).unwrap();
        let proof = prove_spec(&spec, backend, &[sizes]).unwrap().unwrap();
        println!(
            "{file}: {} mutants, {} caught, {} redundant",
            proof.verdicts.len(),
            proof.caught(),
            proof.redundant().count()
        );
        n_pitches += proof.verdicts.iter().filter(|(name, _)| name.contains(": pitch ")).count();
        for (name, reason) in proof.redundant() {
            println!("  {name}: {reason}");
        }
        assert!(proof.caught() > 0, "{file}: no mutant was caught");
        let names = proof.verdicts.iter().map(|(name, _)| name);
        n_dependency_waits += names.filter(|name| name.starts_with("s_waitcnt_depctr")).count();
        unexplained.extend(proof.survivors().map(|name| format!("{file}: {name}")));
    }
    assert!(
        n_dependency_waits > 0,
        "no kernel of gfx1100 waits for results of vector instructions"
    );
    assert!(n_pitches > 0, "no kernel has rows of LDS whose pitch is a constant");
    assert!(unexplained.is_empty(), "nothing explains\n{}", unexplained.join("\n"));
}
