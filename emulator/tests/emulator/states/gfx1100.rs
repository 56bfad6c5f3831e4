//! Pairs of dependent instructions of gfx1100, and what has to lie between them.
//!
//! As LLVM 22's hazard recogniser asks for it (`isa/tests/vectors/wait_states_llvm22.txt`). Encodings by
//! LLVM 22's assembler.

use super::{Line, Needs, Pair};

/// What each pair starts with.
#[rustfmt::skip]
pub const SET_UP: &[Line] = &[
    (' ', "s_load_b128 s[4:7], s[0:1], null", &[0xf4080100, 0xf8000000]),
    (' ', "s_waitcnt lgkmcnt(0)", &[0xbf89fc07]),
    (' ', "v_lshlrev_b32_e32 v0, 2, v0", &[0x30000082]),
    (' ', "v_mov_b32_e32 v5, 0", &[0x7e0a0280]),
    (' ', "v_mov_b32_e32 v6, 0", &[0x7e0c0280]),
    (' ', "v_mov_b32_e32 v8, 0", &[0x7e100280]),
    (' ', "v_mov_b32_e32 v9, 0", &[0x7e120280]),
    (' ', "v_mov_b32_e32 v10, 0", &[0x7e140280]),
    (' ', "v_mov_b32_e32 v11, 0", &[0x7e160280]),
    (' ', "v_mov_b32_e32 v12, 0", &[0x7e180280]),
    (' ', "v_mov_b32_e32 v13, 0", &[0x7e1a0280]),
    (' ', "v_mov_b32_e32 v14, 0", &[0x7e1c0280]),
    (' ', "v_mov_b32_e32 v15, 0", &[0x7e1e0280]),
    (' ', "v_mov_b32_e32 v16, 0", &[0x7e200280]),
    (' ', "v_mov_b32_e32 v17, 0", &[0x7e220280]),
    (' ', "v_mov_b32_e32 v18, 0", &[0x7e240280]),
    (' ', "v_mov_b32_e32 v19, 0", &[0x7e260280]),
    (' ', "v_mov_b32_e32 v20, 0", &[0x7e280280]),
    (' ', "v_mov_b32_e32 v21, 0", &[0x7e2a0280]),
    (' ', "v_mov_b32_e32 v22, 0", &[0x7e2c0280]),
    (' ', "v_mov_b32_e32 v23, 0", &[0x7e2e0280]),
    (' ', "v_mov_b32_e32 v24, 0", &[0x7e300280]),
    (' ', "v_mov_b32_e32 v25, 0", &[0x7e320280]),
    (' ', "v_mov_b32_e32 v26, 0", &[0x7e340280]),
    (' ', "v_mov_b32_e32 v27, 0", &[0x7e360280]),
    (' ', "v_mov_b32_e32 v28, 0", &[0x7e380280]),
    (' ', "v_mov_b32_e32 v29, 0", &[0x7e3a0280]),
    (' ', "v_mov_b32_e32 v30, 0", &[0x7e3c0280]),
    (' ', "v_mov_b32_e32 v31, 0", &[0x7e3e0280]),
];

