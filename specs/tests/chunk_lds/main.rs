//! The LDS maps of the prefill kernels: published totals, and the tables of docs/kernels/kda.md.
//!
//! `WAVESMITH_WRITE_MANUAL=1 cargo test -p wavesmith-specs --test chunk_lds` writes the tables anew.

mod published;

use std::path::{Path, PathBuf};

use isa::occupancy::workgroups_by_lds_granules;
use wavesmith_specs::chunk::{
    Accuracy, BetaForm, ChunkCommon, ChunkGate, ChunkSpec, DecayForm, KdaChunkFusedSpec,
    KdaChunkScanSpec, KdaTileSpec, ScanPart, TilePart, TokenLayout,
};
use wavesmith_specs::{
    Dtype, Family, HeadMap, KernelKind, LdsBuffer, LdsMap, Lifetime, Phase, Placement, StateLayout,
    Target,
};

use published::lds_buffers;

const F16: Accuracy = Accuracy::F16 { value_bound: 100.0 };

fn common(chunk: u32, accuracy: Accuracy) -> ChunkCommon {
    ChunkCommon {
        family: Family::Kda,
        target: Target::Gfx950,
        accuracy,
        value_heads: 8,
        head_k: 128,
        dtype: Dtype::Bf16,
        chunk,
        layout: TokenLayout::TokenMajor,
        varlen: false,
        checked: true,
        pad_dk: 8,
        pad_cb: if chunk == 16 { 16 } else { 8 },
        min_groups_per_cu: 1,
        waves: 4,
        wave_width: 64,
    }
}

fn tile(chunk: u32) -> TilePart {
    TilePart {
        gate: ChunkGate::LogDecayPerChannel { lower_bound_nats: -5.0 },
        decay: if chunk == 64 { DecayForm::SubChunks } else { DecayForm::FixedOffset },
        key_heads: 8,
        head_map: HeadMap::Grouped,
        qk_l2norm: false,
        beta: BetaForm::Given,
        beta_dtype: Dtype::Bf16,
        pad_c: 4,
        solve_block: 16,
        tile_atom_m: 16,
        lds_overlay: false,
    }
}

fn scan(value_splits: u32) -> ScanPart {
    ScanPart {
        head_v: 128,
        value_splits,
        state_layout: StateLayout::VFirst,
        initial_state: true,
        final_state: true,
        scan_atom_m: 16,
        prefetch: false,
    }
}

/// The same with one gate a head.
fn per_head(tile: TilePart) -> TilePart {
    TilePart { gate: ChunkGate::LogDecayPerHead, decay: DecayForm::OutsideProduct, ..tile }
}

/// The factored form at any chunk, as the published totals have it.
fn factored() -> TilePart {
    TilePart { decay: DecayForm::FixedOffset, ..tile(32) }
}

fn total(buffers: Vec<LdsBuffer>) -> u64 {
    LdsMap::place(buffers, Placement::Disjoint).total_bytes()
}

fn prep(common: &ChunkCommon) -> Vec<LdsBuffer> {
    lds_buffers(common, Some(&factored()), None)
}

fn fused(common: &ChunkCommon, columns: u32) -> Vec<LdsBuffer> {
    lds_buffers(common, Some(&factored()), Some(&scan(128 / columns)))
}

fn scanned(common: &ChunkCommon, columns: u32) -> Vec<LdsBuffer> {
    lds_buffers(common, None, Some(&scan(128 / columns)))
}

/// Published totals of AMD's generator for gfx950, pads pad_dk / pad_c / pad_cb, K = V = 128.
#[test]
fn published_totals() {
    let plain = |chunk| common(chunk, Accuracy::Bf16);
    assert_eq!(total(prep(&plain(32))), 78_464);
    assert_eq!(total(scanned(&plain(32), 128)), 78_336);
    assert_eq!(total(fused(&plain(32), 128)), 133_760);
    assert_eq!(total(fused(&plain(16), 128)), 87_104);
    // Pads 16/4/16, computed from the same formula.
    let wide = ChunkCommon { pad_dk: 16, pad_cb: 16, ..plain(32) };
    assert_eq!(total(fused(&wide, 128)), 142_464);
}

