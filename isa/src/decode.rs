//! Bytes to instructions: one generic decoder over the rows and layouts.
//!
//! Decoding is strict: a bit that the instruction gives no meaning must be zero (unused sources of VOP3 may
//! also hold the constant 0), a register tuple must
//! be aligned, a scalar operand must name something that the target has. What it refuses is an error
//! with the field and the value, never a guess. No input makes it panic.

pub(crate) mod dpp;
pub(crate) mod dual;
mod error;
pub(crate) mod index;
mod limits;
mod nearest;
pub(crate) mod operand;

pub use error::DecodeError;
pub use error::DecodeProblem;
pub use error::OperandProblem;
pub use nearest::Nearest;
pub use nearest::nearest;

use crate::format;
use crate::format::Bits;
use crate::format::Encoding;
use crate::format::Field;
use crate::format::Layout;
use crate::inst::Inst;
use crate::inst::MAX_OPERANDS;
use crate::inst::Modifiers;
use crate::reg::LITERAL_CODE;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::rules;
use crate::table::Effect;
use crate::table::OperandSpec;
use crate::table::Row;
use crate::table::Ty;
use crate::target::Target;

/// What a source field holds to name the constant 0.
const INLINE_ZERO: u32 = 128;

/// The longest instruction in bytes.
pub const MAX_SIZE_BYTES: usize = 16;

/// Decodes the instruction at the start of `code`.
///
/// # Errors
/// When the bytes are no instruction of `target` that the tables know; offset 0 in the error is the
/// first byte of `code`.
pub fn decode(target: Target, code: &[u8]) -> Result<Inst, DecodeError> {
    let mut reader = Reader::new(target, code);
    reader.instruction().map_err(|problem| reader.error(problem))
}

/// Decodes `code` from start to end: each item is the byte offset and what stands there. After an error
/// it goes on at the next dword.
pub fn decode_all(
    target: Target,
    code: &[u8],
) -> impl Iterator<Item = (usize, Result<Inst, DecodeError>)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = code.get(offset..).filter(|rest| !rest.is_empty())?;
        let at = offset;
        let decoded = decode(target, rest).map_err(|error| error.at(at));
        offset += decoded.as_ref().map_or(4, |inst| usize::from(inst.size_bytes));
        Some((at, decoded))
    })
}

/// The bytes of one instruction, and which of their bits have been given a meaning.
struct Reader {
    target: Target,
    /// Little-endian; zero beyond the input.
    words: u128,
    available_bytes: usize,
    used: u128,
    /// OP_SEL bits that short encodings keep in register numbers.
    halves: u8,
    size_bytes: u8,
}

impl Reader {
    fn new(target: Target, code: &[u8]) -> Reader {
        let available_bytes = code.len().min(MAX_SIZE_BYTES);
        let mut bytes = [0; 16];
        bytes[..available_bytes].copy_from_slice(&code[..available_bytes]);
        Reader {
            target,
            words: u128::from_le_bytes(bytes),
            available_bytes,
            used: 0,
            halves: 0,
            size_bytes: 4,
        }
    }

    fn error(&self, problem: DecodeProblem) -> DecodeError {
        let shown_bytes = usize::from(self.size_bytes).min(self.available_bytes);
        let words = (0..shown_bytes.div_ceil(4)).map(|index| (self.words >> (32 * index)) as u32);
        DecodeError { target: self.target, offset: 0, words: words.collect(), problem }
    }

    fn grow(&mut self, size_bytes: u8) -> Result<(), DecodeProblem> {
        if usize::from(size_bytes) > self.available_bytes {
            return Err(DecodeProblem::Truncated {
                need_bytes: size_bytes,
                got_bytes: self.available_bytes,
            });
        }
        self.size_bytes = size_bytes;
        Ok(())
    }

    fn peek(&self, bits: Bits) -> u32 {
        bits.get(self.words)
    }

    fn take(&mut self, bits: Bits) -> u32 {
        self.used |= bits.mask();
        bits.get(self.words)
    }

    fn instruction(&mut self) -> Result<Inst, DecodeProblem> {
        self.grow(4)?;
        let class =
            format::identify(self.target, self.words).ok_or(DecodeProblem::UnknownFormat)?;
        self.grow(class.size_bytes)?;
        self.used |= class.prefix_mask;
        let inst =
            if class.encoding == Encoding::Vopd { self.dual(class) } else { self.single(class) }?;
        self.skip_unused_sources(&inst);
        self.check_reserved()?;
        check_tuples(&inst, self.target)?;
        limits::check(&inst, self.target)?;
        Ok(inst)
    }

    fn single(&mut self, class: &Layout) -> Result<Inst, DecodeProblem> {
        let opcode = self.take(class.opcode);
        let unknown = DecodeProblem::UnknownOpcode { encoding: class.encoding, opcode };
        let (row, encoding) = index::find(self.target, class.encoding, opcode).ok_or(unknown)?;
        let layout = format::layout(self.target, encoding).ok_or(unknown)?;
        let mut inst = Inst {
            op: row.op,
            encoding,
            size_bytes: layout.size_bytes,
            operands: [Operand::None; MAX_OPERANDS],
            mods: Modifiers::default(),
            dual: None,
        };
        self.modifiers(layout, row, &mut inst)?;
        self.operands(layout, row, &mut inst)?;
        inst.mods.op_sel |= self.halves;
        inst.size_bytes = self.size_bytes;
        Ok(inst)
    }

