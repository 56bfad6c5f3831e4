//! The questions: where fragments lie, how sums are rounded, whether LDS keeps a wave's order, how banks conflict, and how
//! many wait states a matrix result needs.

use emulator::{Numerics, Options};
use half::bf16;
use isa::Target;
use isa::banks::Direction;
use isa::fragment::{Fragment, Index, Part, Shape};
use isa::table::Matrix;
use isa::wait_states::{MatrixTiming, MatrixUse, after_matrix};
use runtime::{Device, EmulatedDevice, HipDevice};

use crate::error::CliError;
use crate::qualify::assembly::{Micro, assemble, run as run_micro};
use crate::qualify::calibration::{Answer, Calibration};

/// Times that what depends on timing is repeated.
const REPEATS: usize = 16;
/// Most wait states that are tried.
const MAX_STATES: u32 = 16;
/// Distances between lanes, in words, at which LDS is read.
const STRIDES: [u32; 4] = [1, 2, 8, 32];

/// Asks everything.
///
/// # Errors
/// The assembler is missing, or the device fails.
pub(crate) fn run(device: &mut HipDevice) -> Result<Vec<Calibration>, CliError> {
    let target = device.target();
    let code_object = assemble(target, &kernels(target))?;
    Ok(vec![
        fragments(device, &code_object)?,
        rounding(device, &code_object)?,
        lds_order(device, &code_object)?,
        banks(device, &code_object)?,
        wait_states(device, &code_object)?,
    ])
}

/// The matrix instruction that is asked about: bf16 factors, binary32 sums.
fn mnemonic(target: Target) -> &'static str {
    match target {
        Target::Gfx950 => "v_mfma_f32_16x16x32_bf16",
        Target::Gfx1100 => "v_wmma_f32_16x16x16_bf16",
    }
}

/// Registers of A (B has as many) and of D.
fn registers(target: Target) -> (u32, u32) {
    match target {
        Target::Gfx950 => (4, 4),
        Target::Gfx1100 => (8, 8),
    }
}

fn kernels(target: Target) -> Vec<Micro> {
    let mut kernels = vec![
        Micro { name: "matrix".to_owned(), body: matrix(target, MAX_STATES) },
        Micro { name: "lds_order".to_owned(), body: lds_order_body(target) },
    ];
    kernels.extend(
        (0..=MAX_STATES).map(|states| Micro {
            name: format!("states_{states}"),
            body: dependent(target, states),
        }),
    );
    kernels.extend(STRIDES.map(|stride| Micro {
        name: format!("stride_{stride}"),
        body: stride_body(target, stride),
    }));
    kernels
}

/// Spelling of a 128-bit load or store.
fn wide(target: Target, what: &str) -> String {
    match target {
        Target::Gfx950 => format!("global_{what}_dwordx4"),
        Target::Gfx1100 => format!("global_{what}_b128"),
    }
}

fn word(target: Target, what: &str) -> &'static str {
    match (target, what) {
        (Target::Gfx950, "store") => "global_store_dword",
        (Target::Gfx950, _) => "global_load_dword",
        (Target::Gfx1100, "store") => "global_store_b32",
        (Target::Gfx1100, _) => "global_load_b32",
    }
}

fn lds(target: Target, what: &str) -> &'static str {
    match (target, what) {
        (Target::Gfx950, "store") => "ds_write_b32",
        (Target::Gfx950, _) => "ds_read_b32",
        (Target::Gfx1100, "store") => "ds_store_b32",
        (Target::Gfx1100, _) => "ds_load_b32",
    }
}

/// Wait states that nothing else fills.
fn states(target: Target, count: u32) -> String {
    match (target, count) {
        (_, 0) => String::new(),
        // A no-op of the scalar unit is none to the matrix pipeline of gfx1100.
        (Target::Gfx1100, count) => "  v_nop\n".repeat(count as usize),
        (Target::Gfx950, count) => format!("  s_nop {}\n", count - 1),
    }
}