/// The split form as published arithmetic has it: A, T', the solved rows and GK single, and no low half of
/// GQ in the fused kernel.
fn partly_split(buffers: Vec<LdsBuffer>) -> Vec<LdsBuffer> {
    let fused = buffers.iter().any(|buffer| buffer.name == "k");
    let ours =
        |name| ["gk_low", "a_low", "tb_low", "zs_low"].contains(&name) || fused && name == "gq_low";
    buffers.into_iter().filter(|buffer| !ours(buffer.name)).collect()
}

/// What the accuracy forms add, and longer and shorter chunks, by the same formula.
#[test]
fn totals_of_the_accuracy_forms() {
    let split = common(32, Accuracy::Bf16Split);
    assert_eq!(total(partly_split(prep(&split))), 104_576);
    assert_eq!(total(prep(&common(32, F16))), 104_576);
    assert_eq!(total(partly_split(scanned(&split, 128))), 144_896);
    assert_eq!(total(partly_split(scanned(&split, 32))), 77_312);
    assert_eq!(total(fused(&common(32, F16), 128)), 159_872);
    // The low halves of T', A in `tb_low`, of solved rows, Aqk in `zs_low`, of GK and of GQ. The
    // published sum has Aqk's low half in no buffer of its own either.
    assert_eq!(total(partly_split(fused(&split, 128))), 215_168);
    let plain = common(64, Accuracy::Bf16);
    assert_eq!(total(prep(&plain)), 189_184);
    assert_eq!(total(scanned(&plain, 128)), 125_440);
}

/// What splitting every operand costs over that.
#[test]
fn totals_of_the_whole_split() {
    let split = common(32, Accuracy::Bf16Split);
    assert_eq!(total(prep(&split)), 104_576 + 2 * 2_560);
    assert_eq!(total(scanned(&split, 128)), 144_896 + 8_704 + 2_560);
    assert_eq!(total(fused(&split, 128)), 215_168 + 2 * 8_192 + 2 * 2_560);
}

/// 64 KiB parts: what the published formula gives there.
#[test]
fn totals_of_64_kib_parts() {
    let at = |chunk, accuracy| ChunkCommon { pad_cb: 8, ..common(chunk, accuracy) };
    let plain = at(16, Accuracy::Bf16);
    assert_eq!(total(prep(&plain)), 35_392);
    for (columns, c16, c32) in
        [(128, 57_856, 78_336), (64, 37_376, 55_808), (32, 27_136, 44_544), (16, 22_016, 38_912)]
    {
        assert_eq!(total(scanned(&plain, columns)), c16);
        assert_eq!(total(scanned(&at(32, Accuracy::Bf16), columns)), c32);
    }
    assert_eq!(total(fused(&plain, 64)), 62_016);
    let split = at(16, Accuracy::Bf16Split);
    assert_eq!(total(partly_split(fused(&split, 64))), 101_696);
    assert_eq!(total(partly_split(fused(&split, 16))), 70_976);
}

/// One gate a head: no factors, gates of C numbers, keys and queries in padded rows instead.
#[test]
fn totals_of_one_gate_a_head() {
    let gated = |accuracy| ChunkCommon { family: Family::Gdn, ..common(32, accuracy) };
    let prep = |accuracy| total(lds_buffers(&gated(accuracy), Some(&per_head(tile(32))), None));
    let want = 128 + 2 * 8_704 + 128 + 16 + 3 * 4_608 + 2 * 2_560;
    assert_eq!((prep(Accuracy::Bf16), prep(F16)), (want, want));
    let scan = |accuracy| total(scanned(&gated(accuracy), 128));
    // `dec` is the last but two of the scan's buffers: 4 bytes, and 12 up to the next one.
    assert_eq!(scan(Accuracy::Bf16), 78_336 - 512 + 16);
}

/// The buffers with the lifetimes of a published overlay.
fn regrouped(
    mut buffers: Vec<LdsBuffer>,
    lifetime: impl Fn(&str) -> (Phase, Phase),
) -> Vec<LdsBuffer> {
    for buffer in &mut buffers {
        let (first, last) = lifetime(buffer.name);
        buffer.live = Lifetime::new(first, last);
    }
    buffers
}

fn overlaid(buffers: Vec<LdsBuffer>) -> LdsMap {
    LdsMap::place(buffers, Placement::ByLifetime)
}

