//! Signatures, problems and launch plans.

use wavesmith_specs::{
    ArgValue, Dtype, InvalidProblem, LIBRARY, LaunchPlan, PagedContract, PlanError, Problem, Role,
};
use wavesmith_specs::{DecodeStepProblem, SlotsContract, Spec};

fn library_spec(file: &str) -> Spec {
    let entry = LIBRARY.iter().find(|entry| entry.file == file).expect("a library file");
    entry.spec().expect("readable")
}

fn plan(file: &str, parameters: &[&str]) -> LaunchPlan {
    let spec = library_spec(file);
    let problem = spec.problem(parameters).unwrap_or_else(|error| panic!("{error}"));
    spec.plan(&problem).unwrap_or_else(|error| panic!("{error}"))
}

fn arguments(file: &str) -> Vec<String> {
    library_spec(file).facts().arguments
}

fn dims(plan: &LaunchPlan, name: &str) -> Vec<u64> {
    plan.tensor(name).unwrap_or_else(|| panic!("no tensor {name}")).dims.clone()
}

#[test]
fn arguments_of_a_decode_step_with_raw_gates() {
    let expected = [
        "q: bf16 [B, HK=16, K=128]",
        "k: bf16 [B, HK=16, K=128]",
        "v: bf16 [B, HV=32, V=128]",
        "g_raw: bf16 [B, HV=32]",
        "a_log: f32 [HV=32]",
        "dt_bias: f32 [HV=32]",
        "beta: bf16 [B, HV=32]",
        "state: f32 [B, HV=32, K=128, V=128]",
        "next_state: f32 [B, HV=32, K=128, V=128]",
        "o: bf16 [B, HV=32, V=128]",
        "scale: f32",
    ];
    assert_eq!(arguments("gdn_decode_gfx950.toml"), expected);
}

#[test]
fn arguments_of_a_decode_step_on_a_pool() {
    let expected = [
        "q: f16 [B, HK=3, K=40]",
        "k: f16 [B, HK=3, K=40]",
        "v: f16 [B, HV=6, V=33]",
        "g_raw: f16 [B, HV=6, K=40]",
        "a_log: f32 [HV=6]",
        "dt_bias: f32 [HV=6, K=40]",
        "beta: f16 [B, HV=6]",
        "pool: f32 [slots, HV=6, V=33, K=40]",
        "slots: i32 [B]",
        "o: f16 [B, HV=6, V=33]",
        "scale: f32",
    ];
    assert_eq!(arguments("kda_decode_serial_gfx950.toml"), expected);
}

#[test]
fn arguments_of_given_decays() {
    let kda = arguments("kda_decode_log_decay_gfx1100.toml");
    assert_eq!(kda[3], "g: f32 [B, HV=4, K=128]");
    let gdn = arguments("gdn_decode_log_decay_gfx1100.toml");
    assert_eq!(gdn[3..5], ["g: f32 [B, HV=32]", "beta: bf16 [B, HV=32]"]);
}

#[test]
fn arguments_of_conv_steps() {
    let expected = [
        "x: bf16 [B, D=1000]",
        "weight: bf16 [D=1000, W=4]",
        "bias: bf16 [D=1000]",
        "history: bf16 [B, D=1000, W-1=3]",
        "next_history: bf16 [B, D=1000, W-1=3]",
        "y: bf16 [B, D=1000]",
    ];
    assert_eq!(arguments("conv_step_bias_gfx950.toml"), expected);
    let one_tap = [
        "x: bf16 [B, D=513]",
        "weight: bf16 [D=513, W=1]",
        "bias: bf16 [D=513]",
        "y: bf16 [B, D=513]",
    ];
    assert_eq!(arguments("conv_step_width1_gfx950.toml"), one_tap);
}

#[test]
fn kernarg_bytes_are_packed_at_natural_alignment() {
    assert_eq!(library_spec("gdn_decode_gfx950.toml").facts().kernarg_bytes, 10 * 8 + 4);
    assert_eq!(library_spec("conv_step_width1_gfx950.toml").facts().kernarg_bytes, 4 * 8);
}

