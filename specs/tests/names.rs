//! Names and hashes: every field that changes code moves both, defaults move neither.

use std::collections::BTreeSet;

use wavesmith_specs::field::{FieldKind, Settings, Value};
use wavesmith_specs::{KernelKind, LIBRARY, Spec, Target};

fn library_spec(file: &str) -> Spec {
    let entry = LIBRARY.iter().find(|entry| entry.file == file).expect("a library file");
    entry.spec().expect("readable")
}

/// The spec with one field changed.
fn with(spec: &Spec, key: &'static str, value: Value) -> Spec {
    let mut settings: Settings = spec.settings();
    settings.insert(key, value);
    Spec::from_settings(spec.kernel(), &settings).expect("still complete")
}

/// Another value of the same field.
fn other(kind: FieldKind, value: Value) -> Value {
    match (kind, value) {
        (_, Value::Count(count)) => Value::Count(count + 1),
        (_, Value::SlotIndex(index)) => Value::SlotIndex(index + 1),
        (_, Value::Number(number)) => Value::Number(number / 2.0),
        (_, Value::Flag(flag)) => Value::Flag(!flag),
        (FieldKind::Choice(names), Value::Name(name)) => {
            Value::Name(names.iter().copied().find(|other| *other != name).expect("two names"))
        }
        (kind, Value::Name(name)) => panic!("{kind:?} does not hold the name {name}"),
    }
}

/// Steps, the kernels that take many of them, and attention.
const WITH_BASES: [KernelKind; 6] = [
    KernelKind::DecodeStep,
    KernelKind::ConvStep,
    KernelKind::Recurrent,
    KernelKind::ConvChunk,
    KernelKind::AttentionDecode,
    KernelKind::AttentionChunk,
];

/// A spec in which the field is in play, with what its sibling fields need for any value.
fn bases(kernel: KernelKind) -> Vec<Spec> {
    match kernel {
        KernelKind::DecodeStep => vec![
            library_spec("kda_decode_bounded_gate_gfx950.toml"),
            library_spec("gdn_decode_pool_gfx1100.toml"),
            library_spec("gdn_decode_serial_gfx950.toml"),
        ],
        KernelKind::ConvStep => vec![library_spec("conv_step_bias_gfx950.toml")],
        KernelKind::Recurrent => vec![
            library_spec("kda_recurrent_kimi_k3_tp8_gfx950.toml"),
            library_spec("gdn_recurrent_serial_gfx1100.toml"),
        ],
        KernelKind::ConvChunk => vec![library_spec("conv_chunk_bias_gfx950.toml")],
        KernelKind::AttentionDecode | KernelKind::AttentionChunk => {
            let spec = library_spec(&format!("{kernel}_gfx950.toml"));
            let windowed = with(&spec, "window", Value::Count(4096));
            vec![with(&windowed, "soft_cap", Value::Number(50.0))]
        }
        kernel => panic!("tests/chunk_files.rs has the bases of {kernel}"),
    }
}

/// Every field in play, flipped.
fn flips(spec: &Spec) -> Vec<(&'static str, Spec)> {
    let fields = spec.kernel().fields().iter();
    let in_play = fields.filter_map(|field| Some((field, spec.settings().get(field.key)?)));
    in_play
        .map(|(field, value)| (field.key, flip(spec, field.key, other(field.kind, value))))
        .collect()
}

/// Changes a field, giving the fields that come into play with the new value some value.
fn flip(spec: &Spec, key: &'static str, value: Value) -> Spec {
    let mut settings = spec.settings();
    settings.insert(key, value);
    if key == "target" {
        // The other target's own width, so that only the target deviates.
        let target = settings.target().expect("a target");
        settings.insert("wave_width", Value::Count(target.wave_width()));
    }
    let has_gates = matches!(spec.kernel(), KernelKind::DecodeStep | KernelKind::Recurrent);
    for (companion, value) in [
        ("gate_lower_bound_nats", Value::Number(-4.0)),
        ("pool_sentinel", Value::SlotIndex(-1)),
        ("k_lanes", Value::Count(8)),
    ] {
        if settings.get(companion).is_none() && has_gates {
            settings.insert(companion, value);
        }
    }
    Spec::from_settings(spec.kernel(), &settings).expect("complete")
}