/// A transcendental's result: what does not suffice, and what does.
#[rustfmt::skip]
const TRANS: Needs = Needs::Shown {
    too_little: &[
        &[],
        &[(' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280])],
        &[(' ', "v_exp_f32_e32 v7, v6", &[0x7e0e4b06])],
        &[(' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080]), (' ', "s_mov_b32 s20, 0", &[0xbe940080])],
        &[(' ', "s_nop 15", &[0xbf80000f])],
        &[(' ', "s_waitcnt_depctr depctr_va_vdst(1)", &[0xbf881f9f])],
    ],
    enough: &[
        &[(' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280]), (' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280])],
        &[(' ', "v_exp_f32_e32 v7, v6", &[0x7e0e4b06]), (' ', "v_exp_f32_e32 v7, v6", &[0x7e0e4b06])],
        &[(' ', "s_waitcnt_depctr 0xfff", &[0xbf880fff])],
        &[(' ', "ds_load_b32 v7, v8", &[0xd8d80000, 0x07000008])],
        &[(' ', "global_load_b32 v7, v8, s[4:5]", &[0xdc520000, 0x07040008])],
    ],
};

/// A matrix operation's result likewise.
#[rustfmt::skip]
const MATRIX: Needs = Needs::Shown {
    too_little: &[
        &[],
        &[(' ', "s_mov_b32 s20, 0", &[0xbe940080])],
        &[(' ', "s_nop 15", &[0xbf80000f])],
    ],
    enough: &[
        &[(' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280])],
        &[(' ', "v_nop", &[0x7e000000])],
        &[(' ', "v_exp_f32_e32 v7, v6", &[0x7e0e4b06])],
    ],
};

/// EXEC by a comparison: a no-op does not suffice.
#[rustfmt::skip]
const PERMLANE: Needs = Needs::Shown {
    too_little: &[
        &[],
        &[(' ', "v_nop", &[0x7e000000])],
        &[(' ', "s_nop 15", &[0xbf80000f])],
        &[(' ', "s_mov_b32 s20, 0", &[0xbe940080])],
    ],
    enough: &[
        &[(' ', "v_mov_b32_e32 v7, 0", &[0x7e0e0280])],
        &[(' ', "v_exp_f32_e32 v7, v6", &[0x7e0e4b06])],
    ],
};

/// Interlocked.
#[rustfmt::skip]
const INTERLOCKED: Needs = Needs::Shown {
    too_little: &[
    ],
    enough: &[
        &[],
    ],
};

/// The pairs.
#[rustfmt::skip]
pub const PAIRS: &[Pair] = &[
    Pair { name: "trans_then_valu_read", needs: TRANS, set_up: &[],
        earlier: (' ', "v_exp_f32_e32 v5, v0", &[0x7e0a4b00]),
        later: (' ', "v_add_f32_e32 v6, 1.0, v5", &[0x060c0af2]) },
    Pair { name: "trans_then_trans_read", needs: TRANS, set_up: &[],
        earlier: (' ', "v_exp_f32_e32 v5, v0", &[0x7e0a4b00]),
        later: (' ', "v_exp_f32_e32 v6, v5", &[0x7e0c4b05]) },
    Pair { name: "trans_then_matrix_factor", needs: TRANS, set_up: &[],
        earlier: (' ', "v_exp_f32_e32 v16, v5", &[0x7e204b05]),
        later: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0", &[0xcc404008, 0x1a023110]) },
    Pair { name: "trans_then_dual_read", needs: TRANS, set_up: &[],
        earlier: (' ', "v_exp_f32_e32 v5, v0", &[0x7e0a4b00]),
        later: (' ', "v_dual_add_f32 v10, v5, v0 :: v_dual_mov_b32 v11, v8", &[0xc9100105, 0x0a0a0108]) },
    Pair { name: "trans_then_overwrite", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_exp_f32_e32 v5, v0", &[0x7e0a4b00]),
        later: (' ', "v_mov_b32_e32 v5, 0", &[0x7e0a0280]) },
    Pair { name: "trans_then_store", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_exp_f32_e32 v5, v0", &[0x7e0a4b00]),
        later: (' ', "global_store_b32 v0, v5, s[6:7]", &[0xdc6a0000, 0x00060500]) },
    Pair { name: "matrix_result_then_a", needs: MATRIX, set_up: &[],
        earlier: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0", &[0xcc404008, 0x1a023110]),
        later: (' ', "v_wmma_f32_16x16x16_f16 v[16:23], v[8:15], v[24:31], 0", &[0xcc404010, 0x1a023108]) },
    Pair { name: "matrix_result_then_b", needs: MATRIX, set_up: &[],
        earlier: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0", &[0xcc404008, 0x1a023110]),
        later: (' ', "v_wmma_f32_16x16x16_f16 v[16:23], v[24:31], v[8:15], 0", &[0xcc404010, 0x1a021118]) },
    Pair { name: "matrix_result_then_addend", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0", &[0xcc404008, 0x1a023110]),
        later: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]", &[0xcc404008, 0x1c223110]) },
    Pair { name: "matrix_result_then_read", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0", &[0xcc404008, 0x1a023110]),
        later: (' ', "v_add_f32_e32 v6, 1.0, v9", &[0x060c12f2]) },
    Pair { name: "valu_then_matrix_factor", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_mov_b32_e32 v16, 0", &[0x7e200280]),
        later: (' ', "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], 0", &[0xcc404008, 0x1a023110]) },
    Pair { name: "valu_sgpr_then_address", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_readfirstlane_b32 s8, v0", &[0x7e100500]),
        later: (' ', "v_mov_b32_e32 v6, s8", &[0x7e0c0208]) },
    Pair { name: "cmpx_then_dpp", needs: INTERLOCKED, set_up: &[],
        earlier: (' ', "v_cmpx_eq_u32_e32 v0, v0", &[0x7d940100]),
        later: (' ', "v_mov_b32_dpp v6, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", &[0x7e0c02fa, 0xff00b100]) },
    Pair { name: "cmpx_then_permlane16", needs: PERMLANE, set_up: &[],
        earlier: (' ', "v_cmpx_eq_u32_e32 v0, v0", &[0x7d940100]),
        later: (' ', "v_permlane16_b32 v6, v8, 0, 0", &[0xd65b0006, 0x02010108]) },
    Pair { name: "cmpx_then_permlanex16", needs: PERMLANE, set_up: &[],
        earlier: (' ', "v_cmpx_eq_u32_e32 v0, v0", &[0x7d940100]),
        later: (' ', "v_permlanex16_b32 v6, v8, 0, 0", &[0xd65c0006, 0x02010108]) },
];
