//! Prefill spec files: what is read, what is refused and how, and what moves names and hashes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use wavesmith_specs::chunk::{Accuracy, ChunkGate, ChunkSpec, DecayForm};
use wavesmith_specs::field::{FieldKind, Settings, Value};
use wavesmith_specs::{
    Choice, KernelKind, Spec, is_valid_fused_spec, is_valid_scan_spec, is_valid_tile_spec,
    parse_spec,
};

const TILE: &str = r#"
schema = 1
kind = "spec"
kernel = "chunk_tile"
family = "kda"
target = "gfx950"
accuracy = "bf16_split"
gate = "log_decay_per_channel"
gate_lower_bound_nats = -5
decay = "fixed_offset"
key_heads = 4
value_heads = 8
head_map = "grouped"
head_k = 128
dtype = "bf16"
chunk = 32
"#;

const SCAN: &str = r#"
schema = 1
kind = "spec"
kernel = "chunk_scan"
family = "kda"
target = "gfx950"
accuracy = "f16"
value_bound = 100
checked = true
value_heads = 8
head_k = 128
head_v = 64
dtype = "bf16"
state_layout = "v_first"
chunk = 32
"#;

const FUSED: &str = r#"
schema = 1
kind = "spec"
kernel = "chunk_fused"
family = "gdn"
target = "gfx950"
accuracy = "bf16"
gate = "softplus"
decay = "outside_product"
key_heads = 4
value_heads = 8
head_map = "grouped"
head_k = 128
head_v = 64
dtype = "bf16"
state_layout = "k_first"
chunk = 32
"#;

fn read(text: &str) -> ChunkSpec {
    let spec = parse_spec("a.toml", text).unwrap_or_else(|problems| panic!("{problems}"));
    let Spec::Chunk(spec) = spec else { panic!("another kernel") };
    spec
}

/// The text must be refused with these words.
#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let problems = parse_spec("a.toml", text).expect_err("a refusal").to_string();
    for word in words {
        assert!(problems.contains(word), "'{word}' is missing in: {problems}");
    }
}

