//! The state of one wave: registers, masks, mode, and which of their bits are undefined.
//!
//! Vector registers are stored as rows of 32 lanes: a wave32 register is one row, a wave64 register two.
//! Loops over a row have a fixed length and no lane ever meets another one in them.

use isa::Target;
use isa::wait_states::History;

use crate::checks::origins::Origins;
use crate::checks::waits::Scoreboard;
use crate::float::FloatMode;
use crate::lanes::Width;
use crate::sem::Factors;
use crate::taint::Bits;

/// Lanes in a row.
pub(crate) const ROW_LANES: usize = 32;

/// One value a lane.
pub(crate) type Row = [u32; ROW_LANES];

/// A row as registers store it: no vector of the host crosses a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct AlignedRow(pub Row);

/// First number of the accumulation registers, behind the architectural ones.
pub(crate) const FIRST_ACC: u16 = 256;
/// Registers that only the emulator uses, to stage sources and results.
const N_STAGE: u16 = 16;
/// First number of these: they lie in front of all others.
pub(crate) const FIRST_STAGE: u16 = 0_u16.wrapping_sub(N_STAGE);
/// Takes results that nobody reads.
pub(crate) const SCRAP_STAGE: u16 = FIRST_STAGE + 7;
/// First of three staging registers that scalar sources are spread over.
pub(crate) const SPREAD_STAGE: u16 = FIRST_STAGE + 8;
/// From one of those to the one for the high word.
pub(crate) const HIGH_SPREAD: u16 = 4;
/// A staging register that is always zero.
pub(crate) const ZERO_STAGE: u16 = FIRST_STAGE + 11;
/// All vector registers that a wave can have.
const N_VECTOR: usize = (N_STAGE + 2 * FIRST_ACC) as usize;

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

/// The number of a register in a file that starts with the staging ones.
#[inline]
fn place(register: u16) -> usize {
    register.wrapping_add(N_STAGE).into()
}

/// The vector registers of a wave.
#[derive(Debug)]
pub(crate) struct VectorFile {
    rows_per_register: usize,
    /// How the loops over rows are compiled.
    width: Width,
    values: Vec<AlignedRow>,
    /// What the current instruction spreads, by source.
    pub uniforms: [u64; 3],
    /// One where a bit is undefined; meaningful only where `tainted` says so.
    undefined: Vec<Row>,
    /// By register, one bit a row: some bit of some lane is undefined.
    tainted: [u8; N_VECTOR],
}

impl VectorFile {
    /// With room for so many architectural and accumulation registers.
    fn new(target: Target, [arch, acc]: [u16; 2]) -> VectorFile {
        let rows_per_register = target.wave_width() as usize / ROW_LANES;
        let last = if acc == 0 { arch } else { FIRST_ACC + acc };
        let n_rows = usize::from(N_STAGE + last) * rows_per_register;
        VectorFile {
            rows_per_register,
            width: Width::detect(),
            values: vec![AlignedRow([0; ROW_LANES]); n_rows],
            uniforms: [0; 3],
            undefined: vec![[0; ROW_LANES]; n_rows],
            tainted: [0; N_VECTOR],
        }
    }

    /// Makes every bit of some registers zero, and undefined where asked for.
    fn reset(&mut self, first: u16, count: u16, is_undefined: bool) {
        let rows = self.index(first, 0)
            ..self.index(first, 0) + usize::from(count) * self.rows_per_register;
        self.values[rows.clone()].fill(AlignedRow([0; ROW_LANES]));
        if !is_undefined {
            return;
        }
        self.undefined[rows].fill([u32::MAX; ROW_LANES]);
        let all_rows = (1 << self.rows_per_register) - 1;
        self.tainted[place(first)..][..usize::from(count)].fill(all_rows);
    }

    /// The number of a row of lanes among all.
    #[inline]
    pub(crate) fn index(&self, register: u16, row: usize) -> usize {
        place(register) * self.rows_per_register + row
    }

    /// The values of a row of lanes.
    #[inline]
    pub(crate) fn row(&self, register: u16, row: usize) -> &Row {
        &self.values[self.index(register, row)].0
    }

    /// As [`VectorFile::row`], to be written; what is undefined stays so.
    #[inline]
    pub(crate) fn row_mut(&mut self, register: u16, row: usize) -> &mut Row {
        let index = self.index(register, row);
        &mut self.values[index].0
    }

    #[inline]
    pub(crate) fn rows_per_register(&self) -> usize {
        self.rows_per_register
    }

    /// How the loops over rows are compiled.
    #[inline]
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// Whether some bit of a row of lanes is undefined.
    #[inline]
    pub(crate) fn is_tainted(&self, register: u16, row: usize) -> bool {
        self.tainted[place(register)] >> row & 1 == 1
    }

    /// Whether some bit of some register of these is undefined.
    #[inline]
    pub(crate) fn is_any_tainted(&self, registers: &[u16]) -> bool {
        let rows = registers.iter().fold(0, |rows, at| rows | self.tainted[place(*at)]);
        rows != 0
    }

