//! Loads and stores, in pieces as wide as alignment and target allow, and the barrier.

use dsl::ir::{Address, Value};
use isa::Op;
use isa::table::{Control, Field, Flat, FlatAtomic, Lds};

use super::address::Place;
use super::entry::widest_load;
use super::values::{Loc, Word, is_16_bit};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Slot};

/// One instruction's share of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// So many words side by side.
    Words(u8),
    /// Two runs of so many words each, by one LDS instruction with two addresses.
    Twice(u8),
    /// Half a word.
    Half,
}

impl Piece {
    fn bytes(self) -> u32 {
        match self {
            Piece::Words(words) => 4 * u32::from(words),
            Piece::Twice(words) => 8 * u32::from(words),
            Piece::Half => 2,
        }
    }
}

/// The pieces of an access to global memory, which asks for alignment to words only.
fn global_pieces(bytes: u32, align: u32) -> Vec<Piece> {
    pieces(bytes, |left| match left {
        _ if align < 4 => Piece::Half,
        16.. => Piece::Words(4),
        12.. => Piece::Words(3),
        8.. => Piece::Words(2),
        4.. => Piece::Words(1),
        _ => Piece::Half,
    })
}

/// The pieces of an access to LDS: wide ones must be aligned to their width (LLVM 22, without unaligned access mode).
fn lds_pieces(bytes: u32, align: u32, constant: u32) -> Vec<Piece> {
    let mut at = constant;
    pieces(bytes, |left| {
        let pairs = |width: u32| at.is_multiple_of(width) && at / width < 255;
        let piece = match (left, align) {
            (_, ..4) => Piece::Half,
            (16.., 16..) => Piece::Words(4),
            (16.., 8..) if pairs(8) => Piece::Twice(2),
            (8.., 8..) => Piece::Words(2),
            (8.., _) if pairs(4) => Piece::Twice(1),
            (4.., _) => Piece::Words(1),
            _ => Piece::Half,
        };
        at += piece.bytes();
        piece
    })
}

fn pieces(bytes: u32, mut next: impl FnMut(u32) -> Piece) -> Vec<Piece> {
    let mut left = bytes;
    let mut pieces = Vec::new();
    while left > 0 {
        let piece = next(left);
        left = left.saturating_sub(piece.bytes());
        pieces.push(piece);
    }
    pieces
}

/// What a load or store of an instruction's share gives or takes.
enum Data {
    Words(Part),
    Pair(Part, Part),
    Half(Word, bool),
}

impl<'k> Selector<'k> {
    pub(super) fn load(&mut self, address: &Address, result: Value) -> Result<Loc, Cause> {
        let ty = self.ty(result);
        let (bytes, align) = (ty.size_bytes(), address.align_bytes);
        let scalar = self.is_uniform(result)
            && self.plan.is_constant_memory(address.base)
            && align >= 4
            && bytes.is_multiple_of(4);
        let place = self.place(address, scalar)?;
        if let Place::Scalar { base, offset, constant } = place {
            return Ok(Loc::of(self.load_scalar(base, offset, constant, bytes / 4)));
        }
        let pieces = match place {
            Place::Lds { constant, .. } => lds_pieces(bytes, align, constant),
            _ => global_pieces(bytes, align),
        };
        if is_16_bit(ty.scalar()) && ty.lanes() == 1 {
            let word = self.load_half(place, 0)?;
            return Ok(Loc::Half { word, high: false });
        }
        let mut words = Vec::new();
        let mut half = None;
        let mut at = 0;
        for piece in pieces {
            match piece {
                Piece::Half => {
                    let word = self.load_half(place, at)?;
                    match half.take() {
                        None => half = Some(word),
                        Some(low) => words.push(self.join_halves((low, false), (word, false))),
                    }
                }
                piece => words.extend(self.load_piece(place, at, piece)?),
            }
            at += piece.bytes();
        }
        words.extend(half);
        Ok(Loc::of(words))
    }

