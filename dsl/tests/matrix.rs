//! Matrix operations: what the builder writes, what it and the verifier refuse.

use isa::Target;
use wavesmith_dsl::builder::BuildError;
use wavesmith_dsl::text::{parse, print};
use wavesmith_dsl::verify::{Rule, verify};
use wavesmith_dsl::{KernelBuilder, Scalar};

/// `d = a · bᵀ + c` of one atom in one wave.
fn product(target: Target, elem: Scalar, m: u32, depth: u32) -> Result<String, Vec<BuildError>> {
    let k = KernelBuilder::new("product", target, target.wave_width());
    let [a, b] = ["a", "b"].map(|name| k.input(name, elem, &[Some(m), Some(depth)]));
    let c = k.input("c", Scalar::F32, &[Some(m), Some(m)]);
    let d = k.output("d", Scalar::F32, &[Some(m), Some(m)]);
    let atom = k.matrix_atom(elem, m, depth);
    atom.multiply_add(atom.left(&a), atom.right(&b), atom.load(&c)).store(&d);
    k.finish().map(|kernel| print(&kernel))
}

const ATOMS: [(Target, Scalar, u32, u32, &str); 6] = [
    (Target::Gfx950, Scalar::F32, 32, 2, "matrix v_mfma_f32_32x32x2_f32"),
    (Target::Gfx950, Scalar::F16, 16, 32, "matrix v_mfma_f32_16x16x32_f16"),
    (Target::Gfx950, Scalar::Bf16, 32, 16, "matrix v_mfma_f32_32x32x16_bf16"),
    (Target::Gfx950, Scalar::Bf16, 16, 16, "matrix v_mfma_f32_16x16x16_bf16"),
    (Target::Gfx1100, Scalar::F16, 16, 16, "matrix v_wmma_f32_16x16x16_f16"),
    (Target::Gfx1100, Scalar::Bf16, 16, 16, "matrix v_wmma_f32_16x16x16_bf16"),
];

#[test]
fn atoms_survive_the_text_form() {
    for (target, elem, m, depth, operation) in ATOMS {
        let text = product(target, elem, m, depth).expect("a valid kernel");
        assert!(text.contains(operation), "no {operation:?} in\n{text}");
        let back = parse(&text).expect("its own text");
        assert_eq!(print(&back), text);
        assert_eq!(verify(&back), Ok(()));
    }
}

#[test]
fn factors_are_fetched_by_wide_accesses() {
    let text = product(Target::Gfx950, Scalar::Bf16, 32, 16).expect("a valid kernel");
    assert_eq!(text.matches("bf16x8 varying = load").count(), 2, "{text}");
    assert_eq!(text.matches("align 16\n").count(), 2 + 4, "{text}");
}

/// The only mistake of a kernel.
#[track_caller]
fn mistake(write: impl FnOnce(&KernelBuilder)) -> String {
    let k = KernelBuilder::new("sample", Target::Gfx950, 64);
    write(&k);
    match k.finish().expect_err("a mistake").as_slice() {
        [BuildError::Author { what, got, expected, .. }] => {
            format!("{what}: got {got}, expected {expected}")
        }
        [BuildError::Verify(error)] => {
            format!("{:?}: got {}, expected {}", error.rule, error.got, error.expected)
        }
        errors => panic!("{errors:#?}"),
    }
}

#[test]
fn mistakes_name_what_would_be_right() {
    let unknown = mistake(|k| {
        k.matrix_atom(Scalar::Bf16, 32, 32);
    });
    assert!(unknown.starts_with("a matrix operation: got 32x32x32 of bf16 on gfx950, expected v_"));
    assert!(unknown.contains("v_mfma_f32_32x32x16_bf16"), "{unknown}");
    assert!(!unknown.contains("i8") && !unknown.contains("_4b_"), "{unknown}");
    let element = mistake(|k| {
        let view = k.input("a", Scalar::F16, &[Some(32), Some(16)]);
        k.matrix_atom(Scalar::Bf16, 32, 16).left(&view);
    });
    assert!(element.starts_with("a factor: got a view of f16, expected elements of v_mfma"));
    let tile = mistake(|k| {
        k.matrix_atom(Scalar::Bf16, 32, 16).zero_tile(64, 48);
    });
    assert!(tile.starts_with("a wave's tile: got 64x48, expected multiples of 32"), "{tile}");
    let depth = mistake(|k| {
        let view = k.input("a", Scalar::Bf16, &[Some(32), Some(40)]);
        k.matrix_atom(Scalar::Bf16, 32, 16).zero_tile(32, 32).add_product(&view, &view, 40);
    });
    assert!(depth.starts_with("a product: got 40 terms a sum, expected a multiple of 16"));
}

#[test]
fn all_lanes_must_be_active() {
    let message = mistake(|k| {
        let view = k.input("a", Scalar::Bf16, &[Some(32), Some(16)]);
        let atom = k.matrix_atom(Scalar::Bf16, 32, 16);
        let (a, b, zeros) = (atom.left(&view), atom.right(&view), atom.zeros());
        k.if_(k.lane_id().eq(0), || {
            atom.multiply_add(a, b, zeros);
        });
    });
    assert!(
        message.starts_with("Convergence: got a matrix operation under a varying"),
        "{message}"
    );
}

/// The rules that a text breaks after one replacement.
fn broken(target: Target, elem: Scalar, piece: &str, by: &str) -> Vec<Rule> {
    let text = product(target, elem, 16, 16).expect("a valid kernel");
    assert!(text.contains(piece), "no {piece:?} in\n{text}");
    let kernel = parse(&text.replacen(piece, by, 1)).expect("a readable text");
    let errors = verify(&kernel).expect_err("a mistake");
    errors.into_iter().map(|error| error.rule).collect()
}

#[test]
fn the_verifier_knows_targets_and_fragments() {
    let (mfma, wmma) = ("v_mfma_f32_16x16x16_bf16", "v_wmma_f32_16x16x16_bf16");
    let foreign = broken(Target::Gfx950, Scalar::Bf16, mfma, wmma);
    assert_eq!(foreign, [Rule::Type]);
    let element = broken(Target::Gfx1100, Scalar::Bf16, wmma, "v_wmma_f32_16x16x16_f16");
    assert_eq!(element, [Rule::Type; 2]);
    let deeper = broken(Target::Gfx950, Scalar::Bf16, mfma, "v_mfma_f32_16x16x32_bf16");
    assert_eq!(deeper, [Rule::Type; 2]);
    let integers = broken(Target::Gfx1100, Scalar::Bf16, wmma, "v_wmma_i32_16x16x16_iu8");
    assert_eq!(integers, [Rule::Type]);
    let blocks = broken(Target::Gfx950, Scalar::Bf16, mfma, "v_mfma_f32_32x32x4_2b_bf16");
    assert_eq!(blocks, [Rule::Type]);
}
