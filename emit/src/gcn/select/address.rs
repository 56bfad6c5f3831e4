//! Addressing modes.
//!
//! Global memory: a pointer in SGPRs plus an unsigned 32-bit offset in a VGPR plus a signed immediate, or a pointer in
//! VGPRs plus the immediate. LDS: an address in a VGPR plus an unsigned immediate of 16 bits. Scalar memory: a pointer
//! in SGPRs, an unsigned offset in an SGPR and an immediate.

use dsl::ir::{Address, Base, BinOp};

use super::values::Word;
use super::wide::Wide;
use super::{Known, Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Part, Slot};

/// Immediate offsets of scalar loads are below this on both targets (ISA manuals: 21 bits, signed).
const SCALAR_IMMEDIATES: u32 = 1 << 20;

/// Where an access goes.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Vector memory: `addr`, `saddr`, and what is left for immediates.
    Global {
        /// Pointer in SGPRs, or the whole address in VGPRs.
        base: Wide,
        /// Offset in a VGPR, with a pointer in SGPRs.
        offset: Option<Word>,
        /// Constant byte offset.
        constant: i64,
    },
    /// Scalar memory.
    Scalar {
        /// The pointer.
        base: Wide,
        /// Offset in an SGPR.
        offset: Option<Word>,
        /// Constant byte offset.
        constant: u32,
    },
    /// LDS.
    Lds {
        /// Address in a VGPR.
        addr: Word,
        /// Constant byte offset.
        constant: u32,
    },
}

impl<'k> Selector<'k> {
    pub(super) fn place(&mut self, address: &Address, scalar: bool) -> Result<Place, Cause> {
        let offset = match address.offset {
            Some(offset) => Some(self.word(offset)?),
            None => None,
        };
        match address.base {
            Base::Lds(id) => {
                let buffer = self.lds_offsets.get(id.0 as usize).copied();
                let buffer = buffer
                    .ok_or_else(|| malformed(format!("LDS buffer {} does not exist", id.0)))?;
                Ok(self.lds_place(offset, buffer.wrapping_add(address.constant)))
            }
            Base::Global(pointer) => {
                let base = self.pointer_words(pointer)?;
                let mut constant = i64::from(address.constant);
                let offset = match offset {
                    Some(Word::Const(bits)) => {
                        constant += i64::from(bits);
                        None
                    }
                    other => other,
                };
                let is_scalar = base.iter().all(|word| self.is_scalar(*word));
                if scalar && is_scalar && constant < SCALAR_IMMEDIATES.into() {
                    let offset = offset.map(|word| self.scalar_word(word));
                    return Ok(Place::Scalar { base, offset, constant: constant as u32 });
                }
                self.global_place(base, offset, constant, is_scalar)
            }
        }
    }

    fn lds_place(&mut self, offset: Option<Word>, constant: u32) -> Place {
        let limit = self.target.limits().lds_offset_bytes;
        let (addr, constant) = match offset {
            Some(Word::Const(bits)) => (Word::Const(0), bits.wrapping_add(constant)),
            Some(word) => (word, constant),
            None => (Word::Const(0), constant),
        };
        // Room for the later pieces of a wide access.
        if constant + 64 <= limit {
            return Place::Lds { addr: self.vector_word(addr), constant };
        }
        let far = Word::Const(constant & !0xfff);
        let addr = self.integer(BinOp::Add, addr, far).unwrap_or(addr);
        Place::Lds { addr: self.vector_word(addr), constant: constant & 0xfff }
    }

    fn global_place(
        &mut self,
        base: Wide,
        offset: Option<Word>,
        constant: i64,
        is_scalar: bool,
    ) -> Result<Place, Cause> {
        if is_scalar {
            return Ok(Place::Global { base, offset, constant });
        }
        let base = match offset {
            Some(offset) => self.wide(BinOp::Add, base, [offset, Word::Const(0)])?,
            None => base,
        };
        Ok(Place::Global { base, offset: None, constant })
    }

    /// `addr`, `saddr` and the immediate of a vector access at a byte offset from a place.
    pub(super) fn global_operands(
        &mut self,
        place: (Wide, Option<Word>, i64),
    ) -> Result<(Slot, Slot, i32), Cause> {
        let (base, offset, constant) = place;
        let (low, high) = self.target.limits().global_offset_bytes;
        let span = i64::from(high) - i64::from(low) + 1;
        let page = (constant - i64::from(low)).div_euclid(span) * span;
        let immediate = (constant - page) as i32;
        let is_scalar = base.iter().all(|word| self.is_scalar(*word));
        let base = self.base_plus(base, page)?;
        if is_scalar {
            let saddr = self.tuple(&base, Class::Scalar);
            let (reg, index) = self.in_vgpr(offset.unwrap_or(Word::Const(0)));
            return Ok((Slot::Part(Part::new(reg, index, 1)), Slot::Part(saddr), immediate));
        }
        let addr = self.tuple(&base, Class::Vector);
        Ok((Slot::Part(addr), Slot::None, immediate))
    }

    /// A pointer plus a constant, made once.
    fn base_plus(&mut self, base: Wide, constant: i64) -> Result<Wide, Cause> {
        if constant == 0 {
            return Ok(base);
        }
        let known = match base[0] {
            Word::Reg(reg, index) => Known::Base(reg, index, constant),
            Word::Const(bits) => Known::Base(crate::gcn::mir::Reg(u32::MAX), bits as u8, constant),
        };
        if let Some(reg) = self.recall(&known) {
            return Ok([Word::Reg(reg, 0), Word::Reg(reg, 1)]);
        }
        let addend = [Word::Const(constant as u32), Word::Const((constant >> 32) as u32)];
        let sum = self.wide(BinOp::Add, base, addend)?;
        let is_scalar = sum.iter().all(|word| self.is_scalar(*word));
        let class = if is_scalar { Class::Scalar } else { Class::Vector };
        let part = self.tuple(&sum, class);
        if matches!(base[0], Word::Reg(..)) && part.first == 0 {
            self.remember(known, part.reg);
        }
        let sum = [Word::Reg(part.reg, part.first), Word::Reg(part.reg, part.first + 1)];
        Ok(sum)
    }

    /// `sbase` and `soffset` of a scalar access.
    pub(super) fn scalar_operands(&mut self, base: Wide, offset: Option<Word>) -> (Slot, Slot) {
        let base = self.tuple(&base, Class::Scalar);
        let offset = match offset {
            Some(Word::Const(bits)) => Slot::Part(Part::new(self.scalar_const(bits), 0, 1)),
            Some(word) => self.slot(word),
            None => Slot::None,
        };
        (Slot::Part(base), offset)
    }
}
