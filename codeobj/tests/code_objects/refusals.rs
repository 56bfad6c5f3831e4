//! One damaged object for every problem: the problem, and the words it is reported in.

use wavesmith_codeobj::Problem;

use crate::fixture::{
    KERNELS_GFX950_V5, KERNELS_GFX1100_V5, REGISTERS, RELOCATIONS, UNDEFINED, descriptor_offset,
    parse, patched, problem, refusal, replaced, spliced,
};

/// File offset of a program header of the fixtures, whose table follows the ELF header.
const fn program_header(index: usize) -> usize {
    64 + 56 * index
}

/// Asserts that a damaged object has one problem and that its message is this.
#[track_caller]
fn refused(bytes: &[u8], message: &str) {
    assert_eq!(problem(bytes).to_string(), message);
}

#[test]
fn not_an_elf_file() {
    refused(
        &[],
        "the ELF header needs 64 bytes at file offset 0x0, the file has 0 bytes: it is truncated or damaged",
    );
    refused(
        &patched(KERNELS_GFX950_V5, 0, b"\x7fELG"),
        "file offset 0x0: the file starts with bytes [7f, 45, 4c, 47], not with the ELF magic 7f 45 4c 46",
    );
    refused(
        &KERNELS_GFX950_V5[..100],
        "the program header table needs 448 bytes at file offset 0x40, the file has 100 bytes: it is truncated or damaged",
    );
}

#[test]
fn another_kind_of_elf_file_is_told_everything_at_once() {
    let mut x86 = patched(KERNELS_GFX950_V5, 7, &[0, 0]);
    x86 = patched(&x86, 16, &[1, 0, 62, 0]);
    assert_eq!(
        refusal(&x86).to_string(),
        "not a loadable code object (4 problems)
  ELF header, file offset 0x7: EI_OSABI is 0, not 64 (ELFOSABI_AMDGPU_HSA)
  ELF header, file offset 0x10: e_type is 1, not 3 (ET_DYN, a linked object: link it with lld -shared)
  ELF header, file offset 0x12: e_machine is 62, not 224 (EM_AMDGPU)
  ELF header, file offset 0x8: EI_ABIVERSION is 0 (v2), supported are 3 (v5) and 4 (v6): rebuild with code object version 5"
    );
}

#[test]
fn versions_and_processors_that_are_not_supported() {
    refused(
        &patched(KERNELS_GFX950_V5, 8, &[2]),
        "ELF header, file offset 0x8: EI_ABIVERSION is 2 (v4), supported are 3 (v5) and 4 (v6): rebuild with code object version 5",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, 0x30, &[0x46]),
        "ELF header, file offset 0x30: unknown processor 0x46 in e_flags: supported are gfx950 (0x4f) and gfx1100 (0x41): build for one of them",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, 0x31, &[1]),
        "ELF header, file offset 0x30: e_flags 0x141 sets xnack to Any, which gfx1100 does not have",
    );
    refused(
        &patched(KERNELS_GFX950_V5, 0x31, &[1]),
        "ELF header, file offset 0x30: e_flags 0x14f sets sramecc to Unsupported, which gfx950 needs as any, off or on",
    );
    refused(
        &patched(KERNELS_GFX950_V5, 0x33, &[1]),
        "ELF header, file offset 0x30: e_flags 0x100054f has reserved bits set, 0xfffff000 must be 0",
    );
}

#[test]
fn the_wrong_target_is_a_contradiction_not_a_guess() {
    let error = refusal(&patched(KERNELS_GFX1100_V5, 0x30, &0x54f_u32.to_le_bytes()));
    assert!(
        matches!(&error.problems[..], [Problem::KeyValue { path, .. }] if path == "amdhsa.target"),
        "{error}"
    );
}

#[test]
fn segments() {
    let file_size = program_header(2) + 32;
    refused(
        &patched(KERNELS_GFX1100_V5, file_size, &0x10_0000_u64.to_le_bytes()),
        "program header 2: 1048576 bytes at file offset 0xd00 lie outside the file of 6008 bytes: it is truncated or damaged",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, file_size + 8, &16_u64.to_le_bytes()),
        "program header 2: 16 bytes in memory are fewer than its 896 bytes in the file",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, program_header(2) + 16, &0xc00_u64.to_le_bytes()),
        "program header 2: address 0xc00 is below the end 0xc40 of the segment before it: segments must ascend without overlap",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, program_header(3) + 40, &u64::MAX.to_le_bytes()),
        "program header 3: the image spans 18446744073709564031 bytes, the limit is 268435456 bytes",
    );
    let mut unloaded = KERNELS_GFX1100_V5.to_vec();
    for index in 1..=3 {
        unloaded = patched(&unloaded, program_header(index), &[0; 4]);
    }
    refused(&unloaded, "no PT_LOAD segment among the program headers: there is nothing to load");
}