    fn load_scalar(
        &mut self,
        base: [Word; 2],
        offset: Option<Word>,
        constant: u32,
        count: u32,
    ) -> Vec<Word> {
        let (base, offset) = self.scalar_operands(base, offset);
        let mut words = Vec::new();
        while (words.len() as u32) < count {
            let done = words.len() as u32;
            let (op, width) = widest_load(count - done);
            let reg = self.new_reg(Class::Scalar, width as u8);
            let to = Slot::Part(Part::new(reg, 0, width as u8));
            let kind = Kind::Machine(Op::Smem(op));
            let mut inst = Inst::new(kind, &[to, base, offset], self.stmt());
            inst.mods.offset = (constant + done * 4) as i32;
            inst.early = true;
            self.emit(inst);
            words.extend((0..width as u8).map(|index| Word::Reg(reg, index)));
        }
        words
    }

    fn load_half(&mut self, place: Place, at: u32) -> Result<Word, Cause> {
        let reg = self.new_reg(Class::Vector, 1);
        let part = Part::new(reg, 0, 1);
        match place {
            Place::Lds { .. } => {
                self.lds_access(Lds::DsLoadU16, place, at, Data::Words(part), true)?
            }
            _ => self.global_access(Flat::LoadU16, place, at, Slot::Part(part), true)?,
        }
        Ok(Word::Reg(reg, 0))
    }

    fn load_piece(&mut self, place: Place, at: u32, piece: Piece) -> Result<Vec<Word>, Cause> {
        let count = (piece.bytes() / 4) as u8;
        let reg = self.new_reg(Class::Vector, count);
        let part = Part::new(reg, 0, count);
        if let Place::Lds { .. } = place {
            let op = match piece {
                Piece::Words(4) => Lds::DsLoadB128,
                Piece::Words(3) => Lds::DsLoadB96,
                Piece::Words(2) => Lds::DsLoadB64,
                Piece::Twice(2) => Lds::DsLoad2addrB64,
                Piece::Twice(_) => Lds::DsLoad2addrB32,
                _ => Lds::DsLoadB32,
            };
            self.lds_access(op, place, at, Data::Words(part), true)?;
        } else {
            let op = match count {
                4 => Flat::LoadB128,
                3 => Flat::LoadB96,
                2 => Flat::LoadB64,
                _ => Flat::LoadB32,
            };
            self.global_access(op, place, at, Slot::Part(part), true)?;
        }
        Ok((0..count).map(|index| Word::Reg(reg, index)).collect())
    }

    pub(super) fn store(&mut self, address: &Address, value: Value) -> Result<(), Cause> {
        let ty = self.ty(value);
        let place = self.place(address, false)?;
        if is_16_bit(ty.scalar()) && ty.lanes() == 1 {
            let (word, high) = self.half(value)?;
            return self.store_piece(place, 0, Data::Half(word, high));
        }
        let words = self.plain_words(value)?;
        let (bytes, align) = (ty.size_bytes(), address.align_bytes);
        let pieces = match place {
            Place::Lds { constant, .. } => lds_pieces(bytes, align, constant),
            _ => global_pieces(bytes, align),
        };
        let mut at = 0;
        for piece in pieces {
            let first = (at / 4) as usize;
            let data = match piece {
                Piece::Half => Data::Half(words[first], at % 4 != 0),
                Piece::Words(count) => {
                    let run = &words[first..first + usize::from(count)];
                    Data::Words(self.tuple(run, Class::Vector))
                }
                Piece::Twice(count) => {
                    let count = usize::from(count);
                    let low = self.tuple(&words[first..first + count], Class::Vector);
                    let run = &words[first + count..first + 2 * count];
                    Data::Pair(low, self.tuple(run, Class::Vector))
                }
            };
            self.store_piece(place, at, data)?;
            at += piece.bytes();
        }
        Ok(())
    }