#[test]
fn published_overlays() {
    let plain = common(32, Accuracy::Bf16);
    let by_stage = regrouped(fused(&plain, 128), |name| match name {
        "g" | "k" | "q" | "m" | "a" | "aqk" | "beta" => (Phase::Stage, Phase::Solve),
        "s" | "r" => (Phase::Scan, Phase::Scan),
        _ => (Phase::Stage, Phase::Scan),
    });
    assert_eq!(overlaid(by_stage).total_bytes(), 88_704);
    let late_triangle = |name: &str| match name {
        "g" | "k" | "q" => (Phase::Stage, Phase::Sweep),
        "m" | "a" | "aqk" => (Phase::Products, Phase::Solve),
        _ => (Phase::Stage, Phase::Solve),
    };
    assert_eq!(overlaid(regrouped(prep(&plain), late_triangle)).total_bytes(), 64_640);
    let early_inputs = |name: &str| match name {
        "g" | "k" | "q" => (Phase::Stage, Phase::Sweep),
        "m" | "a" | "aqk" | "tb" | "zs" => (Phase::Products, Phase::Solve),
        _ => (Phase::Stage, Phase::Solve),
    };
    let long = overlaid(regrouped(prep(&common(64, Accuracy::Bf16)), early_inputs));
    assert_eq!(long.total_bytes(), 123_648);
}
/// What a table is of.
#[derive(Clone, Copy)]
struct Of {
    target: Target,
    family: Family,
    overlay: bool,
}

/// Every kernel, chunk and split of a target's tables.
fn rows(target: Target) -> Vec<(KernelKind, u32, u32)> {
    let of_two: &[u32] = match target {
        Target::Gfx950 => &[16, 32, 64],
        Target::Gfx1100 => &[16, 32],
    };
    let tiles = of_two.iter().map(|chunk| (KernelKind::ChunkTile, *chunk, 1));
    let split = |kernel, chunk: u32| [1, 2, 4, 8].map(|splits| (kernel, chunk, splits));
    let scans = of_two.iter().flat_map(|chunk| split(KernelKind::ChunkScan, *chunk));
    let fused = [16, 32].into_iter().flat_map(|chunk| split(KernelKind::ChunkFused, chunk));
    tiles.chain(scans).chain(fused).collect()
}

fn spec(
    Of { target, family, overlay }: Of,
    (kernel, chunk, splits): (KernelKind, u32, u32),
    accuracy: Accuracy,
) -> ChunkSpec {
    // The operations that cost least: 32 rows where the target, the chunk and the columns allow it.
    let is_high = chunk >= 32 && target == Target::Gfx950;
    let m = if is_high && splits <= 4 { 32 } else { 16 };
    let tile_atom_m = if is_high { 32 } else { 16 };
    let tile = TilePart { lds_overlay: overlay, tile_atom_m, ..tile(chunk) };
    let scan = ScanPart { scan_atom_m: m, ..scan(splits) };
    let waves = if target == Target::Gfx950 { 4 } else { 8 };
    let common = ChunkCommon { family, target, pad_cb: 8, waves, ..common(chunk, accuracy) };
    let common = ChunkCommon { wave_width: target.wave_width(), ..common };
    let tile = match family {
        Family::Kda => tile,
        Family::Gdn => per_head(tile),
    };
    let carried = ChunkCommon { waves: 128 / splits / m, ..common };
    match kernel {
        KernelKind::ChunkTile => ChunkSpec::Tile(KdaTileSpec { common, tile }),
        KernelKind::ChunkScan => ChunkSpec::Scan(KdaChunkScanSpec { common: carried, scan }),
        KernelKind::ChunkFused => {
            ChunkSpec::Fused(KdaChunkFusedSpec { common: carried, tile, scan })
        }
        kernel => panic!("{kernel} has no map"),
    }
}

/// Bytes and workgroups a CU (of gfx1100, a WGP), or the refusal.
fn cell(spec: &ChunkSpec) -> String {
    let bytes = spec.lds_map().total_bytes();
    let broken: Vec<_> = spec.check().iter().map(|violation| violation.rule).collect();
    let shown = grouped(bytes);
    match broken[..] {
        [] => {
            let target = spec.common().target;
            let groups = workgroups_by_lds_granules(target, u32::try_from(bytes).unwrap());
            format!("{shown} ({groups})")
        }
        _ => format!("{shown}, refused: {}", broken.join(", ")),
    }
}

/// A number with its thousands set apart.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

