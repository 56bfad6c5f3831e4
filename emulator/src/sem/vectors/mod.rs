//! Meaning vectors: one line an expectation, sources in, bits out.
//!
//! Expected values are worked out from IEEE 754 and from the operations' definitions in the RDNA3 and
//! CDNA3 ISA manuals, not taken from the emulator; files say where a value needs more than that. The
//! mode is the one that compilers ask for: nearest even, subnormals kept, IEEE and DX10_CLAMP on.
//! Every row with a meaning must have a vector on each target that has it; what goes through the rows of a family
//! by itself tells the completeness test which rows those are.

mod compare;
mod control;
mod convert;
mod float;
mod half;
mod int;
mod lane;
mod lane_rows;
mod lds_moves;
mod memory;
mod modes;
mod packed;
mod relative;
mod salu;

use std::collections::BTreeSet;

use isa::format::Encoding;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::reg::SpecialReg;
use isa::table::{Effect, Ty};
use isa::{Op, Operand, Target};

use crate::exec::alone::{self, Around};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::finding::Rule;
use crate::lanes::Width;
use crate::lds::Lds;
use crate::machine::Options;
use crate::memory::Memory;
use crate::prepare::{Ahead, prepare};
use crate::program::Program;
use crate::scratch::Scratch;
use crate::sem::{self, Meaning, atomic, buffer, matrix};
use crate::wave::{FIRST_ACC, Wave, scalar};

/// MODE of every compiler: subnormals kept (bits 7:4), DX10_CLAMP (8), IEEE (9).
pub(super) const COMPILER_MODE: u32 = 0x3f0;

/// One expectation.
pub(super) struct Vector {
    op: Op,
    /// In the order of the row; old values of destinations that are read come last.
    sources: &'static [u64],
    /// The first result; a carry or flag of a 32-bit result in bit 32.
    want: u64,
    /// The scalar condition code afterwards, where it is written.
    scc: Option<bool>,
}

/// `Family; Operation: [sources] = result, …;`, with `scc` after results that set it.
macro_rules! vectors {
    ($Family:ident; $($Op:ident: $([$($source:expr),*] = $want:literal $(scc $scc:literal)?),+;)*) => {
        &[$($(crate::sem::vectors::Vector {
            op: isa::Op::$Family(isa::table::$Family::$Op),
            sources: &[$($source),*],
            want: $want,
            scc: crate::sem::vectors::scc!($($scc)?),
        },)+)*]
    };
}

macro_rules! scc {
    () => {
        None
    };
    ($scc:literal) => {
        Some($scc == 1)
    };
}

use {scc, vectors};

/// What an instruction left behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Result {
    pub value: u64,
    pub scc: bool,
    pub is_scc_undefined: bool,
    /// Undefined bits of the first result in lane 0.
    pub undefined: u64,
}

/// What became of a wave, and the rules that it broke.
pub(super) struct Attempt {
    pub wave: Wave,
    pub outcome: Outcome,
    pub rules: Vec<Rule>,
}

