//! Lane moves through the crossbar of LDS, and its transposing reads, against their definitions lane by lane.
//!
//! Sources: RDNA3 and CDNA3 ISA manuals, `DS_PERMUTE_B32`, `DS_BPERMUTE_B32` and `DS_SWIZZLE_B32`. That the
//! elements of 16 lanes are a row-major matrix of 16 columns, of which lane c gets column c, is what kernels that
//! Triton compiles for gfx950 compute right results with.

use isa::format::Encoding;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::Lds as Op;
use isa::{Operand, Target};

use super::{COMPILER_MODE, with_lds};
use crate::fault::Cause;
use crate::finding::Rule;
use crate::lds::Lds;
use crate::prepare::prepare;
use crate::program::Program;
use crate::wave::{Wave, scalar};

/// The operations that tests here run on each target that has them.
pub(super) const MOVES: [Op; 5] =
    [Op::DsPermuteB32, Op::DsBpermuteB32, Op::DsSwizzleB32, Op::DsReadB64TrB16, Op::DsReadB64TrB8];

const RESULT: u16 = 8;
const ADDRESS: u16 = 16;
const DATA: u16 = 20;
const OLD: u32 = 0xdead_beef;
/// Bytes of LDS.
const SIZE: u32 = 1024;

fn byte_at(at: usize) -> u8 {
    ((at * 37 + 11) % 251) as u8
}

/// What an instruction left behind: its result's two registers by lane, the rules that it broke, or its refusal.
type Left = Result<([Vec<(u32, u32)>; 2], Vec<Rule>), Cause>;

/// Lane l holds the address `address(l)`, of which `undefined` bits are so, and 1000 + l with an undefined bit in
/// lane 9.
fn run(
    target: Target,
    op: Op,
    offset: i32,
    exec: u64,
    address: impl Fn(usize) -> u32,
    undefined: u32,
) -> Left {
    let row = isa::Op::Lds(op).row();
    let mut operands = [Operand::None; MAX_OPERANDS];
    let registers = [RESULT, ADDRESS, DATA].map(|register| Operand::Vgpr(register as u8));
    operands[..row.operands.len()].copy_from_slice(&registers[..row.operands.len()]);
    let mods = Modifiers { offset, ..Modifiers::default() };
    let (op, encoding) = (row.op, Encoding::Ds);
    let inst = Inst { op, encoding, size_bytes: 8, operands, mods, dual: None };
    isa::encode(target, &inst).unwrap_or_else(|error| panic!("{inst:?}: {error}"));
    let mut wave = Wave::new(target, [256, 0]);
    wave.n_vectors = [256, 0];
    wave.reset(0, 0, COMPILER_MODE);
    wave.set_mask(scalar::EXEC, exec, 0);
    wave.active = wave.exec();
    for lane in 0..wave.width as usize {
        let mut put = |register, value, undefined| {
            wave.vectors.write_lane(register, lane, u32::MAX, value, undefined);
        };
        put(RESULT, OLD, 0);
        put(RESULT + 1, OLD, 0);
        put(ADDRESS, address(lane), undefined);
        put(DATA, 1000 + lane as u32, if lane == 9 { 4 } else { 0 });
    }
    let mut lds = Lds::new(SIZE);
    for at in 0..SIZE {
        lds.store::<1>(at, [byte_at(at as usize)], 1).expect("inside");
    }
    let prepared = prepare(0, inst, target).expect("has a meaning");
    let program = Program::new(target, 0, std::iter::empty());
    let (outcome, rules) =
        with_lds(&mut wave, &mut lds, &program, |exec| (prepared.run)(exec, &prepared));
    outcome.map_err(|cause| *cause)?;
    let word = |register, lane| {
        let bits = wave.vectors.lane_bits(register, lane);
        (bits.value as u32, bits.undefined as u32)
    };
    let lanes = |register| (0..wave.width as usize).map(|lane| word(register, lane)).collect();
    Ok(([lanes(RESULT), lanes(RESULT + 1)], rules))
}

/// Compares the first result register; lanes that are off keep it.
fn check(
    target: Target,
    op: Op,
    offset: i32,
    exec: u64,
    address: impl Fn(usize) -> u32,
    from: impl Fn(usize) -> Option<usize>,
) {
    let exec = exec & u64::MAX >> (64 - target.wave_width());
    let ([got, _], rules) = run(target, op, offset, exec, address, 0).expect("executed");
    let data = |lane: usize| (1000 + lane as u32, if lane == 9 { 4 } else { 0 });
    let is_on = |lane: usize| exec >> lane & 1 == 1;
    let want: Vec<(u32, u32)> = (0..target.wave_width() as usize)
        .map(|lane| match from(lane).filter(|from| is_on(*from)) {
            _ if !is_on(lane) => (OLD, 0),
            Some(from) => data(from),
            None => (0, 0),
        })
        .collect();
    assert_eq!((got, rules), (want, vec![]), "{target} {op:?} offset {offset:#x} EXEC {exec:#x}");
}