/// A table; scan kernels, which have no overlay, only where asked for.
fn table(of: Of, scans: bool) -> String {
    let mut text = "| kernel | chunk | value splits | `bf16` | `bf16_split` | `f16` |\n|---|---|---|---|---|---|\n".to_owned();
    for row @ (kernel, chunk, splits) in rows(of.target) {
        if kernel == KernelKind::ChunkScan && !scans {
            continue;
        }
        let cells = [Accuracy::Bf16, Accuracy::Bf16Split, F16]
            .map(|accuracy| cell(&spec(of, row, accuracy)));
        let splits =
            if kernel == KernelKind::ChunkTile { "–".to_owned() } else { splits.to_string() };
        text.push_str(&format!("| `{kernel}` | {chunk} | {splits} | {} |\n", cells.join(" | ")));
    }
    text
}

fn tables() -> String {
    let both = Target::ALL.map(|target| {
        let table = |family, overlay, scans| table(Of { target, family, overlay }, scans);
        format!(
            "### {target}\n\nKDA, every buffer with bytes of its own:\n\n{}\nKDA with `lds_overlay = true`:\n\n{}\n\
             Gated DeltaNet (the scan differs from KDA's by `dec` alone, 512 bytes less 16):\n\n{}\n\
             Gated DeltaNet with `lds_overlay = true`:\n\n{}",
            table(Family::Kda, false, true),
            table(Family::Kda, true, false),
            table(Family::Gdn, false, target == Target::Gfx1100),
            table(Family::Gdn, true, false)
        )
    });
    both.join("\n")
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels/kda.md")
}

const BEGIN: &str = "<!-- LDS tables: made by specs/tests/chunk_lds.rs -->\n";
const END: &str = "<!-- end of LDS tables -->\n";

/// The page with the tables as they are now.
fn page(stored: &str) -> String {
    let (before, rest) = stored.split_once(BEGIN).expect("the tables' first mark");
    let (_, after) = rest.split_once(END).expect("the tables' last mark");
    format!("{before}{BEGIN}{}{END}{after}", tables())
}

#[test]
fn the_tables_of_the_page_are_in_step() {
    let stored = std::fs::read_to_string(path()).expect("docs/kernels/kda.md");
    let page = page(&stored);
    if std::env::var_os("WAVESMITH_WRITE_MANUAL").is_some() {
        std::fs::write(path(), &page).expect("the docs folder");
    }
    let stored = std::fs::read_to_string(path()).expect("docs/kernels/kda.md");
    assert!(
        stored == page,
        "stale: WAVESMITH_WRITE_MANUAL=1 cargo test -p wavesmith-specs --test chunk_lds"
    );
}

/// No byte has two owners in one phase, and the overlay wastes less than a tenth of what any needs.
#[test]
fn overlays_are_sound_and_tight() {
    let families = [Family::Kda, Family::Gdn];
    let all = Target::ALL.into_iter().flat_map(|target| {
        let of = families.map(|family| Of { target, family, overlay: true });
        of.into_iter().flat_map(move |of| rows(target).into_iter().map(move |row| (of, row)))
    });
    for (of, row) in all {
        let family = of.family;
        for accuracy in [Accuracy::Bf16, Accuracy::Bf16Split, F16] {
            let map = spec(of, row, accuracy).lds_map();
            for (index, a) in map.buffers().iter().enumerate() {
                assert!(a.offset.is_multiple_of(16), "{a:?}");
                for b in &map.buffers()[..index] {
                    let apart = a.end() <= b.offset || b.end() <= a.offset;
                    assert!(apart || !a.buffer.live.meets(b.buffer.live), "{a:?} {b:?}");
                }
            }
            let slack = map.total_bytes() - map.peak_bytes();
            assert!(slack * 10 < map.peak_bytes(), "{family} {row:?}: {slack}");
        }
    }
}

#[test]
fn an_overlay_says_who_follows_whom() {
    let of = Of { target: Target::Gfx950, family: Family::Kda, overlay: true };
    let row = (KernelKind::ChunkFused, 32, 2);
    let map = spec(of, row, Accuracy::Bf16).lds_map();
    let pairs: Vec<_> =
        map.handovers().iter().map(|(a, b)| (a.buffer.name, b.buffer.name)).collect();
    assert!(!pairs.is_empty());
    let disjoint = spec(Of { overlay: false, ..of }, row, Accuracy::Bf16).lds_map();
    assert_eq!(disjoint.handovers().len(), 0);
}