/// File offset of the value of the first dynamic entry with this tag.
fn dynamic_entry(bytes: &[u8], tag: u64) -> usize {
    let read = |offset: usize| {
        u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
    };
    let header = (0..8)
        .map(program_header)
        .find(|&header| bytes[header..header + 4] == [2, 0, 0, 0])
        .expect("PT_DYNAMIC");
    let start = read(header + 8) as usize;
    (0..32)
        .map(|entry| start + 16 * entry)
        .find(|&entry| read(entry) == tag)
        .expect("the tag is there")
        + 8
}

#[test]
fn dynamic_segment() {
    let dynamic_header = program_header(4);
    let missing = patched(KERNELS_GFX1100_V5, dynamic_header, &[0; 4]);
    refused(
        &missing,
        "no PT_DYNAMIC segment: symbols of the code object cannot be found; link it with lld -shared",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, dynamic_header + 16, &0x9_0000_u64.to_le_bytes()),
        "PT_DYNAMIC segment: 96 bytes at address 0x90000 are not in any loaded segment's file contents",
    );
    let syment = dynamic_entry(KERNELS_GFX1100_V5, 11);
    refused(
        &patched(KERNELS_GFX1100_V5, syment, &[16]),
        "dynamic segment: DT_SYMENT is 16, not 24",
    );
    let symtab = dynamic_entry(KERNELS_GFX1100_V5, 6);
    refused(
        &patched(KERNELS_GFX1100_V5, symtab - 8, &[0x77]),
        "dynamic segment: entry DT_SYMTAB is missing; link the object with lld -shared",
    );
    let relacount = dynamic_entry(RELOCATIONS, 0x6fff_fff9);
    refused(
        &patched(RELOCATIONS, relacount - 8, &1_u64.to_le_bytes()),
        "dynamic segment: DT_NEEDED asks for another library, which loaders of code objects do not support; relink without it",
    );
    let rela = dynamic_entry(RELOCATIONS, 7);
    refused(
        &patched(RELOCATIONS, rela, &0x9_0000_u64.to_le_bytes()),
        "relocation table (DT_RELA): 72 bytes at address 0x90000 are not in any loaded segment's file contents",
    );
}

#[test]
fn symbol_tables() {
    let hash = dynamic_entry(KERNELS_GFX1100_V5, 4);
    refused(
        &patched(KERNELS_GFX1100_V5, hash, &0x3f00_u64.to_le_bytes()),
        "hash table at address 0x3f00: it is damaged, so the number of symbols is unknown",
    );
    let count = 0xb38 + 4;
    refused(
        &patched(KERNELS_GFX1100_V5, count, &u32::MAX.to_le_bytes()),
        "hash table at address 0xb38: it is damaged, so the number of symbols is unknown",
    );
    let name = 0xac0 + 24;
    refused(
        &patched(KERNELS_GFX1100_V5, name, &0x4000_u32.to_le_bytes()),
        "dynamic symbol 1: its name at string table offset 0x4000 is not a terminated UTF-8 string",
    );
    let twice: [u8; 4] = KERNELS_GFX1100_V5[0xac0 + 48..0xac0 + 52].try_into().expect("four bytes");
    refused(
        &patched(KERNELS_GFX1100_V5, 0xac0 + 96, &twice),
        "symbol 'scale_rows.kd' is defined twice in the dynamic symbol table",
    );
}

#[test]
fn an_undefined_symbol_is_named() {
    refused(
        UNDEFINED,
        "undefined symbol 'llvm.amdgcn.no.such.thing': nothing will define it at load time; link with --no-undefined to find out who refers to it",
    );
}

