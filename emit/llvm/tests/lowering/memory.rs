//! Memory, LDS, barriers, loops and conditionals in the emitted code.

use crate::support::{
    LOAD, STREAM, assert_has, assert_lacks, build, count, instructions, kernel, text,
};
use isa::Target;

#[test]
fn wide_accesses_are_one_instruction_on_a_scalar_base() {
    let body = "%2: i32 varying = special thread_id
                %3: i32 uniform = const 4
                %4: i32 varying = shl %2, %3
                %5: i64 uniform = const 65536
                %6: i32 uniform = special workgroup_id_x
                %7: i64 uniform = zero_extend %6
                %8: i64 uniform = mul %7, %5
                %9: ptr uniform = ptr_add %0, %8
                %10: f32x4 varying = load global %9 + %4 + 1024 align 16
                store global %1 + %4 + 2048 align 16, %10";
    for (target, load, store) in [
        (Target::Gfx950, "global_load_dwordx4", "global_store_dwordx4"),
        (Target::Gfx1100, "global_load_b128", "global_store_b128"),
    ] {
        let built = build(target, STREAM, body);
        let code = instructions(&built);
        let one = |name: &str| {
            let found: Vec<_> = code.iter().filter(|line| line.starts_with(name)).collect();
            assert_eq!(found.len(), 1, "{code:#?}");
            *found[0]
        };
        assert!(one(load).contains(", s[") && one(load).ends_with("offset:1024"), "{code:#?}");
        assert!(one(store).contains(", s[") && one(store).ends_with("offset:2048"), "{code:#?}");
        assert_eq!(count(&built, "v_add"), 0, "no vector address arithmetic: {code:#?}");
    }
}

#[test]
fn offsets_are_unsigned_and_added_in_64_bits() {
    let body = format!("{LOAD}store global %1 + %4 + 4294967292 align 4, %5");
    for target in Target::ALL {
        let ir = build(target, STREAM, &body).llvm_ir;
        assert_has(&ir, "= zext i32 %v4 to i64");
        assert_has(&ir, "i64 4294967292");
    }
}

#[test]
fn only_a_buffers_own_start_makes_offsets_in_bounds() {
    let body = "%2: i64 uniform = const -64
                %3: ptr uniform = ptr_add %0, %2
                %4: i32 varying = special thread_id
                %5: i32 uniform = const 2
                %6: i32 varying = shl %4, %5
                %7: f32 varying = load global %3 + %6 + 64 align 4
                store global %1 + %6 align 4, %7";
    let ir = build(Target::Gfx1100, STREAM, body).llvm_ir;
    assert_has(&ir, "getelementptr i8, ptr addrspace(1) %x, i64 -64");
    assert_has(&ir, "getelementptr i8, ptr addrspace(1) %v3");
    assert_has(&ir, "getelementptr inbounds nuw i8, ptr addrspace(1) %y");
}

#[test]
fn lds_buffers_lie_where_the_kernel_puts_them() {
    let declarations = format!(
        "{STREAM}\nlds a: 1028 bytes align 4\nlds b: 1024 bytes align 16\nlds c: 4 bytes align 4"
    );
    let body = format!(
        "{LOAD}store lds a + %4 align 4, %5
         store lds b + %4 align 4, %5
         barrier
         %6: f32 varying = load lds a + 1024 align 4
         %7: f32 varying = load lds b align 4
         %8: f32 varying = load lds c align 4
         %9: f32 varying = fadd %6, %7
         %10: f32 varying = fadd %9, %8
         store global %1 + %4 align 4, %10"
    );
    for target in Target::ALL {
        let source = text(target, &declarations, &body);
        let (offsets, total) = kernel(&source).lds_layout();
        assert_eq!((offsets, total), (vec![0, 1040, 2064], 2068));
        let built = build(target, &declarations, &body);
        assert_has(
            &built.llvm_ir,
            "@lds = internal addrspace(3) global [2068 x i8] poison, align 16",
        );
        assert_has(
            &built.llvm_ir,
            "ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @lds, i32 1040)",
        );
        assert_has(&built.assembly, ".amdhsa_group_segment_fixed_size 2068");
    }
}

