//! The interpreter on kernels whose results are known without it, and on kernels that have no meaning.

use isa::Target;
use wavesmith_dsl::interpret::{Argument, Cause, Fault, run};
use wavesmith_dsl::ir::{Block, CmpOp, Kernel, Op, Stmt, Type, Uniformity, Value, ValueInfo};
use wavesmith_dsl::text::parse;
use wavesmith_dsl::verify::verify;
use wavesmith_dsl::{KernelBuilder, Scalar};

/// The kernel of a body with one output of words.
fn kernel(body: &str) -> Kernel {
    let text = format!(
        "wavesmith-ir 1\nkernel probe\ntarget gfx1100\nworkgroup_size 64\n\
         param %0 out: buffer i32 read_write align 16\nlds tile: 256 bytes align 16\nbody {{\n{body}}}\n"
    );
    let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&kernel).unwrap_or_else(|errors| panic!("{errors:?}"));
    kernel
}

fn outcome(body: &str, words: usize) -> Result<Vec<u32>, Fault> {
    let mut arguments = [Argument::Buffer(vec![0; 4 * words])];
    run(&kernel(body), [1, 1, 1], &mut arguments)?;
    let [Argument::Buffer(bytes)] = arguments else { panic!("a buffer stays one") };
    Ok(bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect())
}

/// A 4-byte offset for every work-item.
const OFFSET: &str = "  %1: i32 varying = special thread_id\n  %2: i32 uniform = const 2\n  \
                      %3: i32 varying = shl %1, %2\n";

#[test]
fn lanes_of_a_divergent_conditional_go_their_own_ways() {
    let body = format!(
        "{OFFSET}  %4: i32 uniform = const 40\n  %5: i1 varying = lt_u %1, %4\n  \
         %6: i32 varying = if %5 {{\n    %7: i32 varying = mul %1, %1\n    yield %7\n  }} else {{\n    \
         yield %4\n  }}\n  store global %0 + %3 align 4, %6\n"
    );
    let expected: Vec<u32> = (0..64).map(|i| if i < 40 { i * i } else { 40 }).collect();
    assert_eq!(outcome(&body, 64).unwrap(), expected);
}

#[test]
fn loops_turn_as_often_as_each_wave_says() {
    let body = format!(
        "{OFFSET}  %4: i32 uniform = special wave_id\n  %5: i32 uniform = const 5\n  \
         %6: i32 uniform = mul %4, %5\n  %7: i32 uniform = const 0\n  \
         %8: i32 uniform = for %9: i32 uniform from %7 to %6 step 2 {{\n    \
         carry %10: i32 uniform = %7\n    %11: i32 uniform = add %10, %9\n    yield %11\n  }}\n  \
         store global %0 + %3 align 4, %8\n"
    );
    // The second wave adds 0, 2 and 4.
    let expected: Vec<u32> = (0..64).map(|i| if i < 32 { 0 } else { 6 }).collect();
    assert_eq!(outcome(&body, 64).unwrap(), expected);
}

#[test]
fn lanes_exchange_inside_their_wave_and_waves_through_lds() {
    let body = format!(
        "{OFFSET}  %4: i32 varying = lane_xor %1, 5\n  %5: i32 uniform = const 252\n  \
         store lds tile + %3 align 4, %4\n  barrier\n  %6: i32 varying = sub %5, %3\n  \
         %7: i32 varying = load lds tile + %6 align 4\n  store global %0 + %3 align 4, %7\n"
    );
    let expected: Vec<u32> = (0..64).map(|i| (63 - i) ^ 5).collect();
    assert_eq!(outcome(&body, 64).unwrap(), expected);
}

#[test]
fn what_has_no_meaning_is_a_fault_with_its_place() {
    let store = "  store global %0 + %3 align 4, %1\n";
    let fault = outcome(&format!("{OFFSET}{store}"), 63).unwrap_err();
    assert_eq!(fault.cause, Cause::OutOfBounds { at: 252, bytes: 4, size: 252 });
    assert_eq!(fault.work_item, Some(([0, 0, 0], 63)));
    assert!(fault.statement.starts_with("store global %0 + %3"), "{fault}");

    let load =
        "  %4: i32 varying = load lds tile + %3 align 4\n  store global %0 + %3 align 4, %4\n";
    let fault = outcome(&format!("{OFFSET}{load}"), 64).unwrap_err();
    assert_eq!(fault.cause, Cause::Unwritten { at: 0 });

    let wide = "  store global %0 + %1 align 4, %1\n";
    let fault = outcome(&format!("{OFFSET}{wide}"), 64).unwrap_err();
    assert_eq!(fault.cause, Cause::Misaligned { at: 1, align_bytes: 4 });
}