#[test]
fn relocations() {
    let table = usize::try_from(u64::from_le_bytes(
        RELOCATIONS[dynamic_entry(RELOCATIONS, 7)..][..8].try_into().expect("eight bytes"),
    ))
    .expect("in the first segment, where addresses are file offsets");
    refused(
        &patched(RELOCATIONS, table + 8, &[4]),
        "relocation 0: type 4 is not one of R_AMDGPU_ABS32_LO (1), R_AMDGPU_ABS32_HI (2), R_AMDGPU_ABS64 (3), R_AMDGPU_RELATIVE64 (13)",
    );
    refused(
        &patched(RELOCATIONS, table, &0x7000_0000_u64.to_le_bytes()),
        "relocation 0: its 8 bytes at address 0x70000000 are not in any loaded segment",
    );
    refused(
        &patched(RELOCATIONS, table + 48 + 12, &[99]),
        "relocation 2: symbol index 99 is not below the number of symbols 6",
    );
    let symbol = parse(RELOCATIONS)
        .symbols
        .iter()
        .position(|symbol| symbol.name == "shared")
        .expect("in the fixture")
        + 1;
    let symbols = usize::try_from(u64::from_le_bytes(
        RELOCATIONS[dynamic_entry(RELOCATIONS, 6)..][..8].try_into().expect("eight bytes"),
    ))
    .expect("in the first segment");
    refused(
        &patched(RELOCATIONS, symbols + 24 * symbol + 6, &[0xf1, 0xff]),
        "relocation 2: it adds the image's address to the absolute symbol 'shared', which does not move with the image",
    );
}

#[test]
fn metadata_documents() {
    let note = program_header(7);
    refused(
        &patched(KERNELS_GFX1100_V5, note, &[0; 4]),
        "no metadata: no PT_NOTE segment has a note of owner AMDGPU and type 32 (NT_AMDGPU_METADATA)",
    );
    refused(
        &replaced(KERNELS_GFX1100_V5, b"AMDGPU\0", b"NVIDIA\0"),
        "no metadata: no PT_NOTE segment has a note of owner AMDGPU and type 32 (NT_AMDGPU_METADATA)",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, 0x203, &[0x7f]),
        "program header 7: its notes are damaged (Invalid ELF note namesz)",
    );
    // The document's first byte: a map of three pairs becomes one of two, then one of four.
    refused(
        &replaced(KERNELS_GFX1100_V5, b"\x83\xaeamdhsa", b"\x82\xaeamdhsa"),
        "metadata note of 2213 bytes: not one MessagePack document (18 bytes follow the document)",
    );
    let Problem::MessagePack { size: 2213, .. } =
        problem(&replaced(KERNELS_GFX1100_V5, b"\x83\xaeamdhsa", b"\x84\xaeamdhsa"))
    else {
        panic!("a document that ends early");
    };
}

#[test]
fn metadata_keys() {
    let missing = replaced(KERNELS_GFX1100_V5, b".wavefront_size", b".wavefront_sise");
    assert_eq!(
        problem(&missing),
        Problem::KeyMissing { path: "amdhsa.kernels[0].wavefront_size".to_owned() }
    );
    refused(
        &replaced(
            KERNELS_GFX1100_V5,
            b".value_kind\xadglobal_buffer",
            b".value_kind\xadglobul_buffer",
        ),
        "metadata: amdhsa.kernels[0].args[0].value_kind is globul_buffer, which is not one of by_value, global_buffer, \
         dynamic_shared_pointer, sampler, image, pipe, queue, hidden_block_count_x, hidden_block_count_y, hidden_block_count_z, \
         hidden_group_size_x, hidden_group_size_y, hidden_group_size_z, hidden_remainder_x, hidden_remainder_y, \
         hidden_remainder_z, hidden_global_offset_x, hidden_global_offset_y, hidden_global_offset_z, hidden_grid_dims, \
         hidden_none, hidden_printf_buffer, hidden_hostcall_buffer, hidden_default_queue, hidden_completion_action, \
         hidden_multigrid_sync_arg, hidden_heap_v1, hidden_dynamic_lds_size, hidden_private_base, hidden_shared_base, \
         hidden_queue_ptr; did you mean 'global_buffer'?",
    );
    refused(
        &replaced(
            KERNELS_GFX1100_V5,
            b".max_flat_workgroup_size\xcc",
            b".max_flat_workgroup_size\xd0",
        ),
        "metadata: amdhsa.kernels[0].max_flat_workgroup_size is -128, not an unsigned 32-bit integer",
    );
    refused(
        &replaced(KERNELS_GFX1100_V5, b".sgpr_spill_count\x00", b".vgpr_spill_count\x00"),
        "metadata: amdhsa.kernels[0].vgpr_spill_count is given twice",
    );
    refused(
        &replaced(KERNELS_GFX1100_V5, b"amdhsa.version\x92\x01\x02", b"amdhsa.version\x92\x01\x01"),
        "metadata: amdhsa.version is [1, 1], supported is [1, 2] (code objects v5 and v6)",
    );
}