    /// Reads every modifier that the row allows; the rest stays unused and must be zero.
    fn modifiers(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<(), DecodeProblem> {
        for &(field, bits) in layout.fields {
            let allowed = rules::allowed(row, inst.encoding, self.target, field);
            if allowed == 0 {
                continue;
            }
            let value = self.take(bits);
            if value & !allowed != 0 {
                return Err(DecodeProblem::Reserved { field: Some(field), value });
            }
            inst.mods.set(
                field,
                row,
                sign_extended(value, offset_width(field, inst.encoding, bits)),
            );
        }
        let has_no_offset = layout.field(Field::ImmEn).is_some_and(|bits| self.peek(bits) == 0);
        if has_no_offset {
            inst.mods.offset = 0;
        }
        Ok(())
    }

    fn operands(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<(), DecodeProblem> {
        if self.extension(layout, row, inst)? {
            return Ok(());
        }
        for index in 0..row.operands.len() {
            inst.operands[index] = self.operand(layout, row, index, inst)?;
        }
        Ok(())
    }

    /// The literal dword after the format's own dwords, shared by all operands that ask for it.
    fn literal(&mut self, layout: &Layout) -> Result<Operand, DecodeProblem> {
        self.grow(layout.size_bytes + 4)?;
        let low = layout.size_bytes * 8;
        Ok(Operand::Literal(self.take(Bits::new(low + 31, low))))
    }

    /// VOP3 and VOP3P rows with fewer than three sources: the fields of the others may name the constant 0,
    /// as newer releases of LLVM (of Triton 3.9, say) encode them on gfx1100, instead of being zero.
    fn skip_unused_sources(&mut self, inst: &Inst) {
        let is_long = matches!(inst.encoding, Encoding::Vop3 | Encoding::Vop3Sd | Encoding::Vop3p);
        let Some(layout) = format::layout(self.target, inst.encoding).filter(|_| is_long) else {
            return;
        };
        for bits in [Field::Src1, Field::Src2].into_iter().filter_map(|field| layout.field(field)) {
            if self.used & bits.mask() == 0 && self.peek(bits) == INLINE_ZERO {
                self.used |= bits.mask();
            }
        }
    }

    /// Bits without a meaning must be zero.
    fn check_reserved(&self) -> Result<(), DecodeProblem> {
        let inside = u128::MAX >> (128 - 8 * u32::from(self.size_bytes));
        let leftover = self.words & inside & !self.used;
        match leftover {
            0 => Ok(()),
            bits => Err(DecodeProblem::ReservedBits { lowest: bits.trailing_zeros() }),
        }
    }
}

/// The width of a signed offset; 32 (nothing to extend) for every other field.
fn offset_width(field: Field, encoding: Encoding, bits: Bits) -> u32 {
    let is_signed = matches!(encoding, Encoding::Smem | Encoding::Global | Encoding::Scratch);
    if field == Field::Offset && is_signed { bits.width.into() } else { 32 }
}

fn sign_extended(value: u32, width: u32) -> u32 {
    let unused = 32 - width;
    ((value << unused) as i32 >> unused) as u32
}

/// Tuples must be aligned and inside the register file.
fn check_tuples(inst: &Inst, target: Target) -> Result<(), DecodeProblem> {
    for (index, spec) in inst.row().operands.iter().enumerate() {
        let registers = inst.registers(index, target);
        check_mx_format(inst, spec.ty)?;
        check_index(inst, *spec, inst.operands[index])?;
        let is_immediate = matches!(spec.ty, Ty::Message | Ty::HwReg | Ty::Label | Ty::GprIdx);
        if !is_immediate && !inst.operands[index].fits_tuple(registers, target) {
            return Err(DecodeProblem::Operand {
                field: spec.field,
                problem: OperandProblem::Tuple { registers },
            });
        }
    }
    Ok(())
}

/// Which operands to move is four bits; a source that M0 moves is a register, of a pair one that has two halves.
fn check_index(inst: &Inst, spec: OperandSpec, operand: Operand) -> Result<(), DecodeProblem> {
    let field = spec.field;
    if let Operand::Imm(bits @ 0x10..) = operand
        && spec.ty == Ty::GprIdx
    {
        return Err(DecodeProblem::Reserved { field: Some(field), value: bits.into() });
    }
    if spec.is_dst || !inst.row().has(Effect::RelativeSource) {
        return Ok(());
    }
    let is_pair = spec.ty == Ty::B64;
    let is_register = match (field, operand) {
        (Field::Src0, operand) => matches!(operand, Operand::Vgpr(_)),
        (_, Operand::Special(special)) => match special {
            SpecialReg::SrcScc
            | SpecialReg::SrcVccz
            | SpecialReg::SrcExecz
            | SpecialReg::SrcPopsExitingWaveId => !is_pair,
            SpecialReg::SrcSharedBase
            | SpecialReg::SrcSharedLimit
            | SpecialReg::SrcPrivateBase
            | SpecialReg::SrcPrivateLimit => false,
            _ => true,
        },
        (_, operand) => matches!(operand, Operand::Sgpr(_)),
    };
    let problem = OperandProblem::NotMovable;
    if is_register { Ok(()) } else { Err(DecodeProblem::Operand { field, problem }) }
}

/// The formats of f8f6f4 fragments are 0 to 4.
fn check_mx_format(inst: &Inst, ty: Ty) -> Result<(), DecodeProblem> {
    let (field, format) = match ty {
        Ty::MxA => (Field::Cbsz, inst.mods.cbsz),
        Ty::MxB => (Field::Blgp, inst.mods.blgp),
        _ => return Ok(()),
    };
    if format <= 4 {
        return Ok(());
    }
    Err(DecodeProblem::Reserved { field: Some(field), value: format.into() })
}

/// Whether a source code asks for the literal dword.
fn is_literal(code: u32) -> bool {
    code == LITERAL_CODE
}