/// Loads A, B and C of every lane: words of the input, one block a lane.
fn load_operands(target: Target) -> String {
    let (factor, result) = registers(target);
    let lane_bytes = lane_words(target) * 4;
    let mut text = format!("  v_mul_u32_u24 v1, {lane_bytes}, v0\n");
    for quad in 0..(2 * factor + result) / 4 {
        let (first, offset) = (4 + 4 * quad, 16 * quad);
        let last = first + 3;
        let load = wide(target, "load");
        text.push_str(&format!("  {load} v[{first}:{last}], v1, s[4:5] offset:{offset}\n"));
    }
    text + "  s_waitcnt vmcnt(0)\n" + &states(target, 4)
}

/// Words of a lane's operands, a multiple of 16 bytes.
fn lane_words(target: Target) -> u32 {
    let (factor, result) = registers(target);
    2 * factor + result
}

/// The instruction on these first registers.
fn operation(target: Target, d: u32, a: u32, b: u32, c: u32) -> String {
    let (factor, result) = registers(target);
    let tuple = |first: u32, count: u32| format!("v[{first}:{}]", first + count - 1);
    format!(
        "  {} {}, {}, {}, {}\n",
        mnemonic(target),
        tuple(d, result),
        tuple(a, factor),
        tuple(b, factor),
        tuple(c, result)
    )
}

/// Stores a result from a first register.
fn store_result(target: Target, first: u32) -> String {
    let (_, result) = registers(target);
    let store = wide(target, "store");
    let mut text = format!("  v_mul_u32_u24 v2, {}, v0\n", result * 4);
    for quad in 0..result / 4 {
        let at = first + 4 * quad;
        text.push_str(&format!("  {store} v2, v[{at}:{}], s[6:7] offset:{}\n", at + 3, 16 * quad));
    }
    text
}

fn first_b(target: Target) -> u32 {
    4 + registers(target).0
}

fn first_c(target: Target) -> u32 {
    4 + 2 * registers(target).0
}

/// One matrix operation, its result stored long after.
fn matrix(target: Target, wait: u32) -> String {
    let (b, c) = (first_b(target), first_c(target));
    load_operands(target)
        + &operation(target, c, 4, b, c)
        + &states(target, wait)
        + &store_result(target, c)
}

/// A matrix operation whose result is read after some wait states: by vector arithmetic on gfx950, as the factor of the
/// next operation on gfx1100.
fn dependent(target: Target, wait: u32) -> String {
    let (b, c) = (first_b(target), first_c(target));
    let (_, result) = registers(target);
    let first = load_operands(target) + &operation(target, c, 4, b, c) + &states(target, wait);
    match target {
        Target::Gfx950 => {
            let moves: String =
                (0..result).map(|i| format!("  v_mov_b32 v{}, v{}\n", 40 + i, c + i)).collect();
            first + &moves + &states(target, MAX_STATES) + &store_result(target, 40)
        }
        Target::Gfx1100 => {
            let zero: String =
                (0..result).map(|i| format!("  v_mov_b32 v{}, 0\n", 40 + i)).collect();
            zero + &first
                + &operation(target, 40, c, b, 40)
                + &states(target, MAX_STATES)
                + &store_result(target, 40)
        }
    }
}

/// Each lane writes a word of LDS and reads its neighbour's at once, without a wait in between.
fn lds_order_body(target: Target) -> String {
    let (load, store) = (word(target, "load"), word(target, "store"));
    let (write, read) = (lds(target, "store"), lds(target, "load"));
    format!(
        "  v_lshlrev_b32 v1, 2, v0\n  {load} v3, v1, s[4:5]\n  v_xor_b32 v2, 4, v1\n  s_waitcnt vmcnt(0)\n  \
         {write} v1, v3\n  {read} v4, v2\n  s_waitcnt lgkmcnt(0)\n  {store} v1, v4, s[6:7]\n"
    )
}

