//! Occupancy, register granules and LDS limits against what LLVM says of kernels that it compiles.

use codeobj::CodeObject;
use emit::llvm::{Artefacts, EmitError, Options, compile_module};
use isa::Target;
use isa::target::Limits;

use super::{Checked, must_report};

/// Work-items of a workgroup of four waves on gfx950, eight on gfx1100.
const WORK_ITEMS: u32 = 256;

fn options() -> Options {
    let worker = Some(env!("CARGO_BIN_EXE_wavesmith-llvm").into());
    Options { worker, ..Options::default() }
}

fn compiled(target: Target, ir: &str) -> Result<Artefacts, EmitError> {
    compile_module("demands", ir, target, 3, &options())
}

/// The kernel attributes of a workgroup that may use every register.
fn attributes(work_items: u32) -> String {
    format!(
        "attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"{work_items},{work_items}\" \
         \"amdgpu-waves-per-eu\"=\"1\" }}\n"
    )
}

/// The occupancy that LLVM prints for each kernel of a module, in order.
fn occupancies(artefacts: &Artefacts) -> Vec<u32> {
    let lines = artefacts.assembly.lines();
    let numbers = lines.filter_map(|line| line.trim().strip_prefix("; Occupancy: "));
    numbers.map(|number| number.trim().parse().expect("a number")).collect()
}

/// A kernel for each number of VGPRs: it claims the last of them.
fn register_kernels(counts: &[u32], work_items: u32) -> String {
    let kernel = |count: &u32| {
        format!(
            "define amdgpu_kernel void @k{count}() #0 {{ call void asm sideeffect \"\", \
             \"~{{v{}}}\"() ret void }}\n",
            count - 1
        )
    };
    counts.iter().map(kernel).collect::<String>() + &attributes(work_items)
}

/// A kernel for each size of LDS, which it stores into.
fn lds_kernels(sizes: &[u32], work_items: u32) -> String {
    let kernel = |bytes: &u32| {
        format!(
            "@lds{bytes} = internal addrspace(3) global [{bytes} x i8] poison, align 16\n\
             define amdgpu_kernel void @k{bytes}(i8 %x, i32 %i) #0 {{\n\
             %p = getelementptr i8, ptr addrspace(3) @lds{bytes}, i32 %i\n\
             store volatile i8 %x, ptr addrspace(3) %p\nret void }}\n"
        )
    };
    sizes.iter().map(kernel).collect::<String>() + &attributes(work_items)
}

/// Waves per SIMD by registers, and the registers that the descriptor counts.
fn check_registers(target: Target, limits: &Limits) -> Checked {
    let mut counts: Vec<u32> =
        (1..=256).step_by(5).chain([24, 48, 64, 65, 72, 96, 97, 120, 128]).collect();
    counts.sort_unstable();
    counts.dedup();
    let artefacts = compiled(target, &register_kernels(&counts, limits.wave_width));
    let artefacts = artefacts.map_err(|error| error.to_string())?;
    let code_object = CodeObject::parse(&artefacts.code_object).map_err(|e| e.to_string())?;
    let occupancies = occupancies(&artefacts);
    if occupancies.len() != counts.len() {
        return Err(format!("{} occupancies for {} kernels", occupancies.len(), counts.len()));
    }
    for (count, llvm) in counts.iter().zip(occupancies) {
        let ours = limits.waves_by_registers(*count, 0);
        if ours != llvm {
            return Err(format!("occupancy of {count} VGPRs is {ours}, LLVM's {llvm}"));
        }
        let kernel = code_object.kernel(&format!("k{count}")).map_err(|e| e.to_string())?;
        let counted = count.next_multiple_of(limits.vgpr_encoding_granule);
        if kernel.descriptor.vgprs != counted {
            let llvm = kernel.descriptor.vgprs;
            return Err(format!("the descriptor counts {counted} of {count} VGPRs, LLVM {llvm}"));
        }
    }
    Ok(())
}

/// Waves per SIMD by LDS, up to the most that a workgroup may have.
fn check_lds(target: Target, limits: &Limits) -> Checked {
    const KIB: u32 = 1024;
    let most = limits.lds_bytes_per_workgroup;
    let sizes = [
        KIB,
        5 * KIB,
        8 * KIB,
        10_000,
        16 * KIB,
        20 * KIB,
        32 * KIB,
        33_000,
        40 * KIB,
        64 * KIB,
        most,
    ];
    let mut sizes: Vec<u32> = sizes.into_iter().filter(|size| *size <= most).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let artefacts = compiled(target, &lds_kernels(&sizes, WORK_ITEMS));
    let artefacts = artefacts.map_err(|error| format!("LDS of {most} bytes: {error}"))?;
    for (size, llvm) in sizes.iter().zip(occupancies(&artefacts)) {
        let ours = limits.waves_by_lds(*size, WORK_ITEMS);
        if ours != llvm {
            return Err(format!("occupancy of {size} bytes of LDS is {ours}, LLVM's {llvm}"));
        }
    }
    match compiled(target, &lds_kernels(&[most + 4], WORK_ITEMS)) {
        Ok(_) => Err(format!("LLVM takes 4 bytes more than {most} bytes of LDS")),
        Err(error) if error.to_string().contains(&(most + 4).to_string()) => Ok(()),
        Err(error) => Err(format!("refused for another reason: {error}")),
    }
}

#[test]
fn limits_agree_with_llvm() {
    for target in Target::ALL {
        check_registers(target, target.limits())
            .unwrap_or_else(|words| panic!("{target}: {words}"));
        check_lds(target, target.limits()).unwrap_or_else(|words| panic!("{target}: {words}"));
    }
}

#[test]
fn a_planted_error_in_a_limit_is_reported() {
    for target in Target::ALL {
        let right = *target.limits();
        let granule = Limits { vgpr_alloc_granule: right.vgpr_alloc_granule * 2, ..right };
        must_report("occupancy granule", check_registers(target, &granule), "occupancy");
        let counted = Limits { vgpr_encoding_granule: 4, ..right };
        must_report("descriptor granule", check_registers(target, &counted), "descriptor");
        let waves = Limits { waves_per_simd: right.waves_per_simd - 1, ..right };
        must_report("waves of a SIMD", check_registers(target, &waves), "occupancy");
        let most = right.lds_bytes_per_workgroup;
        let less = Limits { lds_bytes_per_workgroup: most - 4, ..right };
        must_report("LDS limit, too low", check_lds(target, &less), "4 bytes more");
        let more = Limits { lds_bytes_per_workgroup: most + 4, ..right };
        must_report("LDS limit, too high", check_lds(target, &more), "LDS of");
        let unit = Limits { lds_bytes_per_unit: right.lds_bytes_per_unit / 2, ..right };
        must_report("LDS of a compute unit", check_lds(target, &unit), "occupancy");
    }
}