fn without(text: &str, key: &str) -> String {
    let kept = text.lines().filter(|line| !line.starts_with(&format!("{key} =")));
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_three_kernels_are_read_and_legal() {
    let ChunkSpec::Tile(tile) = read(TILE) else { panic!("another kernel") };
    assert_eq!(tile.common.accuracy, Accuracy::Bf16Split);
    assert_eq!(tile.tile.gate, ChunkGate::LogDecayPerChannel { lower_bound_nats: -5.0 });
    assert_eq!((tile.anchor_offset_log2(), is_valid_tile_spec(&tile)), (Some(112), Ok(())));
    let ChunkSpec::Scan(scan) = read(SCAN) else { panic!("another kernel") };
    assert_eq!(scan.common.accuracy, Accuracy::F16 { value_bound: 100.0 });
    assert!(scan.scan.prefetch && scan.scan.initial_state);
    assert_eq!(is_valid_scan_spec(&scan), Ok(()));
    let ChunkSpec::Fused(fused) = read(FUSED) else { panic!("another kernel") };
    assert_eq!(fused.tile.gate, ChunkGate::Softplus { dt_bias: true });
    assert_eq!(fused.tile.decay, DecayForm::OutsideProduct);
    assert_eq!((fused.anchor_offset_log2(), is_valid_fused_spec(&fused)), (None, Ok(())));
}

#[test]
fn what_belongs_to_the_model_has_no_default() {
    for key in ["accuracy", "gate", "decay", "gate_lower_bound_nats", "head_map", "chunk", "target"]
    {
        refused(&without(TILE, key), &[&format!("missing key `{key}`")]);
    }
    refused(&without(SCAN, "value_bound"), &["missing key `value_bound`"]);
    refused(&without(SCAN, "state_layout"), &["missing key `state_layout`"]);
}

#[test]
fn unknown_keys_and_values_are_refused_with_a_suggestion() {
    refused(
        &format!("{TILE}solve_blok = 8"),
        &["unknown key `solve_blok`", "did you mean `solve_block`?"],
    );
    refused(&format!("{TILE}value_splits = 2"), &["unknown key `value_splits`"]);
    refused(
        &TILE.replace("bf16_split", "bf16_splt"),
        &["`accuracy`", "did you mean \"bf16_split\"?"],
    );
    refused(&TILE.replace("gfx950", "gfx942"), &["unknown target", "only these exact chips"]);
    refused(
        &TILE.replace("chunk_tile", "chunk_tiles"),
        &["`kernel`", "did you mean \"chunk_tile\"?"],
    );
}

#[test]
fn keys_without_meaning_are_refused() {
    let per_head = TILE.replace("log_decay_per_channel", "log_decay_per_head");
    let words = [
        "key without meaning here `gate_lower_bound_nats`",
        "`gate = \"log_decay_per_channel\" or \"bounded_sigmoid\"`",
    ];
    refused(&per_head, &words);
    refused(&format!("{TILE}dt_bias = true"), &["key without meaning here `dt_bias`"]);
    refused(&format!("{TILE}value_bound = 1"), &["`value_bound`", "`accuracy = \"f16\"`"]);
}

/// A spec with every conditional field in play.
fn bases() -> Vec<ChunkSpec> {
    let bounded = TILE.replace("log_decay_per_channel", "bounded_sigmoid");
    [TILE, &bounded, SCAN, FUSED].map(read).to_vec()
}

/// Another value of the same field.
fn other(kind: FieldKind, value: Value) -> Value {
    match (kind, value) {
        (_, Value::Count(count)) => Value::Count(count + 1),
        (_, Value::Number(number)) => Value::Number(number / 2.0),
        (_, Value::Flag(flag)) => Value::Flag(!flag),
        (FieldKind::Choice(names), Value::Name(name)) => {
            Value::Name(names.iter().copied().find(|other| *other != name).expect("two names"))
        }
        (kind, value) => panic!("{kind:?} does not hold {value}"),
    }
}

/// The spec with one field changed, and with what comes into play by that.
fn flip(spec: &ChunkSpec, key: &'static str, value: Value) -> ChunkSpec {
    let mut settings: Settings = spec.settings();
    settings.insert(key, value);
    if key == "target" {
        let target = settings.target().expect("a target");
        settings.insert("wave_width", Value::Count(target.wave_width()));
    }
    for (companion, value) in [
        ("gate_lower_bound_nats", Value::Number(-4.0)),
        ("dt_bias", Value::Flag(true)),
        ("value_bound", Value::Number(9.0)),
    ] {
        if settings.get(companion).is_none() {
            settings.insert(companion, value);
        }
    }
    ChunkSpec::from_settings(spec.kernel(), &settings).expect("complete")
}

#[test]
fn every_field_moves_name_and_hash() {
    let mut flipped = BTreeSet::new();
    for base in bases() {
        for field in base.kernel().fields() {
            let Some(value) = base.settings().get(field.key) else { continue };
            let changed = Spec::Chunk(flip(&base, field.key, other(field.kind, value)));
            let base = Spec::Chunk(base);
            assert_ne!(changed.spec_hash(), base.spec_hash(), "{} and the hash", field.key);
            // Target and family: beside the name, or at its front.
            let moves = changed.name() != base.name();
            assert_eq!(
                moves,
                field.key != "target",
                "{} and the name {}",
                field.key,
                changed.name()
            );
            flipped.insert((base.kernel().name(), field.key));
        }
    }
    for kernel in [KernelKind::ChunkTile, KernelKind::ChunkScan, KernelKind::ChunkFused] {
        for field in kernel
            .fields()
            .iter()
            .filter(|field| field.key != "value_bound" || kernel == KernelKind::ChunkScan)
        {
            assert!(
                flipped.contains(&(kernel.name(), field.key))
                    || field.key == "gate_lower_bound_nats",
                "{} of {kernel}",
                field.key
            );
        }
    }
}

#[test]
fn names_are_symbols_that_lead_with_the_operation() {
    let names: Vec<_> = bases().into_iter().map(|spec| Spec::Chunk(spec).name()).collect();
    assert_eq!(
        names[0],
        "kda_chunk_tile_bf16_split_log_decay_per_channel_lbm5_fixed_offset_hk4_grouped_hv8_k128_io_bf16_c32"
    );
    assert_eq!(names[2], "kda_chunk_scan_f16_vb100_hv8_k128_io_bf16_checked_v64_v_first_c32");
    assert!(names[3].starts_with("gdn_chunk_fused_bf16_softplus_outside_product_"));
    for name in names {
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
    }
}

/// A fused kernel most of whose fields deviate; its tokens are longer than a symbol may be.
const LONG: &str = r#"
schema = 1
kind = "spec"
kernel = "chunk_fused"
family = "kda"
target = "gfx950"
accuracy = "f16"
gate = "bounded_sigmoid"
gate_lower_bound_nats = -4.9
decay = "fixed_offset"
key_heads = 1
value_heads = 2
head_map = "grouped"
head_k = 64
dtype = "bf16"
chunk = 16
head_v = 64
state_layout = "k_first"
layout = "strided"
varlen = true
initial_state = false
qk_l2norm = true
beta = "twice_sigmoid"
beta_dtype = "f32"
checked = true
lds_overlay = true
prefetch = false
dt_bias = false
final_state = false
value_bound = 1000.0
pad_dk = 16
pad_cb = 16
"#;

#[test]
fn long_names_end_in_a_hash() {
    let name = |text: &str| parse_spec("long.toml", text).expect("readable").name();
    let names = [name(LONG), name(&LONG.replace("pad_cb = 16", "pad_cb = 24"))];
    assert_ne!(names[0], names[1]);
    for name in names {
        assert!(name.starts_with("kda_chunk_fused_f16_vb1000_bounded_"), "{name}");
        let (_, hash) = name.rsplit_once('_').expect("tokens");
        assert!(name.len() <= 168 && hash.len() == 16, "{name}");
        assert!(hash.chars().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    }
}

#[test]
fn defaults_move_neither_name_nor_hash() {
    let spelt =
        format!("{TILE}pad_dk = 8\npad_c = 4\nwaves = 4\nqk_l2norm = false\nbeta = \"given\"\n");
    let (short, long) = (Spec::Chunk(read(TILE)), Spec::Chunk(read(&spelt)));
    assert_eq!((short.name(), short.spec_hash()), (long.name(), long.spec_hash()));
}

#[test]
fn settings_describe_the_spec() {
    for spec in bases() {
        assert_eq!(ChunkSpec::from_settings(spec.kernel(), &spec.settings()), Some(spec));
    }
}

proptest! {
    /// Any change of a number or of a few characters is read or refused, never a panic, and so are its
    /// rules, its map and its name.
    #[test]
    fn any_number_is_judged(line in 0usize..16, number in any::<u32>(), text in "[ -~]{0,12}") {
        for base in [TILE, SCAN, FUSED] {
            let mut lines: Vec<String> = base.trim().lines().map(str::to_owned).collect();
            let index = line % lines.len();
            let key = lines[index].split(' ').next().unwrap_or_default().to_owned();
            for value in [number.to_string(), text.clone(), format!("\"{text}\"")] {
                lines[index] = format!("{key} = {value}");
                if let Ok(spec @ Spec::Chunk(chunk)) = parse_spec("a.toml", &lines.join("\n")) {
                    let _violations = spec.check();
                    let _facts = spec.facts();
                    prop_assert!(chunk.lds_map().total_bytes() >= chunk.lds_map().peak_bytes());
                    prop_assert!(spec.name().starts_with(spec.family()));
                }
            }
        }
    }
}
