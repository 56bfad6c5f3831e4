//! The rows fit the formats: what can be checked without LLVM.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use isa::Target;
use isa::format::Encoding;
use isa::format::Field;
use isa::format::layout;
use isa::format::layouts;
use isa::inst::MAX_OPERANDS;
use isa::table::Effect;
use isa::table::Op;
use isa::table::Ty;
use isa::table::dual;
use wavesmith_isa as isa;

#[test]
fn opcodes_are_unique_and_fit_their_field() {
    for target in Target::ALL {
        let mut owner: BTreeMap<(Encoding, u16), Op> = BTreeMap::new();
        for row in Op::rows() {
            let Some(form) = row.form(target) else { continue };
            let layout = layout(target, form.encoding)
                .unwrap_or_else(|| panic!("{target} lacks {:?}", form.encoding));
            assert!(
                layout.opcode.fits(form.opcode.into()),
                "{}: opcode {:#x}",
                form.mnemonic,
                form.opcode
            );
            let space =
                if form.encoding == Encoding::Vop3Sd { Encoding::Vop3 } else { form.encoding };
            let other = owner.insert((space, form.opcode), row.op);
            assert_eq!(other, None, "{target}: {} shares its opcode", form.mnemonic);
        }
    }
}

#[test]
fn mnemonics_are_unique() {
    for target in Target::ALL {
        let mut seen = BTreeSet::new();
        for form in Op::rows().filter_map(|row| row.form(target)) {
            let class = (matches!(form.encoding, Encoding::Global), form.mnemonic);
            assert!(seen.insert(class), "{target}: two rows are called {}", form.mnemonic);
        }
    }
}

#[test]
fn every_row_is_on_some_target_and_finds_itself() {
    for row in Op::rows() {
        assert!(row.gfx950.is_some() || row.gfx1100.is_some(), "{:?} is on no target", row.op);
        assert_eq!(row.op.row().op, row.op, "{:?} finds another row", row.op);
    }
}

#[test]
fn operands_are_few_destinations_first_and_fields_not_repeated() {
    for row in Op::rows() {
        assert!(row.operands.len() <= MAX_OPERANDS, "{:?}", row.op);
        assert!(
            row.operands.is_sorted_by_key(|spec| !spec.is_dst),
            "{:?}: destinations come first",
            row.op
        );
        let fields: Vec<Field> = row.operands.iter().map(|spec| spec.field).collect();
        let is_repeated = |field: &Field| fields.iter().filter(|other| *other == field).count() > 1;
        assert!(!fields.iter().any(is_repeated), "{:?}: {fields:?}", row.op);
    }
}

/// The width that a mnemonic of memory states is the width of its data.
#[test]
fn memory_widths_agree_with_mnemonics() {
    let target = Target::Gfx1100;
    for row in Op::rows() {
        let Some(form) = row.form(target) else { continue };
        // The data of a compare-and-swap is a pair.
        let is_memory =
            matches!(form.encoding, Encoding::Smem | Encoding::Global | Encoding::Mubuf)
                && !form.mnemonic.contains("buffer_atomic_cmpswap");
        let Some(bits) =
            form.mnemonic.rsplit_once("_b").and_then(|(_, digits)| digits.parse::<u32>().ok())
        else {
            continue;
        };
        let data = row.operands.iter().find(|spec| {
            matches!(spec.field, Field::Vdst | Field::Sdata | Field::Data | Field::Vdata)
        });
        if is_memory {
            assert_eq!(data.map(|spec| spec.ty.bits(target)), Some(bits), "{}", form.mnemonic);
        }
    }
}

#[test]
fn fields_of_a_format_do_not_overlap() {
    for target in Target::ALL {
        for layout in layouts(target).iter().filter(|layout| layout.encoding != Encoding::Vopd) {
            let mut used = layout.prefix_mask;
            let whole = u128::MAX >> (128 - 8 * u32::from(layout.size_bytes));
            let places = layout.fields.iter().map(|(_, bits)| *bits).chain([layout.opcode]);
            for bits in places {
                assert_eq!(
                    used & bits.mask(),
                    0,
                    "{target} {:?}: {bits:?} overlaps",
                    layout.encoding
                );
                assert_eq!(
                    bits.mask() & !whole,
                    0,
                    "{target} {:?}: {bits:?} is outside",
                    layout.encoding
                );
                used |= bits.mask();
            }
        }
    }
}

#[test]
fn effects_fit_their_rows() {
    for row in Op::rows() {
        let is_float = row.operands.iter().any(|spec| spec.ty.is_float());
        assert!(!row.has(Effect::Trans) || is_float, "{:?}: transcendental without floats", row.op);
        assert!(
            !row.has(Effect::Branch) || !row.operands.is_empty(),
            "{:?}: branch without a target",
            row.op
        );
        let counts = row
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::CountsLoad | Effect::CountsStore));
        assert!(counts.count() <= 1, "{:?} counts as load and store", row.op);
        let has_destination = row.operands.iter().any(|spec| spec.is_dst);
        assert!(
            !row.has(Effect::ReadsDst) || has_destination,
            "{:?} reads a destination it lacks",
            row.op
        );
    }
}

#[test]
fn halves_of_dual_issue_have_rows_of_registers() {
    for half in dual::ROWS {
        assert_eq!(dual::by_op(half.op), dual::by_opcode(half.opcode, false), "{}", half.mnemonic);
        let widths = half.op.row().operands.iter().map(|spec| spec.ty);
        assert!(
            widths.into_iter().all(|ty| ty == Ty::Mask || ty.bits(Target::Gfx1100) == 32),
            "{}",
            half.mnemonic
        );
    }
}