    fn store_piece(&mut self, place: Place, at: u32, data: Data) -> Result<(), Cause> {
        let data = match data {
            Data::Half(word, high) => {
                let word = if self.is_vector(word) {
                    (word, high)
                } else {
                    (self.low_half(word, high), false)
                };
                Data::Half(self.vector_word(word.0), word.1)
            }
            other => other,
        };
        if let Place::Lds { .. } = place {
            let op = match &data {
                Data::Half(_, true) => Lds::DsStoreB16D16Hi,
                Data::Half(_, false) => Lds::DsStoreB16,
                Data::Pair(low, _) if low.count == 2 => Lds::DsStore2addrB64,
                Data::Pair(..) => Lds::DsStore2addrB32,
                Data::Words(part) => match part.count {
                    4 => Lds::DsStoreB128,
                    3 => Lds::DsStoreB96,
                    2 => Lds::DsStoreB64,
                    _ => Lds::DsStoreB32,
                },
            };
            return self.lds_access(op, place, at, data, false);
        }
        let (op, slot) = match data {
            Data::Half(word, true) => (Flat::StoreD16HiB16, self.slot(word)),
            Data::Half(word, false) => (Flat::StoreB16, self.slot(word)),
            Data::Words(part) | Data::Pair(part, _) => {
                let op = match part.count {
                    4 => Flat::StoreB128,
                    3 => Flat::StoreB96,
                    2 => Flat::StoreB64,
                    _ => Flat::StoreB32,
                };
                (op, Slot::Part(part))
            }
        };
        self.global_access(op, place, at, slot, false)
    }

    fn global_access(
        &mut self,
        op: Flat,
        place: Place,
        at: u32,
        data: Slot,
        is_load: bool,
    ) -> Result<(), Cause> {
        let Place::Global { base, offset, constant } = place else {
            return Err(malformed("an access to no memory".to_owned()));
        };
        let (addr, saddr, immediate) =
            self.global_operands((base, offset, constant + i64::from(at)))?;
        let slots = if is_load { [data, addr, saddr] } else { [addr, data, saddr] };
        let mut inst = Inst::new(Kind::Machine(Op::Flat(op)), &slots, self.stmt());
        inst.mods.offset = immediate;
        self.emit(inst);
        Ok(())
    }

    fn lds_access(
        &mut self,
        op: Lds,
        place: Place,
        at: u32,
        data: Data,
        is_load: bool,
    ) -> Result<(), Cause> {
        let Place::Lds { addr, constant } = place else {
            return Err(malformed("an access to no LDS".to_owned()));
        };
        let (addr, offset) = (self.slot(addr), constant + at);
        let (slots, width) = match data {
            Data::Words(part) if is_load => {
                (vec![Slot::Part(part), addr], 4 * u32::from(part.count / 2))
            }
            Data::Words(part) => (vec![addr, Slot::Part(part)], 0),
            Data::Pair(low, high) => {
                (vec![addr, Slot::Part(low), Slot::Part(high)], 4 * u32::from(low.count))
            }
            Data::Half(word, _) => (vec![addr, self.slot(word)], 0),
        };
        let mut inst = Inst::new(Kind::Machine(Op::Lds(op)), &slots, self.stmt());
        if op.row().has(isa::table::Effect::TwoOffsets) {
            inst.mods.offset = (offset / width) as i32;
            inst.mods.offset1 = (offset / width + 1) as u8;
        } else {
            inst.mods.offset = offset as i32;
        }
        self.emit(inst);
        Ok(())
    }

    /// Sets bits of a word of global memory, without its old value.
    pub(super) fn atomic_or(&mut self, address: &Address, value: Value) -> Result<(), Cause> {
        let place = self.place(address, false)?;
        let Place::Global { base, offset, constant } = place else {
            return Err(self.unsupported("atomic or of LDS", "use global memory"));
        };
        let word = self.word(value)?;
        let word = self.vector_word(word);
        let (addr, saddr, immediate) = self.global_operands((base, offset, constant))?;
        let op = Op::FlatAtomic(FlatAtomic::AtomicOrB32);
        let row = op.row().operands;
        let slots: Vec<Slot> = row
            .iter()
            .map(|spec| match spec.field {
                Field::Addr => addr,
                Field::Data => self.slot(word),
                Field::Saddr => saddr,
                _ => Slot::None,
            })
            .collect();
        let mut inst = Inst::new(Kind::Machine(op), &slots, self.stmt());
        inst.mods.offset = immediate;
        self.emit(inst);
        Ok(())
    }

    /// A workgroup of one wave needs no barrier: its LDS accesses stay in order.
    pub(super) fn barrier(&mut self) {
        if self.kernel.workgroup_size > self.target.wave_width() {
            self.control(Control::SBarrier, &[]);
        }
    }
}