#[test]
fn arguments_are_compared_with_the_kernel() {
    let kernel = kernel(OFFSET);
    let of = |arguments: &mut [Argument]| run(&kernel, [1, 1, 1], arguments).unwrap_err().cause;
    let expected = "a buffer ('out')".to_owned();
    assert_eq!(
        of(&mut []),
        Cause::Argument { position: 0, got: "missing", expected: expected.clone() }
    );
    let scalar = Cause::Argument { position: 0, got: "a scalar", expected };
    assert_eq!(of(&mut [Argument::Scalar(1)]), scalar);
}

#[test]
fn a_value_that_is_wrongly_called_uniform_is_found() {
    let mut kernel = kernel(&format!("{OFFSET}  store global %0 + %3 align 4, %1\n"));
    kernel.values[3].uniformity = Uniformity::Uniform;
    let mut arguments = [Argument::Buffer(vec![0; 256])];
    let fault = run(&kernel, [1, 1, 1], &mut arguments).unwrap_err();
    assert_eq!((fault.cause, fault.work_item.unwrap().1), (Cause::NotUniform { value: 3 }, 1));
}

/// `A · Bᵀ` of a matrix whose elements are `scale · (row + column)`.
fn square(target: Target, elem: Scalar, scale: f32) -> Result<Vec<f32>, Fault> {
    let (m, depth) = (16, if target == Target::Gfx950 { 32 } else { 16 });
    let k = KernelBuilder::new("square", target, target.wave_width());
    let a = k.input("a", elem, &[Some(m), Some(depth)]);
    let d = k.output("d", Scalar::F32, &[Some(m), Some(m)]);
    let atom = k.matrix_atom(elem, m, depth);
    atom.multiply_add(atom.left(&a), atom.right(&a), atom.zeros()).store(&d);
    let kernel = k.finish().unwrap();
    let elements = (0..m).flat_map(|row| (0..depth).map(move |column| (row + column) as f32));
    let bytes = elements.map(|x| half::f16::from_f32(x * scale).to_le_bytes());
    let zeros = vec![0; (4 * m * m) as usize];
    let mut arguments = [Argument::Buffer(bytes.flatten().collect()), Argument::Buffer(zeros)];
    run(&kernel, [1, 1, 1], &mut arguments)?;
    let [_, Argument::Buffer(bytes)] = arguments else { panic!("buffers stay buffers") };
    Ok(bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect())
}

#[test]
fn matrices_of_whole_numbers_are_multiplied_and_others_refused() {
    for target in Target::ALL {
        let depth = if target == Target::Gfx950 { 32 } else { 16 };
        let product = square(target, Scalar::F16, 1.0).unwrap();
        for (at, element) in (0..).zip(product) {
            let (row, column) = (at / 16, at % 16);
            let expected: i32 = (0..depth).map(|k| (row + k) * (column + k)).sum();
            assert_eq!(element, expected as f32, "{target} {row},{column}");
        }
        let fault = square(target, Scalar::F16, 0.3).unwrap_err();
        assert_eq!(fault.cause, Cause::OrderMatters { row: 0, column: 0 }, "{target}");
    }
}

#[test]
fn a_lane_that_is_off_cannot_exchange() {
    // The verifier refuses such a kernel; the interpreter does not rely on it.
    let k = KernelBuilder::new("off", Target::Gfx1100, 32);
    let out = k.output("out", Scalar::I32, &[Some(32)]);
    let thread = k.thread_id();
    out.store(thread, thread.lane_xor(1));
    let mut kernel = k.finish().unwrap();
    let ty = |ty| ValueInfo { ty, uniformity: Uniformity::Varying };
    kernel.values.extend([ty(Type::I32), ty(Type::I1)]);
    let of = Value;
    let (limit, cond) = (kernel.values.len() as u32 - 2, kernel.values.len() as u32 - 1);
    let stmts = std::mem::take(&mut kernel.body.stmts);
    let thread = stmts[0].results[0];
    let stmt = |results, op| Stmt { results, op, loc: stmts[0].loc };
    let (head, tail) = stmts.split_at(1);
    let then = Block { stmts: tail.to_vec(), yields: Vec::new() };
    let constant = Op::Const { ty: Type::I32, bits: 9 };
    let below = Op::Cmp(CmpOp::LtU, thread, of(limit));
    let branch = Op::If { cond: of(cond), then, otherwise: Default::default() };
    kernel.body.stmts = [
        head.to_vec(),
        vec![stmt(vec![of(limit)], constant), stmt(vec![of(cond)], below), stmt(vec![], branch)],
    ]
    .concat();
    let fault = run(&kernel, [1, 1, 1], &mut [Argument::Buffer(vec![0; 128])]).unwrap_err();
    assert_eq!((fault.cause, fault.work_item.unwrap().1), (Cause::Inactive, 9));
}
