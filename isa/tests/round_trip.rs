//! Properties of the decoder and encoder on arbitrary bytes.

use isa::Target;
use isa::decode;
use isa::disassemble;
use isa::encode;
use isa::format::Encoding;
use isa::format::layouts;
use isa::reg::Operand;
use isa::reg::SpecialReg;
use proptest::prelude::*;
use wavesmith_isa as isa;

/// The bytes without what LLVM's newer releases write into unused sources of VOP3: the constant 0, code 128
/// in bits 49:41 and 58:50. The encoder leaves such fields zero.
fn without_constants_of_unused_sources(decoded: &[u8], encoded: &[u8]) -> Vec<u8> {
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0_u128, |word, byte| word << 8 | u128::from(*byte));
    let (mut left, right) = (word(decoded), word(encoded));
    for low in [41, 50] {
        let field = 0x1ff_u128 << low;
        if left & field == 0x80_u128 << low && right & field == 0 {
            left &= !field;
        }
    }
    left.to_le_bytes()[..decoded.len()].to_vec()
}

/// Whatever decodes has a text and encodes back to the same bytes; whatever does not says why.
fn check(target: Target, bytes: &[u8]) -> Result<(), TestCaseError> {
    match decode(target, bytes) {
        Ok(inst) => {
            prop_assert!(!disassemble(target, &inst).is_empty());
            let encoded = encode(target, &inst).map(isa::encode::Encoded::to_vec);
            let mut wanted = bytes[..usize::from(inst.size_bytes)].to_vec();
            if let (Encoding::Vop3 | Encoding::Vop3Sd | Encoding::Vop3p, Ok(encoded)) =
                (inst.encoding, &encoded)
            {
                wanted = without_constants_of_unused_sources(&wanted, encoded);
            }
            prop_assert_eq!(encoded, Ok(wanted));
        }
        Err(error) => prop_assert!(error.to_string().contains(target.name())),
    }
    Ok(())
}

fn target() -> impl Strategy<Value = Target> {
    prop::sample::select(Target::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_bytes(target in target(), bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        check(target, &bytes)?;
    }

    /// Bytes that carry the identifying bits of a format, and few other ones, decode far more often.
    #[test]
    fn any_format(
        target in target(),
        format in any::<prop::sample::Index>(),
        opcode in any::<u32>(),
        fields in any::<u128>(),
        sparse in any::<u128>(),
        extension in any::<u32>(),
    ) {
        let layouts = layouts(target);
        let layout = &layouts[format.index(layouts.len())];
        let opcode = layout.opcode.put(opcode);
        let inside = u128::MAX >> (128 - 8 * u32::from(layout.size_bytes));
        let rest = fields & sparse & inside & !layout.prefix_mask & !layout.opcode.mask();
        let behind = u128::from(extension).checked_shl(8 * u32::from(layout.size_bytes)).unwrap_or(0);
        let words = layout.prefix | opcode | rest | behind;
        check(target, &words.to_le_bytes())?;
    }
}

#[test]
fn every_prefix_of_an_instruction_is_truncated() {
    let add_with_literal = [0xff, 0x02, 0x00, 0x06, 0x00, 0x00, 0x80, 0x3f];
    let whole =
        decode(Target::Gfx1100, &add_with_literal).expect("v_add_f32 v0, 1.0 as literal, v1");
    assert_eq!(whole.size_bytes, 8);
    for length in 0..add_with_literal.len() {
        let error = decode(Target::Gfx1100, &add_with_literal[..length]).expect_err("truncated");
        assert!(
            matches!(error.problem, isa::decode::DecodeProblem::Truncated { .. }),
            "{length} bytes: {error}"
        );
    }
}

#[test]
fn decode_all_goes_on_after_an_error() {
    let s_endpgm = 0xbfb0_0000u32.to_le_bytes();
    let code: Vec<u8> = [[0xff; 4], s_endpgm].concat();
    let decoded: Vec<_> = isa::decode::decode_all(Target::Gfx1100, &code).collect();
    assert_eq!(decoded.len(), 2);
    let error = decoded[0].1.as_ref().expect_err("no instruction");
    assert_eq!((decoded[0].0, error.offset), (0, 0));
    assert_eq!(decoded[1].0, 4);
    assert_eq!(
        decoded[1].1.as_ref().map(|inst| disassemble(Target::Gfx1100, inst)),
        Ok("s_endpgm".to_owned())
    );
}

#[test]
fn m0_and_null_trade_places() {
    let s_mov_b32 = |source: u8| [source, 0x00, 0x80, 0xbe];
    let source = |target, code| decode(target, &s_mov_b32(code)).map(|inst| inst.operands[1]);
    assert_eq!(source(Target::Gfx950, 124), Ok(Operand::Special(SpecialReg::M0)));
    assert!(source(Target::Gfx950, 125).is_err(), "gfx950 has no NULL");
    assert_eq!(source(Target::Gfx1100, 124), Ok(Operand::Special(SpecialReg::Null)));
    assert_eq!(source(Target::Gfx1100, 125), Ok(Operand::Special(SpecialReg::M0)));
}

#[test]
fn an_instruction_that_cannot_be_encoded_is_an_error() {
    let add = decode(Target::Gfx1100, &[0x01, 0x05, 0x00, 0x06]).expect("v_add_f32_e32 v0, v1, v2");
    let mut two_literals = add;
    two_literals.operands[1] = Operand::Literal(1);
    two_literals.operands[2] = Operand::Literal(2);
    let mut negated = add;
    negated.mods.neg = 1;
    let mut scalar = add;
    scalar.operands[2] = Operand::Sgpr(3);
    for inst in [two_literals, negated, scalar] {
        assert!(encode(Target::Gfx1100, &inst).is_err(), "{inst:?}");
    }
}

#[test]
fn unused_sources_may_hold_the_constant_zero() {
    // v_add_co_u32 v10, s4, s2, v67 and v_cvt_u32_u16_e64, as the LLVM of Triton 3.9 encodes them.
    for words in [[0xd700_040a_u32, 0x0202_8602], [0xd5eb_0001, 0x0201_0102]] {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let inst = decode(Target::Gfx1100, &code).expect("an instruction");
        let plain = encode(Target::Gfx1100, &inst).expect("encodes").to_vec();
        assert_eq!(decode(Target::Gfx1100, &plain).expect("an instruction"), inst);
        assert_eq!(plain[..4], code[..4]);
    }
    // Any other value is none.
    let code: Vec<u8> =
        [0xd700_040a_u32, 0x0206_8602].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert!(decode(Target::Gfx1100, &code).is_err());
}