const EXECS: [u64; 4] = [u64::MAX, 0, 1 << 9, 0xffff_f0f0_3fff_7d7f];

#[test]
fn lanes_read_the_lane_that_they_name() {
    for target in Target::ALL {
        let n_lanes = target.wave_width() as usize;
        for (exec, offset) in EXECS.into_iter().flat_map(|exec| [(exec, 0), (exec, 44)]) {
            // Bytes: the lowest two bits and what lies beyond the wave do not count.
            let address = |lane: usize| (4 * ((lane * 7 + 3) % 200) + lane % 4) as u32;
            let from = |lane: usize| Some((address(lane) as usize + offset as usize) / 4 % n_lanes);
            check(target, Op::DsBpermuteB32, offset, exec, address, from);
            // Several lanes on one: the highest that is on wins.
            let crowded = |lane: usize| (4 * (lane / 3 * 5 % 70) + lane % 4) as u32;
            let to = |lane: usize| (crowded(lane) as usize + offset as usize) / 4 % n_lanes;
            let is_on = |lane: &usize| exec >> lane & 1 == 1;
            let sender =
                |lane: usize| (0..n_lanes).filter(is_on).rfind(|sender| to(*sender) == lane);
            check(target, Op::DsPermuteB32, offset, exec, crowded, sender);
        }
        for op in [Op::DsBpermuteB32, Op::DsPermuteB32] {
            let (_, rules) = run(target, op, 0, 1, |_| 0, 8).expect("executed");
            assert_eq!(rules, [Rule::UndefinedAddress], "{target} {op:?}");
        }
    }
}

#[test]
fn lanes_swizzle_by_their_pattern() {
    type Map = fn(usize) -> usize;
    // Patterns and what lane l of 32 reads: reversed quads, one lane of each quad; within 32 lanes: exclusive or
    // with 1 and with 16, lane 5, even lanes twice, the upper half of eight; rotated by 3 up and by 1 down, and by 4
    // inside of eight lanes.
    let patterns: [(i32, Map); 10] = [
        (0x801b, |lane| lane - lane % 4 + 3 - lane % 4),
        (0x80aa, |lane| lane - lane % 4 + 2),
        (0x041f, |lane| lane ^ 1),
        (0x401f, |lane| lane ^ 16),
        (0x00a0, |_| 5),
        (0x001e, |lane| lane / 2 * 2),
        (0x009f, |lane| lane | 4),
        (0xc060, |lane| (lane + 3) % 32),
        (0xc420, |lane| (lane + 31) % 32),
        (0xc098, |lane| lane / 8 * 8 + (lane + 4) % 8),
    ];
    for target in Target::ALL {
        for ((pattern, from), exec) in
            patterns.iter().flat_map(|pattern| EXECS.map(|exec| (*pattern, exec)))
        {
            // Source 0 of a swizzle is its data.
            let exec = exec & u64::MAX >> (64 - target.wave_width());
            let ([got, _], rules) =
                run(target, Op::DsSwizzleB32, pattern, exec, |lane| 1000 + lane as u32, 0)
                    .expect("executed");
            for (lane, got) in got.into_iter().enumerate() {
                let from = lane / 32 * 32 + from(lane % 32);
                let want = match (exec >> lane & 1, exec >> from & 1) {
                    (0, _) => OLD,
                    (_, 0) => 0,
                    _ => 1000 + from as u32,
                };
                assert_eq!(got, (want, 0), "{target} {pattern:#x} lane {lane} EXEC {exec:#x}");
            }
            assert_eq!(rules, [], "{target} {pattern:#x}");
        }
        let refused = run(target, Op::DsSwizzleB32, 0xe000, 1, |_| 0, 0);
        let Err(Cause::Unsupported { why, .. }) = refused else { panic!("{target}: not refused") };
        assert_eq!(why, "the FFT pattern");
    }
}

#[test]
fn transposing_reads_give_each_lane_a_column() {
    let target = Target::Gfx950;
    for (op, element_bytes) in [(Op::DsReadB64TrB16, 2), (Op::DsReadB64TrB8, 1)] {
        // Each lane reads 8 bytes from where it likes.
        let address = |lane: usize| (8 * (lane * 29 % 101)) as u32;
        let (got, rules) = run(target, op, 16, u64::MAX, address, 0).expect("executed");
        assert_eq!(rules, []);
        for block in (0..64).step_by(16) {
            let bytes: Vec<u8> = (block..block + 16)
                .flat_map(|lane| {
                    (0..8).map(move |byte| byte_at(address(lane) as usize + 16 + byte))
                })
                .collect();
            let rows: Vec<&[u8]> = bytes.chunks(16 * element_bytes).collect();
            for column in 0..16 {
                let elements = rows
                    .iter()
                    .flat_map(|row| &row[column * element_bytes..(column + 1) * element_bytes]);
                let want = elements.rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
                let [low, high] = [0, 1].map(|word| u64::from(got[word][block + column].0));
                assert_eq!(low | high << 32, want, "{op:?} lane {}", block + column);
            }
        }
    }
}
