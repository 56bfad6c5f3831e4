//! Attention on the emulator: within limits of float64, bitwise equal to the host twin, and the same bits whatever else
//! is in the batch and wherever blocks lie.

mod common;

use common::Subject;
use isa::Target;
use oracle::attention::{Case as Attention, Inputs};
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use oracle::{Case, Stored};
use runtime::plan::check_inputs;
use safetensors::tensor::TensorView;
use specs::{AttentionSpec, CacheLayout, Dtype, Problem, Spec};

/// Two workgroups a key head, two key heads, waves that share blocks.
fn base(target: Target) -> AttentionSpec {
    AttentionSpec {
        target,
        query_heads: 8,
        key_heads: 2,
        head_dim: 64,
        dtype: Dtype::Bf16,
        block_size: 16,
        cache_layout: CacheLayout::TokenFirst,
        heads_per_workgroup: 2,
        alibi: false,
        window: None,
        soft_cap: None,
        waves: 2,
        wave_width: target.wave_width(),
    }
}

/// Contexts around every boundary of a block: empty, one token, a block and its neighbours, several, many.
fn around_blocks(size: u32) -> String {
    let contexts = [0, 1, size - 1, size, size + 1, 3 * size, 4 * size - 1, 0, 9 * size + 5];
    format!("contexts={}", contexts.map(|context| context.to_string()).join(","))
}

fn verify(spec: AttentionSpec, seed: u64) {
    // Attention has no gates; the range is without effect.
    let contexts = around_blocks(spec.block_size);
    Subject::new(spec).verify(&contexts, GateRange::Mixed, seed);
}

fn case(spec: &Spec, sizes: &[&str], seed: u64) -> (Problem, Attention) {
    let problem = spec.problem(sizes).unwrap();
    let sample = Sample { gates: GateRange::Mixed, seed };
    let Case::Attention(case) = Case::generate(spec, &problem, &sample).unwrap() else {
        panic!("an attention case")
    };
    (problem, case)
}

#[test]
fn every_head_size_and_block_size() {
    for base in Target::ALL.map(base) {
        let layouts = [CacheLayout::TokenFirst, CacheLayout::HeadFirst].into_iter().cycle();
        let dtypes = [Dtype::Bf16, Dtype::F16, Dtype::F16, Dtype::Bf16].into_iter().cycle();
        let sizes = [64, 96, 128, 256].into_iter().flat_map(|d| [16, 32, 64].map(|size| (d, size)));
        for (((head_dim, block_size), cache_layout), dtype) in sizes.zip(layouts).zip(dtypes) {
            let heads_per_workgroup = if head_dim == 256 { 1 } else { 2 };
            let (query_heads, key_heads) = (4, 2);
            verify(
                AttentionSpec {
                    query_heads,
                    key_heads,
                    head_dim,
                    block_size,
                    cache_layout,
                    dtype,
                    heads_per_workgroup,
                    ..base
                },
                u64::from(head_dim + block_size),
            );
        }
    }
}

#[test]
fn own_shared_and_single_key_heads() {
    for base in Target::ALL.map(base) {
        for (query_heads, key_heads, heads_per_workgroup) in
            [(3, 3, 1), (6, 2, 3), (6, 2, 1), (8, 1, 4), (7, 1, 1)]
        {
            let cache_layout = CacheLayout::HeadFirst;
            verify(
                AttentionSpec { query_heads, key_heads, heads_per_workgroup, cache_layout, ..base },
                4,
            );
        }
    }
}

#[test]
fn every_number_of_waves() {
    for base in Target::ALL.map(base) {
        for waves in [1, 2, 4, 8] {
            for head_dim in [96, 128] {
                verify(AttentionSpec { waves, head_dim, ..base }, 5);
            }
        }
    }
}

#[test]
fn long_contexts_stay_at_the_floor() {
    for base in Target::ALL.map(base) {
        let spec = AttentionSpec { query_heads: 3, key_heads: 1, ..base };
        for dtype in [Dtype::Bf16, Dtype::F16] {
            let spec = AttentionSpec { dtype, heads_per_workgroup: 3, waves: 4, ..spec };
            Subject::new(spec).verify("contexts=3000,17", GateRange::Mixed, 6);
        }
    }
}