#[test]
fn the_state_dominates_the_traffic_of_a_decode_step() {
    let facts = library_spec("gdn_decode_gfx950.toml").facts();
    let state = 2 * 32 * 128 * 128 * 4;
    let vectors = 2 * (2 * 16 * 128 + 32 * 128 + 32 + 32 + 32 * 128);
    assert_eq!(facts.row_traffic_bytes, state + vectors);
    let pool = library_spec("gdn_decode_pool_gfx950.toml").facts();
    assert_eq!(pool.row_traffic_bytes, state + vectors + 4);
}

#[test]
fn a_decode_plan_binds_every_argument() {
    let plan = plan("gdn_decode_three_to_one_gfx1100.toml", &["batch=3"]);
    assert_eq!(dims(&plan, "state"), [3, 6, 64, 96]);
    assert_eq!(dims(&plan, "g"), [3, 6]);
    let [launch] = &plan.launches[..] else { panic!("one launch expected") };
    assert_eq!(launch.kernel, library_spec("gdn_decode_three_to_one_gfx1100.toml").name());
    // 4 waves of 32 lanes, 8 lanes a group, 4 columns a group: 64 columns a workgroup.
    assert_eq!((launch.grid, launch.workgroup), ([2, 6, 3], [128, 1, 1]));
    let bound: Vec<_> = launch.args.iter().map(|arg| arg.argument.as_str()).collect();
    assert_eq!(bound, ["q", "k", "v", "g", "beta", "state", "next_state", "o", "scale"]);
    assert_eq!(launch.args[8].value, ArgValue::F32(0.125));
    let tensors: Vec<_> = plan.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(tensors, bound[..8]);
}

#[test]
fn a_pool_plan_states_what_slots_must_satisfy() {
    let plan = plan("kda_decode_serial_gfx950.toml", &["batch=4"]);
    assert_eq!(dims(&plan, "pool"), [6, 6, 33, 40]);
    let slots = plan.tensor("slots").expect("slots");
    assert_eq!(slots.slots, Some(SlotsContract { sentinel: -1, pool_slots: 6 }));
    assert!(
        plan.tensors
            .iter()
            .filter(|tensor| tensor.role != Role::Slots)
            .all(|tensor| tensor.slots.is_none())
    );
    // One wave of 64 lanes, a column each.
    assert_eq!(plan.launches[0].grid, [1, 6, 4]);
}

#[test]
fn a_conv_plan_covers_the_tail() {
    let plan = plan("conv_step_bias_gfx1100.toml", &["batch=2"]);
    assert_eq!(plan.launches[0].grid, [8, 2, 1]);
    assert_eq!(plan.launches[0].workgroup, [128, 1, 1]);
    assert!(
        plan.launches[0].args.iter().all(|arg| arg.value == ArgValue::Tensor(arg.argument.clone()))
    );
    assert_eq!(dims(&plan, "history"), [2, 1000, 3]);
}

#[test]
fn arguments_of_kernels_of_many_tokens() {
    let expected = [
        "q: f32 [T, HK=2, K=128]",
        "k: f32 [T, HK=2, K=128]",
        "v: f32 [T, HV=4, V=64]",
        "g: f32 [T, HV=4, K=128]",
        "beta: f32 [T, HV=4]",
        "cu_seqlens: i32 [N+1]",
        "next_state: f32 [N, HV=4, K=128, V=64]",
        "o: f32 [T, HV=4, V=64]",
        "scale: f32",
    ];
    assert_eq!(arguments("kda_recurrent_fresh_gfx950.toml"), expected);
    let expected = [
        "x: bf16 [T, D=1000]",
        "weight: bf16 [D=1000, W=4]",
        "bias: bf16 [D=1000]",
        "cu_seqlens: i32 [N+1]",
        "history: bf16 [N, D=1000, W-1=3]",
        "next_history: bf16 [N, D=1000, W-1=3]",
        "y: bf16 [T, D=1000]",
    ];
    assert_eq!(arguments("conv_chunk_bias_gfx950.toml"), expected);
}

