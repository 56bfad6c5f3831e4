//! What each instruction of program control is tried on.

use isa::reg::SpecialReg;
use isa::sysreg::HwRegField;
use isa::table::Control;
use isa::{Operand, Target};

use super::super::COMPILER_MODE;
use super::{Case, RESULT, SOURCE, State, THERE, Want, case};
use crate::finding::Rule;
use crate::wave::{Status, Wave, scalar};

fn branches(is_taken: bool) -> Vec<Case> {
    // In words from the next instruction on; −1 is the branch itself.
    let distances = [(0_u16, 0_i64), (1, 4), (0x7fff, 0x1_fffc), (0x8000, -0x2_0000), (0xffff, -4)];
    let branch = |(imm, bytes): (u16, i64)| {
        case(&[Operand::Imm(imm)], move |state| {
            state.pc = if is_taken { state.pc.wrapping_add_signed(bytes) } else { state.pc };
        })
    };
    distances.into_iter().map(branch).collect()
}

fn conditional(when: impl Fn(&mut Wave) + Clone + 'static, is_taken: bool) -> Vec<Case> {
    branches(is_taken).into_iter().map(|case| case.on(when.clone())).collect()
}

fn on_scc(is_taken_when: bool) -> Vec<Case> {
    let undefined = case(&[Operand::Imm(0)], |_| {}).on(|wave| wave.is_scc_undefined = true);
    [true, false]
        .into_iter()
        .flat_map(|scc| conditional(move |wave| wave.scc = scc, scc == is_taken_when))
        .chain([undefined.want(Want::Finding(Rule::UndefinedBranch))])
        .collect()
}

/// Branches on a mask: none of its lanes, the first, the last of the wave; in wave32 the other half is no
/// part of it.
fn on_mask(target: Target, register: u8, is_taken_when_zero: bool) -> Vec<Case> {
    let last = u64::from(target.wave_width()) - 1;
    [0, 1, 1 << last]
        .into_iter()
        .flat_map(|mask| {
            let set = move |wave: &mut Wave| {
                wave.scalars.set(register + 1, u32::MAX, 0);
                wave.set_mask(register, mask, 0);
            };
            conditional(set, (mask == 0) == is_taken_when_zero)
        })
        .collect()
}

fn on_vcc(target: Target, is_taken_when_zero: bool) -> Vec<Case> {
    let one = |undefined: u64| move |wave: &mut Wave| wave.set_mask(scalar::VCC, 1, undefined);
    let mut cases = on_mask(target, scalar::VCC, is_taken_when_zero);
    // An undefined lane decides nothing while another one is surely set.
    let branch = || case(&[Operand::Imm(0)], |_| {});
    cases.push(branch().on(one(2)));
    cases.push(branch().on(one(1)).want(Want::Finding(Rule::UndefinedBranch)));
    cases
}

/// A wait's immediate, and how many of the eight operations it leaves outstanding.
fn waits(pairs: &[(u16, usize)]) -> Vec<Case> {
    let wait = |&(imm, left)| {
        case(&[Operand::Imm(imm)], move |state: &mut State| state.n_outstanding = left)
    };
    pairs.iter().map(wait).collect()
}

/// The waits of one counter: a register, which is 0 when it is NULL, plus a constant.
fn single_waits(lefts: [usize; 3]) -> Vec<Case> {
    let null = Operand::Special(SpecialReg::Null);
    let cases = [(null, 0), (null, 1), (Operand::Sgpr(SOURCE + 2), 1)].into_iter().zip(lefts);
    cases
        .map(|((register, imm), left)| {
            case(&[register, Operand::Imm(imm)], move |state| state.n_outstanding = left)
        })
        .collect()
}

fn unchanged(imms: &[u16]) -> Vec<Case> {
    imms.iter().map(|imm| case(&[Operand::Imm(*imm)], |_| {})).collect()
}

fn answers(op: Control) -> Vec<Case> {
    let ask = |message: u16| [Operand::Sgpr(RESULT), Operand::Imm(message)];
    let is_wide = op == Control::SSendmsgRtnB64;
    let time = case(&ask(131), move |state| {
        // The first reading of a wave's clock.
        state.scalars[usize::from(RESULT)] = 256;
        if is_wide {
            state.scalars[usize::from(RESULT) + 1] = 0;
        }
        state.n_outstanding += 1;
    });
    let others = [128, 129, 130, 132, 133, 134];
    let refused = others
        .map(|message| case(&ask(message), |_| {}).want(Want::Refused("anything but the time")));
    refused.into_iter().chain([time]).collect()
}

pub(super) fn field(register: u32, offset: u32, width: u32) -> Operand {
    Operand::Imm(HwRegField { register, offset, width }.to_imm().expect("in range"))
}