    /// The undefined bits of a row of lanes.
    pub(crate) fn undefined_row(&self, register: u16, row: usize) -> Row {
        let is_tainted = self.is_tainted(register, row);
        if is_tainted { self.undefined[self.index(register, row)] } else { [0; ROW_LANES] }
    }

    /// All rows, and how loops over them are compiled.
    #[inline]
    pub(crate) fn rows_mut(&mut self) -> (Width, &mut [AlignedRow]) {
        (self.width, &mut self.values)
    }

    /// Chooses how loops over rows are compiled.
    pub(crate) fn set_width(&mut self, width: Width) {
        self.width = width;
    }

    /// Says that lanes of a register were written with defined bits.
    #[inline]
    pub(crate) fn define(&mut self, register: u16, active: u64) {
        if self.tainted[place(register)] != 0 {
            self.define_lanes(register, active);
        }
    }

    #[cold]
    fn define_lanes(&mut self, register: u16, active: u64) {
        for row in 0..self.rows_per_register {
            let lanes = (active >> (row * ROW_LANES)) as u32;
            if self.is_tainted(register, row) {
                self.set_undefined(register, row, lanes, u32::MAX, &[0; ROW_LANES]);
            }
        }
    }

    /// Writes the bits `mask` of the lanes of `lanes`, defined. [`VectorFile::taint_row`] says otherwise
    /// afterwards.
    #[inline]
    pub(crate) fn write_row(
        &mut self,
        register: u16,
        row: usize,
        lanes: u32,
        mask: u32,
        values: &Row,
    ) {
        let index = self.index(register, row);
        let old = &mut self.values[index].0;
        if lanes == u32::MAX && mask == u32::MAX {
            *old = *values;
        } else {
            for (lane, (old, new)) in old.iter_mut().zip(values).enumerate() {
                let mask = if lanes >> lane & 1 == 1 { mask } else { 0 };
                *old = *old & !mask | new & mask;
            }
        }
        if self.is_tainted(register, row) {
            self.set_undefined(register, row, lanes, mask, &[0; ROW_LANES]);
        }
    }

    /// Says which bits of what was just written are undefined.
    pub(crate) fn taint_row(
        &mut self,
        register: u16,
        row: usize,
        lanes: u32,
        mask: u32,
        undefined: &Row,
    ) {
        let index = self.index(register, row);
        if !self.is_tainted(register, row) {
            self.undefined[index] = [0; ROW_LANES];
        }
        self.set_undefined(register, row, lanes, mask, undefined);
    }

    fn set_undefined(&mut self, register: u16, row: usize, lanes: u32, mask: u32, undefined: &Row) {
        let index = self.index(register, row);
        let old = &mut self.undefined[index];
        for (lane, (old, new)) in old.iter_mut().zip(undefined).enumerate() {
            let mask = if lanes >> lane & 1 == 1 { mask } else { 0 };
            *old = *old & !mask | new & mask;
        }
        let is_tainted = old.iter().any(|bits| *bits != 0);
        self.mark(register, row, is_tainted);
    }

    fn mark(&mut self, register: u16, row: usize, is_tainted: bool) {
        let rows = &mut self.tainted[place(register)];
        *rows = *rows & !(1 << row) | u8::from(is_tainted) << row;
    }

    /// The value of one lane of the whole wave.
    #[inline]
    pub(crate) fn lane(&self, register: u16, lane: usize) -> u32 {
        self.row(register, lane / ROW_LANES)[lane % ROW_LANES]
    }

    /// Value and undefined bits of one lane of the whole wave.
    pub(crate) fn lane_bits(&self, register: u16, lane: usize) -> Bits {
        let (row, at) = (lane / ROW_LANES, lane % ROW_LANES);
        let index = self.index(register, row);
        let is_tainted = self.is_tainted(register, row);
        let undefined = if is_tainted { self.undefined[index][at] } else { 0 };
        Bits { value: self.values[index].0[at].into(), undefined: undefined.into() }
    }

    /// Writes the bits `mask` of one lane of the whole wave.
    #[inline]
    pub(crate) fn write_lane(
        &mut self,
        register: u16,
        lane: usize,
        mask: u32,
        value: u32,
        undefined: u32,
    ) {
        let (row, at) = (lane / ROW_LANES, lane % ROW_LANES);
        let index = self.index(register, row);
        let old = &mut self.values[index].0[at];
        *old = *old & !mask | value & mask;
        let is_tainted = self.is_tainted(register, row);
        if !is_tainted && undefined & mask == 0 {
            return;
        }
        if !is_tainted {
            self.undefined[index] = [0; ROW_LANES];
        }
        let old = &mut self.undefined[index][at];
        *old = *old & !mask | undefined & mask;
        let is_tainted = self.undefined[index].iter().any(|bits| *bits != 0);
        self.mark(register, row, is_tainted);
    }
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
        self.vectors.rows_per_register
    }

    /// Lanes of a row that the current instruction works on.
    #[inline]
    pub(crate) fn active_row(&self, row: usize) -> u32 {
        (self.active >> (row * ROW_LANES)) as u32
    }
}