#[test]
fn plans_of_packed_sequences_count_them_and_their_tokens() {
    let recurrent = plan("gdn_recurrent_serial_gfx1100.toml", &["lengths=0,5,0,2"]);
    assert_eq!(recurrent.launches[0].grid, [2, 4, 4]);
    assert_eq!(dims(&recurrent, "q"), [7, 2, 48]);
    assert_eq!(dims(&recurrent, "state"), [4, 4, 48, 70]);
    let ends = recurrent.tensor("cu_seqlens").expect("ends");
    assert_eq!((ends.dims.as_slice(), ends.ends_at), (&[5][..], Some(7)));
    // Segments of 37 tokens: the longest sequence has three.
    let conv = plan("conv_chunk_bias_gfx1100.toml", &["lengths=75,0,1"]);
    assert_eq!(conv.launches[0].grid, [8, 3, 3]);
    let empty = plan("conv_chunk_bias_gfx1100.toml", &["lengths=0"]);
    assert_eq!((empty.launches[0].grid, dims(&empty, "x")), ([8, 1, 1], vec![0, 1000]));
}

#[test]
fn attention_reads_a_cache_by_a_table() {
    let expected = [
        "q: bf16 [B, HQ=6, D=128]",
        "k_cache: bf16 [blocks, HKV=1, block_size=64, D=128]",
        "v_cache: bf16 [blocks, HKV=1, block_size=64, D=128]",
        "max_blocks: i32",
        "block_table: i32 [B, max_blocks]",
        "context_len: i32 [B]",
        "o: bf16 [B, HQ=6, D=128]",
        "scale: f32",
    ];
    assert_eq!(arguments("attention_decode_mqa_gfx950.toml"), expected);
    let file = "attention_decode_mqa_gfx1100.toml";
    let attention = plan(file, &["contexts=0,65,64,200"]);
    assert_eq!(attention.launches[0].grid, [3, 1, 4]);
    assert_eq!(attention.launches[0].args[3].value, ArgValue::I32(4));
    // Seven blocks are filled, two are spare; the longest context has four.
    assert_eq!(dims(&attention, "k_cache"), [9, 1, 64, 128]);
    assert_eq!(dims(&attention, "block_table"), [4, 4]);
    let contract = |name| attention.tensor(name).and_then(|tensor| tensor.paged.clone());
    assert_eq!(contract("context_len"), Some(PagedContract::Contexts { most: 256, ends: None }));
    let contexts = "context_len".to_owned();
    let blocks = PagedContract::Blocks { contexts, block_size: 64, blocks: 9 };
    assert_eq!(contract("block_table"), Some(blocks));
    let empty = plan(file, &["context=0", "blocks=1"]);
    assert_eq!((dims(&empty, "v_cache")[0], dims(&empty, "block_table")), (1, vec![1, 1]));
}

#[test]
fn chunk_attention_packs_queries_of_the_last_tokens() {
    let expected = [
        "q: bf16 [T, HQ=16, D=256]",
        "cu_seqlens: i32 [N+1]",
        "k_cache: bf16 [blocks, block_size=16, HKV=2, D=256]",
        "v_cache: bf16 [blocks, block_size=16, HKV=2, D=256]",
        "max_blocks: i32",
        "block_table: i32 [B, max_blocks]",
        "context_len: i32 [B]",
        "o: bf16 [T, HQ=16, D=256]",
        "scale: f32",
    ];
    let file = "attention_chunk_d256_gfx1100.toml";
    assert_eq!(arguments(file), expected);
    let chunk = plan(file, &["lengths=5,0,1", "contexts=5,3,40"]);
    // Two heads and two queries a workgroup.
    assert_eq!(chunk.launches[0].grid, [8, 3, 3]);
    assert_eq!((dims(&chunk, "q"), dims(&chunk, "block_table")), (vec![6, 16, 256], vec![3, 3]));
    let contract = |name| chunk.tensor(name).and_then(|tensor| tensor.paged.clone());
    let ends = Some("cu_seqlens".to_owned());
    assert_eq!(contract("context_len"), Some(PagedContract::Contexts { most: 48, ends }));
    assert_eq!(chunk.tensor("cu_seqlens").and_then(|ends| ends.ends_at), Some(6));
    // Without a context every sequence has 60 tokens before its queries.
    assert_eq!(dims(&plan(file, &["lengths=5,21"]), "block_table"), [2, 6]);
}

