//! Every field of a spec that changes code moves the variant's name, its hash and the kernel IR; what
//! stays at its default is in none of them.

use dsl::text::print;
use isa::Target;
use specs::chunk::ChunkSpec;
use specs::{
    Activation, AttentionChunkSpec, AttentionSpec, CacheLayout, ConvChunkSpec, ConvStepSpec,
    DecodeStepSpec, Dtype, Family, Gate, HeadMap, RecurrentSpec, Reduction, Spec, StateContract,
    StateLayout,
};

fn decode() -> DecodeStepSpec {
    DecodeStepSpec {
        family: Family::Kda,
        target: Target::Gfx1100,
        gate: Gate::BoundedSigmoid { lower_bound_nats: -5.0 },
        key_heads: 2,
        value_heads: 4,
        head_k: 64,
        head_v: 84,
        dtype: Dtype::Bf16,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::PoolInPlace { sentinel: -1 },
        reduction: Reduction::LaneTree { k_lanes: 8 },
        waves: 4,
        wave_width: 32,
    }
}

fn conv() -> ConvStepSpec {
    ConvStepSpec {
        target: Target::Gfx1100,
        channels: 300,
        width: 4,
        dtype: Dtype::Bf16,
        bias: false,
        activation: Activation::None,
        waves: 4,
        wave_width: 32,
    }
}