/// A load in flight across a barrier, four waves.
fn across_barrier() -> String {
    format!(
        "{LOAD}store lds tile + %4 align 4, %5
         %6: f32 varying = load global %0 + %4 + 1024 align 4
         barrier
         %7: f32 varying = load lds tile + 4 align 4
         %8: f32 varying = fadd %6, %7
         store global %1 + %4 align 4, %8"
    )
}

#[test]
fn a_barrier_orders_lds_and_leaves_global_loads_in_flight() {
    let declarations = format!("{STREAM}\nlds tile: 1024 bytes align 16");
    for target in Target::ALL {
        let built = build(target, &declarations, &across_barrier());
        assert_has(&built.llvm_ir, "fence syncscope(\"workgroup\") release, !mmra");
        assert_has(&built.llvm_ir, "fence syncscope(\"workgroup\") acquire, !mmra");
        assert_has(&built.llvm_ir, "!{!\"amdgpu-synchronize-as\", !\"local\"}");
        let code = instructions(&built);
        let position = |part: &str| {
            code.iter()
                .position(|line| line.contains(part))
                .unwrap_or_else(|| panic!("{part}: {code:#?}"))
        };
        let barrier = position("s_barrier");
        let write = code
            .iter()
            .position(|line| line.starts_with("ds_write") || line.starts_with("ds_store"));
        let read =
            code.iter().position(|line| line.starts_with("ds_read") || line.starts_with("ds_load"));
        assert!(
            write.is_some_and(|write| write < barrier) && read.is_some_and(|read| read > barrier),
            "{code:#?}"
        );
        assert_has(code[barrier - 1], "lgkmcnt(0)");
        let second_load =
            code.iter().rposition(|line| line.starts_with("global_load")).expect("two loads");
        assert!(second_load < barrier, "{code:#?}");
        let drained = code[second_load..barrier]
            .iter()
            .any(|line| line.contains("vmcnt(0)") || line.contains("vscnt"));
        assert!(!drained, "{code:#?}");
        assert_lacks(&code.join("\n"), "_inv");
    }
}

#[test]
fn llvm_deletes_the_barrier_of_a_single_wave() {
    // A fact to know about the emitted code, not a wish: the LDS order of one wave needs no barrier.
    let declarations = format!("{STREAM}\nlds tile: 1024 bytes align 16");
    for target in Target::ALL {
        let source = text(target, &declarations, &across_barrier());
        let four_waves = format!("workgroup_size {}", target.wave_width() * 4);
        let single =
            source.replace(&four_waves, &format!("workgroup_size {}", target.wave_width()));
        let built = wavesmith_emit_llvm::compile(&kernel(&single)).expect("the kernel is right");
        assert_eq!(count(&built, "s_barrier"), 0);
        assert_has(&built.llvm_ir, "call void @llvm.amdgcn.s.barrier()");
    }
}