/// Runs something on a wave that has no memory; returns the rules of its findings too.
pub(super) fn with_exec<R>(
    wave: &mut Wave,
    program: &Program,
    run: impl FnOnce(&mut Exec<'_>) -> R,
) -> (R, Vec<Rule>) {
    with_lds(wave, &mut Lds::new(0), program, run)
}

/// As [`with_exec`], with LDS.
pub(super) fn with_lds<R>(
    wave: &mut Wave,
    lds: &mut Lds,
    program: &Program,
    run: impl FnOnce(&mut Exec<'_>) -> R,
) -> (R, Vec<Rule>) {
    let around = Around {
        memory: &mut Memory::new(0),
        lds,
        scratch: &mut Scratch::new(0, 0),
        options: &Options::default(),
    };
    let (result, findings) = alone::with_exec(wave, around, program, run);
    (result, findings.into_iter().map(|finding| finding.rule).collect())
}

/// One wave, and an instruction for it.
pub(super) struct Lab {
    pub target: Target,
    pub inst: Inst,
    pub mode: u32,
    pub scc: bool,
    /// Undefined bits of each source.
    pub undefined: [u64; 4],
}

/// Where source `k` lies: vector and scalar registers, in steps that leave room for pairs.
const FIRST_SOURCE: u8 = 16;
/// Where the result goes.
const RESULT: u8 = 8;
/// Where the second result goes.
const SECOND_RESULT: u8 = 60;

impl Lab {
    pub fn new(op: Op) -> Lab {
        let target = if op.row().gfx950.is_some() { Target::Gfx950 } else { Target::Gfx1100 };
        Lab::on(target, op)
    }

    pub fn on(target: Target, op: Op) -> Lab {
        let encoding = op.row().form(target).expect("the target has it").encoding;
        let mods = Modifiers {
            op_sel_hi: if encoding == Encoding::Vop3p { 7 } else { 0 },
            ..Modifiers::default()
        };
        let mut inst = Inst {
            op,
            encoding,
            size_bytes: 4,
            operands: [Operand::None; MAX_OPERANDS],
            mods,
            dual: None,
        };
        let mut sources = (FIRST_SOURCE..).step_by(4);
        let mut results = [RESULT, SECOND_RESULT].into_iter();
        for (index, spec) in op.row().operands.iter().enumerate() {
            let place =
                if spec.is_dst { results.next() } else { sources.next() }.expect("few operands");
            let is_scalar = is_scalar(encoding, spec.ty) || spec.is_dst && is_scalar_result(op);
            inst.operands[index] = match spec.ty {
                Ty::Acc => Operand::Acc(place),
                _ if is_scalar => Operand::Sgpr(place),
                _ => Operand::Vgpr(place),
            };
        }
        Lab { target, inst, mode: COMPILER_MODE, scc: false, undefined: [0; 4] }
    }

    /// Runs the instruction with the same sources in every lane.
    pub fn run(&self, sources: &[u64]) -> Result {
        let wave = self.run_on(u64::MAX, |wave| {
            for (operand, (value, undefined)) in
                self.source_operands().zip(sources.iter().zip(self.undefined))
            {
                write(wave, operand, *value, undefined);
            }
        });
        self.read(&wave)
    }

    /// Runs the instruction on a wave that `setup` fills, with some lanes active.
    pub fn run_on(&self, exec: u64, setup: impl Fn(&mut Wave)) -> Wave {
        let Attempt { wave, outcome, .. } = self.attempt(exec, setup);
        outcome.unwrap_or_else(|cause| panic!("{:?}: {cause}", self.inst.op));
        wave
    }

    /// As [`Lab::run_on`], with the host's widest vectors, and to the same bits with plain ones and as it runs in a block
    /// without checks.
    pub fn attempt(&self, exec: u64, setup: impl Fn(&mut Wave)) -> Attempt {
        let mut wide = self.run_at(Width::detect(), true, exec, &setup);
        let mut plain = self.run_at(Width::PLAIN, true, exec, &setup);
        let unwatched = self.run_at(Width::detect(), false, exec, &setup);
        assert_eq!((&wide.outcome, &wide.rules), (&plain.outcome, &plain.rules), "{:?}", self.inst);
        assert_eq!(wide.outcome, unwatched.outcome, "{:?}", self.inst);
        let (wave, plain) = (&mut wide.wave, &mut plain.wave);
        for register in (0..FIRST_ACC + 256).filter(|_| wide.outcome.is_ok()) {
            for row in 0..wave.n_rows() {
                let expected = wave.vectors.row(register, row);
                for (other, how) in [(&*plain, "plain"), (&unwatched.wave, "unwatched")] {
                    let got = other.vectors.row(register, row);
                    assert_eq!(got, expected, "{:?}: register {register}, {how}", self.inst);
                }
            }
        }
        for register in 0..=scalar::EXEC_HI {
            let (got, expected) = (&unwatched.wave.scalars, &wave.scalars);
            assert_eq!(got.get(register), expected.get(register), "{:?}, unwatched", self.inst);
            let scalar =
                |wave: &Wave| (wave.scalars.get(register), wave.scalars.undefined(register));
            assert_eq!(scalar(wave), scalar(plain), "{:?}: s{register}", self.inst.op);
        }
        wide
    }

    fn run_at(
        &self,
        width: Width,
        is_watched: bool,
        exec: u64,
        setup: impl Fn(&mut Wave),
    ) -> Attempt {
        let mut wave = Wave::new(self.target, [256, 256]);
        wave.tracks_undefined = is_watched;
        wave.vectors.set_width(width);
        wave.n_vectors = [256, 256];
        wave.reset(0, 0, self.mode);
        wave.scc = self.scc;
        wave.is_scc_undefined = false;
        let all = if wave.width == 64 { u64::MAX } else { 0xffff_ffff };
        // In wave32 the high half is plain storage.
        wave.scalars.set(scalar::EXEC_HI, u32::MAX, 0);
        wave.set_mask(scalar::EXEC, exec & all, 0);
        wave.active = exec & all;
        setup(&mut wave);
        let mut prepared = prepare(0, self.inst, self.target).expect("has a meaning");
        if !is_watched {
            let mut ahead = Ahead::default();
            ahead.take(&mut prepared);
            wave.spread_ahead(&ahead.into_spread());
        }
        let program = Program::new(self.target, 0, std::iter::empty());
        let (outcome, rules) = with_exec(&mut wave, &program, |exec| {
            sem::directed::handler(exec, &prepared)?(exec, &prepared)
        });
        Attempt { wave, outcome, rules }
    }

    /// Operands that sources are written to: sources, then destinations that are read.
    fn source_operands(&self) -> impl Iterator<Item = Operand> {
        let row = self.inst.row();
        let operands = move |is_dst: bool| {
            row.operands
                .iter()
                .zip(self.inst.operands)
                .filter(move |(spec, _)| spec.is_dst == is_dst)
                .map(|(_, operand)| operand)
        };
        let read_back = operands(true).filter(move |_| row.has(Effect::ReadsDst));
        operands(false).chain(read_back)
    }

    fn read(&self, wave: &Wave) -> Result {
        let destinations = || {
            self.inst.row().operands.iter().zip(self.inst.operands).filter(|(spec, _)| spec.is_dst)
        };
        let (mut value, mut undefined) = (0, 0);
        if let Some((spec, operand)) = destinations().next() {
            let is_wide = spec.ty.bits(self.target) == 64;
            let all: Vec<(u64, u64)> =
                (0..wave.width as usize).map(|lane| read(wave, operand, lane, is_wide)).collect();
            assert!(
                all.iter().all(|result| *result == all[0]),
                "{:?}: lanes differ: {all:x?}",
                self.inst.op
            );
            (value, undefined) = all[0];
        }
        if let Some((spec, Operand::Sgpr(register))) = destinations().nth(1)
            && spec.ty == Ty::Mask
            && value >> 32 == 0
        {
            value |= (wave.mask(register) & 1) << 32;
        }
        Result { value, scc: wave.scc, is_scc_undefined: wave.is_scc_undefined, undefined }
    }
}

/// Operands that live in scalar registers.
fn is_scalar(encoding: Encoding, ty: Ty) -> bool {
    let formats = [Encoding::Sop1, Encoding::Sop2, Encoding::Sopc, Encoding::Sopk, Encoding::Sopp];
    formats.contains(&encoding) || ty == Ty::Mask
}

fn is_scalar_result(op: Op) -> bool {
    matches!(op, Op::Salu(_))
        || matches!(
            op,
            Op::Lane(isa::table::Lane::VReadlaneB32 | isa::table::Lane::VReadfirstlaneB32)
        )
}

fn write(wave: &mut Wave, operand: Operand, value: u64, undefined: u64) {
    let words =
        [(value, undefined), (value >> 32, undefined >> 32)].map(|(v, u)| (v as u32, u as u32));
    for (word, (value, undefined)) in words.into_iter().enumerate() {
        match operand {
            Operand::Sgpr(register) => wave.scalars.set(register + word as u8, value, undefined),
            Operand::Vgpr(register) => {
                write_all(wave, u16::from(register) + word as u16, value, undefined)
            }
            Operand::Acc(register) => {
                write_all(wave, FIRST_ACC + u16::from(register) + word as u16, value, undefined)
            }
            Operand::Special(SpecialReg::VccLo) => {
                wave.scalars.set(scalar::VCC + word as u8, value, undefined)
            }
            _ => {}
        }
    }
}

fn write_all(wave: &mut Wave, register: u16, value: u32, undefined: u32) {
    for lane in 0..wave.width as usize {
        wave.vectors.write_lane(register, lane, u32::MAX, value, undefined);
    }
}

fn read(wave: &Wave, operand: Operand, lane: usize, is_wide: bool) -> (u64, u64) {
    let vector = |register: u16| {
        let (low, high) =
            (wave.vectors.lane_bits(register, lane), wave.vectors.lane_bits(register + 1, lane));
        let shift = if is_wide { 32 } else { 64 };
        let upper = |bits: u64| bits.checked_shl(shift).unwrap_or(0);
        (low.value | upper(high.value), low.undefined | upper(high.undefined))
    };
    match operand {
        Operand::Vgpr(register) => vector(register.into()),
        Operand::Acc(register) => vector(FIRST_ACC + u16::from(register)),
        Operand::Sgpr(register) if is_wide => {
            (wave.scalars.pair(register), wave.scalars.pair_undefined(register))
        }
        Operand::Sgpr(register) => {
            (wave.scalars.get(register).into(), wave.scalars.undefined(register).into())
        }
        _ => (0, 0),
    }
}

fn all_vectors() -> impl Iterator<Item = &'static Vector> {
    [convert::VECTORS, float::VECTORS, half::VECTORS, int::VECTORS, packed::VECTORS, salu::VECTORS]
        .into_iter()
        .flatten()
}

#[test]
fn every_vector_gives_its_result() {
    for Vector { op, sources, want, scc } in all_vectors() {
        for target in Target::ALL.into_iter().filter(|target| op.row().form(*target).is_some()) {
            let got = Lab::on(target, *op).run(sources);
            assert_eq!(
                got.value, *want,
                "{target} {op:?} {sources:x?}: got {:#x}, want {want:#x}",
                got.value
            );
            if let Some(scc) = scc {
                assert_eq!(
                    (got.scc, got.is_scc_undefined),
                    (*scc, false),
                    "{target} {op:?} {sources:x?}: SCC"
                );
            }
        }
    }
}

/// The operations whose results tests compare on a target.
fn tested(target: Target) -> BTreeSet<Op> {
    let of_vectors = all_vectors().map(|vector| vector.op);
    of_vectors
        .chain(compare::compares(target).map(Op::Compare))
        .chain(control::controls(target).map(Op::Control))
        .chain(lane_rows::moves(target).map(Op::Lane))
        .chain(relative::moves().map(Op::Salu))
        .chain(matrix::tests::dense().map(Op::Matrix))
        .chain(lds_moves::MOVES.map(Op::Lds))
        .chain(memory::accesses(target))
        .chain(buffer::tests::accesses())
        .chain(atomic::tests::ops(target))
        .collect()
}

#[test]
fn every_row_with_a_meaning_has_a_vector() {
    for target in Target::ALL {
        let tested = tested(target);
        let rows = Op::rows().filter(|row| row.form(target).is_some()).map(|row| row.op);
        let has_meaning = |op: &Op| !matches!(sem::meaning(*op), Meaning::Unsupported(_));
        let missing: Vec<Op> = rows.filter(|op| has_meaning(op) && !tested.contains(op)).collect();
        assert!(missing.is_empty(), "{target}: no vector for {missing:?}");
    }
}

/// What is refused, and why: sparse and f8f6f4 products alone.
#[test]
fn refused_rows_are_few_and_say_why() {
    let refused: Vec<(Op, &str)> = Op::rows()
        .filter_map(|row| match sem::meaning(row.op) {
            Meaning::Unsupported(why) => Some((row.op, why)),
            _ => None,
        })
        .collect();
    assert_eq!(refused.len(), 32);
    for (op, why) in refused {
        let mnemonic = op.row().gfx950.expect("on gfx950").mnemonic;
        assert!(mnemonic.starts_with("v_smfmac_") || mnemonic.ends_with("_f8f6f4"), "{mnemonic}");
        assert_eq!(why, "its layout has no witness", "{mnemonic}");
        // The fault of a wave that comes to it says the same.
        let mut lab = Lab::on(Target::Gfx950, op);
        lab.inst.operands = [Operand::None; MAX_OPERANDS];
        let outcome = lab.attempt(u64::MAX, |_| {}).outcome.map_err(|cause| *cause);
        let want = Cause::Unsupported { op: mnemonic.to_owned(), why: why.to_owned() };
        assert_eq!(outcome, Err(want));
    }
}

#[test]
fn undefined_sources_make_undefined_results() {
    // A truth table of zero gives zero, saving EXEC gives EXEC, whatever the sources are.
    let is_certain = |op: &Op| op.row().has(Effect::TruthTable) || op.row().has(Effect::WritesExec);
    for Vector { op, sources, .. } in all_vectors().filter(|vector| !is_certain(&vector.op)) {
        let mut lab = Lab::new(*op);
        lab.undefined = [u64::MAX; 4];
        let got = lab.run(sources);
        let has_result = op.row().operands.first().is_some_and(|spec| spec.is_dst);
        assert!(
            got.undefined != 0 || !has_result,
            "{op:?}: a result of undefined sources is defined"
        );
        assert!(has_result || got.is_scc_undefined, "{op:?}: SCC of undefined sources is defined");
    }
}
