//! The code as text: directives, instructions, and the kernel's values and the author's lines as comments.

use std::fmt::Write;

use dsl::ir::Kernel;
use isa::{Target, disassemble};

use super::Phases;
use super::allocate::Allocation;
use super::finish::Placed;
use super::object::{Registers, descriptor, metadata};

/// Assembly that LLVM's assembler takes.
pub fn assembly(
    kernel: &Kernel,
    code: &[Placed],
    phases: &Phases,
    allocation: &Allocation,
    ids: [bool; 3],
) -> String {
    let mut out = String::new();
    let (name, target) = (&kernel.name, kernel.target);
    let _ = write!(
        out,
        "\t.amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n\t.amdhsa_code_object_version 5\n\t.text\n\
         \t.protected {name}\n\t.globl {name}\n\t.p2align 8\n\t.type {name},@function\n{name}:\n"
    );
    let mut stmt = u32::MAX;
    for placed in code {
        if placed.stmt != stmt {
            stmt = placed.stmt;
            comment(&mut out, phases, stmt);
        }
        let _ = writeln!(out, "\t{}", disassemble(target, &placed.inst));
    }
    let _ = writeln!(out, "\t.size {name}, .-{name}");
    directives(&mut out, kernel, allocation, ids);
    out
}

fn comment(out: &mut String, phases: &Phases, stmt: u32) {
    let Some(phase) = phases.get(stmt as usize) else { return };
    let _ = match phase.value {
        Some(value) => writeln!(out, "\t; %{} {}", value.0, phase.text),
        None => writeln!(out, "\t; {}", phase.text),
    };
}

/// The descriptor, as the assembler spells it.
fn directives(out: &mut String, kernel: &Kernel, allocation: &Allocation, ids: [bool; 3]) {
    let registers = Registers::of(kernel.target, allocation);
    let descriptor = descriptor(kernel, &registers, ids);
    let mut rows = vec![
        ("group_segment_fixed_size", descriptor.group_segment_bytes),
        ("private_segment_fixed_size", 0),
        ("kernarg_size", descriptor.kernarg_bytes),
        ("user_sgpr_count", descriptor.user_sgpr_count),
        ("user_sgpr_kernarg_segment_ptr", 1),
        ("system_sgpr_workgroup_id_x", ids[0].into()),
        ("system_sgpr_workgroup_id_y", ids[1].into()),
        ("system_sgpr_workgroup_id_z", ids[2].into()),
        ("system_vgpr_workitem_id", 0),
        ("next_free_vgpr", registers.vgprs),
        ("next_free_sgpr", allocation.sgprs),
        ("reserve_vcc", 1),
        ("float_denorm_mode_32", 3),
        ("float_denorm_mode_16_64", 3),
        ("dx10_clamp", 1),
        ("ieee_mode", 1),
    ];
    match kernel.target {
        Target::Gfx950 => rows.extend([("accum_offset", descriptor.arch_vgprs)]),
        Target::Gfx1100 => rows.extend([
            ("wavefront_size32", 1),
            ("workgroup_processor_mode", 1),
            ("memory_ordered", 1),
            ("forward_progress", 1),
        ]),
    }
    let _ = writeln!(
        out,
        "\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.amdhsa_kernel {}",
        kernel.name
    );
    for (key, value) in rows {
        let _ = writeln!(out, "\t\t.amdhsa_{key} {value}");
    }
    out.push_str("\t.end_amdhsa_kernel\n");
    let yaml = codeobj::write::metadata_yaml(kernel.target, &metadata(kernel, &registers));
    let _ = write!(out, "\t.amdgpu_metadata\n{yaml}\n\t.end_amdgpu_metadata\n");
}
