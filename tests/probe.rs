//! Probes: each is accepted with its proof, and refused when a compiler, here one that we help, takes away more than it
//! was to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dsl::ir::{Address, Base, Block, Kernel, Op};
use emit::{gcn, llvm};
use specs::{Job, Probe, Probed};
use wavesmith::backend::Backend;
use wavesmith::pipeline;
use wavesmith::probe::{self, Proof};

const FUSED: &str = "kda_chunk_fused_bf16_gfx950";
const TILE: &str = "kda_chunk_tile_bf16_gfx950";
const SCAN: &str = "kda_chunk_scan_bf16_gfx950";

/// Two chunks of the specs above and a tail.
const TOKENS: &str = "tokens=70";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("specs/library/{name}.toml"))
}

fn probed(names: &[&str], probe: &str) -> Vec<Probed> {
    let files: Vec<_> = names.iter().map(|name| file(name)).collect();
    let job = pipeline::legal_job(&files).unwrap();
    Probe::parse(probe).unwrap().of(&job).unwrap()
}

fn prove(probed: &Probed, backend: Backend, given: Option<Vec<u8>>) -> Proof {
    let problem = Job::from(&probed.untouched()).problem(&[TOKENS]).unwrap();
    probe::prove(probed, &problem, backend, given).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn accepted(names: &[&str], probe: &str, backend: Backend) -> Vec<Proof> {
    let proofs: Vec<_> =
        probed(names, probe).iter().map(|probed| prove(probed, backend, None)).collect();
    for proof in &proofs {
        proof.verdict().unwrap_or_else(|refusal| panic!("{names:?}: {refusal}"));
        assert!(proof.accepted && proof.claims.len() >= 8, "{proof:?}");
    }
    proofs
}

fn room(proof: &Proof) -> [[u32; 2]; 2] {
    [proof.room.untouched, proof.room.probe].map(|room| [room.lds_bytes, room.workgroups_per_cu])
}

#[test]
fn a_phase_without_arithmetic_leaves_the_other_whole() {
    for probe in ["drop_scan", "drop_tile"] {
        for proof in accepted(&[FUSED], probe, Backend::Llvm) {
            let matrix = &proof.claims[0];
            assert!(0 < matrix.found && matrix.found < matrix.untouched, "{matrix}");
        }
    }
    // Of a pair, the kernel that has the phase: no matrix instruction is left in it.
    for (probe, kernel) in [("drop_scan", "scan"), ("drop_tile", "tile")] {
        let proofs = accepted(&[TILE, SCAN], probe, Backend::Llvm);
        assert_eq!(proofs.len(), 1);
        assert!(proofs[0].kernel.starts_with(&format!("kda_chunk_{kernel}")));
        assert!(proofs[0].claims[0].found == 0 && proofs[0].claims[0].untouched > 0);
    }
}

#[test]
fn a_loop_of_tiles_writes_what_the_tile_kernel_writes() {
    for name in [FUSED, TILE] {
        accepted(&[name], "tile_loop", Backend::Llvm);
    }
}

#[test]
fn room_is_taken_and_nothing_else_changes() {
    // 51,840 bytes leave room for three; 8,192 more for two.
    let proofs = accepted(&[TILE], "lds_ballast=8192", Backend::Llvm);
    assert_eq!(room(&proofs[0]), [[51_840, 3], [60_032, 2]]);
    // Of a pair, both kernels. The scan's registers leave room for one as it is, so nothing would change: refused.
    let [tile, scan] = &probed(&[TILE, SCAN], "one_group_per_cu")[..] else { panic!("both") };
    let tile = prove(tile, Backend::Llvm, None);
    assert!(tile.accepted);
    assert_eq!(room(&tile), [[51_840, 3], [83_200, 1]]);
    let refusal = prove(scan, Backend::Llvm, None).verdict().unwrap_err().to_string();
    assert!(
        refusal.contains("workgroups a CU (modelled): the untouched kernel has 1 already"),
        "{refusal}"
    );
}

/// Both families, gates in the kernel, every accuracy form, packed sequences and shared columns; the back end is the fast
/// one.
#[test]
fn probes_fit_the_library() {
    let several = [
        ("gdn_chunk_fused_bf16_gfx950", "drop_scan"),
        ("gdn_chunk_fused_bf16_gfx950", "drop_tile"),
        ("gdn_chunk_fused_bf16_gfx950", "tile_loop"),
        ("kda_chunk_fused_raw_gfx950", "drop_tile"),
        ("kda_chunk_fused_raw_gfx950", "drop_scan"),
        ("gdn_chunk_fused_raw_gfx950", "drop_tile"),
        ("kda_chunk_fused_gfx950", "drop_scan"),
        ("kda_chunk_tile_raw_gfx950", "drop_tile"),
        ("kda_chunk_tile_gfx950", "tile_loop"),
        ("kda_chunk_tile_c16_gfx950", "lds_ballast=40960"),
        ("gdn_chunk_scan_bf16_gfx950", "drop_scan"),
        (FUSED, "drop_scan"),
        (TILE, "one_group_per_cu"),
    ];
    for (name, probe) in several {
        accepted(&[name], probe, Backend::Gcn);
    }
}

/// What a statement's blocks hold, changed.
fn each_block(block: &mut Block, change: &mut impl FnMut(&mut Block)) {
    change(block);
    for stmt in &mut block.stmts {
        match &mut stmt.op {
            Op::For { body, .. } => each_block(body, change),
            Op::If { then, otherwise, .. } => {
                each_block(then, change);
                each_block(otherwise, change);
            }
            _ => {}
        }
    }
}

/// A probe whose results are never stored.
fn dead(probed: &Probed) -> Kernel {
    let mut kernel = kernels::build_probed(probed).unwrap();
    let is_result = |op: &Op| matches!(op, Op::Store(Address { base: Base::Global(_), .. }, _));
    each_block(&mut kernel.body, &mut |block| block.stmts.retain(|stmt| !is_result(&stmt.op)));
    dsl::text::parse(&dsl::text::print(&kernel)).expect("a kernel")
}

/// A probe that stores as many results as it should, zeros wherever a statement makes one: nothing that it loads or
/// computes for them is needed.
fn constant(probed: &Probed) -> Kernel {
    let mut kernel = kernels::build_probed(probed).unwrap();
    let mut stored = BTreeSet::new();
    each_block(&mut kernel.body, &mut |block| {
        stored.extend(block.stmts.iter().filter_map(|stmt| match &stmt.op {
            Op::Store(Address { base: Base::Global(_), .. }, value) => Some(*value),
            _ => None,
        }));
    });
    let values = kernel.values.clone();
    each_block(&mut kernel.body, &mut |block| {
        for stmt in &mut block.stmts {
            if let [result] = stmt.results[..]
                && stored.contains(&result)
                && !matches!(stmt.op, Op::For { .. } | Op::If { .. })
            {
                stmt.op = Op::Const { ty: values[result.0 as usize].ty, bits: 0 };
            }
        }
    });
    dsl::text::parse(&dsl::text::print(&kernel)).expect("a kernel")
}

#[track_caller]
fn refused(proof: &Proof, words: &[&str]) {
    let refusal = proof.verdict().unwrap_err().to_string();
    assert!(!proof.accepted);
    for word in words {
        assert!(refusal.contains(word), "no '{word}' in: {refusal}");
    }
}

#[test]
fn dead_probes_are_refused() {
    for probe in ["drop_scan", "tile_loop"] {
        let probed = probed(&[FUSED], probe)[0];
        let object = llvm::compile(&dead(&probed), &llvm::Options::default()).unwrap();
        // LLVM says of the outputs that nobody writes them, so it cannot even be launched.
        let proof = prove(&probed, Backend::Llvm, Some(object.code_object));
        refused(&proof, &["launches that ran (emulated): expected 1, found 0", "it did not run"]);
        // The GCN back end takes nothing away: that no result arrives is all there is to see.
        let object = gcn::compile(&dead(&probed), &gcn::Options::default()).unwrap();
        let proof = prove(&probed, Backend::Gcn, Some(object.code_object));
        refused(&proof, &["bytes stored to global memory (emulated): expected", "found 0"]);
    }
}

/// LLVM takes work away, all of the scan's or a part of the tiles', although every result is stored and the launch runs: the
/// code object shows it.
#[test]
fn probes_without_the_work_that_is_left_are_refused() {
    for (probe, spec) in [("drop_tile", FUSED), ("tile_loop", TILE)] {
        let probed = probed(&[spec], probe)[0];
        let object = llvm::compile(&constant(&probed), &llvm::Options::default()).unwrap();
        let proof = prove(&probed, Backend::Llvm, Some(object.code_object));
        refused(&proof, &["matrix instructions in the code (compiled): expected "]);
        // What a look at the results alone sees is as it should be.
        let holds = |name: &str| proof.claims.iter().any(|c| c.what.contains(name) && c.holds());
        assert!(holds("launches that ran") && holds("bytes stored to global memory"), "{proof:?}");
    }
}

#[test]
fn ballast_that_is_not_there_is_refused() {
    let probed = probed(&[TILE], "lds_ballast=8192")[0];
    let mut kernel = kernels::build_probed(&probed).unwrap();
    assert_eq!(kernel.lds.pop().unwrap().name, "ballast");
    for backend in [Backend::Llvm, Backend::Gcn] {
        let proof = prove(&probed, backend, Some(backend.compile(&kernel).unwrap()));
        let segment = "bytes of LDS in the descriptor (compiled): expected 60,032, found 51,840";
        refused(&proof, &[segment, "workgroups a CU (modelled): expected 2, found 3"]);
    }
}

fn wavesmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavesmith")).args(args).output().unwrap()
}