#[test]
fn queries_beyond_a_context_are_refused() {
    let file = "attention_chunk_mha_gfx950.toml";
    let words = ["sequence 1", "9 queries", "a context of 8 tokens", "count the new tokens"];
    refused(file, &["lengths=1,9", "contexts=1,8"], false, &words);
    refused(file, &["lengths=1,9", "contexts=9"], false, &["contexts of 1 sequences", "of 2"]);
    refused(file, &["context=9", "contexts=9"], true, &["beside contexts"]);
    let words = ["3 queries", "at most 65535 workgroups", "queries_per_workgroup"];
    refused(file, &["tokens=196606"], false, &words);
    let decode = library_spec("attention_decode_gfx950.toml");
    let chunk = library_spec("attention_chunk_gfx950.toml");
    let problem = chunk.problem(&["tokens=3"]).expect("a problem");
    assert!(decode.check_problem(&problem).is_err());
    let problem = decode.problem(&["context=3"]).expect("a problem");
    assert!(chunk.check_problem(&problem).is_err());
}

#[test]
fn contexts_beyond_the_table_are_refused() {
    let file = "attention_decode_gfx950.toml";
    let words = ["got 2", "3 or more", "a context of 33 tokens", "more entries"];
    refused(file, &["contexts=33,1", "max_blocks=2"], false, &words);
    refused(file, &["context=5", "contexts=5"], true, &["beside contexts"]);
    refused(file, &["contexts=5,-1"], true, &["'-1'"]);
    refused(file, &["blocks=0"], false, &["1 to 2147483647"]);
    refused(file, &["context=4294967295"], false, &["max_blocks", "1 to 134217727"]);
    refused(file, &["batch=0"], false, &["1 to 65535"]);
    refused(file, &["scale=inf"], false, &["finite"]);
}

#[test]
fn too_many_tokens_are_refused() {
    let recurrent = "gdn_recurrent_gfx950.toml";
    let words = ["2147483648", "at most 2147483647"];
    refused(recurrent, &["lengths=2147483647,1"], false, &words);
    refused(recurrent, &["lengths=1,x"], true, &["'x'"]);
    let words = ["segments of 64 tokens", "at most 65535 segments", "larger segment"];
    refused("conv_chunk_gfx950.toml", &["tokens=4194241"], false, &words);
}

#[test]
fn every_library_spec_has_a_plan_whose_tensors_have_elements() {
    for entry in LIBRARY {
        let plan = plan(entry.file, &[]);
        assert!(plan.tensors.iter().all(|tensor| tensor.elements() > 0), "{}", entry.file);
        let covered = plan.launches[0].args.len();
        assert_eq!(covered, library_spec(entry.file).signature().arguments.len(), "{}", entry.file);
    }
}

#[test]
fn defaults_of_a_problem() {
    let spec = library_spec("gdn_decode_pool_gfx950.toml");
    let problem = spec.problem::<&str>(&[]).expect("defaults");
    let scale = 0.088_388_346;
    assert_eq!(
        problem,
        Problem::DecodeStep(DecodeStepProblem { batch: 3, pool_slots: Some(5), scale })
    );
    let spec = library_spec("gdn_decode_gfx950.toml");
    assert_eq!(spec.problem(&["batch=7"]).expect("legal").pool_slots(), None);
}

#[test]
fn given_parameters_are_taken() {
    let spec = library_spec("gdn_decode_pool_gfx950.toml");
    let problem = spec.problem(&["scale = 0.5", "batch=2", "pool_slots=9"]).expect("legal");
    assert_eq!(
        problem,
        Problem::DecodeStep(DecodeStepProblem { batch: 2, pool_slots: Some(9), scale: 0.5 })
    );
}