#[test]
fn every_field_moves_name_and_hash() {
    let mut flipped = BTreeSet::new();
    for kernel in WITH_BASES {
        for base in bases(kernel) {
            for (key, changed) in flips(&base) {
                assert_ne!(changed, base, "{key} did not flip");
                assert_ne!(
                    changed.spec_hash(),
                    base.spec_hash(),
                    "{key} left the hash of {}",
                    base.name()
                );
                // The target is kept beside the name, in golden records and in the code object's own flags.
                assert_eq!(
                    changed.name() == base.name(),
                    key == "target",
                    "{key} and {}",
                    base.name()
                );
                flipped.insert((kernel, key));
            }
        }
    }
    let fields = WITH_BASES.map(|kernel| kernel.fields().len());
    assert_eq!(flipped.len(), fields.iter().sum::<usize>(), "some field was never flipped");
}

#[test]
fn settings_and_specs_are_the_same_thing() {
    for entry in LIBRARY {
        let spec = entry.spec().expect("readable");
        assert_eq!(Spec::from_settings(spec.kernel(), &spec.settings()), Some(spec));
    }
}

#[test]
fn defaults_are_in_neither_name_nor_hash() {
    for entry in LIBRARY {
        let spec = entry.spec().expect("readable");
        for (field, value) in spec.deviations() {
            assert_ne!(field.default_value(spec.target()), Some(value), "{}", field.key);
        }
    }
    let spec = library_spec("gdn_decode_gfx950.toml");
    let hashed: Vec<_> = spec.deviations().iter().map(|(field, _)| field.key).collect();
    let required =
        ["family", "target", "gate", "key_heads", "value_heads", "head_k", "head_v", "dtype"];
    assert_eq!(hashed, [&required[..], &["head_map", "state_layout"]].concat());
}

#[test]
fn writing_a_default_out_changes_nothing() {
    let entry = LIBRARY
        .iter()
        .find(|entry| entry.file == "gdn_decode_gfx950.toml")
        .expect("a library file");
    let defaults = "state_contract = \"separate\"\nreduction = \"lane_tree\"\nk_lanes = 8\nwaves = 4\nwave_width = 64\n";
    let text = format!("{}# a comment\n{defaults}", entry.text);
    let spelt = wavesmith_specs::parse_spec("spelt.toml", &text).expect("readable");
    let spec = entry.spec().expect("readable");
    assert_eq!((spelt.name(), spelt.spec_hash()), (spec.name(), spec.spec_hash()));
}

#[test]
fn names_are_pinned() {
    let pinned = [
        (
            "gdn_decode_gfx950.toml",
            "gdn_decode_step_softplus_hk16_hv32_k128_v128_bf16_grouped_k_first",
        ),
        (
            "kda_decode_serial_gfx1100.toml",
            "kda_decode_step_softplus_hk3_hv6_k40_v33_f16_grouped_v_first_pool_in_place_sm1_serial_waves1",
        ),
        (
            "kda_decode_bounded_gate_gfx950.toml",
            "kda_decode_step_bounded_sigmoid_lbm5_hk32_hv32_k128_v128_bf16_grouped_k_first",
        ),
        ("conv_step_bias_gfx1100.toml", "conv_step_d1000_w4_bf16_bias_silu"),
        (
            "attention_decode_mqa_gfx1100.toml",
            "attention_decode_hq6_hkv1_d128_bf16_b64_head_first_heads2_waves8",
        ),
    ];
    for (file, name) in pinned {
        assert_eq!(library_spec(file).name(), name);
    }
}

/// The digest is SHA-256, by another program, of the eleven lines `dtype="bf16"` … `value_heads=32`.
#[test]
fn a_hash_is_the_digest_of_the_deviating_fields() {
    let spec = library_spec("gdn_decode_gfx950.toml");
    assert_eq!(
        spec.spec_hash(),
        "2b19dc3e24521079784413335215e2e5dc84ef65bad13b5d904e39749b049417"
    );
}

#[test]
fn names_are_symbols() {
    for entry in LIBRARY {
        let name = entry.spec().expect("readable").name();
        assert!(name.starts_with(|first: char| first.is_ascii_lowercase()), "{name}");
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{name}"
        );
    }
    let odd = with(
        &library_spec("kda_decode_bounded_gate_gfx950.toml"),
        "gate_lower_bound_nats",
        Value::Number(-1.0e-9),
    );
    assert!(odd.name().contains("_lbm1em9_"), "{}", odd.name());
}

#[test]
fn the_target_is_in_the_hash_alone() {
    let pair = [library_spec("gdn_decode_gfx950.toml"), library_spec("gdn_decode_gfx1100.toml")];
    assert_eq!(pair[0].name(), pair[1].name());
    assert_ne!(pair[0].spec_hash(), pair[1].spec_hash());
    assert_eq!(pair[1].target(), Target::Gfx1100);
}
