//! Factors in registers, memory in their order, blocks by waves, strides of the launch, atomics.

use isa::Target;
use isa::fragment::{Fragment, Index, Part};
use isa::table::{Element, Matrix};
use wavesmith_dsl::builder::BuildError;
use wavesmith_dsl::ir::{Access, Kernel};
use wavesmith_dsl::text::{parse, print};
use wavesmith_dsl::verify::verify;
use wavesmith_dsl::{Factor, KernelBuilder, Scalar};

/// What `write` writes for four waves of gfx950.
fn built(write: impl FnOnce(&KernelBuilder)) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new("sample", Target::Gfx950, 256);
    write(&k);
    k.finish()
}

#[track_caller]
fn valid(write: impl FnOnce(&KernelBuilder)) -> String {
    let kernel = built(write).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let text = print(&kernel);
    let back = parse(&text).expect("its own text");
    assert_eq!((print(&back), verify(&back)), (text.clone(), Ok(())));
    text
}

#[track_caller]
fn first_mistake(write: impl FnOnce(&KernelBuilder)) -> String {
    built(write).expect_err("a mistake")[0].to_string()
}

/// `D = A·Bᵀ`, then `E = D as factor · Fᵀ` with F in LDS, in the order of results or not.
fn chained(k: &KernelBuilder, m: u32, depth: u32, in_order: bool) {
    let atom = k.matrix_atom(Scalar::Bf16, m, depth);
    let [a, b] = ["a", "b"].map(|name| k.lds(name, Scalar::Bf16, &[32, 32]));
    let f = k.lds("f", Scalar::Bf16, &[32, 32]);
    let d = atom.zero_tile(32, m).add_factors(Factor::Stored(&a), Factor::Stored(&b), 32);
    let f = if in_order { atom.ordered(&f) } else { f };
    let held = d.held(atom, |x| x.narrow(Scalar::Bf16));
    atom.zero_tile(32, m).add_factors(Factor::Stored(&f), Factor::Held(&held), 32);
}

#[test]
fn results_become_factors() {
    for (m, depth) in [(16, 32), (32, 16)] {
        let text = valid(|k| chained(k, m, depth, true));
        let operations = text.matches("matrix ").count() as u32;
        assert_eq!(operations, 2 * (32 / m) * (32 / depth), "{text}");
    }
}

/// On gfx1100 the halves of a wave give each other the rows that factors need: two a register.
#[test]
fn results_become_factors_in_both_halves() {
    let text = |in_order| {
        let k = KernelBuilder::new("sample", Target::Gfx1100, 128);
        chained(&k, 16, 16, in_order);
        k.finish().map(|kernel| print(&kernel)).map_err(|errors| errors[0].to_string())
    };
    let own = text(true).expect("a kernel");
    assert_eq!(own.matches("matrix ").count(), 2 * 2 * 2, "{own}");
    assert_eq!(own.matches("lane_xor ").count(), 2 * 4, "{own}");
    let refused = text(false).expect_err("a mistake");
    assert!(refused.contains("memory in another order"), "{refused}");
}

#[test]
fn memory_in_another_order_is_refused() {
    let text = first_mistake(|k| chained(k, 16, 32, false));
    assert!(text.contains("memory in another order"), "{text}");
}

/// Where a store to ordered memory goes, by its constant offsets, is where the operation's own layout has the elements:
/// the element that a lane holds at a row is the one that it takes at the row's place.
#[test]
fn the_order_is_that_of_the_fragments() {
    for (m, depth, op) in [
        (16, 32, Matrix::dense(Target::Gfx950, Element::Bf16, 16, 32)),
        (32, 16, Matrix::dense(Target::Gfx950, Element::Bf16, 32, 16)),
    ] {
        let op = op.expect("an operation of the target");
        let [factor, result] =
            [Part::A, Part::D].map(|part| Fragment::of(op, part).expect("dense"));
        let text = valid(|k| {
            let atom = k.matrix_atom(Scalar::Bf16, m, depth);
            let view = atom.ordered(&k.lds("f", Scalar::Bf16, &[1, 32]));
            for row in (0..32).step_by(4) {
                view.store((0, row), k.f32(row as f32).splat(4));
            }
        });
        let places: Vec<u32> = text
            .lines()
            .filter(|line| line.trim().starts_with("store lds f"))
            .map(|line| {
                line.split(" + ").nth(1).map_or(0, |rest| {
                    let digits = rest.split_whitespace().next().expect("a number");
                    digits.parse::<u32>().expect("a constant offset") / 2
                })
            })
            .collect();
        // Elements of a lane of the result, in the order of its registers, tile after tile.
        let per_step = factor.slots();
        for (run, place) in places.into_iter().enumerate() {
            let row = run as u32 * 4;
            let (tile, inside) = (row / m, row % m);
            let held = result.place(Index { block: 0, row: inside, column: 0 });
            let nth = tile * result.slots() + held.slot;
            let (step, slot) = (nth / per_step, nth % per_step);
            let taken = factor.place(Index { block: 0, row: 0, column: place % depth });
            assert_eq!(
                (place / depth, taken.slot, taken.lane),
                (step, slot, held.lane),
                "{op:?} {row}"
            );
        }
    }
}

#[test]
fn blocks_must_be_whole() {
    valid(|k| {
        let blocks = k.wave_blocks(32, 128);
        assert_eq!((blocks.rows(), blocks.groups()), (4, 8));
    });
    let text = first_mistake(|k| {
        k.wave_blocks(4, 128);
    });
    assert!(text.contains("4x128 by 4 waves"), "{text}");
}

#[test]
fn strides_of_the_launch_move_the_pointer() {
    let text = valid(|k| {
        let stride = k.scalar("stride", Scalar::I32) & -8;
        let axes = [(None, Some(stride)), (Some(64), None)];
        let x = k.strided("x", Scalar::Bf16, Access::ReadOnly, &axes);
        let row = x.window((k.workgroup_id_x(), 0)).first_rows(4);
        k.output("y", Scalar::Bf16, &[Some(8)]).store(0, row.load_stored((2, 8), 8));
    });
    assert!(text.contains("ptr_add") && text.contains("bf16x8 uniform = load"), "{text}");
    assert!(text.contains("align 16"), "strides are multiples of 16 bytes:\n{text}");
}

#[test]
fn atomics_are_of_writable_global_words() {
    let atomic = |access, elem| {
        move |k: &KernelBuilder| {
            let word = k.buffer("word", elem, access, &[Some(1)]);
            word.atomic_or(0, k.lane_id());
        }
    };
    let text = valid(atomic(Access::ReadWrite, Scalar::I32));
    assert!(text.contains("atomic_or global %"), "{text}");
    let text = first_mistake(atomic(Access::ReadOnly, Scalar::I32));
    assert!(text.contains("an atomic on word"), "{text}");
    let text = first_mistake(|k| k.lds("word", Scalar::I32, &[1]).atomic_or(0, k.lane_id()));
    assert!(text.contains("an atomic in LDS"), "{text}");
}
