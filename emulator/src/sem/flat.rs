//! Memory by address: FLAT, GLOBAL and SCRATCH.

use isa::format::Encoding;
use isa::table::Flat;

use crate::checks::undefined;
use crate::exec::{Exec, Outcome};
use crate::operand::Span;
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Exact};
use crate::sem::access::{Extend, Space};
use crate::sem::rows::Memory;
use crate::wave::scalar;

#[rustfmt::skip]
pub(crate) fn meaning(op: Flat) -> Meaning {
    match op {
        // Loads.
        Flat::LoadU8 => Exact(|x, i| x.flat_load::<1>(i, Extend::Zero)),
        Flat::LoadI8 => Exact(|x, i| x.flat_load::<1>(i, Extend::Sign)),
        Flat::LoadU16 => Exact(|x, i| x.flat_load::<2>(i, Extend::Zero)),
        Flat::LoadI16 => Exact(|x, i| x.flat_load::<2>(i, Extend::Sign)),
        Flat::LoadD16U8 => Exact(|x, i| x.flat_load::<1>(i, Extend::HalfZero(0))),
        Flat::LoadD16HiU8 => Exact(|x, i| x.flat_load::<1>(i, Extend::HalfZero(16))),
        Flat::LoadD16I8 => Exact(|x, i| x.flat_load::<1>(i, Extend::HalfSign(0))),
        Flat::LoadD16HiI8 => Exact(|x, i| x.flat_load::<1>(i, Extend::HalfSign(16))),
        Flat::LoadD16B16 => Exact(|x, i| x.flat_load::<2>(i, Extend::HalfZero(0))),
        Flat::LoadD16HiB16 => Exact(|x, i| x.flat_load::<2>(i, Extend::HalfZero(16))),
        Flat::LoadB32 => Exact(|x, i| x.flat_load::<4>(i, Extend::Words)),
        Flat::LoadB64 => Exact(|x, i| x.flat_load::<8>(i, Extend::Words)),
        Flat::LoadB96 => Exact(|x, i| x.flat_load::<12>(i, Extend::Words)),
        Flat::LoadB128 => Exact(|x, i| x.flat_load::<16>(i, Extend::Words)),

        // Stores.
        Flat::StoreB8 => Exact(|x, i| x.flat_store::<1>(i, 0)),
        Flat::StoreD16HiB8 => Exact(|x, i| x.flat_store::<1>(i, 16)),
        Flat::StoreB16 => Exact(|x, i| x.flat_store::<2>(i, 0)),
        Flat::StoreD16HiB16 => Exact(|x, i| x.flat_store::<2>(i, 16)),
        Flat::StoreB32 => Exact(|x, i| x.flat_store::<4>(i, 0)),
        Flat::StoreB64 => Exact(|x, i| x.flat_store::<8>(i, 0)),
        Flat::StoreB96 => Exact(|x, i| x.flat_store::<12>(i, 0)),
        Flat::StoreB128 => Exact(|x, i| x.flat_store::<16>(i, 0)),

        // Loads to LDS.
        Flat::LoadLdsDword => Exact(|x, i| x.flat_load_to_lds::<1>(i)),
        Flat::LoadLdsDwordx3 => Exact(|x, i| x.flat_load_to_lds::<3>(i)),
        Flat::LoadLdsDwordx4 => Exact(|x, i| x.flat_load_to_lds::<4>(i)),
    }
}

impl Exec<'_> {
    fn flat_load<const N: usize>(&mut self, inst: &Prepared, extend: Extend) -> Outcome {
        if inst.inst.encoding == Encoding::Global && extend == Extend::Words {
            return self.load_rows::<N>(inst, Memory::Global, |exec, row| {
                exec.global_addresses(inst, 1, row)
            });
        }
        self.vector_load::<N>(inst, extend, |exec, lane| exec.flat_address(inst, lane, 1))
    }

    fn flat_store<const N: usize>(&mut self, inst: &Prepared, shift: u32) -> Outcome {
        if inst.inst.encoding == Encoding::Global && N.is_multiple_of(4) {
            return self.store_rows::<N>(inst, 1, Memory::Global, |exec, row| {
                exec.global_addresses(inst, 2, row)
            });
        }
        self.vector_store::<N>(inst, 1, shift, |exec, lane| exec.flat_address(inst, lane, 2))
    }

    fn flat_load_to_lds<const M: usize>(&mut self, inst: &Prepared) -> Outcome {
        if inst.inst.encoding != Encoding::Global {
            return self.refuse(inst, "loads to LDS from flat or scratch addresses");
        }
        self.load_to_lds::<M>(inst, |exec, lane, word| match exec.flat_address(inst, lane, 1) {
            Space::Global(address) => Space::Global(address.wrapping_add(4 * word as u64)),
            other => other,
        })
    }

    /// Lane `l` loads `M` words to LDS at M0 + offset + `l` · width; the offset applies to both addresses.
    /// What a buffer resource puts out of range is written as zero.
    ///
    /// Source: CDNA3 ISA manual, "memory buffer load to LDS"; LLVM 22, `llvm.amdgcn.global.load.lds`.
    pub(crate) fn load_to_lds<const M: usize>(
        &mut self,
        inst: &Prepared,
        from: impl Fn(&Self, usize, usize) -> Space,
    ) -> Outcome {
        self.check_address(inst);
        if self.wave.scalars.undefined(scalar::M0) != 0 {
            undefined::address(self, inst, None, &[scalar::M0.into()]);
        }
        let base = self.wave.scalars.get(scalar::M0).wrapping_add_signed(inst.inst.mods.offset);
        for row in self.rows() {
            for lane in self.lanes(row) {
                for word in 0..M {
                    let space = from(self, lane, word);
                    let (bytes, written) = self.load_bytes::<4>(inst, lane, space)?;
                    let to = base.wrapping_add((lane * M + word) as u32 * 4);
                    self.store_bytes(inst, lane, Space::Lds(to), bytes, written)?;
                }
            }
        }
        self.issue(inst, Span::default());
        Ok(())
    }
}
