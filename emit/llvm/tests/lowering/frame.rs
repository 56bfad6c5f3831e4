//! What surrounds the code: arguments, metadata, flags, reproducibility.

use crate::support::{LOAD, STREAM, assert_has, assert_lacks, build, kernel, text};
use isa::Target;
use wavesmith_emit_llvm::compile;
use wavesmith_emit_llvm::error::CompileError;

const COPY: &str = "store global %1 + %4 align 4, %5";

#[test]
fn kernel_arguments_are_exactly_the_explicit_ones() {
    let declarations = "param %0 x: buffer f32 read_only align 16\nparam %1 n: i32\n\
                        param %2 y: buffer bf16 write_only align 16\nparam %3 pool: buffer f32 read_write align 16\n\
                        param %4 factor: f32";
    let body = "%5: f32 uniform = load global %0 align 4
                %6: f32 uniform = fmul %5, %4
                %7: bf16 uniform = ftruncate %6
                store global %2 align 2, %7
                %8: f32 uniform = load global %3 + 4 align 4
                %9: f32 uniform = fadd %6, %8
                store global %3 align 4, %9";
    for target in Target::ALL {
        let assembly = build(target, declarations, body).assembly;
        // Pointer at 0, i32 at 8, pointers at 16 and 24, f32 at 32: natural alignment, nothing behind.
        assert_has(&assembly, ".amdhsa_kernarg_size 36");
        assert_has(&assembly, ".kernarg_segment_size: 36");
        for forbidden in
            ["hidden_", "_dispatch_ptr 1", "_queue_ptr 1", "_dispatch_id 1", "_private_segment 1"]
        {
            assert_lacks(&assembly, forbidden);
        }
        for argument in [
            ".actual_access:  read_only\n        .address_space:  global\n        .is_const:       true\n        .is_restrict:    true\n        .name:           x\n        .offset:         0\n",
            ".name:           n\n        .offset:         8\n        .size:           4\n        .type_name:      int\n",
            ".actual_access:  write_only\n        .address_space:  global\n        .is_restrict:    true\n        .name:           y\n        .offset:         16\n",
            "- .address_space:  global\n        .is_restrict:    true\n        .name:           pool\n        .offset:         24\n",
            ".name:           factor\n        .offset:         32\n        .size:           4\n        .type_name:      float\n",
        ] {
            assert_has(&assembly, argument);
        }
    }
}

/// Nodes of one entry are where LLVM's metadata values are treacherous.
#[test]
fn few_arguments_or_none_are_arguments_too() {
    let buffer = "param %0 y: buffer i32 write_only align 16";
    let store = "%1: i32 uniform = const 7\nstore global %0 align 4, %1";
    for target in Target::ALL {
        let one = build(target, buffer, store).assembly;
        assert_has(&one, ".amdhsa_kernarg_size 8");
        assert_has(&one, ".address_space:  global");
        let number = build(target, "param %0 n: i32", "").assembly;
        assert_has(&number, ".type_name:      int");
        assert_has(&build(target, "", "").assembly, ".amdhsa_kernarg_size 0");
    }
}

#[test]
fn the_frame_states_version_size_and_float_mode() {
    for target in Target::ALL {
        let built = build(target, STREAM, &format!("{LOAD}{COPY}"));
        let size = target.wave_width() * 4;
        assert_has(&built.llvm_ir, "!\"amdhsa_code_object_version\", i32 500");
        assert_has(&built.llvm_ir, "define protected amdgpu_kernel void @probe(");
        assert_has(&built.llvm_ir, "ptr addrspace(1) noalias readonly align 16 captures(none) %x");
        assert_has(&built.llvm_ir, "ptr addrspace(1) noalias writeonly align 16 captures(none) %y");
        assert_has(&built.llvm_ir, &format!("\"amdgpu-flat-work-group-size\"=\"{size},{size}\""));
        for line in [
            &format!(".amdgcn_target \"amdgcn-amd-amdhsa--{target}\""),
            ".amdhsa_code_object_version 5",
            ".amdhsa_float_denorm_mode_32 3",
            ".amdhsa_float_denorm_mode_16_64 3",
            ".amdhsa_float_round_mode_32 0",
            ".amdhsa_ieee_mode 1",
            ".amdhsa_dx10_clamp 1",
            &format!(".max_flat_workgroup_size: {size}"),
            &format!(".reqd_workgroup_size:\n      - {size}\n      - 1\n      - 1\n"),
            ".uniform_work_group_size: 1",
            &format!(".wavefront_size: {}", target.wave_width()),
        ] {
            assert_has(&built.assembly, line);
        }
    }
}

