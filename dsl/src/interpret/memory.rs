//! Buffers of arguments and LDS.
//!
//! A pointer is the number of its parameter in the upper 16 bits and a signed byte offset in the lower 48.

use crate::ir::{Address, Base, Kernel, LdsId, Op, Stmt, Type};

use super::convert::from_bytes;
use super::{Active, Argument, Cause, Outcome, Workgroup, items};

const OFFSET_BITS: u32 = 48;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// A pointer into a parameter's buffer.
pub(super) fn pointer(param: usize, offset: u64) -> u64 {
    (param as u64) << OFFSET_BITS | offset & OFFSET_MASK
}

/// A pointer moved by bytes.
pub(super) fn moved(from: u64, bytes: u64) -> u64 {
    pointer((from >> OFFSET_BITS) as usize, from.wrapping_add(bytes))
}

/// The LDS of a workgroup; a byte that nothing wrote is `None`.
pub(super) struct Lds(Vec<Vec<Option<u8>>>);

impl Lds {
    pub(super) fn new(kernel: &Kernel) -> Lds {
        Lds(kernel.lds.iter().map(|buffer| vec![None; buffer.size_bytes as usize]).collect())
    }

    fn of(&self, id: LdsId) -> &[Option<u8>] {
        self.0.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }
}

/// A run of bytes that a work-item accesses.
struct Run {
    base: Base,
    /// The parameter, for global memory.
    param: usize,
    start: usize,
    bytes: usize,
}

impl Workgroup<'_> {
    pub(super) fn load(&mut self, stmt: &Stmt, address: Address, active: &Active) -> Outcome {
        let [result] = stmt.results[..] else { return Ok(()) };
        let ty = self.ty(result);
        for item in items(active) {
            let run = self.run(stmt, &address, ty, item)?;
            let bytes = self.bytes(&run).map_err(|cause| self.fault(stmt, Some(item), cause))?;
            let element = run.bytes / usize::from(ty.lanes());
            let bits: Vec<u64> = bytes.chunks(element).map(from_bytes).collect();
            self.set(result, item, &bits);
        }
        Ok(())
    }

    pub(super) fn store(&mut self, stmt: &Stmt, active: &Active) -> Outcome {
        let (Op::Store(address, value) | Op::AtomicOr(address, value)) = stmt.op else {
            return Ok(());
        };
        let (ty, adds_bits) = (self.ty(value), matches!(stmt.op, Op::AtomicOr(..)));
        for item in items(active) {
            let run = self.run(stmt, &address, ty, item)?;
            let element = run.bytes / usize::from(ty.lanes());
            let elements = self.get(value, item).iter().map(|bits| bits.to_le_bytes());
            let mut bytes: Vec<u8> =
                elements.flat_map(|bytes| bytes.into_iter().take(element)).collect();
            if adds_bits {
                let old = self.bytes(&run).map_err(|cause| self.fault(stmt, Some(item), cause))?;
                bytes.iter_mut().zip(old).for_each(|(new, old)| *new |= old);
            }
            self.write(&run, &bytes);
        }
        Ok(())
    }

    /// Where an access goes, inside its buffer and as aligned as promised.
    fn run(
        &self,
        stmt: &Stmt,
        address: &Address,
        ty: Type,
        item: usize,
    ) -> Result<Run, super::Fault> {
        let (param, start, size) = match address.base {
            Base::Global(pointer) => {
                let pointer = self.get(pointer, item)[0];
                let param = (pointer >> OFFSET_BITS) as usize;
                let size = match self.arguments.get(param) {
                    Some(Argument::Buffer(bytes)) => bytes.len(),
                    _ => 0,
                };
                (param, (pointer << (64 - OFFSET_BITS)) as i64 >> (64 - OFFSET_BITS), size)
            }
            Base::Lds(id) => (0, 0, self.lds.of(id).len()),
        };
        let offset = address.offset.map_or(0, |offset| self.get(offset, item)[0] as u32);
        let at = start + i64::from(offset) + i64::from(address.constant);
        let bytes = ty.size_bytes();
        let cause = if at < 0 || at + i64::from(bytes) > size as i64 {
            Cause::OutOfBounds { at, bytes, size: size as u64 }
        } else if at % i64::from(address.align_bytes.max(1)) != 0 {
            Cause::Misaligned { at, align_bytes: address.align_bytes }
        } else {
            return Ok(Run {
                base: address.base,
                param,
                start: at as usize,
                bytes: bytes as usize,
            });
        };
        Err(self.fault(stmt, Some(item), cause))
    }

    fn bytes(&self, run: &Run) -> Result<Vec<u8>, Cause> {
        let inside = run.start..run.start + run.bytes;
        match (run.base, &self.arguments.get(run.param)) {
            (Base::Lds(id), _) => {
                let held = self.lds.of(id)[inside].iter().zip(run.start as i64..);
                held.map(|(byte, at)| byte.ok_or(Cause::Unwritten { at })).collect()
            }
            (Base::Global(_), Some(Argument::Buffer(bytes))) => Ok(bytes[inside].to_vec()),
            (Base::Global(_), _) => Err(Cause::Unknown),
        }
    }

    fn write(&mut self, run: &Run, new: &[u8]) {
        let inside = run.start..run.start + run.bytes;
        match run.base {
            Base::Lds(id) => {
                let bytes = &mut self.lds.0[id.0 as usize][inside];
                bytes.iter_mut().zip(new).for_each(|(byte, new)| *byte = Some(*new));
            }
            Base::Global(_) => {
                if let Some(Argument::Buffer(bytes)) = self.arguments.get_mut(run.param) {
                    bytes[inside].copy_from_slice(new);
                }
            }
        }
    }
}
