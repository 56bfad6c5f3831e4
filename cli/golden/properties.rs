//! What a reviewer reads of a code object, as numbers with names.

use std::collections::BTreeMap;

use codeobj::{CodeObject, Kernel};
use isa::format::Encoding;
use isa::inst::Inst;
use isa::table::Effect;
use isa::{Target, decode};

use super::record::Properties;

/// Registers, memory, and instructions by class of one kernel.
///
/// # Errors
/// Words, when the object has no such kernel or its code does not decode.
pub fn of_kernel(object: &CodeObject, name: &str) -> Result<Properties, String> {
    let kernel = object.kernel(name).map_err(|error| error.to_string())?;
    let code = object.code(kernel).ok_or_else(|| format!("the code of '{name}' is not loaded"))?;
    let mut properties = of_launch(kernel);
    let counts = of_code(object.target, code);
    properties.extend(counts.map_err(|error| format!("the code of '{name}': {error}"))?);
    Ok(properties)
}

/// Instructions by class; a class without any is left out.
fn of_code(target: Target, code: &[u8]) -> Result<Properties, decode::DecodeError> {
    let mut counts = Properties::new();
    for (_, inst) in decode::decode_all(target, code) {
        for class in classes(&inst?, target) {
            *counts.entry(class.to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}

/// What a launch allocates.
fn of_launch(kernel: &Kernel) -> Properties {
    let metadata = &kernel.metadata;
    let sizes = [
        ("agprs", metadata.agpr_count.unwrap_or(0)),
        ("kernarg_bytes", metadata.kernarg_segment_size),
        ("lds_bytes", metadata.group_segment_fixed_size),
        ("scratch_bytes", metadata.private_segment_fixed_size),
        ("sgprs", metadata.sgpr_count),
        ("vgprs", metadata.vgpr_count),
        ("wave_width", metadata.wavefront_size),
        ("workgroup_size", metadata.max_flat_workgroup_size),
    ];
    let sizes = sizes.map(|(name, size)| (name.to_owned(), u64::from(size)));
    let code = ("code_bytes".to_owned(), kernel.code_size);
    BTreeMap::from_iter(sizes.into_iter().chain([code]))
}

/// Everything that an instruction counts as.
fn classes(inst: &Inst, target: Target) -> Vec<&'static str> {
    let mut classes = vec!["instructions", unit(inst)];
    let row = inst.row();
    let is_wait = row.form(target).is_some_and(|form| form.mnemonic.starts_with("s_waitcnt"));
    let is_b128 = row.operands.iter().any(|operand| operand.ty.bits(target) == 128);
    let marks = [
        (is_wait, "waits"),
        (row.has(Effect::Barrier), "barriers"),
        (row.has(Effect::Branch), "branches"),
        (row.has(Effect::Trans), "transcendentals"),
        (is_b128 && unit(inst) == VMEM, "vmem_b128"),
        (is_b128 && unit(inst) == LDS, "lds_b128"),
    ];
    classes.extend(marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, class)| class));
    classes
}

const LDS: &str = "instructions_lds";
const VMEM: &str = "instructions_vmem";

/// The part of a CU that executes it.
fn unit(inst: &Inst) -> &'static str {
    match inst.encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk => "instructions_salu",
        Encoding::Sopp => "instructions_control",
        Encoding::Smem => "instructions_smem",
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3Sd => {
            "instructions_valu"
        }
        Encoding::Vop3p => "instructions_valu",
        Encoding::Vopd => "instructions_valu_dual",
        Encoding::Vop3pMai | Encoding::Vop3pMx => "instructions_matrix",
        Encoding::Ds => LDS,
        Encoding::Flat | Encoding::Global | Encoding::Scratch | Encoding::Mubuf => VMEM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_count_as_what_they_are() {
        let words: [u32; 11] = [
            0xBF89_FC07, // s_waitcnt lgkmcnt(0)
            0xBFBD_0000, // s_barrier
            0x7E00_4B00, // v_exp_f32_e32 v0, v0
            0x0600_0300, // v_add_f32_e32 v0, v0, v1
            0xDC5E_0000, // global_load_b128 v[0:3], v4, s[2:3]
            0x0002_0004,
            0xDBFC_0000, // ds_load_b128 v[0:3], v0
            0x0000_0000,
            0xBFA1_FFFE, // s_cbranch_scc0
            0xBE80_0081, // s_mov_b32 s0, 1
            0xBFB0_0000, // s_endpgm
        ];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let counts = of_code(Target::Gfx1100, &code).unwrap();
        let want = [
            ("barriers", 1),
            ("branches", 1),
            ("instructions", 9),
            ("instructions_control", 4),
            ("instructions_lds", 1),
            ("instructions_salu", 1),
            ("instructions_valu", 2),
            ("instructions_vmem", 1),
            ("lds_b128", 1),
            ("transcendentals", 1),
            ("vmem_b128", 1),
            ("waits", 1),
        ];
        let want = want.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(counts, Properties::from(want));
        let torn = of_code(Target::Gfx1100, &code[..18]).unwrap_err().to_string();
        assert!(torn.contains("byte 0x10"), "{torn}");
    }
}
