//! Attention on the emulator: within limits of float64, bitwise equal to the host twin, and the same bits whatever else
//! is in the batch, wherever blocks lie and whether a query comes alone or in a chunk.

mod common;

use common::Subject;
use isa::Target;
use oracle::attention::{Case as Attention, Inputs};
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use oracle::{Case, Stored};
use runtime::plan::check_inputs;
use safetensors::tensor::TensorView;
use specs::{AttentionChunkSpec, AttentionSpec, CacheLayout, Dtype, Problem, Spec};

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

fn chunk(step: AttentionSpec, queries_per_workgroup: u32) -> Subject {
    Subject::new(Spec::AttentionChunk(AttentionChunkSpec { step, queries_per_workgroup }))
}

/// Sequences whose queries start and end around boundaries of blocks: without earlier tokens and with, without queries,
/// with one, with several across a boundary.
fn chunks_around_blocks(size: u32) -> [String; 2] {
    let sequences = [
        (1, 1),
        (0, 0),
        (17, 17),
        (5, size - 1),
        (2, size + 1),
        (4, 2 * size),
        (0, size),
        (6, 2 * size + 1),
        (3, 5 * size + 1),
    ];
    let listed = |pick: fn((u32, u32)) -> u32| sequences.map(|s| pick(s).to_string()).join(",");
    [format!("lengths={}", listed(|s| s.0)), format!("contexts={}", listed(|s| s.1))]
}

/// Runs generated chunks, compares them with float64 and the twin, and gives what was run.
fn verify_chunk(subject: &Subject, sizes: &[String; 2], seed: u64) -> (Attention, Tensors) {
    let sizes = sizes.each_ref().map(String::as_str);
    let (problem, case) = case(&subject.spec, &sizes, seed);
    let outputs = subject.run(&problem, &case.tensors());
    let name = format!("{} {}", subject.spec.target(), subject.spec.name());
    for (output, verdict) in case.judge(&outputs).unwrap() {
        assert!(verdict.passed, "{name}: {output}: {verdict:?}");
    }
    assert!(outputs == case.twin().unwrap(), "{name}: differs from the twin");
    (case, outputs)
}

#[test]
fn chunks_of_every_head_size_and_block_size() {
    for base in Target::ALL.map(base) {
        let layouts = [CacheLayout::TokenFirst, CacheLayout::HeadFirst].into_iter().cycle();
        let shares = [(1, 3, 2), (2, 1, 4), (1, 2, 1)].into_iter().cycle();
        let sizes = [64, 96, 128, 256].into_iter().flat_map(|d| [16, 32, 64].map(|size| (d, size)));
        for (((head_dim, block_size), cache_layout), share) in sizes.zip(layouts).zip(shares) {
            let (heads_per_workgroup, queries, waves) = share;
            let (query_heads, key_heads) = (4, 2);
            let shape = AttentionSpec { query_heads, key_heads, head_dim, block_size, ..base };
            let step = AttentionSpec { cache_layout, heads_per_workgroup, waves, ..shape };
            let sizes = chunks_around_blocks(block_size);
            verify_chunk(&chunk(step, queries), &sizes, u64::from(head_dim + block_size));
        }
    }
}

/// The bits of a query do not depend on the queries that come with it: each is that of a decode step over the tokens
/// that it sees, in the same cache and with the same table, whoever shares its workgroup.
#[test]
fn every_query_of_a_chunk_is_a_decode_step() {
    for base in Target::ALL.map(base) {
        for (heads_per_workgroup, queries, waves) in [(2, 1, 2), (1, 3, 2), (1, 4, 1)] {
            let step = AttentionSpec { heads_per_workgroup, waves, head_dim: 64, ..base };
            let subject = chunk(step, queries);
            let sizes = ["lengths=18,0,3,1".to_owned(), "contexts=50,7,3,17".to_owned()];
            let (case, together) = verify_chunk(&subject, &sizes, 11);
            let (problem, alone) = one_by_one(step, &case);
            let outputs = Subject::new(step).run(&problem, &alone.tensors());
            assert!(outputs["o"] == together["o"], "{} {queries}", base.target);
        }
    }
}

/// Every query of a chunk as a sequence of its own, with as much of the context as it sees.
fn one_by_one(step: AttentionSpec, chunk: &Attention) -> (Problem, Attention) {
    let (shape, inputs) = (&chunk.shape, &chunk.inputs);
    let ends = inputs.ends.as_ref().unwrap();
    let (mut contexts, mut block_table) = (Vec::new(), Vec::new());
    for (sequence, bounds) in ends.windows(2).enumerate() {
        let row = sequence * shape.max_blocks..(sequence + 1) * shape.max_blocks;
        for query in bounds[0]..bounds[1] {
            contexts.push(inputs.contexts[sequence] - bounds[1] + query + 1);
            block_table.extend_from_slice(&inputs.block_table[row.clone()]);
        }
    }
    let listed = contexts.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let sizes = [
        format!("contexts={listed}"),
        format!("blocks={}", shape.blocks),
        format!("max_blocks={}", shape.max_blocks),
    ];
    let problem = Spec::from(step).problem(&sizes).unwrap();
    let shape = oracle::attention::Shape { batch: contexts.len(), ..*shape };
    let inputs = Inputs { ends: None, contexts, block_table, ..inputs.clone() };
    (problem, Attention { shape, inputs, ..chunk.clone() })
}

/// A query sees no token behind its own, whatever the cache has there.
#[test]
fn later_tokens_change_no_query() {
    for base in Target::ALL.map(base) {
        let step = AttentionSpec { heads_per_workgroup: 1, ..base };
        let subject = chunk(step, 4);
        let (problem, mut case) = case(&subject.spec, &["lengths=7", "contexts=35"], 12);
        let before = subject.run(&problem, &case.tensors());
        // The last token lies in the third block; its query is the last row.
        let block = case.inputs.block_table[2] as usize;
        for cache in [&mut case.inputs.k_cache, &mut case.inputs.v_cache] {
            let mut values = cache.to_f64();
            let row = case.shape.cache_row(block, 2, 0);
            values[row..row + 2 * 64].fill(f64::NAN);
            *cache = Stored::round(cache.dtype(), values);
        }
        let after = subject.run(&problem, &case.tensors());
        let row = after["o"].len() / 7;
        assert!(after["o"][..6 * row] == before["o"][..6 * row], "{}", base.target);
        let last = Stored::from_le_bytes("o", Dtype::Bf16, &after["o"][6 * row..]).unwrap();
        assert!(last.to_f64().iter().all(|value| value.is_nan()), "{}", base.target);
    }
}

#[test]
fn chunks_without_queries_and_contexts_without_room_for_them() {
    let subject = chunk(AttentionSpec { heads_per_workgroup: 1, ..base(Target::Gfx1100) }, 2);
    let (problem, case) = case(&subject.spec, &["lengths=5,0", "contexts=9,4"], 13);
    let plan = subject.spec.plan(&problem).unwrap();
    assert_eq!(check_inputs(&plan, &case.tensors()), []);
    let mut short = case.clone();
    short.inputs.contexts[0] = 4;
    let problems = check_inputs(&plan, &short.tensors());
    let words = "a context of 4 tokens, but the sequence has 5 queries";
    assert!(problems.len() == 1 && problems[0].to_string().contains(words), "{problems:?}");
    assert!(short.inputs.check(&short.shape).is_err());
    let none = subject.spec.problem(&["lengths=0,0", "contexts=3,0"]).unwrap();
    assert_eq!(subject.spec.plan(&none).unwrap().launches[0].grid, [8, 2, 1]);
}