fn reads_of_registers(target: Target) -> Vec<Case> {
    let read = |field: Operand, value: u32| {
        case(&[Operand::Sgpr(RESULT), field], move |state| {
            state.scalars[usize::from(RESULT)] = value
        })
    };
    let mut cases = vec![
        read(field(1, 0, 32), COMPILER_MODE),
        read(field(1, 4, 4), 0xf),
        read(field(1, 8, 2), 3),
        read(field(1, 3, 2), 2),
        read(field(1, 31, 1), 0),
    ];
    let clock = 29;
    let (zeros, known): (&[u32], &[u32]) = match target {
        Target::Gfx950 => (&[4, 20], &[1, 4, 20]),
        Target::Gfx1100 => (&[23, 24], &[1, 23, 24, clock]),
    };
    cases.extend(zeros.iter().map(|register| read(field(*register, 0, 32), 0)));
    if target == Target::Gfx1100 {
        cases.push(read(field(clock, 4, 8), 16));
    }
    let others = (0..64).filter(|register| !known.contains(register));
    cases.extend(others.map(|register| {
        read(field(register, 0, 32), 0).want(Want::Refused("of the hardware registers"))
    }));
    cases
}

/// Writes of MODE's fields: the value's low bits, and MODE afterwards.
fn writes_of_registers(op: Control) -> Vec<Case> {
    let value = |bits: u32| match op {
        Control::SSetregB32 => Operand::Sgpr(SOURCE + 2),
        _ => Operand::Literal(bits),
    };
    let write = |field: Operand, bits: u32, mode: u32| {
        case(&[field, value(bits)], move |state| {
            state.mode = mode;
            if op == Control::SSetregB32 {
                state.scalars[usize::from(SOURCE) + 2] = bits;
            }
        })
        .on(move |wave| {
            if op == Control::SSetregB32 {
                wave.scalars.set(SOURCE + 2, bits, 0)
            }
        })
    };
    let mut cases = vec![
        write(field(1, 0, 4), 0xf, COMPILER_MODE | 0xf),
        write(field(1, 4, 4), 0, COMPILER_MODE & !0xf0),
        write(field(1, 4, 2), 0xffff_fffd, COMPILER_MODE & !0x30 | 0x10),
        write(field(1, 9, 1), 0x100, COMPILER_MODE & !0x200),
        write(field(1, 0, 32), 0x1234, 0x1234),
    ];
    let others = (0..64).filter(|register| *register != 1);
    cases.extend(others.map(|register| {
        write(field(register, 0, 32), 0, COMPILER_MODE)
            .want(Want::Refused("only the MODE register"))
    }));
    cases
}

/// Bits 15:12 of M0 say which operands bits 7:0 move.
fn set_m0(mask: u32, value: u32) -> impl Fn(&mut State) {
    move |state| {
        let m0 = &mut state.scalars[usize::from(scalar::M0)];
        *m0 = *m0 & !mask | value;
    }
}

fn index_modes(op: Control) -> Vec<Case> {
    let index = Operand::Sgpr(SOURCE);
    let low = (THERE & 0xff) as u32;
    match op {
        Control::SSetGprIdxOn => {
            let on = |behind: &'static [u32]| Case {
                behind,
                ..case(&[index, Operand::Imm(9)], move |state| {
                    set_m0(0xf0ff, 0x9000 | low)(state);
                    state.moves_registers = true;
                })
            };
            vec![
                // v_mov_b32 v1, v2; s_set_gpr_idx_idx s3; s_set_gpr_idx_mode gpr_idx(DST); s_set_gpr_idx_off.
                on(&[0x7e02_0302, 0xbe80_3203, 0xbf9d_0008, 0xbf9c_0000]),
                // v_add_u32 v1, v1, v2.
                on(&[0x6802_0501, 0xbf9c_0000]).want(Want::Refused("before s_set_gpr_idx_off")),
                // s_set_gpr_idx_idx with a literal.
                on(&[0xbe80_32ff, 0x0000_0041, 0xbf9c_0000])
                    .want(Want::Refused("without a literal")),
            ]
        }
        Control::SSetGprIdxMode => [0_u16, 6, 15]
            .map(|imm| case(&[Operand::Imm(imm)], set_m0(0xf000, u32::from(imm) << 12)))
            .into(),
        Control::SSetGprIdxIdx => vec![
            case(&[index], set_m0(0xff, low)),
            case(&[Operand::Int(-1)], set_m0(0xff, 0xff)),
            case(&[Operand::Literal(0x1234_5641)], set_m0(0xff, 0x41)),
        ],
        _ => vec![
            case(&[], |state| state.moves_registers = false).on(|wave| wave.moves_registers = true),
        ],
    }
}

