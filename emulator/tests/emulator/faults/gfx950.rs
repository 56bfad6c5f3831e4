//! Planted faults for gfx950, and their repaired twins. Encodings by LLVM 22's assembler.

use super::{Case, Expect::*, Line, Rule, case};

/// What each case starts with: both pointers in s[4:7], four times the number of the work-item in v0.
#[rustfmt::skip]
pub const SET_UP: &[Line] = &[
    (' ', "s_load_dwordx4 s[4:7], s[0:1], 0x0", &[0xc00a0100, 0x00000000]),
    (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
    (' ', "v_lshlrev_b32_e32 v0, 2, v0", &[0x24000082]),
];

#[rustfmt::skip]
pub const CASES: &[Case] = &[
    case("read_before_vector_wait", Found(Rule::UseBeforeWait), &[
        (' ', "global_load_dword v1, v0, s[4:5]", &[0xdc508000, 0x01040000]),
        ('+', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
        (' ', "v_add_u32_e32 v2, 1, v1", &[0x68040281]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("wait_that_covers_only_the_older_load", Found(Rule::UseBeforeWait), &[
        (' ', "global_load_dword v1, v0, s[4:5]", &[0xdc508000, 0x01040000]),
        (' ', "global_load_dword v2, v0, s[4:5]", &[0xdc508000, 0x02040000]),
        (' ', "s_waitcnt vmcnt(1)", &[0xbf8c0f71]),
        ('+', "v_add_u32_e32 v3, 1, v1", &[0x68060281]),
        ('-', "v_add_u32_e32 v3, 1, v2", &[0x68060481]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("overwrite_before_vector_wait", Found(Rule::UseBeforeWait), &[
        (' ', "global_load_dword v1, v0, s[4:5]", &[0xdc508000, 0x01040000]),
        ('+', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
        (' ', "v_mov_b32_e32 v1, 0", &[0x7e020280]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("read_before_lds_wait", Found(Rule::UseBeforeWait), &[
        (' ', "ds_write_b32 v0, v0", &[0xd81a0000, 0x00000000]),
        (' ', "ds_read_b32 v1, v0", &[0xd86c0000, 0x01000000]),
        ('+', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
        (' ', "v_add_u32_e32 v2, 1, v1", &[0x68040281]),
        (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
    ]),
    case("nonzero_wait_on_scalar_loads", Found(Rule::UseBeforeWait), &[
        (' ', "ds_write_b32 v0, v0", &[0xd81a0000, 0x00000000]),
        (' ', "s_load_dword s8, s[4:5], 0x0", &[0xc0020202, 0x00000000]),
        ('-', "s_waitcnt lgkmcnt(1)", &[0xbf8cc17f]),
        ('+', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
        (' ', "s_add_i32 s9, s8, 1", &[0x81098108]),
        (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
    ]),
    case("nonzero_wait_on_lds_is_enough", Found(Rule::UseBeforeWait), &[
        (' ', "ds_write_b32 v0, v0", &[0xd81a0000, 0x00000000]),
        (' ', "ds_read_b32 v1, v0", &[0xd86c0000, 0x01000000]),
        (' ', "ds_read_b32 v2, v0", &[0xd86c0000, 0x02000000]),
        ('-', "s_waitcnt lgkmcnt(2)", &[0xbf8cc27f]),
        ('+', "s_waitcnt lgkmcnt(1)", &[0xbf8cc17f]),
        (' ', "v_add_u32_e32 v3, 1, v1", &[0x68060281]),
        (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
    ]),
    case("flat_load_needs_both_counters", Found(Rule::UseBeforeWait), &[
        (' ', "v_mov_b32_e32 v2, s4", &[0x7e040204]),
        (' ', "v_mov_b32_e32 v3, s5", &[0x7e060205]),
        (' ', "flat_load_dword v1, v[2:3]", &[0xdc500000, 0x01000002]),
        ('-', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
        ('+', "s_waitcnt vmcnt(0) lgkmcnt(0)", &[0xbf8c0070]),
        (' ', "v_add_u32_e32 v4, 1, v1", &[0x68080281]),
        (' ', "s_waitcnt vmcnt(0) lgkmcnt(0)", &[0xbf8c0070]),
    ]),
    case("flat_load_makes_vector_loads_unordered", Found(Rule::UseBeforeWait), &[
        (' ', "v_mov_b32_e32 v2, s4", &[0x7e040204]),
        (' ', "v_mov_b32_e32 v3, s5", &[0x7e060205]),
        (' ', "global_load_dword v1, v0, s[4:5]", &[0xdc508000, 0x01040000]),
        (' ', "flat_load_dword v4, v[2:3]", &[0xdc500000, 0x04000002]),
        ('-', "s_waitcnt vmcnt(1)", &[0xbf8c0f71]),
        ('+', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
        (' ', "v_add_u32_e32 v5, 1, v1", &[0x680a0281]),
        (' ', "s_waitcnt vmcnt(0) lgkmcnt(0)", &[0xbf8c0070]),
    ]),
    case("undefined_address", Found(Rule::UndefinedAddress), &[
        ('+', "v_mov_b32_e32 v5, 0", &[0x7e0a0280]),
        (' ', "global_load_dword v1, v5, s[4:5]", &[0xdc508000, 0x01040005]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("undefined_scalar_branch", Found(Rule::UndefinedBranch), &[
        ('+', "s_mov_b32 s9, 1", &[0xbe890081]),
        (' ', "s_cmp_eq_u32 s9, 0", &[0xbf068009]),
        (' ', "s_cbranch_scc1 0", &[0xbf850000]),
    ]),
    case("undefined_vector_branch", Found(Rule::UndefinedBranch), &[
        ('+', "v_mov_b32_e32 v5, 1", &[0x7e0a0281]),
        (' ', "v_cmp_eq_u32_e32 vcc, 0, v5", &[0x7d940a80]),
        (' ', "s_cbranch_vccnz 0", &[0xbf870000]),
    ]),
    case("undefined_bits_masked_away", Found(Rule::UndefinedBranch), &[
        (' ', "global_load_ushort v1, v0, s[4:5]", &[0xdc488000, 0x01040000]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
        ('-', "v_and_b32_e32 v5, 0x10000, v5", &[0x260a0aff, 0x00010000]),
        ('+', "v_and_b32_e32 v5, 0, v5", &[0x260a0a80]),
        (' ', "v_or_b32_e32 v1, v1, v5", &[0x28020b01]),
        (' ', "v_cmp_eq_u32_e32 vcc, 0, v1", &[0x7d940280]),
        (' ', "s_cbranch_vccnz 0", &[0xbf870000]),
    ]),
    case("undefined_exec", Found(Rule::UndefinedExec), &[
        ('+', "s_mov_b64 s[10:11], 3", &[0xbe8a0183]),
        (' ', "s_and_saveexec_b64 s[12:13], s[10:11]", &[0xbe8c200a]),
    ]),
    case("undefined_store_of_a_register", Found(Rule::UndefinedStore), &[
        ('+', "v_mov_b32_e32 v5, 0", &[0x7e0a0280]),
        (' ', "global_store_dword v0, v5, s[6:7]", &[0xdc708000, 0x00060500]),
    ]),
    case("undefined_store_of_half_a_register", Found(Rule::UndefinedStore), &[
        (' ', "v_mov_b32_e32 v6, 0", &[0x7e0c0280]),
        (' ', "v_alignbit_b32 v5, v5, v6, 16", &[0xd1ce0005, 0x02420d05]),
        ('-', "global_store_dword v0, v5, s[6:7]", &[0xdc708000, 0x00060500]),
        ('+', "global_store_short v0, v5, s[6:7]", &[0xdc688000, 0x00060500]),
    ]),
    case("undefined_store_of_unwritten_lds", Found(Rule::UndefinedStore), &[
        ('+', "ds_write_b32 v0, v0 offset:512", &[0xd81a0200, 0x00000000]),
        (' ', "ds_read_b32 v5, v0 offset:512", &[0xd86c0200, 0x05000000]),
        (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
        (' ', "global_store_dword v0, v5, s[6:7]", &[0xdc708000, 0x00060500]),
    ]),
    case("undefined_store_of_unwritten_memory", Found(Rule::UndefinedStore), &[
        ('+', "global_store_dword v0, v0, s[6:7]", &[0xdc708000, 0x00060000]),
        (' ', "global_load_dword v5, v0, s[6:7]", &[0xdc508000, 0x05060000]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
        (' ', "global_store_dword v0, v5, s[6:7] offset:256", &[0xdc708100, 0x00060500]),
    ]),
    case("misaligned_scalar_load", Found(Rule::Misaligned), &[
        (' ', "s_mov_b32 s9, 0", &[0xbe890080]),
        ('-', "s_mov_b32 s8, 2", &[0xbe880082]),
        ('+', "s_mov_b32 s8, 4", &[0xbe880084]),
        (' ', "s_load_dword s10, s[4:5], s8", &[0xc0000282, 0x00000008]),
        (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
    ]),
    case("misaligned_lds_b128", Found(Rule::Misaligned), &[
        (' ', "v_lshlrev_b32_e32 v1, 1, v0", &[0x24020081]),
        ('-', "v_mov_b32_e32 v1, 8", &[0x7e020288]),
        ('+', "v_mov_b32_e32 v1, 16", &[0x7e020290]),
        (' ', "v_mov_b32_e32 v4, 0", &[0x7e080280]),
        (' ', "v_mov_b32_e32 v5, 0", &[0x7e0a0280]),
        (' ', "v_mov_b32_e32 v6, 0", &[0x7e0c0280]),
        (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]),
        (' ', "ds_write_b128 v1, v[4:7]", &[0xd9be0000, 0x00000401]),
    ]),
    case("misaligned_lds_b64", Found(Rule::Misaligned), &[
        (' ', "v_mov_b32_e32 v4, 0", &[0x7e080280]),
        (' ', "v_mov_b32_e32 v5, 0", &[0x7e0a0280]),
        ('-', "v_mov_b32_e32 v1, 4", &[0x7e020284]),
        ('+', "v_mov_b32_e32 v1, 8", &[0x7e020288]),
        (' ', "ds_write_b64 v1, v[4:5]", &[0xd89a0000, 0x00000401]),
    ]),
    case("misaligned_global_dword", Found(Rule::Misaligned), &[
        ('-', "global_store_dword v0, v0, s[6:7] offset:2", &[0xdc708002, 0x00060000]),
        ('+', "global_store_dword v0, v0, s[6:7] offset:4", &[0xdc708004, 0x00060000]),
    ]),
    case("load_past_the_end", Stopped("past its end"), &[
        ('-', "global_load_dword v1, v0, s[4:5] offset:1536", &[0xdc508600, 0x01040000]),
        ('+', "global_load_dword v1, v0, s[4:5] offset:256", &[0xdc508100, 0x01040000]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("load_across_the_end", Stopped("4 B before its end"), &[
        ('-', "global_load_dwordx2 v[2:3], v0, s[4:5] offset:1020", &[0xdc5483fc, 0x02040000]),
        ('+', "global_load_dwordx2 v[2:3], v0, s[4:5] offset:256", &[0xdc548100, 0x02040000]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("null_pointer", Stopped("outside every buffer"), &[
        ('-', "s_mov_b64 s[4:5], 0", &[0xbe840180]),
        (' ', "global_load_dword v1, v0, s[4:5]", &[0xdc508000, 0x01040000]),
        (' ', "s_waitcnt vmcnt(0)", &[0xbf8c0f70]),
    ]),
    case("scalar_load_past_the_end", Stopped("past its end"), &[
        ('-', "s_load_dword s8, s[4:5], 0x800", &[0xc0020202, 0x00000800]),
        ('+', "s_load_dword s8, s[4:5], 0x100", &[0xc0020202, 0x00000100]),
        (' ', "s_waitcnt lgkmcnt(0)", &[0xbf8cc07f]),
    ]),
    case("store_to_kernel_arguments", Stopped("read-only"), &[
        (' ', "v_mov_b32_e32 v1, 0", &[0x7e020280]),
        ('-', "global_store_dword v1, v1, s[0:1]", &[0xdc708000, 0x00000101]),
        ('+', "global_store_dword v1, v1, s[6:7]", &[0xdc708000, 0x00060101]),
    ]),
    case("lds_out_of_bounds", Stopped("1024 B of LDS"), &[
        ('-', "ds_write_b32 v0, v0 offset:1024", &[0xd81a0400, 0x00000000]),
        ('+', "ds_write_b32 v0, v0 offset:512", &[0xd81a0200, 0x00000000]),
    ]),
    case("scratch_out_of_bounds", Stopped("16 B of scratch"), &[
        (' ', "v_mov_b32_e32 v1, 1", &[0x7e020281]),
        ('-', "scratch_store_dword off, v1, off offset:16", &[0xdc704010, 0x007f0100]),
        ('+', "scratch_store_dword off, v1, off offset:12", &[0xdc70400c, 0x007f0100]),
    ]),
    case("trap", Stopped("s_trap 2"), &[
        ('-', "s_trap 2", &[0xbf920002]),
    ]),
    case("endless_loop", Stopped("limit of 100000"), &[
        ('-', "s_branch 65535", &[0xbf82ffff]),
    ]),
    case("jump_out_of_the_code", Stopped("not in executable code"), &[
        ('-', "s_branch 32000", &[0xbf827d00]),
    ]),
    case("register_beyond_the_allocation", Stopped("descriptor allocates 32"), &[
        ('-', "v_mov_b32_e32 v32, 0", &[0x7e400280]),
        ('+', "v_mov_b32_e32 v31, 0", &[0x7e3e0280]),
    ]),
    case("halted_wave_at_a_barrier", Stopped("deadlock"), &[
        ('-', "s_nop 0", &[0xbf800000]),
        ('-', "v_readfirstlane_b32 s8, v0", &[0x7e100500]),
        ('-', "s_cmp_lg_u32 s8, 0", &[0xbf078008]),
        ('-', "s_cbranch_scc1 1", &[0xbf850001]),
        ('-', "s_sethalt 1", &[0xbf8d0001]),
        (' ', "s_barrier", &[0xbf8a0000]),
    ]),
    case("unknown_instruction", Stopped("no instruction"), &[
        ('-', ".long 0xfffffff0", &[0xfffffff0]),
    ]),
    case("matrix_operation_under_partial_exec", Found(Rule::PartialExec), &[
        (' ', "v_mov_b32_e32 v8, 0", &[0x7e100280]),
        (' ', "v_mov_b32_e32 v9, 0", &[0x7e120280]),
        (' ', "v_mov_b32_e32 v10, 0", &[0x7e140280]),
        (' ', "v_mov_b32_e32 v11, 0", &[0x7e160280]),
        (' ', "v_mov_b32_e32 v12, 0", &[0x7e180280]),
        (' ', "v_mov_b32_e32 v13, 0", &[0x7e1a0280]),
        (' ', "v_mov_b32_e32 v14, 0", &[0x7e1c0280]),
        (' ', "v_mov_b32_e32 v15, 0", &[0x7e1e0280]),
        ('-', "s_mov_b64 exec, 1", &[0xbefe0181]),
        ('+', "s_mov_b64 exec, -1", &[0xbefe01c1]),
        (' ', "s_nop 1", &[0xbf800001]),
        (' ', "v_mfma_f32_16x16x32_bf16 v[16:19], v[8:11], v[12:15], 0", &[0xd3b50010, 0x02021908]),
    ]),
    case("matrix_result_stored_from_undefined_factors", Found(Rule::UndefinedStore), &[
        (' ', "v_mov_b32_e32 v12, 0", &[0x7e180280]),
        (' ', "v_mov_b32_e32 v13, 0", &[0x7e1a0280]),
        (' ', "v_mov_b32_e32 v14, 0", &[0x7e1c0280]),
        (' ', "v_mov_b32_e32 v15, 0", &[0x7e1e0280]),
        (' ', "v_mov_b32_e32 v9, 0", &[0x7e120280]),
        (' ', "v_mov_b32_e32 v10, 0", &[0x7e140280]),
        (' ', "v_mov_b32_e32 v11, 0", &[0x7e160280]),
        ('+', "v_mov_b32_e32 v8, 0", &[0x7e100280]),
        (' ', "s_nop 1", &[0xbf800001]),
        (' ', "v_mfma_f32_16x16x32_bf16 v[16:19], v[8:11], v[12:15], 0", &[0xd3b50010, 0x02021908]),
        (' ', "s_nop 7", &[0xbf800007]),
        (' ', "global_store_dword v0, v16, s[6:7]", &[0xdc708000, 0x00061000]),
    ]),
];
