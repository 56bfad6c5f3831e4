//! Fragments against AMD's matrix instruction calculator, element by element, and against themselves.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use isa::fragment::Fragment;
use isa::fragment::Index;
use isa::fragment::Part;
use isa::fragment::Place;
use isa::fragment::Shape;
use isa::table::Matrix;
use isa::table::Op;
use isa::table::Row;
use isa::table::Ty;
use wavesmith_isa as isa;

const PARTS: [Part; 3] = [Part::A, Part::B, Part::D];

fn op(row: &Row) -> Matrix {
    let Op::Matrix(op) = row.op else { panic!("{:?} is no matrix operation", row.op) };
    op
}

fn mnemonic(row: &Row) -> &'static str {
    row.gfx950.or(row.gfx1100).expect("on some target").mnemonic
}

fn dense() -> impl Iterator<Item = &'static Row> {
    Matrix::ROWS.iter().filter(|row| Shape::of(op(row)).is_some())
}

/// `register.bit@lane`, or `register.bit@lane+lane`.
fn text(fragment: &Fragment, Place { lane, slot }: Place) -> String {
    let (register, bit) = fragment.register(slot);
    let copy = fragment.copy().map_or_else(String::new, |by| format!("+{}", lane + by));
    format!("{register}.{bit}@{lane}{copy}")
}

/// The first element that a layout puts elsewhere than the calculator; else how many elements of which
/// operands were compared.
fn check_layouts(
    place: impl Fn(&Fragment, Index) -> Place,
) -> Result<BTreeMap<(&'static str, &'static str), u32>, String> {
    let by_mnemonic: BTreeMap<&str, &Row> = dense().map(|row| (mnemonic(row), row)).collect();
    let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let file = include_str!("vectors/matrix_layouts.txt");
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let (key, places) = line.split_once(" ; ").expect("key ; places");
        let [name, part, block, row] = key.split(' ').collect::<Vec<&str>>()[..] else {
            panic!("'{key}' has not four words")
        };
        let [block, row] = [block, row].map(|word| word.parse::<u32>().expect("a number"));
        let which = PARTS["ABD".find(part).expect("A, B or D")];
        let fragment = Fragment::of(op(by_mnemonic[name]), which).expect("dense");
        let places: Vec<&str> = places.split(' ').collect();
        assert_eq!(places.len(), fragment.columns() as usize, "{key}");
        assert!(row < fragment.rows() && block < fragment.blocks(), "{key}");
        for (column, expected) in (0..).zip(places) {
            let got = text(&fragment, place(&fragment, Index { block, row, column }));
            if got != expected {
                return Err(format!("{key}, column {column}: {got}, not {expected}"));
            }
            *seen.entry((name, part)).or_default() += 1;
        }
    }
    Ok(seen)
}

#[test]
fn a_planted_error_in_a_layout_is_reported() {
    let lanes = |fragment: &Fragment, index| {
        let Place { lane, slot } = fragment.place(index);
        Place { lane: lane ^ 1, slot }
    };
    let words = check_layouts(lanes).expect_err("two lanes are exchanged");
    assert!(words.contains("column 0"), "{words}");
    let slots = |fragment: &Fragment, index| {
        let Place { lane, slot } = fragment.place(index);
        Place { lane, slot: if fragment.slots() > 2 { slot ^ 2 } else { slot } }
    };
    check_layouts(slots).expect_err("registers are exchanged");
    let transposed = |fragment: &Fragment, Index { block, row, column }| {
        let is_square = fragment.rows() == fragment.columns();
        let (row, column) = if is_square { (column, row) } else { (row, column) };
        fragment.place(Index { block, row, column })
    };
    check_layouts(transposed).expect_err("rows and columns are exchanged");
}

#[test]
fn every_element_lies_where_the_calculator_says() {
    let by_mnemonic: BTreeMap<&str, &Row> = dense().map(|row| (mnemonic(row), row)).collect();
    let seen = check_layouts(Fragment::place).unwrap_or_else(|words| panic!("{words}"));
    for ((name, part), n_elements) in &seen {
        let which = PARTS["ABD".find(part).expect("A, B or D")];
        let fragment = Fragment::of(op(by_mnemonic[name]), which).expect("dense");
        let all = fragment.blocks() * fragment.rows() * fragment.columns();
        assert_eq!(*n_elements, all, "{name} {part}");
    }
    let without = by_mnemonic.keys().filter(|name| !seen.contains_key(&(**name, "D")));
    let new_on_gfx950 = [
        "v_mfma_f32_16x16x32_bf16",
        "v_mfma_f32_16x16x32_f16",
        "v_mfma_f32_32x32x16_bf16",
        "v_mfma_f32_32x32x16_f16",
        "v_mfma_i32_16x16x64_i8",
        "v_mfma_i32_32x32x32_i8",
    ];
    assert_eq!(without.copied().collect::<Vec<&str>>(), new_on_gfx950);
}

/// Places and indices are inverse, and every bit of every lane's registers has an element.
#[test]
fn places_and_indices_are_inverse() {
    for row in dense() {
        let n_lanes = if row.gfx1100.is_some() { 32 } else { 64 };
        for part in PARTS {
            let fragment = Fragment::of(op(row), part).expect("dense");
            let mut seen = BTreeSet::new();
            for lane in 0..n_lanes {
                for slot in 0..fragment.slots() {
                    let index = fragment.index(Place { lane, slot });
                    let first_copy = lane % fragment.copy().unwrap_or(n_lanes);
                    let place = fragment.place(index);
                    assert_eq!(place, Place { lane: first_copy, slot }, "{}", mnemonic(row));
                    seen.insert(index);
                }
            }
            let all = fragment.blocks() * fragment.rows() * fragment.columns();
            assert_eq!(seen.len(), all as usize, "{} {part:?}", mnemonic(row));
        }
    }
}

/// Shapes are what mnemonics say, registers what rows say.
#[test]
fn shapes_agree_with_mnemonics_and_rows() {
    for row in dense() {
        let name = mnemonic(row);
        let mut words = name.split('_').skip(3);
        let extents: Vec<u32> = words
            .next()
            .map(|word| word.split('x').map(|digits| digits.parse().expect("a number")).collect())
            .expect("extents");
        let blocks =
            words.next().and_then(|word| word.strip_suffix('b')?.parse().ok()).unwrap_or(1);
        let shape = Shape::of(op(row)).expect("dense");
        assert_eq!(
            [shape.m, shape.n, shape.k, shape.blocks],
            [&extents[..], &[blocks]].concat()[..]
        );
        for (spec, part) in row.operands.iter().zip([Part::D, Part::A, Part::B, Part::D]) {
            let Ty::Tile(element, registers) = spec.ty else { panic!("{name}: {spec:?}") };
            let fragment = Fragment::of(op(row), part).expect("dense");
            assert_eq!(
                (fragment.element(), fragment.registers()),
                (element, registers.into()),
                "{name}"
            );
        }
    }
}