#[test]
fn keys_that_nobody_knows_are_listed_not_refused() {
    let object =
        parse(&replaced(KERNELS_GFX1100_V5, b".uses_dynamic_stack", b".uses_dynamic_stuck"));
    assert_eq!(object.kernels[0].metadata.unknown_keys, ["amdhsa.kernels[0].uses_dynamic_stuck"]);
}

#[test]
fn kernels_without_their_symbols() {
    let renamed = replaced(KERNELS_GFX1100_V5, b"\xadscale_rows.kd", b"\xadscale_rowz.kd");
    assert_eq!(
        refusal(&renamed).to_string(),
        "not a loadable code object (2 problems)
  symbol 'scale_rows.kd' names a kernel descriptor, but the metadata has no kernel for it
  kernel 'scale_rowz': symbol 'scale_rowz.kd' is not in the dynamic symbol table; did you mean 'scale_rows.kd'?"
    );
    let twice = replaced(KERNELS_GFX1100_V5, b"\xa8modes.kd", b"\xa8modes.kx");
    assert_eq!(
        refusal(&twice).to_string(),
        "not a loadable code object (2 problems)
  symbol 'modes.kd' names a kernel descriptor, but the metadata has no kernel for it
  metadata: kernel 'modes' .symbol is modes.kx, which does not end in .kd"
    );
}

#[test]
fn metadata_against_descriptor() {
    let descriptor = descriptor_offset(KERNELS_GFX1100_V5, "scale_rows");
    let mut bytes = patched(KERNELS_GFX1100_V5, descriptor, &1024_u32.to_le_bytes());
    bytes = patched(&bytes, descriptor + 8, &40_u32.to_le_bytes());
    bytes = patched(&bytes, descriptor + 57, &[KERNELS_GFX1100_V5[descriptor + 57] & !4]);
    assert_eq!(
        refusal(&bytes).to_string(),
        "not a loadable code object (3 problems)
  kernel 'scale_rows': kernarg segment size in bytes is 40 in the descriptor and 32 in the metadata: the object contradicts itself
  kernel 'scale_rows': LDS size in bytes is 1024 in the descriptor and 512 in the metadata: the object contradicts itself
  kernel 'scale_rows': wave width in lanes is 64 in the descriptor and 32 in the metadata: the object contradicts itself"
    );
}

#[test]
fn reserved_bits_of_descriptors() {
    let descriptor = descriptor_offset(KERNELS_GFX950_V5, "modes");
    for (offset, bit, field, bits) in [
        (12, 1, "reserved", 1_u64),
        (43, 0x80, "reserved", 0x8000_0000),
        (60, 2, "reserved", 2),
        (46, 2, "compute_pgm_rsrc3", 0x2_0000),
        (49, 0x04, "compute_pgm_rsrc1", 0x400),
        (53, 0x80, "compute_pgm_rsrc2", 0x8000),
        (56, 0x80, "kernel_code_properties", 0x80),
    ] {
        let at = descriptor + offset;
        let bytes = patched(KERNELS_GFX950_V5, at, &[KERNELS_GFX950_V5[at] | bit]);
        let Problem::ReservedBits { field: got_field, bits: got_bits, .. } = problem(&bytes) else {
            panic!("reserved bits at byte {offset}");
        };
        assert_eq!((got_field, got_bits), (field, bits), "byte {offset}");
    }
    let descriptor = descriptor_offset(KERNELS_GFX1100_V5, "modes");
    refused(
        &patched(KERNELS_GFX1100_V5, descriptor + 58, &[3]),
        "kernel 'modes': descriptor byte 58: bits 0x3 of kernarg_preload are set but must be 0 on gfx1100",
    );
}

#[test]
fn descriptors_that_ask_for_too_much() {
    let descriptor = descriptor_offset(KERNELS_GFX1100_V5, "modes");
    let rsrc1 = KERNELS_GFX1100_V5[descriptor + 48];
    refused(
        &patched(KERNELS_GFX1100_V5, descriptor + 48, &[rsrc1 | 0x3f]),
        "kernel 'modes': number of VGPRs is 512, the limit on gfx1100 is 256 a lane",
    );
    let descriptor = descriptor_offset(REGISTERS, "accumulate");
    refused(
        &patched(REGISTERS, descriptor + 44, &[0x3f]),
        "kernel 'accumulate': first accumulation register (accum_offset) is 256, more than the 72 VGPRs allocated",
    );
    refused(
        &patched(REGISTERS, descriptor + 58, &[4]),
        "kernel 'accumulate': user SGPR count is 5, fewer than the 6 that its enabled values take",
    );
    refused(
        &patched(REGISTERS, descriptor + 58, &[3, 2]),
        "kernel 'accumulate': end of preloaded arguments in bytes is 28, past the 24 bytes of kernel arguments",
    );
}