#[test]
fn workgroup_ids_arrive_only_when_asked_for() {
    let ids = |names: &[&str]| {
        let mut body = LOAD.to_owned();
        let mut last = 4;
        for (value, name) in (6..).step_by(2).zip(names) {
            body += &format!(
                "%{value}: i32 uniform = special {name}\n%{}: i32 varying = add %{last}, %{value}\n",
                value + 1
            );
            last = value + 1;
        }
        body + &format!("store global %1 + %{last} align 4, %5")
    };
    for (names, y, z) in [
        (&["workgroup_id_x"][..], 0, 0),
        (&["workgroup_id_y"], 1, 0),
        (&["workgroup_id_x", "workgroup_id_z"], 0, 1),
        (&["workgroup_id_x", "workgroup_id_y", "workgroup_id_z"], 1, 1),
    ] {
        for target in Target::ALL {
            let assembly = build(target, STREAM, &ids(names)).assembly;
            assert_has(&assembly, &format!(".amdhsa_system_sgpr_workgroup_id_y {y}"));
            assert_has(&assembly, &format!(".amdhsa_system_sgpr_workgroup_id_z {z}"));
        }
    }
}

#[test]
fn workgroup_ids_inside_of_blocks_are_seen() {
    let body = format!(
        "{LOAD}%6: i32 uniform = const 0
         %7: i32 uniform = const 4
         for %8: i32 uniform from %6 to %7 step 1 {{
           %9: i1 uniform = eq %8, %6
           if %9 {{
             %10: i32 uniform = special workgroup_id_z
             %11: f32 uniform = u32_to_f32 %10
             store global %1 + %4 align 4, %11
           }}
         }}"
    );
    for target in Target::ALL {
        let assembly = build(target, STREAM, &body).assembly;
        assert_has(&assembly, ".amdhsa_system_sgpr_workgroup_id_z 1");
        assert_has(&assembly, ".amdhsa_system_sgpr_workgroup_id_y 0");
    }
}

#[test]
fn equal_kernels_give_equal_bytes_in_every_thread() {
    for target in Target::ALL {
        let source = text(target, STREAM, &format!("{LOAD}{COPY}"));
        let first = compile(&kernel(&source)).expect("the kernel is right");
        let threads = [(); 2].map(|()| {
            let source = source.clone();
            std::thread::spawn(move || compile(&kernel(&source)).expect("the kernel is right"))
        });
        for thread in threads {
            assert_eq!(thread.join().expect("the thread ends"), first);
        }
        assert_has(&first.llvm_ir, "; ModuleID = 'probe'\nsource_filename = \"probe\"\n");
        assert_lacks(&first.llvm_ir, "llvm.ident");
    }
}

#[test]
fn an_error_of_code_generation_is_never_an_object() {
    for (target, limit) in [(Target::Gfx950, 163_840), (Target::Gfx1100, 65_536)] {
        let declarations = format!("{STREAM}\nlds big: {} bytes align 16", limit + 4);
        let body = format!(
            "{LOAD}store lds big + %4 align 4, %5\nbarrier\n%6: f32 varying = load lds big + %4 align 4\nstore global %1 + %4 align 4, %6"
        );
        // Unverified, as the verifier knows this limit too: LLVM is the second witness.
        let kernel =
            dsl::text::parse(&text(target, &declarations, &body)).expect("the text is right");
        let error = compile(&kernel).expect_err("too much LDS");
        let CompileError::Llvm(words) = &error else { panic!("{error}") };
        assert_has(words, &limit.to_string());
    }
}

#[test]
fn a_kernel_without_arguments_and_statements_is_one() {
    for target in Target::ALL {
        let assembly = build(target, "", "").assembly;
        assert_has(&assembly, ".amdhsa_kernarg_size 0");
        assert_has(&assembly, "s_endpgm");
    }
}