#[test]
fn loops_carry_values_and_conditionals_yield_them() {
    let declarations = format!("{STREAM}\nparam %2 n: i32");
    let body = "%3: i32 varying = special thread_id
                %4: i32 uniform = const 2
                %5: i32 varying = shl %3, %4
                %6: i32 uniform = const 0
                %7: f32 uniform = const 0x00000000
                %8: f32 uniform = const 0x3f800000
                %9: f32 varying, %10: f32 varying = for %11: i32 uniform from %6 to %2 step 3 {
                  carry %12: f32 varying = %7
                  carry %13: f32 varying = %8
                  %14: i32 uniform = shl %11, %4
                  %15: i32 varying = add %5, %14
                  %16: f32 varying = load global %0 + %15 align 4
                  %17: i1 varying = flt %16, %7
                  %18: f32 varying = if %17 {
                    %19: f32 varying = exp2 %16
                    yield %19
                  } else {
                    yield %16
                  }
                  %20: f32 varying = fadd %12, %18
                  yield %13, %20
                }
                %21: f32 varying = fsub %9, %10
                store global %1 + %5 align 4, %21";
    for target in Target::ALL {
        let built = build(target, &declarations, body);
        for part in [
            "%v11 = phi i32 [ 0, %entry ], [ ",
            "%v12 = phi float [ 0.000000e+00, %entry ], [ %v13, %endif ]",
            "%v13 = phi float [ 1.000000e+00, %entry ], [ %v20, %endif ]",
            "icmp slt i32 %v11, %n",
            "%v18 = phi float [ %v19, %then ], [ %v16, %else ]",
            "fsub float %v12, %v13",
            "add i32 %v11, 3",
        ] {
            assert_has(&built.llvm_ir, part);
        }
        assert_eq!(count(&built, "v_exp_f32"), 1);
        assert!(count(&built, "s_cbranch") >= 1, "{:#?}", instructions(&built));
    }
}

#[test]
fn sixteen_bit_and_64_bit_values_pass_through() {
    let declarations =
        "param %0 x: buffer i16 read_only align 16\nparam %1 y: buffer i64 write_only align 16";
    let body = "%2: i32 varying = special thread_id
                %3: i32 uniform = const 1
                %4: i32 varying = shl %2, %3
                %5: i16 varying = load global %0 + %4 align 2
                %6: i64 varying = zero_extend %5
                %7: i64 uniform = const 40
                %8: i64 varying = shl %6, %7
                %9: i64 varying = shr_s %8, %7
                %10: i32 uniform = const 3
                %11: i32 varying = shl %2, %10
                store global %1 + %11 align 8, %9";
    for target in Target::ALL {
        let ir = build(target, declarations, body).llvm_ir;
        assert_has(&ir, "load i16");
        assert_has(&ir, "zext i16 %v5 to i64");
        assert_has(&ir, "ashr i64");
    }
}

#[test]
fn shift_amounts_are_reduced_to_the_width() {
    let declarations =
        "param %0 x: buffer i32 read_only align 16\nparam %1 y: buffer i32 write_only align 16";
    let body = "%2: i32 varying = special thread_id
                %3: i32 uniform = const 2
                %4: i32 varying = shl %2, %3
                %5: i32 varying = load global %0 + %4 align 4
                %6: i32 varying = shl %5, %5
                store global %1 + %4 align 4, %6";
    for target in Target::ALL {
        let built = build(target, declarations, body);
        assert_has(&built.llvm_ir, "and i32 %v5, 31");
        // The instruction reduces the amount itself.
        assert_eq!(count(&built, "v_and"), 0);
        assert_eq!(count(&built, "v_lshlrev_b32"), 2, "{:#?}", instructions(&built));
    }
}

#[test]
fn division_by_a_constant_divides_nothing() {
    let declarations =
        "param %0 x: buffer i32 read_only align 16\nparam %1 y: buffer i32 write_only align 16";
    let body = "%2: i32 varying = special thread_id
                %3: i32 uniform = const 2
                %4: i32 varying = shl %2, %3
                %5: i32 varying = load global %0 + %4 align 4
                %6: i32 uniform = const 48
                %7: i32 varying = div_u %5, %6
                %8: i32 varying = rem_u %5, %6
                %9: i32 varying = mul_high_u %5, %5
                %10: i32 varying = xor %7, %8
                %11: i32 varying = xor %10, %9
                store global %1 + %4 align 4, %11";
    for target in Target::ALL {
        let built = build(target, declarations, body);
        assert_has(&built.llvm_ir, "udiv i32 %v5, 48");
        assert!(count(&built, "v_mul_hi_u32") >= 2, "{:#?}", instructions(&built));
        assert_eq!(count(&built, "v_rcp"), 0);
    }
}