/// An output depends on its own sequence: not on the batch, not on where its blocks lie, not on what slots behind its
/// context hold.
#[test]
fn batches_blocks_and_poison_change_no_bit() {
    for base in Target::ALL.map(base) {
        let spec = Spec::from(AttentionSpec { waves: 4, head_dim: 96, ..base });
        let subject = Subject::new(spec);
        let (problem, case) = case(&spec, &["contexts=70,0,16,33", "blocks=13"], 7);
        let whole = subject.run(&problem, &case.tensors());
        let row = whole["o"].len() / 4;
        for (sequence, context) in [70, 0, 16, 33].iter().enumerate() {
            let sizes =
                [format!("contexts={context}"), "blocks=13".to_owned(), "max_blocks=5".to_owned()];
            let mut alone = case.clone();
            let Inputs { q, block_table, contexts, .. } = &mut alone.inputs;
            let (heads, entries) = (row / 2, 5);
            let bytes = q.to_le_bytes()[2 * sequence * heads..2 * (sequence + 1) * heads].to_vec();
            *q = Stored::from_le_bytes("q", Dtype::Bf16, &bytes).unwrap();
            *block_table = block_table[sequence * entries..(sequence + 1) * entries].to_vec();
            *contexts = vec![*context];
            let got = subject.run(&spec.problem(&sizes).unwrap(), &alone.tensors());
            assert!(got["o"] == whole["o"][sequence * row..(sequence + 1) * row], "{sequence}");
        }
        let got = subject.run(&problem, &moved(&case).tensors());
        assert!(got["o"] == whole["o"], "{}: moved blocks", spec.target());
    }
}

/// The same sequences in other blocks: block b becomes block 3·b mod 13, and every slot that no context reaches holds
/// something else.
fn moved(case: &Attention) -> Attention {
    let (shape, Inputs { k_cache, v_cache, block_table, .. }) = (&case.shape, &case.inputs);
    assert_eq!(shape.blocks, 13);
    let block = shape.cache_len() / shape.blocks;
    let elsewhere = |cache: &Stored| {
        assert!(cache.to_f64().iter().any(|value| value.is_nan()), "no slot is poisoned");
        let mut values = vec![f64::INFINITY; cache.len()];
        for (at, value) in cache.to_f64().into_iter().enumerate() {
            let to = at / block * 3 % 13 * block + at % block;
            values[to] = if value.is_nan() { f64::NEG_INFINITY } else { value };
        }
        Stored::round(cache.dtype(), values)
    };
    let inputs = Inputs {
        k_cache: elsewhere(k_cache),
        v_cache: elsewhere(v_cache),
        block_table: block_table
            .iter()
            .map(|b| if *b < 0 { i32::MAX } else { b * 3 % 13 })
            .collect(),
        ..case.inputs.clone()
    };
    Attention { inputs, ..case.clone() }
}

/// Sequences with a common prefix name the same blocks.
#[test]
fn sequences_share_blocks() {
    for base in Target::ALL.map(base) {
        let spec = Spec::from(base);
        let subject = Subject::new(spec);
        let (problem, case) = case(&spec, &["contexts=48,40,64,3", "blocks=3"], 8);
        let outputs = subject.run(&problem, &case.tensors());
        for (output, verdict) in case.judge(&outputs).unwrap() {
            assert!(verdict.passed, "{output}: {verdict:?}");
        }
        assert!(outputs == case.twin().unwrap());
    }
}

/// Scores that are not finite reach the output as they do in float64.
#[test]
fn infinities_and_nans_of_a_context_show() {
    for base in Target::ALL.map(base) {
        let spec = Spec::from(base);
        let (problem, mut case) = case(&spec, &["contexts=20,20"], 9);
        // Token 3 of sequence 0, both key heads: a key that is NaN, and a value that is infinite.
        let block = case.inputs.block_table[0] as usize;
        let rows = [0, 1].map(|head| case.shape.cache_row(block, 3, head));
        let planted = |cache: &Stored, at: usize, value: f64| {
            let mut values = cache.to_f64();
            values[at] = value;
            Stored::round(cache.dtype(), values)
        };
        case.inputs.k_cache = planted(&case.inputs.k_cache, rows[0], f64::NAN);
        case.inputs.v_cache = planted(&case.inputs.v_cache, rows[1], f64::INFINITY);
        let outputs = Subject::new(spec).run(&problem, &case.tensors());
        let verdict = &case.judge(&outputs).unwrap()[0].1;
        // Four heads of NaN, and one channel of the other four.
        assert_eq!((verdict.passed, verdict.non_finite), (true, 4 * 64 + 4), "{verdict:?}");
    }
}