#[track_caller]
fn says(args: &[&str], code: i32, words: &[&str]) -> String {
    let output = wavesmith(&[&["probe"], args].concat());
    let (stdout, stderr) = (output.stdout, output.stderr);
    let text = String::from_utf8(stdout).unwrap();
    let all = format!("{text}{}", String::from_utf8(stderr).unwrap());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {all}");
    for word in words {
        assert!(all.contains(word), "{args:?}: no '{word}' in: {all}");
    }
    text
}

#[test]
fn probes_that_do_not_fit_are_refused_with_words() {
    let [fused, tile] = [FUSED, TILE].map(|name| file(name).display().to_string());
    let decode = file("gdn_decode_gfx950").display().to_string();
    let conv = file("conv_step_gfx1100").display().to_string();
    let of = |spec: &str, probe: &str, code, words: &[&str]| {
        says(&[spec, "--with", probe, "--backend", "gcn"], code, words);
    };
    of(&fused, "drop_scans", 2, &["unknown probe 'drop_scans'", "did you mean 'drop_scan'?"]);
    of(&fused, "zzz", 2, &["the probes are drop_scan, drop_tile"]);
    of(&fused, "drop_scan=1", 2, &["takes no value", "'1'"]);
    for bytes in
        ["lds_ballast", "lds_ballast=", "lds_ballast=-4", "lds_ballast=8", "lds_ballast=18"]
    {
        of(&tile, bytes, 2, &["multiple of 4, at least 16", "lds_ballast=8192"]);
    }
    of(&tile, "lds_ballast=4294967292", 1, &["51840", "163840", "at most 112000 bytes"]);
    of(&tile, "lds_ballast=112004", 1, &["at most 112000 bytes"]);
    of(&tile, "drop_scan", 1, &["does not fit chunk_tile", "chunk_scan, chunk_fused"]);
    of(&decode, "drop_tile", 1, &["does not fit decode_step", "chunk_tile, chunk_fused"]);
    of(&conv, "one_group_per_cu", 1, &["does not fit conv_step", "chunk_scan"]);
    of(&fused, "one_group_per_cu", 1, &["93312 bytes", "as they are", "81920"]);
    // Nothing is left below three workgroups.
    of(&tile, "lds_ballast=16", 1, &["workgroups a CU (modelled): expected below 3, found 3"]);
    says(&[&fused, "--with", "drop_scan", "--problem", "tokens=0"], 2, &["tokens=1 or more"]);
    says(&[&fused], 2, &["--with"]);
    says(&["--with", "drop_scan"], 2, &["SPEC"]);
    says(&[&fused, "--with", "drop_scan", "--object", "none.hsaco"], 2, &["none.hsaco"]);
    says(&["--list"], 0, &["lds_ballast=BYTES", "chunk_scan, chunk_fused"]);
    let list: serde_json::Value =
        serde_json::from_str(&says(&["--list", "--json"], 0, &[])).unwrap();
    assert_eq!(list["probes"].as_array().unwrap().len(), 5);
}

