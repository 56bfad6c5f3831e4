//! Small kernels in assembly text, and how they are run: two pointers, one workgroup of one wave.

use isa::Target;
use runtime::{Arg, BufferAccess, BufferRequest, Device, Fill, Kernel, LaunchDims};

use crate::error::CliError;

/// LDS that every kernel here has, in bytes.
pub const LDS_BYTES: u32 = 16_384;
/// Vector registers that every kernel here may use.
const VGPRS: u32 = 64;

/// One kernel: on entry `s[0:1]` points to its arguments and `v0` holds the lane; the body finds the input's address in
/// `s[4:5]`, the output's in `s[6:7]`, and need not end the program.
#[derive(Clone, Debug)]
pub struct Micro {
    /// Its name.
    pub name: String,
    /// Its instructions.
    pub body: String,
}

/// A code object of these kernels.
///
/// # Errors
/// The assembler is missing, or refuses a text of ours.
pub fn assemble(target: Target, kernels: &[Micro]) -> Result<Vec<u8>, CliError> {
    let mut text = format!(".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n");
    kernels.iter().for_each(|kernel| text.push_str(&code(target, kernel)));
    text.push_str(&format!(
        ".amdgpu_metadata\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--{target}\namdhsa.kernels:\n"
    ));
    kernels.iter().for_each(|kernel| text.push_str(&metadata(target, &kernel.name)));
    text.push_str(".end_amdgpu_metadata\n");
    emit::llvm::assemble(target, &text, &emit::llvm::Options::default())
        .map_err(|cause| CliError::Assembly { file: "calibration kernels".to_owned(), cause })
}

fn code(target: Target, kernel: &Micro) -> String {
    let Micro { name, body } = kernel;
    let of_target = match target {
        Target::Gfx950 => format!("  .amdhsa_accum_offset {VGPRS}\n"),
        Target::Gfx1100 => "  .amdhsa_wavefront_size32 1\n".to_owned(),
    };
    format!(
        ".text\n.globl {name}\n.p2align 8\n.type {name},@function\n{name}:\n  s_load_dwordx4 s[4:7], s[0:1], 0x0\n  \
         s_waitcnt lgkmcnt(0)\n{body}  s_waitcnt vmcnt(0) lgkmcnt(0)\n  s_endpgm\n.L{name}_end:\n\
         .size {name}, .L{name}_end-{name}\n.section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel {name}\n  \
         .amdhsa_group_segment_fixed_size {LDS_BYTES}\n  .amdhsa_kernarg_size 16\n  \
         .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_next_free_vgpr {VGPRS}\n  .amdhsa_next_free_sgpr 32\n  \
         .amdhsa_float_denorm_mode_32 3\n  .amdhsa_float_denorm_mode_16_64 3\n{of_target}.end_amdhsa_kernel\n"
    )
}

fn metadata(target: Target, name: &str) -> String {
    let width = target.wave_width();
    let agprs = if target == Target::Gfx950 { "    .agpr_count: 0\n" } else { "" };
    format!(
        "  - .name: {name}\n    .symbol: {name}.kd\n    .kernarg_segment_size: 16\n    .kernarg_segment_align: 8\n    \
         .group_segment_fixed_size: {LDS_BYTES}\n    .private_segment_fixed_size: 0\n    .wavefront_size: {width}\n    \
         .sgpr_count: 38\n    .vgpr_count: {VGPRS}\n{agprs}    .max_flat_workgroup_size: {width}\n    .args:\n      \
         - {{.name: input, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}\n      \
         - {{.name: output, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}\n"
    )
}

/// Runs one kernel of a code object: the output's words, which start as all ones.
///
/// # Errors
/// The device fails.
pub fn run(
    device: &mut dyn Device,
    code_object: &[u8],
    kernel: &str,
    input: &[u32],
    n_output: usize,
) -> Result<Vec<u32>, CliError> {
    let module = device.load(code_object)?;
    let words = launch(device, &module.kernel(kernel)?, input, n_output);
    device.unload(module)?;
    words
}

fn launch(
    device: &mut dyn Device,
    kernel: &Kernel,
    input: &[u32],
    n_output: usize,
) -> Result<Vec<u32>, CliError> {
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut allocate = |label, size_bytes| {
        let access = BufferAccess::ReadWrite;
        device.allocate(BufferRequest { label, size_bytes, access, fill: Fill::POISON })
    };
    let from = allocate("input", bytes.len() as u64)?;
    let to = allocate("output", n_output as u64 * 4)?;
    device.write(&from, 0, &bytes)?;
    let workgroup = [device.target().wave_width(), 1, 1];
    let args = [Arg::Buffer(from.whole()), Arg::Buffer(to.whole())];
    device.launch(kernel, LaunchDims { grid: [1; 3], workgroup }, &args)?;
    let bytes = device.read(&to.whole())?;
    let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    device.free(from)?;
    device.free(to)?;
    Ok(words)
}