/// What each instruction does.
pub(super) fn cases(target: Target, op: Control) -> Vec<Case> {
    let is_950 = target == Target::Gfx950;
    let stops = |status: Status| vec![case(&[], move |state| state.status = status)];
    let pair = Operand::Sgpr(SOURCE);
    let result = Operand::Sgpr(RESULT);
    match op {
        Control::SBranch => branches(true),
        Control::SCbranchScc0 => on_scc(false),
        Control::SCbranchScc1 => on_scc(true),
        Control::SCbranchVccz => on_vcc(target, true),
        Control::SCbranchVccnz => on_vcc(target, false),
        Control::SCbranchExecz => on_mask(target, scalar::EXEC, true),
        Control::SCbranchExecnz => on_mask(target, scalar::EXEC, false),
        Control::SGetpcB64 => vec![case(&[result], |state| state.set_pair(RESULT, state.pc))],
        Control::SSetpcB64 => vec![
            case(&[pair], |state| state.pc = THERE),
            case(&[pair], |_| {})
                .on(|wave| wave.scalars.set(SOURCE + 1, 0, 1))
                .want(Want::Finding(Rule::UndefinedBranch)),
        ],
        // The second one jumps to what its destination held.
        Control::SSwappcB64 => [RESULT, SOURCE]
            .map(|to| {
                case(&[Operand::Sgpr(to), pair], move |state| {
                    state.set_pair(to, state.pc);
                    state.pc = THERE;
                })
            })
            .into(),
        Control::SCallB64 => vec![
            case(&[result, Operand::Imm(0x7fff)], |state| {
                state.set_pair(RESULT, state.pc);
                state.pc += 0x1_fffc;
            }),
            case(&[result, Operand::Imm(0x8000)], |state| {
                state.set_pair(RESULT, state.pc);
                state.pc -= 0x2_0000;
            }),
        ],
        Control::SEndpgm | Control::SEndpgmSaved => stops(Status::Ended),
        Control::SBarrier => stops(Status::AtBarrier),
        Control::SCodeEnd => vec![case(&[], |_| {}).want(Want::Refused("ran past its end"))],
        Control::STrap => {
            [2, 255].map(|id| case(&[Operand::Imm(id)], |_| {}).want(Want::Trap(id))).into()
        }
        // None, vmcnt(0), vmcnt(1), lgkmcnt(0), lgkmcnt(1), both 0, all 0; of gfx950 also vmcnt(16).
        Control::SWaitcnt if is_950 => waits(&[
            (0xcf7f, 8),
            (0x0f70, 3),
            (0x0f71, 4),
            (0xc07f, 5),
            (0xc17f, 7),
            (0x0070, 0),
            (0x0000, 0),
            (0x4f70, 8),
        ]),
        Control::SWaitcnt => waits(&[
            (0xfff7, 8),
            (0x03f7, 5),
            (0x07f7, 6),
            (0xfc07, 5),
            (0xfc17, 7),
            (0x0007, 2),
            (0x0000, 2),
        ]),
        Control::SWaitcntVscnt => single_waits([6, 7, 8]),
        Control::SWaitcntVmcnt => single_waits([5, 6, 7]),
        Control::SWaitcntLgkmcnt => single_waits([5, 7, 8]),
        // Nothing exports; no counter here is about arithmetic.
        Control::SWaitcntExpcnt => single_waits([8; 3]),
        Control::SWaitcntDepctr => unchanged(&[0x0f9f, 0xffff]),
        Control::SWaitIdle => vec![case(&[], |state| state.n_outstanding = 0)],
        Control::SSendmsg | Control::SSendmsghalt => vec![case(&[Operand::Imm(1)], move |state| {
            state.n_outstanding += 1;
            if op == Control::SSendmsghalt {
                state.status = Status::Halted;
            }
        })],
        Control::SSendmsgRtnB32 | Control::SSendmsgRtnB64 => answers(op),
        Control::SSethalt => {
            let halts = case(&[Operand::Imm(1)], |state| state.status = Status::Halted);
            unchanged(&[0, 2]).into_iter().chain([halts]).collect()
        }
        Control::SNop => unchanged(&[0, 7, 15]),
        Control::SSleep => unchanged(&[0, 1, 127]),
        Control::SSetprio => unchanged(&[0, 3]),
        Control::SWakeup | Control::SIcacheInv | Control::STtracedata => vec![case(&[], |_| {})],
        Control::STtracedataImm
        | Control::SIncperflevel
        | Control::SDecperflevel
        | Control::SWaitEvent => unchanged(&[0, 1]),
        Control::SDelayAlu => unchanged(&[0x0091, 0x0509]),
        Control::SClause => unchanged(&[1, 62]),
        Control::SSetInstPrefetchDistance => unchanged(&[0, 3]),
        Control::SRoundMode => [0, 5, 15]
            .map(|imm| {
                case(&[Operand::Imm(imm)], move |state| {
                    state.mode = COMPILER_MODE & !0xf | u32::from(imm)
                })
            })
            .into(),
        Control::SDenormMode => [0, 5, 15]
            .map(|imm| {
                case(&[Operand::Imm(imm)], move |state| {
                    state.mode = COMPILER_MODE & !0xf0 | u32::from(imm) << 4
                })
            })
            .into(),
        Control::SSetGprIdxOn
        | Control::SSetGprIdxOff
        | Control::SSetGprIdxMode
        | Control::SSetGprIdxIdx => index_modes(op),
        Control::SGetregB32 => reads_of_registers(target),
        Control::SSetregB32 | Control::SSetregImm32B32 => writes_of_registers(op),
    }
}
