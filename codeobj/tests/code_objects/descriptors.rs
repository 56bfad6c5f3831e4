//! Every descriptor field against LLVM's own decoding, recorded in `*.descriptors.s`.

use std::collections::BTreeMap;

use isa::Target;
use wavesmith_codeobj::{DenormMode, KernelDescriptor, RoundMode};

use crate::fixture::{KERNELS_GFX950_V5, KERNELS_GFX1100_V5, REGISTERS, parse};

/// Directives of one `.amdhsa_kernel` block, the prefix left out.
type Directives = BTreeMap<String, u64>;

/// Kernel name → directives, from an `llvm-objdump` listing.
fn listing(text: &str) -> BTreeMap<String, Directives> {
    let mut kernels = BTreeMap::new();
    let mut current: Option<(String, Directives)> = None;
    for words in text.lines().map(|line| {
        line.trim_start_matches([';', '\t', ' ']).split_whitespace().collect::<Vec<_>>()
    }) {
        match words.as_slice() {
            [".amdhsa_kernel", name] => current = Some(((*name).to_owned(), Directives::new())),
            [".end_amdhsa_kernel"] => kernels.extend(current.take()),
            [name, value] => {
                if let (Some((_, directives)), Ok(value)) = (&mut current, value.parse()) {
                    directives.insert(name.trim_start_matches(".amdhsa_").to_lowercase(), value);
                }
            }
            _ => {}
        }
    }
    kernels
}

fn round(mode: RoundMode) -> u64 {
    match mode {
        RoundMode::NearestEven => 0,
        RoundMode::PlusInfinity => 1,
        RoundMode::MinusInfinity => 2,
        RoundMode::Zero => 3,
    }
}

fn denorm(mode: DenormMode) -> u64 {
    match mode {
        DenormMode::FlushSourceAndResult => 0,
        DenormMode::FlushResult => 1,
        DenormMode::FlushSource => 2,
        DenormMode::Keep => 3,
    }
}