#[test]
fn what_is_proved_is_written_and_what_is_not_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (out, planted) = (folder.path().join("out"), folder.path().join("dead.hsaco"));
    let (spec, out) = (file(FUSED).display().to_string(), out.to_str().unwrap());
    let common = [spec.as_str(), "--with", "drop_scan", "--problem", TOKENS];
    let args = [&common[..], &["--backend", "gcn", "-o", out]].concat();
    let probed = probed(&[FUSED], "drop_scan")[0];
    let object = gcn::compile(&dead(&probed), &gcn::Options::default()).unwrap().code_object;
    std::fs::write(&planted, object).unwrap();
    let with_planted = [&args[..], &["--object", planted.to_str().unwrap(), "--json"]].concat();
    let text = says(&with_planted, 1, &["is refused", "found 0"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&document["accepted"], &document["proofs"][0]["accepted"]),
        (&false.into(), &false.into())
    );
    assert!(!Path::new(out).exists());

    says(&args, 0, &["accepted: every claim holds", "open:", "modelled", "emulated", "compiled"]);
    let read = |name: &str| std::fs::read(Path::new(out).join(name)).unwrap();
    let proofs: serde_json::Value = serde_json::from_slice(&read("proofs.json")).unwrap();
    let proof = &proofs[0];
    assert_eq!(proof["kernel"], probed.name());
    assert_eq!(proof["launch"][0]["kernel"], probed.name());
    let object = read(&format!("{}.hsaco", probed.name()));
    assert_eq!(proof["sha256"], wavesmith::harness::sha256(&object));
    let untouched = read(&format!("{}.hsaco", probed.untouched().name()));
    for (bytes, name) in [(&object, probed.name()), (&untouched, probed.untouched().name())] {
        assert!(codeobj::CodeObject::parse(bytes).unwrap().kernel(&name).is_ok());
    }
    assert_eq!(std::fs::read_dir(out).unwrap().count(), 3);
}
