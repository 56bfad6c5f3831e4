//! The state of one wave: registers, masks, mode, and which of their bits are undefined.

mod vectors;

use isa::Target;
use isa::wait_states::History;

use crate::checks::origins::Origins;
use crate::checks::waits::Scoreboard;
use crate::float::FloatMode;
use crate::sem::Factors;

pub(crate) use vectors::*;

/// Numbers of scalar registers in the wave's own file, the same on every target: those of `isa::slots`.
pub(crate) mod scalar {
    /// Low half of VCC.
    pub const VCC: u8 = 106;
    /// M0.
    pub const M0: u8 = 124;
    /// Low half of EXEC.
    pub const EXEC: u8 = 126;
    /// High half of EXEC.
    pub const EXEC_HI: u8 = 127;
    /// All of them.
    pub const COUNT: usize = 128;
}

/// The scalar registers of a wave, special ones included (see [`scalar`]).
#[derive(Debug)]
pub(crate) struct ScalarFile {
    values: [u32; scalar::COUNT],
    undefined: [u32; scalar::COUNT],
}

impl ScalarFile {
    #[inline]
    pub(crate) fn get(&self, register: u8) -> u32 {
        self.values[usize::from(register & 127)]
    }

    #[inline]
    pub(crate) fn undefined(&self, register: u8) -> u32 {
        self.undefined[usize::from(register & 127)]
    }

    #[inline]
    pub(crate) fn set(&mut self, register: u8, value: u32, undefined: u32) {
        self.values[usize::from(register & 127)] = value;
        self.undefined[usize::from(register & 127)] = undefined;
    }

    /// Two registers as one value, the first one low.
    #[inline]
    pub(crate) fn pair(&self, register: u8) -> u64 {
        u64::from(self.get(register)) | u64::from(self.get(register + 1)) << 32
    }

    /// The undefined bits of two registers.
    #[inline]
    pub(crate) fn pair_undefined(&self, register: u8) -> u64 {
        u64::from(self.undefined(register)) | u64::from(self.undefined(register + 1)) << 32
    }
}

/// What a wave is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    AtBarrier,
    Halted,
    Ended,
}

/// One wave of a workgroup.
#[derive(Debug)]
pub(crate) struct Wave {
    /// Its number in the workgroup.
    pub id: u32,
    /// Lanes of a wave.
    pub width: u32,
    /// Address of the next instruction.
    pub pc: u64,
    pub status: Status,
    pub scalars: ScalarFile,
    pub vectors: VectorFile,
    /// Vector registers that the descriptor allocates: architectural, accumulation.
    pub n_vectors: [u16; 2],
    /// What the hardware does not initialise is undefined, and not zero.
    pub tracks_undefined: bool,
    pub scc: bool,
    pub is_scc_undefined: bool,
    /// The MODE register.
    pub mode_bits: u32,
    /// What arithmetic needs of it, kept in step.
    pub mode: FloatMode,
    pub scoreboard: Scoreboard,
    /// Instructions that later ones may come too early for.
    pub history: History,
    /// Where undefined bits came to be.
    pub origins: Origins,
    /// M0 moves registers (`s_set_gpr_idx_on` of gfx950).
    pub moves_registers: bool,
    /// Room for the factors of a matrix operation, from the first one on.
    pub factors: Option<Box<Factors>>,
    /// What its clocks showed last.
    clock: u64,
    /// Lanes that the current instruction works on: EXEC, less what DPP switched off.
    pub active: u64,
}

impl Wave {
    /// With room for so many architectural and accumulation registers.
    pub(crate) fn new(target: Target, n_vectors: [u16; 2]) -> Wave {
        Wave {
            id: 0,
            width: target.wave_width(),
            pc: 0,
            status: Status::Running,
            scalars: ScalarFile {
                values: [0; scalar::COUNT],
                undefined: [u32::MAX; scalar::COUNT],
            },
            vectors: VectorFile::new(target, n_vectors),
            n_vectors,
            tracks_undefined: true,
            scc: false,
            is_scc_undefined: true,
            mode_bits: 0,
            clock: 0,
            mode: FloatMode::from_bits(0),
            scoreboard: Scoreboard::new(target),
            history: History::new(target),
            origins: Origins::default(),
            moves_registers: false,
            factors: None,
            active: 0,
        }
    }

    /// Forgets everything, for the next workgroup: what the hardware does not initialise is undefined
    /// where that is tracked.
    pub(crate) fn reset(&mut self, id: u32, pc: u64, mode_bits: u32) {
        self.id = id;
        self.pc = pc;
        self.status = Status::Running;
        self.scalars.values.fill(0);
        self.scalars.undefined.fill(if self.tracks_undefined { u32::MAX } else { 0 });
        self.vectors.reset(0, self.n_vectors[0], self.tracks_undefined);
        if self.n_vectors[1] != 0 {
            self.vectors.reset(FIRST_ACC, self.n_vectors[1], self.tracks_undefined);
        }
        self.scc = false;
        self.is_scc_undefined = self.tracks_undefined;
        self.set_mode(mode_bits);
        self.clock = 0;
        self.scoreboard.clear();
        self.history.clear();
        self.origins.clear();
        self.moves_registers = false;
    }

    /// Time as the wave sees it: the same on every run, later at each reading. No clock is modelled.
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.clock += 256;
        self.clock
    }

    pub(crate) fn set_mode(&mut self, bits: u32) {
        self.mode_bits = bits;
        self.mode = FloatMode::from_bits(bits);
    }

    /// EXEC as one bit a lane.
    #[inline]
    pub(crate) fn exec(&self) -> u64 {
        self.mask(scalar::EXEC)
    }

    /// A lane mask in scalar registers: one register in wave32, two in wave64.
    #[inline]
    pub(crate) fn mask(&self, register: u8) -> u64 {
        if self.width == 32 {
            self.scalars.get(register).into()
        } else {
            self.scalars.pair(register)
        }
    }

    /// The undefined bits of a lane mask.
    #[inline]
    pub(crate) fn mask_undefined(&self, register: u8) -> u64 {
        if self.width == 32 {
            self.scalars.undefined(register).into()
        } else {
            self.scalars.pair_undefined(register)
        }
    }

    /// Writes a lane mask.
    pub(crate) fn set_mask(&mut self, register: u8, value: u64, undefined: u64) {
        let low = |bits: u64| (bits & 0xffff_ffff) as u32;
        self.scalars.set(register, low(value), low(undefined));
        if self.width == 64 {
            self.scalars.set(register + 1, low(value >> 32), low(undefined >> 32));
        }
    }

    /// Rows of a vector register.
    #[inline]
    pub(crate) fn n_rows(&self) -> usize {
        self.vectors.n_rows()
    }

    /// Lanes of a row that the current instruction works on.
    #[inline]
    pub(crate) fn active_row(&self, row: usize) -> u32 {
        (self.active >> (row * ROW_LANES)) as u32
    }
}