/// Reads of LDS at a distance between lanes, with the clock before and after.
fn stride_body(target: Target, stride: u32) -> String {
    let (read, store) = (lds(target, "load"), word(target, "store"));
    let clock = |register: u32| match target {
        Target::Gfx950 => {
            format!("  s_memtime s[{register}:{}]\n  s_waitcnt lgkmcnt(0)\n", register + 1)
        }
        Target::Gfx1100 => format!("  s_getreg_b32 s{register}, hwreg(29, 0, 20)\n"),
    };
    let reads: String = (0..16).map(|i| format!("  {read} v{}, v1\n", 8 + i)).collect();
    let write = lds(target, "store");
    format!(
        "  v_mul_u32_u24 v1, {}, v0\n  v_mov_b32 v3, 0\n  {write} v1, v3\n  s_waitcnt lgkmcnt(0)\n{}{reads}  s_waitcnt \
         lgkmcnt(0)\n{}  s_sub_u32 s12, s10, s8\n  v_mov_b32 v4, s12\n  v_lshlrev_b32 v2, 2, v0\n  {store} v2, v4, s[6:7]\n",
        stride * 4,
        clock(8),
        clock(10),
    )
}

fn operation_row(target: Target) -> Matrix {
    Matrix::named(mnemonic(target), target)
        .unwrap_or_else(|| unreachable!("the table has {}", mnemonic(target)))
}

/// Operands of every lane for these matrices: `a[i][k]`, `b[k][j]`, `c[i][j]`.
fn operands(
    target: Target,
    a: impl Fn(u32, u32) -> f32,
    b: impl Fn(u32, u32) -> f32,
    c: impl Fn(u32, u32) -> f32,
) -> Vec<u32> {
    let op = operation_row(target);
    let (factor, _) = registers(target);
    let words = lane_words(target);
    let mut input = vec![0_u32; (words * target.wave_width()) as usize];
    for (part, first) in [(Part::A, 0), (Part::B, factor), (Part::D, 2 * factor)] {
        let Some(fragment) = Fragment::of(op, part) else { continue };
        for lane in 0..target.wave_width() {
            for slot in 0..fragment.slots() {
                let Index { row, column, .. } = fragment.index(isa::fragment::Place { lane, slot });
                let (register, shift) = fragment.register(slot);
                let bits = match part {
                    Part::A => u32::from(bf16::from_f32(a(row, column)).to_bits()),
                    Part::B => u32::from(bf16::from_f32(b(row, column)).to_bits()),
                    Part::D => c(row, column).to_bits(),
                };
                input[(lane * words + first + register) as usize] |= bits << shift;
            }
        }
    }
    input
}

/// The number of an element, small, distinct enough that a swap of two is seen.
fn small(seed: u32, row: u32, column: u32) -> f32 {
    let mixed = (row * 37 + column * 101 + seed * 59) % 31;
    f32::from(u8::try_from(mixed).unwrap_or(0)) - 15.0
}

fn result_words(target: Target) -> usize {
    (registers(target).1 * target.wave_width()) as usize
}

fn fragments(device: &mut HipDevice, code_object: &[u8]) -> Result<Calibration, CliError> {
    let target = device.target();
    let op = operation_row(target);
    let input =
        operands(target, |i, k| small(1, i, k), |k, j| small(2, k, j), |i, j| small(3, i, j));
    let got = run_micro(device, code_object, "matrix", &input, result_words(target))?;
    let depth = Shape::of(op).map_or(0, |shape| shape.k);
    let (mut n_right, mut n_all) = (0_u32, 0_u32);
    if let Some(fragment) = Fragment::of(op, Part::D) {
        for lane in 0..target.wave_width() {
            for slot in 0..fragment.slots() {
                let Index { row, column, .. } = fragment.index(isa::fragment::Place { lane, slot });
                let products = (0..depth).map(|k| small(1, row, k) * small(2, k, column));
                // Whole numbers far below 2^24: exact in any order.
                let expected = small(3, row, column) + products.sum::<f32>();
                let word = lane * registers(target).1 + fragment.register(slot).0;
                n_all += 1;
                n_right += u32::from(got.get(word as usize) == Some(&expected.to_bits()));
            }
        }
    }
    let measured = format!("{n_right} of {n_all} elements where the layout puts them");
    let answer = Answer::of(n_right == n_all && n_all > 0, measured, format!("{n_all} of {n_all}"));
    let question =
        format!("do A, B, C and D of {} lie as the fragment tables say?", mnemonic(target));
    Ok(Calibration { name: "fragments", question, answer })
}