#[test]
fn entry_points() {
    let descriptor = descriptor_offset(KERNELS_GFX1100_V5, "scale_rows");
    let entry = i64::from_le_bytes(
        KERNELS_GFX1100_V5[descriptor + 16..descriptor + 24].try_into().expect("eight bytes"),
    );
    refused(
        &patched(KERNELS_GFX1100_V5, descriptor + 16, &(entry + 256).to_le_bytes()),
        "kernel 'scale_rows': address of the function symbol is 7424, but the descriptor's entry point is 7680",
    );
    let size = 0xac0 + 24 + 16;
    refused(
        &patched(KERNELS_GFX1100_V5, size, &0_u64.to_le_bytes()),
        "kernel 'scale_rows': code size in bytes is 0, not a positive multiple of 4: the function needs a .size directive",
    );
    refused(
        &patched(KERNELS_GFX1100_V5, size, &0x1_0000_u64.to_le_bytes()),
        "code of kernel 'scale_rows' (an executable segment): 65536 bytes at address 0x1d00 are not in any loaded segment's file contents",
    );
    let no_execute = patched(KERNELS_GFX1100_V5, program_header(2) + 4, &[4]);
    assert_eq!(refusal(&no_execute).problems.len(), 2, "both kernels' code is not executable");
}

#[test]
fn arguments_that_do_not_fit() {
    refused(
        &replaced(KERNELS_GFX1100_V5, b".offset\x14", b".offset\x12"),
        "kernel 'scale_rows': offset of an argument in bytes is 18, but the argument before it ends at 20",
    );
    assert_eq!(
        refusal(&replaced(KERNELS_GFX1100_V5, b".kernarg_segment_size\x20", b".kernarg_segment_size\x18")).to_string(),
        "not a loadable code object (2 problems)
  kernel 'scale_rows': argument end in bytes is 32, the end of an argument of 8 bytes in a kernarg segment of 24 bytes
  kernel 'scale_rows': kernarg segment size in bytes is 32 in the descriptor and 24 in the metadata: the object contradicts itself"
    );
    refused(
        &replaced(KERNELS_GFX1100_V5, b".kernarg_segment_align\x08", b".kernarg_segment_align\x07"),
        "kernel 'scale_rows': .kernarg_segment_align is 7, not a power of two",
    );
}

#[test]
fn more_lds_than_a_workgroup_can_have() {
    let descriptor = descriptor_offset(KERNELS_GFX1100_V5, "scale_rows");
    let bytes = patched(KERNELS_GFX1100_V5, descriptor, &65_540_u32.to_le_bytes());
    // The longer number takes the two bytes that a shorter argument name gives.
    let bytes = spliced(
        &bytes,
        &[
            (b"\xa6factor", b"\xa4fact"),
            (
                b".group_segment_fixed_size\xcd\x02\x00",
                b".group_segment_fixed_size\xce\x00\x01\x00\x04",
            ),
        ],
    );
    refused(
        &bytes,
        "kernel 'scale_rows': .group_segment_fixed_size is 65540, the limit on gfx1100 is 65536 bytes a workgroup",
    );
}

#[test]
fn workgroup_sizes_that_cannot_be_launched() {
    refused(
        &replaced(
            KERNELS_GFX1100_V5,
            b".reqd_workgroup_size\x93\x40\x02\x01",
            b".reqd_workgroup_size\x93\x40\x03\x01",
        ),
        "kernel 'scale_rows': .reqd_workgroup_size is 192, the product of [64, 3, 1], not in 1 to .max_flat_workgroup_size 128",
    );
    refused(
        &replaced(
            KERNELS_GFX1100_V5,
            b".max_flat_workgroup_size\xcd\x01\x00",
            b".max_flat_workgroup_size\xcd\x08\x00",
        ),
        "kernel 'modes': .max_flat_workgroup_size is 2048, not in 1 to 1024 work-items",
    );
}

#[test]
fn an_unknown_kernel_is_answered_with_the_names_there_are() {
    let error = parse(KERNELS_GFX950_V5).kernel("scale_row").expect_err("there is no such kernel");
    assert_eq!(
        error.to_string(),
        "no kernel 'scale_row' in the code object, which has scale_rows, modes; did you mean 'scale_rows'?"
    );
}