/// The directives that would assemble to a decoded descriptor.
fn directives(target: Target, d: &KernelDescriptor) -> Directives {
    let mut all: Vec<(&str, u64)> = vec![
        ("group_segment_fixed_size", d.group_segment_bytes.into()),
        ("private_segment_fixed_size", d.private_segment_bytes.into()),
        ("kernarg_size", d.kernarg_bytes.into()),
        ("next_free_vgpr", d.vgprs.into()),
        ("float_round_mode_32", round(d.round_mode_f32)),
        ("float_round_mode_16_64", round(d.round_mode_f16_f64)),
        ("float_denorm_mode_32", denorm(d.denorm_mode_f32)),
        ("float_denorm_mode_16_64", denorm(d.denorm_mode_f16_f64)),
        ("dx10_clamp", d.dx10_clamp.into()),
        ("ieee_mode", d.ieee_mode.into()),
        ("fp16_overflow", d.fp16_overflow.into()),
        ("enable_private_segment", d.private_segment.into()),
        ("system_sgpr_workgroup_id_x", d.workgroup_ids.x.into()),
        ("system_sgpr_workgroup_id_y", d.workgroup_ids.y.into()),
        ("system_sgpr_workgroup_id_z", d.workgroup_ids.z.into()),
        ("system_sgpr_workgroup_info", d.workgroup_info.into()),
        ("system_vgpr_workitem_id", u64::from(d.work_item_id_dimensions) - 1),
        ("exception_fp_ieee_invalid_op", d.exceptions.invalid.into()),
        ("exception_fp_denorm_src", d.exceptions.denormal_source.into()),
        ("exception_fp_ieee_div_zero", d.exceptions.division_by_zero.into()),
        ("exception_fp_ieee_overflow", d.exceptions.overflow.into()),
        ("exception_fp_ieee_underflow", d.exceptions.underflow.into()),
        ("exception_fp_ieee_inexact", d.exceptions.inexact.into()),
        ("exception_int_div_zero", d.exceptions.integer_division_by_zero.into()),
        ("user_sgpr_dispatch_ptr", d.user_sgprs.dispatch_ptr.into()),
        ("user_sgpr_queue_ptr", d.user_sgprs.queue_ptr.into()),
        ("user_sgpr_kernarg_segment_ptr", d.user_sgprs.kernarg_segment_ptr.into()),
        ("user_sgpr_dispatch_id", d.user_sgprs.dispatch_id.into()),
        ("user_sgpr_private_segment_size", d.user_sgprs.private_segment_size.into()),
        ("uses_dynamic_stack", d.dynamic_stack.into()),
    ];
    all.extend(match target {
        Target::Gfx950 => vec![
            ("accum_offset", d.arch_vgprs.into()),
            ("tg_split", d.tg_split.into()),
            ("user_sgpr_kernarg_preload_length", d.kernarg_preload.length_dwords.into()),
            ("user_sgpr_kernarg_preload_offset", d.kernarg_preload.offset_dwords.into()),
        ],
        Target::Gfx1100 => vec![
            ("shared_vgpr_count", d.shared_vgpr_blocks.into()),
            ("inst_pref_size", u64::from(d.instruction_prefetch_bytes) / 128),
            ("image_op", d.image_op.into()),
            ("workgroup_processor_mode", d.wgp_mode.into()),
            ("memory_ordered", d.mem_ordered.into()),
            ("forward_progress", d.forward_progress.into()),
            ("wavefront_size32", u64::from(d.wave_width == 32)),
        ],
    });
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Directives that say nothing about the descriptor's own bits, or that are checked apart.
const NOT_COMPARED: [&str; 5] =
    ["reserve_vcc", "reserve_xnack_mask", "next_free_sgpr", "trap_on_start", "trap_on_end"];

#[test]
fn every_field_is_what_llvm_decodes() {
    for (bytes, text, n_kernels) in [
        (KERNELS_GFX950_V5, include_str!("../fixtures/kernels_gfx950_v5.descriptors.s"), 2),
        (KERNELS_GFX1100_V5, include_str!("../fixtures/kernels_gfx1100_v5.descriptors.s"), 2),
        (REGISTERS, include_str!("../fixtures/registers_gfx950_v5.descriptors.s"), 1),
    ] {
        let (object, listing) = (parse(bytes), listing(text));
        assert_eq!(listing.len(), n_kernels);
        for (name, recorded) in listing {
            let kernel = object.kernel(&name).expect("LLVM decoded this kernel");
            let mut ours = directives(object.target, &kernel.descriptor);
            // LLVM leaves a preload of nothing out.
            ours.retain(|name, value| {
                recorded.contains_key(name) || !name.contains("preload") || *value != 0
            });
            let compared =
                recorded.iter().filter(|(name, _)| !NOT_COMPARED.contains(&name.as_str()));
            let compared: Directives =
                compared.map(|(name, value)| (name.clone(), *value)).collect();
            assert_eq!(ours, compared, "{name} on {}", object.target);
        }
    }
}

#[test]
fn scalar_registers_are_allocated_by_sixteen_on_gfx950_and_all_on_gfx1100() {
    let gfx950 = parse(KERNELS_GFX950_V5);
    // LLVM's listing says 24, the smallest count that encodes to the same field; the hardware gives 32.
    assert_eq!(gfx950.kernel("scale_rows").expect("in the fixture").descriptor.sgprs, Some(32));
    let gfx1100 = parse(KERNELS_GFX1100_V5);
    assert_eq!(gfx1100.kernel("scale_rows").expect("in the fixture").descriptor.sgprs, None);
}

#[test]
fn user_registers_and_accumulation_registers() {
    let object = parse(REGISTERS);
    let descriptor = &object.kernel("accumulate").expect("in the fixture").descriptor;
    assert_eq!((descriptor.vgprs, descriptor.arch_vgprs, descriptor.acc_vgprs()), (72, 44, 28));
    assert_eq!(descriptor.user_sgprs.register_count(), 2);
    assert_eq!(descriptor.user_sgpr_count, 5);
    let padded = parse(KERNELS_GFX1100_V5);
    let descriptor = &padded.kernel("scale_rows").expect("in the fixture").descriptor;
    assert_eq!(descriptor.user_sgpr_count, 13, "three workgroup ids end in s15");
    assert_eq!(
        padded.kernel("modes").expect("in the fixture").descriptor.user_sgprs.register_count(),
        8
    );
}