/// Factors whose products differ by many powers of two, so that orders and widths of sums show.
fn spread(seed: u32, row: u32, column: u32) -> f32 {
    let mixed = (row * 73 + column * 151 + seed * 97) % 29;
    let power = f32::from(u8::try_from(mixed).unwrap_or(0)) - 14.0;
    let sign = if (row + column + seed).is_multiple_of(3) { -1.0 } else { 1.0 };
    sign * (1.0 + f32::from(u8::try_from(mixed % 7).unwrap_or(0)) / 8.0) * power.exp2()
}

fn rounding(device: &mut HipDevice, code_object: &[u8]) -> Result<Calibration, CliError> {
    let target = device.target();
    let input =
        operands(target, |i, k| spread(1, i, k), |k, j| spread(2, k, j), |i, j| spread(3, i, j));
    let got = run_micro(device, code_object, "matrix", &input, result_words(target))?;
    let mut matches = Vec::new();
    let mut tried = Vec::new();
    for numerics in Numerics::ALL.into_iter().filter(|numerics| numerics.check(target).is_ok()) {
        let options = Options { numerics, ..Options::default() };
        let mut emulated = EmulatedDevice::new(target, options);
        let model = run_micro(&mut emulated, code_object, "matrix", &input, result_words(target))?;
        let n_equal = model.iter().zip(&got).filter(|(model, got)| model == got).count();
        tried.push(format!("{numerics}: {n_equal} of {} bit for bit", got.len()));
        if model == got {
            matches.push(numerics.to_string());
        }
    }
    let measured = tried.join("; ");
    let question = format!("which mode of numerics rounds the sums of {}?", mnemonic(target));
    let answer = Answer::of(!matches.is_empty(), measured, "one mode that matches all".to_owned());
    Ok(Calibration { name: "matrix_rounding", question, answer })
}

fn lds_order(device: &mut HipDevice, code_object: &[u8]) -> Result<Calibration, CliError> {
    let width = device.target().wave_width();
    let mut n_right = 0;
    for time in 0..REPEATS {
        let salt = u32::try_from(time).unwrap_or(0) * 0x9e37;
        let input: Vec<u32> = (0..width).map(|lane| lane * 3 + salt).collect();
        let got = run_micro(device, code_object, "lds_order", &input, width as usize)?;
        let expected = (0..width).map(|lane| input[(lane ^ 1) as usize]);
        n_right += usize::from(expected.eq(got));
    }
    let measured = format!("{n_right} of {REPEATS} reads saw the write before them");
    let answer = Answer::of(n_right == REPEATS, measured, format!("{REPEATS} of {REPEATS}"));
    let question =
        "do LDS accesses of one wave take effect in order, across lanes, without a wait?";
    Ok(Calibration { name: "lds_order", question: question.to_owned(), answer })
}

fn banks(device: &mut HipDevice, code_object: &[u8]) -> Result<Calibration, CliError> {
    let question =
        format!("how many clocks do reads of LDS take at distances of {STRIDES:?} words?");
    let mut clocks = Vec::new();
    for stride in STRIDES {
        clocks.push(clocks_at(device, code_object, stride)?);
    }
    let modelled = STRIDES.map(|stride| modelled_clocks(device.target(), stride));
    let answer = judge_banks(device.library().emulated().is_some(), &clocks, &modelled);
    Ok(Calibration { name: "lds_banks", question, answer })
}

/// The fewest clocks of several runs; `None` where a run stored none.
fn clocks_at(
    device: &mut HipDevice,
    code_object: &[u8],
    stride: u32,
) -> Result<Option<u32>, CliError> {
    let (width, name) = (device.target().wave_width(), format!("stride_{stride}"));
    let mut best = Some(u32::MAX);
    for _ in 0..REPEATS {
        let got = run_micro(device, code_object, &name, &[0; 4], width as usize)?;
        // Outputs start as all ones, and every lane stores the same.
        let first = got.first().filter(|first| **first != u32::MAX);
        let stored = first.filter(|first| got.iter().all(|word| word == *first));
        best = best.zip(stored).map(|(best, clocks)| best.min(clocks & 0xf_ffff));
    }
    Ok(best)
}