/// Contexts, blocks and entries of the table follow from the file, and results from elsewhere are compared.
#[test]
fn problems_come_from_files() {
    let spec =
        specs::LIBRARY.iter().find(|entry| entry.file == "attention_decode_mha_gfx1100.toml");
    let spec = spec.unwrap().spec().unwrap();
    let (problem, case) = case(&spec, &["contexts=40,0,3", "blocks=5", "max_blocks=3"], 2);
    let mut tensors = case.tensors();
    let expected = case.reference().unwrap().iter().flat_map(|x| x.to_le_bytes()).collect();
    tensors.insert("expected.o".to_owned(), expected);
    let folder = tempfile::tempdir().unwrap();
    let run = |tensors: &Tensors| {
        let path = folder.path().join("problem.safetensors");
        let plan = spec.plan(&problem).unwrap();
        let views = tensors.iter().map(|(name, bytes)| {
            let (dtype, tensor) = match name.strip_prefix("expected.") {
                Some(output) => (safetensors::Dtype::F64, output),
                None if name == "block_table" || name == "context_len" => {
                    (safetensors::Dtype::I32, name.as_str())
                }
                None => (safetensors::Dtype::F16, name.as_str()),
            };
            let dims = &plan.tensor(tensor).unwrap().dims;
            let dims = dims.iter().map(|dim| *dim as usize).collect();
            (name, TensorView::new(dtype, dims, bytes).unwrap())
        });
        std::fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_wavesmith"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["run", "specs/library/attention_decode_mha_gfx1100.toml", "--inputs"])
            .arg(&path)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (run.status.code(), text(&run.stdout) + &text(&run.stderr))
    };
    let (code, text) = run(&tensors);
    assert!(code == Some(0) && text.contains("o (file)"), "{text}");
    let contexts = |contexts: [i32; 3]| contexts.iter().flat_map(|x| x.to_le_bytes()).collect();
    tensors.insert("context_len".to_owned(), contexts([40, 97, 3]));
    let (code, text) = run(&tensors);
    assert!(code == Some(1) && text.contains("a context of 97 tokens"), "{text}");
    tensors.insert("context_len".to_owned(), contexts([40, 1, 3]));
    let (code, text) = run(&tensors);
    assert!(code == Some(2) && text.contains("block_table[1, 0] is -2147483648"), "{text}");
}

/// The kernel trusts contexts and blocks, so whoever launches must not.
#[test]
fn wrong_contexts_and_blocks_are_refused_before_anything_runs() {
    let spec = Spec::from(base(Target::Gfx1100));
    let (problem, case) = case(&spec, &["contexts=20,33", "blocks=6"], 1);
    let plan = spec.plan(&problem).unwrap();
    assert_eq!(check_inputs(&plan, &case.tensors()), []);
    let refused = |change: &dyn Fn(&mut Inputs), words: &str| {
        let mut wrong = case.clone();
        change(&mut wrong.inputs);
        let problems = check_inputs(&plan, &wrong.tensors());
        assert!(problems.len() == 1 && problems[0].to_string().contains(words), "{problems:?}");
        assert!(wrong.inputs.check(&wrong.shape).is_err());
    };
    refused(
        &|inputs| inputs.contexts[1] = 49,
        "sequence 1: a context of 49 tokens, but the block table reaches 0 to 48",
    );
    refused(&|inputs| inputs.contexts[0] = -1, "sequence 0: a context of -1 tokens");
    refused(
        &|inputs| inputs.block_table[1] = 6,
        "sequence 0, entry 1: block 6 is not in 0..6, but a context of 20",
    );
    refused(&|inputs| inputs.block_table[5] = -1, "sequence 1, entry 2: block -1 is not in 0..6");
    // Entries behind a context are never read.
    let mut unread = case.clone();
    unread.inputs.block_table[2] = i32::MAX;
    assert_eq!(check_inputs(&plan, &unread.tensors()), []);
}