/// The kernel IR without the line that states its name.
fn nameless_ir(spec: &Spec) -> String {
    let kernel = kernels::build(spec).unwrap_or_else(|error| panic!("{error}"));
    print(&kernel)
        .lines()
        .filter(|line| !line.starts_with("kernel "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[track_caller]
fn moves_everything(base: impl Into<Spec>, flipped: impl Into<Spec>) {
    let (base, flipped) = (base.into(), flipped.into());
    let same_target = base.target() == flipped.target();
    assert_eq!(base.name() == flipped.name(), !same_target, "name of {}", flipped.name());
    assert_ne!(base.spec_hash(), flipped.spec_hash(), "hash of {}", flipped.name());
    assert_ne!(nameless_ir(&base), nameless_ir(&flipped), "kernel IR of {}", flipped.name());
}

#[test]
fn every_field_of_the_decode_step() {
    let base = decode();
    let flips = [
        DecodeStepSpec { family: Family::Gdn, gate: Gate::Softplus, ..base },
        DecodeStepSpec { target: Target::Gfx950, wave_width: 64, ..base },
        DecodeStepSpec { gate: Gate::LogDecay, ..base },
        DecodeStepSpec { gate: Gate::Softplus, ..base },
        DecodeStepSpec { gate: Gate::BoundedSigmoid { lower_bound_nats: -4.5 }, ..base },
        DecodeStepSpec { key_heads: 1, ..base },
        DecodeStepSpec { value_heads: 8, ..base },
        DecodeStepSpec { head_k: 128, ..base },
        DecodeStepSpec { head_v: 88, ..base },
        DecodeStepSpec { dtype: Dtype::F16, ..base },
        DecodeStepSpec { dtype: Dtype::F32, ..base },
        DecodeStepSpec { head_map: HeadMap::Tiled, ..base },
        DecodeStepSpec { state_layout: StateLayout::VFirst, ..base },
        DecodeStepSpec { state_contract: StateContract::Separate, ..base },
        DecodeStepSpec { state_contract: StateContract::PoolInPlace { sentinel: 0 }, ..base },
        DecodeStepSpec { reduction: Reduction::Serial, ..base },
        DecodeStepSpec { reduction: Reduction::LaneTree { k_lanes: 4 }, ..base },
        DecodeStepSpec { waves: 2, ..base },
    ];
    flips.into_iter().for_each(|flipped| moves_everything(base, flipped));
}

#[test]
fn every_field_of_the_conv_step() {
    let base = conv();
    let flips = [
        ConvStepSpec { target: Target::Gfx950, wave_width: 64, ..base },
        ConvStepSpec { channels: 301, ..base },
        ConvStepSpec { width: 3, ..base },
        ConvStepSpec { dtype: Dtype::F32, ..base },
        ConvStepSpec { bias: true, ..base },
        ConvStepSpec { activation: Activation::Silu, ..base },
        ConvStepSpec { waves: 2, ..base },
    ];
    flips.into_iter().for_each(|flipped| moves_everything(base, flipped));
}

#[test]
fn every_field_of_the_recurrent_kernel() {
    let state_contract = StateContract::Separate;
    let step = DecodeStepSpec { state_contract, ..decode() };
    let base = RecurrentSpec { step, initial_state: true, final_state: true };
    moves_everything(base, RecurrentSpec { initial_state: false, ..base });
    moves_everything(base, RecurrentSpec { final_state: false, ..base });
    let steps = [
        DecodeStepSpec { target: Target::Gfx950, wave_width: 64, ..step },
        DecodeStepSpec { gate: Gate::LogDecay, ..step },
        DecodeStepSpec { head_map: HeadMap::Tiled, ..step },
        DecodeStepSpec { state_layout: StateLayout::VFirst, ..step },
        DecodeStepSpec { reduction: Reduction::Serial, ..step },
        DecodeStepSpec { waves: 2, ..step },
    ];
    steps.into_iter().for_each(|step| moves_everything(base, RecurrentSpec { step, ..base }));
}

#[test]
fn every_field_of_the_conv_chunk() {
    let base = ConvChunkSpec { step: conv(), segment: 64 };
    moves_everything(base, ConvChunkSpec { segment: 32, ..base });
    let steps = [
        ConvStepSpec { target: Target::Gfx950, wave_width: 64, ..base.step },
        ConvStepSpec { width: 3, ..base.step },
        ConvStepSpec { bias: true, ..base.step },
    ];
    steps.into_iter().for_each(|step| moves_everything(base, ConvChunkSpec { step, ..base }));
}

#[test]
fn every_field_of_attention() {
    let base = AttentionSpec {
        target: Target::Gfx1100,
        query_heads: 8,
        key_heads: 2,
        head_dim: 128,
        dtype: Dtype::Bf16,
        block_size: 16,
        cache_layout: CacheLayout::TokenFirst,
        heads_per_workgroup: 2,
        alibi: false,
        window: None,
        soft_cap: None,
        waves: 4,
        wave_width: 32,
    };
    let flips = [
        AttentionSpec { target: Target::Gfx950, wave_width: 64, ..base },
        AttentionSpec { query_heads: 16, ..base },
        AttentionSpec { key_heads: 4, ..base },
        AttentionSpec { head_dim: 96, ..base },
        AttentionSpec { dtype: Dtype::F16, ..base },
        AttentionSpec { block_size: 32, ..base },
        AttentionSpec { cache_layout: CacheLayout::HeadFirst, ..base },
        AttentionSpec { heads_per_workgroup: 4, ..base },
        AttentionSpec { waves: 1, ..base },
    ];
    flips.into_iter().for_each(|flipped| moves_everything(base, flipped));
    let chunk = |step: AttentionSpec| AttentionChunkSpec { step, queries_per_workgroup: 1 };
    flips.into_iter().for_each(|flipped| moves_everything(chunk(base), chunk(flipped)));
    let one_head = chunk(AttentionSpec { heads_per_workgroup: 1, ..base });
    moves_everything(one_head, AttentionChunkSpec { queries_per_workgroup: 2, ..one_head });
}

fn chunk(file: &str) -> ChunkSpec {
    let entry = specs::LIBRARY.iter().find(|entry| entry.file == file).unwrap();
    let Spec::Chunk(spec) = entry.spec().unwrap() else { panic!("{file} is no prefill spec") };
    spec
}

/// The spec with some keys of its file set otherwise.
fn rewritten(file: &str, changes: &[(&str, &str)]) -> ChunkSpec {
    let entry = specs::LIBRARY.iter().find(|entry| entry.file == file).unwrap();
    let key_of = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
    let kept =
        entry.text.lines().filter(|line| !changes.iter().any(|(key, _)| key_of(line) == *key));
    let mut text = kept.map(|line| format!("{line}\n")).collect::<String>();
    text.extend(changes.iter().map(|(key, value)| format!("{key} = {value}\n")));
    let spec = specs::parse_spec(file, &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(spec.check(), [], "{changes:?}");
    let Spec::Chunk(spec) = spec else { panic!("{file} is no prefill spec") };
    spec
}

#[test]
fn every_field_of_the_prefill_kernels() {
    let bounded = [("gate", "\"bounded_sigmoid\"")];
    let tile: &[&[(&str, &str)]] = &[
        &[("accuracy", "\"bf16_split\""), ("min_groups_per_cu", "1")],
        &bounded,
        &[bounded[0], ("dt_bias", "false")],
        &[("gate_lower_bound_nats", "-4")],
        &[("key_heads", "4")],
        &[("value_heads", "16")],
        &[("head_map", "\"tiled\""), ("value_heads", "16")],
        &[("qk_l2norm", "true")],
        &[("beta", "\"sigmoid\"")],
        &[("beta", "\"twice_sigmoid\"")],
        &[("beta_dtype", "\"f32\"")],
        &[("head_k", "64")],
        &[("chunk", "16")],
        &[("tile_atom_m", "32")],
        &[("pad_dk", "16")],
        &[("pad_c", "8")],
        &[("waves", "8")],
    ];
    let scan: &[&[(&str, &str)]] = &[
        &[("accuracy", "\"bf16_split\""), ("min_groups_per_cu", "1")],
        &[("value_heads", "16")],
        &[("head_v", "64"), ("waves", "4")],
        &[("value_splits", "2"), ("waves", "4")],
        &[("state_layout", "\"v_first\"")],
        &[("initial_state", "false")],
        &[("final_state", "false")],
        &[("scan_atom_m", "32"), ("waves", "4")],
        &[("prefetch", "false")],
    ];
    for (file, flips) in
        [("kda_chunk_tile_bf16_gfx950.toml", tile), ("kda_chunk_scan_bf16_gfx950.toml", scan)]
    {
        flips.iter().for_each(|flip| moves_everything(chunk(file), rewritten(file, flip)));
    }
    let file = "kda_chunk_fused_bf16_gfx950.toml";
    // Rows of C in 16 bits stand in LDS only where the tile phase hands them to the scan.
    let fused: &[&[(&str, &str)]] = &[
        &[("value_splits", "2"), ("waves", "4")],
        &[("gate_lower_bound_nats", "-4"), ("qk_l2norm", "true")],
        &[("pad_cb", "16")],
    ];
    fused.iter().for_each(|flip| moves_everything(chunk(file), rewritten(file, flip)));
}

/// Fields that say what a launch brings, not what the code is: names and hashes keep such variants apart, kernels
/// are the same.
#[test]
fn fields_of_the_launch_move_no_code() {
    let file = "kda_chunk_tile_bf16_gfx950.toml";
    let base = Spec::Chunk(chunk(file));
    for flip in [("varlen", "true"), ("min_groups_per_cu", "1")] {
        let flipped = Spec::Chunk(rewritten(file, &[flip]));
        assert_ne!(base.name(), flipped.name());
        assert_eq!(nameless_ir(&base), nameless_ir(&flipped), "{flip:?}");
    }
}

#[test]
fn a_default_written_out_is_the_same_variant() {
    let text = include_str!("../specs/library/gdn_decode_gfx1100.toml");
    let defaults = "wave_width = 32\nwaves = 4\nreduction = \"lane_tree\"\nk_lanes = 8\n\
                    state_contract = \"separate\"\n# a comment\n";
    let short = specs::parse_spec("short", text).unwrap();
    let long = specs::parse_spec("long", &format!("{text}{defaults}")).unwrap();
    assert_eq!(short.name(), long.name());
    assert_eq!(short.spec_hash(), long.spec_hash());
    assert_eq!(nameless_ir(&short), nameless_ir(&long));
}