/// Whether clocks grow where the bank model's do. They count more than the reads, so only their order is compared.
fn judge_banks(emulated: bool, clocks: &[Option<u32>], modelled: &[u32]) -> Answer {
    let Some(clocks) = clocks.iter().copied().collect::<Option<Vec<u32>>>() else {
        let measured = format!("{clocks:?}: some lanes stored no clocks");
        return Answer::of(false, measured, "clocks from every lane".to_owned());
    };
    let measured = format!("{clocks:?} clocks for 16 reads");
    if emulated {
        let why = format!(
            "the kernels ran to their end ({measured}), but an emulated clock keeps no time, each \
             reading is later by the same number: this shows that the question can be asked, and nothing about banks"
        );
        return Answer::NotMeasured { why };
    }
    let pairs = || (0..clocks.len()).flat_map(|a| (0..clocks.len()).map(move |b| (a, b)));
    let agrees = pairs().all(|(a, b)| modelled[a] <= modelled[b] || clocks[a] > clocks[b]);
    let expected = format!("more clocks where the model has more: {modelled:?} a read");
    Answer::of(agrees, measured, expected)
}

/// Clocks that the bank model gives one read at a distance between lanes.
fn modelled_clocks(target: Target, stride: u32) -> u32 {
    let addresses: Vec<Option<u32>> =
        (0..target.wave_width()).map(|lane| Some(lane * stride * 4)).collect();
    let clocks = isa::banks::clocks(target, Direction::Read, 4, &addresses);
    clocks.free + clocks.conflict
}

fn wait_states(device: &mut HipDevice, code_object: &[u8]) -> Result<Calibration, CliError> {
    let target = device.target();
    let required = match MatrixTiming::of(operation_row(target)) {
        Some(timing) if target == Target::Gfx950 => after_matrix(timing, MatrixUse::ReadResult),
        _ => 1,
    };
    // Rows in pairs: gfx1100's result is then a legal factor, which needs the same in lanes 16 apart.
    let (a, c) = (|i: u32, k| small(4, i / 2, k), |i: u32, j| small(6, i / 2, j));
    let input = operands(target, a, |k, j| small(5, k, j), c);
    let words = result_words(target);
    let longest = format!("states_{MAX_STATES}");
    let expected = run_micro(device, code_object, &longest, &input, words)?;
    let mut needed = 0;
    for states in 0..MAX_STATES {
        let (mut right, name) = (true, format!("states_{states}"));
        for _ in 0..REPEATS {
            let before = device.library().emulated_findings();
            let got = run_micro(device, code_object, &name, &input, words)?;
            // The emulator computes the right value all the same, and tells that a wait is missing.
            right &= got == expected && device.library().emulated_findings() == before;
            if !right {
                break;
            }
        }
        if !right {
            needed = states + 1;
        }
    }
    let measured = format!("right from {needed} wait states on");
    let answer =
        Answer::of(needed <= required, measured, format!("right from {required} on, or earlier"));
    let question =
        format!("how many wait states must follow {} before its result is used?", mnemonic(target));
    Ok(Calibration { name: "hazard_thresholds", question, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_judged_by_their_order_and_only_where_there_are_clocks() {
        let modelled = [1, 2, 8, 8];
        let judge =
            |emulated, clocks: [u32; 4]| judge_banks(emulated, &clocks.map(Some), &modelled);
        assert!(matches!(judge(false, [100, 116, 212, 215]), Answer::Agrees { .. }));
        assert!(judge(false, [100, 100, 212, 212]).differs());
        assert!(judge(false, [100, 220, 212, 212]).differs());
        assert!(matches!(judge(true, [34, 34, 34, 34]), Answer::NotMeasured { .. }));
        assert!(judge_banks(true, &[Some(34), None], &modelled).differs());
    }
}