#[track_caller]
fn refused(file: &str, parameters: &[&str], unreadable: bool, words: &[&str]) {
    let error: InvalidProblem =
        library_spec(file).problem(parameters).expect_err("must be refused");
    assert_eq!(error.faults.len(), 1, "{error}");
    assert_eq!(error.is_unreadable(), unreadable, "{error}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "'{word}' is missing in: {text}");
    }
}

#[test]
fn texts_that_are_no_parameters_are_unreadable() {
    let pool = "gdn_decode_pool_gfx950.toml";
    refused(
        pool,
        &["batsch=4"],
        true,
        &["`batsch`", "did you mean `batch`?", "batch, pool_slots, scale"],
    );
    refused(pool, &["batch"], true, &["no '='", "key=value"]);
    refused(pool, &["batch=four"], true, &["'four'", "a whole number"]);
    refused(pool, &["batch=-1"], true, &["'-1'"]);
    refused(pool, &["scale=x"], true, &["'x'", "a number"]);
    refused(pool, &["batch=2", "batch=3"], true, &["twice"]);
    refused("conv_step_gfx950.toml", &["scale=1"], true, &["unknown parameter", "expected batch"]);
    refused("gdn_decode_gfx950.toml", &["pool_slots=4"], true, &["batch, scale"]);
}

#[test]
fn values_out_of_their_limits_are_refused() {
    let pool = "gdn_decode_pool_gfx950.toml";
    refused(pool, &["batch=0"], false, &["got 0", "1 to 65535", "batch=1"]);
    refused(pool, &["batch=65536"], false, &["got 65536", "batch=65535"]);
    refused(pool, &["pool_slots=0"], false, &["1 to 2147483647"]);
    refused(pool, &["pool_slots=2147483648"], false, &["1 to 2147483647"]);
    refused(pool, &["scale=nan"], false, &["NaN", "a finite number", "0.088"]);
    refused(pool, &["scale=1e39"], false, &["inf", "a finite number"]);
}

#[test]
fn a_problem_of_another_kernel_has_no_plan() {
    let conv = library_spec("conv_step_gfx950.toml");
    let decode = library_spec("gdn_decode_gfx950.toml");
    let problem = conv.problem::<&str>(&[]).expect("defaults");
    let Err(PlanError::InvalidProblem(error)) = decode.plan(&problem) else {
        panic!("must be refused")
    };
    assert!(error.to_string().contains("a problem of conv_step"), "{error}");
}

#[test]
fn a_pool_problem_does_not_fit_a_separate_state() {
    let problem =
        library_spec("gdn_decode_pool_gfx950.toml").problem::<&str>(&[]).expect("defaults");
    let error = library_spec("gdn_decode_gfx950.toml").plan(&problem).expect_err("must be refused");
    assert!(error.to_string().contains("pool_in_place"), "{error}");
}

#[test]
fn tensors_beyond_any_memory_are_refused() {
    let spec = library_spec("gdn_decode_pool_gfx950.toml");
    let problem = spec.problem(&["pool_slots=2147483647"]).expect("within its limits");
    let Err(PlanError::TensorTooLarge { tensor, dims, .. }) = spec.plan(&problem) else {
        panic!("must be refused")
    };
    assert_eq!((tensor, dims[0]), ("pool", 2_147_483_647));
}

#[test]
fn an_illegal_spec_has_no_plan() {
    let Spec::DecodeStep(mut step) = library_spec("gdn_decode_gfx950.toml") else {
        panic!("a decode step")
    };
    (step.value_heads, step.dtype) = (33, Dtype::F32);
    let spec = Spec::from(step);
    let problem = spec.problem::<&str>(&[]).expect("defaults");
    let error = spec.plan(&problem).expect_err("must be refused");
    assert!(error.to_string().contains("head_groups"), "{error}");
}
