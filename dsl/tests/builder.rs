//! What kernels written in the builder become, and what it says to authors.

use isa::Target;
use wavesmith_dsl::builder::BuildError;
use wavesmith_dsl::ir::{Access, Kernel, Loc, Type};
use wavesmith_dsl::math::{divide, silu, softplus};
use wavesmith_dsl::text::print;
use wavesmith_dsl::verify::Rule;
use wavesmith_dsl::{Expr, KernelBuilder, Mask, Scalar};

/// The kernel that `write` writes, for two waves of gfx1100.
#[track_caller]
fn built(write: impl FnOnce(&KernelBuilder)) -> Kernel {
    let k = KernelBuilder::new("sample", Target::Gfx1100, 64);
    write(&k);
    k.finish().unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// The operations of a kernel's text, one a line, without what stands before `=`.
fn operations(kernel: &Kernel) -> Vec<String> {
    let text = print(kernel);
    let body = text.lines().skip_while(|line| *line != "body {").skip(1);
    body.map(|line| line.rsplit(" = ").next().unwrap_or(line).trim().to_owned()).collect()
}

/// The text has these lines in this order, perhaps with others between them.
#[track_caller]
fn assert_lines(kernel: &Kernel, lines: &[&str]) {
    let text = print(kernel);
    let mut rest = text.lines();
    for line in lines {
        assert!(rest.any(|found| found.contains(line)), "no {line:?} in its place in\n{text}");
    }
}

/// The only mistake in what `write` writes: its line relative to the call, and what it says.
#[track_caller]
fn mistake(write: impl FnOnce(&KernelBuilder)) -> (u32, String) {
    let here = std::panic::Location::caller();
    let k = KernelBuilder::new("sample", Target::Gfx1100, 64);
    write(&k);
    let errors = k.finish().expect_err("a mistake");
    let (loc, message) = match errors.as_slice() {
        [BuildError::Author { loc, what, got, expected }] => {
            (*loc, format!("{what}: got {got}, expected {expected}"))
        }
        [BuildError::Verify(error)] => (
            error.place.loc,
            format!("{:?}: got {}, expected {}", error.rule, error.got, error.expected),
        ),
        errors => panic!("{errors:#?}"),
    };
    let Loc(Some(place)) = loc else { panic!("no line for {message}") };
    assert_eq!(place.file(), here.file(), "{message}");
    (place.line() - here.line(), message)
}

#[test]
fn what_is_written_is_emitted() {
    let kernel = built(|k| {
        let (a, b) = (k.scalar("a", Scalar::F32), k.scalar("b", Scalar::F32));
        let y = k.output("y", Scalar::F32, &[Some(4)]);
        y.store(0, a * b + 1.0);
        y.store(1, a.fma(b, 1.0));
        y.store(2, 1.0 - a);
        y.store(3, -a);
    });
    let expected = [
        "const 0x3f800000",
        "fmul %0, %1",
        "fadd %4, %3",
        "store global %2 align 4, %5",
        "fma %0, %1, %3",
        "store global %2 + 4 align 4, %6",
        "fsub %3, %0",
        "store global %2 + 8 align 4, %7",
        "fneg %0",
        "store global %2 + 12 align 4, %8",
        "}",
    ];
    assert_eq!(operations(&kernel), expected);
}

#[test]
fn functions_keep_their_order() {
    let kernel = built(|k| {
        let x = k.scalar("x", Scalar::F32);
        let y = k.output("y", Scalar::F32, &[Some(3)]);
        [softplus(x), silu(x), divide(x, x)].into_iter().zip(0..).for_each(|(f, i)| y.store(i, f));
    });
    let operations = operations(&kernel);
    let expected = [
        "const 0x3fb8aa3b",
        "const 0x3f800000",
        "const 0x00000000",
        "const 0x3f317218",
        "fabs %0",
        "fneg %6",
        "fmul %7, %2",
        "exp2 %8",
        "fadd %9, %3",
        "fsub %10, %3",
        "fsub %9, %11",
        "rcp %10",
        "log2 %10",
        "fmax %0, %4",
        "fma %14, %5, %15",
        "fma %12, %13, %16",
        "fneg %0",
        "fmul %18, %2",
        "exp2 %19",
        "fadd %20, %3",
        "rcp %21",
        "fmul %0, %22",
        "rcp %0",
        "fmul %0, %24",
    ];
    assert_eq!(operations[..expected.len()], expected);
}

#[test]
fn uniformity_is_followed_round_the_loop() {
    let kernel = built(|k| {
        let y = k.output("y", Scalar::I32, &[Some(64)]);
        // Uniform in the first round only: the second carried value hands its thread id over.
        let inits = [k.workgroup_id_x(), k.thread_id(), k.i32(7)];
        let [a, _, c] = k.for_range(0, 3, 1, inits, |i, [_, b, c]| [b, b, c + i]);
        y.store(a, c);
    });
    assert_lines(
        &kernel,
        &[
            "%7: i32 varying, %8: i32 varying, %9: i32 uniform = for %10: i32 uniform",
            "carry %11: i32 varying",
            "carry %12: i32 varying",
            "carry %13: i32 uniform",
        ],
    );
}

#[test]
fn loads_are_uniform_where_their_addresses_are() {
    let kernel = built(|k| {
        let x = k.input("x", Scalar::F32, &[Some(64)]);
        let y = k.output("y", Scalar::F32, &[Some(64)]);
        y.store(k.thread_id(), x.load(k.wave_id()) + x.load(k.thread_id()));
    });
    assert_lines(
        &kernel,
        &["f32 uniform = load global %0", "f32 varying = load global %0", "f32 varying = fadd"],
    );
}

#[test]
fn alignment_follows_from_strides_and_indices() {
    let kernel = built(|k| {
        let y = k.output("y", Scalar::F32, &[Some(64)]);
        // Rows of 20 bf16 start at multiples of 40 bytes.
        let x = k.input("x", Scalar::Bf16, &[None, Some(20)]).at(k.workgroup_id_x());
        y.store_run(0, &x.load_run(0, 11));
        y.store(k.thread_id() * 4, x.load_vector(k.thread_id() * 4, 4));
        y.store(k.thread_id(), x.load_vector((k.thread_id() * 2 + 1).max(1), 2));
    });
    assert_lines(
        &kernel,
        &[
            "bf16x4 uniform = load global %10 align 8",
            "bf16x4 uniform = load global %10 + 8 align 8",
            "bf16x2 uniform = load global %10 + 16 align 4",
            "bf16 uniform = load global %10 + 20 align 2",
            "store global %0 align 16",
            "store global %0 + 16 align 16",
            "store global %0 + 32 align 8",
            "store global %0 + 40 align 4",
            "bf16x4 varying = load global %10 + %34 align 8",
            "store global %0 + %37 align 16",
            "bf16x2 varying = load global %10 + %41 align 2",
            "store global %0 + %44 align 4",
        ],
    );
}

#[test]
fn slow_axes_move_a_64_bit_pointer() {
    let kernel = built(|k| {
        let y = k.output("y", Scalar::F32, &[None, Some(3), Some(5)]);
        y.at((k.workgroup_id_z(), k.workgroup_id_y())).store(k.thread_id(), k.f32(1.0));
        // The second axis alone reaches beyond 4 GiB.
        let big = k.buffer(
            "big",
            Scalar::I32,
            Access::ReadWrite,
            &[Some(2), Some(1 << 20), Some(1 << 14)],
        );
        big.store((1, k.thread_id(), 3), k.thread_id());
    });
    let operations = operations(&kernel);
    let moves = operations.iter().filter(|line| line.starts_with("ptr_add")).count();
    assert_eq!(moves, 2, "{operations:#?}");
    assert_lines(
        &kernel,
        &[
            "i64 uniform = zero_extend",
            "i64 uniform = mul",
            "i64 uniform = zero_extend",
            "ptr uniform = ptr_add %0",
        ],
    );
    assert_lines(
        &kernel,
        &[
            "i64 varying = zero_extend",
            "i64 varying = shl",
            "i64 varying = add",
            "ptr varying = ptr_add %1",
        ],
    );
    // 2^36 bytes go into the pointer; 12 stay a constant.
    assert!(operations.contains(&"const 68719476748".to_owned()), "{operations:#?}");
}

#[test]
fn a_workgroup_sum_crosses_waves_through_lds() {
    let kernel = built(|k| {
        let y = k.output("y", Scalar::F32, &[Some(2)]);
        let sum = k.workgroup_sum(k.thread_id().signed_to_f32());
        let again = k.for_range(0, 2, 1, sum, |_, sum| k.workgroup_sum(sum));
        y.store(0, sum);
        y.store(1, again);
    });
    let operations = operations(&kernel);
    let count = |part: &str| operations.iter().filter(|line| line.contains(part)).count();
    assert_eq!((count("lane_xor"), count("barrier"), count("store lds")), (10, 3, 2));
    let sums: Vec<_> =
        kernel.lds.iter().map(|buffer| (buffer.name.as_str(), buffer.size_bytes)).collect();
    assert_eq!(sums, [("wave_sums", 8), ("wave_sums_1", 8)]);
}

#[test]
fn one_wave_needs_no_lds() {
    let k = KernelBuilder::new("sample", Target::Gfx950, 64);
    let y = k.output("y", Scalar::F32, &[Some(1)]);
    y.store(0, k.workgroup_sum(k.thread_id().signed_to_f32()));
    let kernel = k.finish().unwrap();
    assert!(kernel.lds.is_empty());
    assert_eq!(operations(&kernel).iter().filter(|line| line.contains("lane_xor")).count(), 6);
}

#[test]
fn rows_are_dealt_out_in_vectors() {
    let row = |elem, length| {
        built(|k| {
            let x = k.input("x", elem, &[None, Some(length)]).at(k.workgroup_id_x());
            let y = k.output("y", elem, &[None, Some(length)]).at(k.workgroup_id_x());
            k.row_elements(&x).for_each(|mine| mine.store(&y, mine.load(&x) + 1.0));
        })
    };
    // 512 = 64 work-items × 8: one round without a tail.
    let even = row(Scalar::Bf16, 512);
    assert!(!print(&even).contains("for ") && !print(&even).contains("select"));
    assert_lines(
        &even,
        &["bf16x8 varying = load global %10 + %15 align 16", "store global %13 + %19 align 16"],
    );
    // 257 is odd: single elements, four rounds and one element.
    let odd = row(Scalar::F32, 257);
    assert_lines(
        &odd,
        &[
            "const 257",
            "from %6 to %7 step 64 {",
            "lt_u",
            "select",
            "f32 varying = load",
            "select",
            "if",
            "store global",
        ],
    );
    assert!(operations(&odd).contains(&"const 320".to_owned()));
}

#[test]
fn masks_give_zeros() {
    let kernel = built(|k| {
        let x = k.input("x", Scalar::F32, &[Some(50)]);
        let y = k.output("y", Scalar::F32, &[Some(64)]);
        let inside = Mask::below(k.thread_id(), 50, 64);
        y.store(k.thread_id(), inside.or_zeros(|| x.load(k.thread_id())));
        y.store(k.thread_id(), Mask::below(k.thread_id(), 64, 64).or_zeros(|| k.f32(2.0)));
    });
    assert_lines(
        &kernel,
        &["lt_u", "= if", "= load", "yield", "} else {", "yield", "}", "store", "store"],
    );
    let conditionals = operations(&kernel).iter().filter(|line| line.starts_with("if")).count();
    assert_eq!(conditionals, 1);
}

#[test]
fn mistakes_have_the_authors_line() {
    let (line, message) = mistake(|k| {
        let y = k.output("y", Scalar::F32, &[Some(8)]);
        y.store(0, k.thread_id() + 1.5);
    });
    assert_eq!(
        (line, message.as_str()),
        (
            2,
            "a number as operand: got 1.5 beside i32, expected a float beside f32 or f16, an integer beside i32 or i64"
        )
    );
    let (line, message) = mistake(|k| {
        let x = k.scalar("x", Scalar::F32);
        let sum = x + k.thread_id();
        k.output("y", Scalar::F32, &[Some(8)]).store(0, sum);
    });
    assert_eq!((line, message.as_str()), (2, "Type: got operand 2 i32, expected f32"));
}

#[test]
fn layouts_are_checked() {
    let check = |expected: &str, write: &dyn Fn(&KernelBuilder)| {
        assert_eq!(mistake(|k| write(k)).1, expected)
    };
    check("an index: got 8, expected below 8, the axis' length", &|k| {
        k.input("x", Scalar::F32, &[Some(8)]).load(8);
    });
    check("a vector: got elements up to 9, expected at most 8, the axis' length", &|k| {
        k.input("x", Scalar::F32, &[Some(8)]).load_vector(5, 4);
    });
    check("an access: got 1 indices, expected 2, one an axis", &|k| {
        k.input("x", Scalar::F32, &[None, Some(8)]).load(k.thread_id());
    });
    check("a store: got i32, expected elements of bf16", &|k| {
        k.output("x", Scalar::Bf16, &[Some(8)]).store(0, k.thread_id());
    });
    check("an index: got f32, expected i32", &|k| {
        k.input("x", Scalar::I32, &[Some(8)]).load(k.scalar("f", Scalar::F32));
    });
    check("a group of lanes: got 64 lanes, expected a power of two, at most 32", &|k| {
        k.lane_groups(64);
    });
    check(
        "the shape of a buffer: got [Some(3), None], expected known lengths behind the first axis",
        &|k| {
            k.input("x", Scalar::F32, &[Some(3), None]);
        },
    );
    check("a row: got a view with axes [None, Some(8)], expected one axis of known length", &|k| {
        k.row_elements(&k.input("x", Scalar::F32, &[None, Some(8)]));
    });
    check(
        "a row: got 1073741825 elements, expected at most 1073741824, which the index of a loop can count",
        &|k| {
            k.row_elements(&k.input("x", Scalar::F32, &[Some((1 << 30) + 1)]));
        },
    );
    check(
        "Access: got a load from y (WriteOnly), expected an access that the parameter allows",
        &|k| {
            k.output("y", Scalar::F32, &[Some(8)]).load(0);
        },
    );
    check(
        "Constant: got rsq of a constant, expected a value of the launch; compute constants in the builder",
        &|k| {
            k.f32(2.0).rsq();
        },
    );
}

#[test]
fn values_stay_in_their_kernel_and_block() {
    let other = KernelBuilder::new("other", Target::Gfx1100, 32);
    let foreign = other.thread_id();
    let (line, message) = mistake(|k| {
        let y = k.output("y", Scalar::I32, &[Some(8)]);
        y.store(0, k.thread_id() + foreign);
    });
    assert_eq!(
        (line, message.as_str()),
        (2, "an operand: got a value of kernel other, expected a value of this kernel")
    );

    let k = KernelBuilder::new("sample", Target::Gfx1100, 32);
    let y = k.output("y", Scalar::I32, &[Some(8)]);
    let mut leaked = k.thread_id();
    k.for_range(0, 4, 1, (), |i, ()| leaked = i);
    y.store(0, leaked);
    let errors = k.finish().unwrap_err();
    assert!(
        matches!(&errors[..], [BuildError::Verify(error)] if error.rule == Rule::Scope),
        "{errors:#?}"
    );
}

#[test]
fn nesting_has_a_limit() {
    fn nested(k: &KernelBuilder, depth: u32) {
        if depth > 0 {
            k.for_range(0, 2, 1, (), |_, ()| nested(k, depth - 1));
        }
    }
    assert!(print(&built(|k| nested(k, 64))).contains("for"));
    let k = KernelBuilder::new("sample", Target::Gfx1100, 32);
    nested(&k, 65);
    let errors = k.finish().unwrap_err();
    assert!(
        matches!(&errors[..], [BuildError::Verify(error)] if error.rule == Rule::Nesting),
        "{errors:#?}"
    );
}

#[test]
fn intrinsics_pass_through_and_vary() {
    let kernel = built(|k| {
        let y = k.output("y", Scalar::F32, &[Some(8)]);
        let sine =
            |x: Expr<'_>| k.intrinsic("llvm.amdgcn.sin.f32", Type::F32, &[x]).bitcast(Type::I32);
        y.bits().store(0, sine(k.scalar("x", Scalar::F32)));
    });
    assert_lines(&kernel, &["f32 varying = intrinsic llvm.amdgcn.sin.f32 %1"]);
}
