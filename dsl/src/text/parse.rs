//! The parser. It answers for the grammar, the numbering of values and names of LDS buffers; the verifier answers
//! for the rest.

use std::str::FromStr;

use isa::Target;
use isa::table::Matrix;

use crate::ir::{
    Address, Base, BinOp, Block, CmpOp, Conversion, Kernel, LdsBuffer, LdsId, Loc, Op, Param,
    ParamKind, Scalar, Special, Stmt, Type, UnOp, Uniformity, Value, ValueInfo,
};

use super::cursor::{ParseError, Parsed, Parser};
use super::lex::Kind;
use super::names::Named;
use super::{HEADER, MAX_NESTING};

/// Reads the text form of a kernel. The result still has to pass the verifier before anything trusts it.
pub fn parse(text: &str) -> Result<Kernel, ParseError> {
    Parser::new(text).kernel()
}

impl<'t> Parser<'t> {
    fn kernel(mut self) -> Parsed<Kernel> {
        self.header()?;
        let name = self.line("kernel", |parser| parser.name("the kernel's name"))?;
        let target = self.line("target", Parser::target)?;
        let workgroup_size =
            self.line("workgroup_size", |parser| parser.number("work-items in a workgroup"))?;
        let max_vgprs = match self.peek() {
            Kind::Word("max_vgprs") => {
                Some(self.line("max_vgprs", |parser| parser.number("VGPRs of the budget"))?)
            }
            _ => None,
        };
        let mut params = Vec::new();
        while self.peek() == Kind::Word("param") {
            params.push(self.line("param", Parser::param)?);
        }
        while self.peek() == Kind::Word("lds") {
            let buffer = self.line("lds", Parser::lds_buffer)?;
            self.lds.push(buffer);
        }
        let body = self.line("body", Parser::block)?;
        if self.peek() != Kind::EndOfText {
            return self.refuse("the end of the text");
        }
        let (lds, values) = (self.lds, self.values);
        Ok(Kernel { name, target, workgroup_size, max_vgprs, params, lds, body, values })
    }

    fn header(&mut self) -> Parsed<()> {
        let (title, version) = HEADER.split_once(' ').unwrap_or((HEADER, ""));
        self.line(title, |parser| parser.exactly(version))
    }

    /// A keyword, what follows it, and the end of the line.
    fn line<T>(&mut self, keyword: &str, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.word(keyword)?;
        let content = read(self)?;
        self.end_of_line()?;
        Ok(content)
    }

    fn target(&mut self) -> Parsed<Target> {
        let known = Target::ALL.map(Target::name).join(" or ");
        let Kind::Word(name) = self.peek() else {
            return self.refuse(known);
        };
        match Target::from_str(name) {
            Ok(target) => self.taken(target),
            Err(_) => self.refuse(known),
        }
    }

    fn param(&mut self) -> Parsed<Param> {
        let place = self.next;
        let value = self.any_value("the parameter's value")?;
        let name = self.name("the parameter's name")?;
        self.mark(':')?;
        let kind = if self.take_word("buffer") {
            let elem = self.named("the buffer's element type")?;
            let access = self.named("read_only, write_only or read_write")?;
            ParamKind::Buffer { elem, access, align_bytes: self.align()? }
        } else {
            ParamKind::Scalar(self.named("buffer or a scalar type")?)
        };
        let ty = match kind {
            ParamKind::Buffer { .. } => Type::Pointer,
            ParamKind::Scalar(scalar) => Type::Scalar(scalar),
        };
        self.define(place, value, ValueInfo { ty, uniformity: Uniformity::Uniform })?;
        Ok(Param { name, kind, value })
    }

    fn lds_buffer(&mut self) -> Parsed<LdsBuffer> {
        let name = self.name("the LDS buffer's name")?;
        self.mark(':')?;
        let size_bytes = self.number("the buffer's size")?;
        self.word("bytes")?;
        let align_bytes = self.align()?;
        Ok(LdsBuffer { name, size_bytes, align_bytes })
    }

    /// `{`, statements, perhaps a `yield`, `}`.
    fn block(&mut self) -> Parsed<Block> {
        self.open()?;
        self.statements()
    }

    fn open(&mut self) -> Parsed<()> {
        if self.depth > MAX_NESTING {
            return self.refuse(format!("at most {MAX_NESTING} nested blocks"));
        }
        self.depth += 1;
        self.mark('{')?;
        self.end_of_line()
    }

    fn statements(&mut self) -> Parsed<Block> {
        let mut block = Block::default();
        while !self.take_mark('}') {
            if self.take_word("yield") {
                block.yields = self.uses()?;
                self.end_of_line()?;
                self.mark('}')?;
                break;
            }
            block.stmts.push(self.stmt()?);
        }
        self.depth -= 1;
        Ok(block)
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let results = self.results()?;
        let op = self.op(&results)?;
        self.end_of_line()?;
        Ok(Stmt { results, op, loc: Loc(None) })
    }

    fn results(&mut self) -> Parsed<Vec<Value>> {
        let mut results = Vec::new();
        if !matches!(self.peek(), Kind::Value(_)) {
            return Ok(results);
        }
        results.push(self.definition()?);
        while self.take_mark(',') {
            results.push(self.definition()?);
        }
        self.mark('=')?;
        Ok(results)
    }

    fn definition(&mut self) -> Parsed<Value> {
        let place = self.next;
        let value = self.any_value("a definition")?;
        self.mark(':')?;
        let ty = self.ty()?;
        let uniformity = self.named("uniform or varying")?;
        self.define(place, value, ValueInfo { ty, uniformity })?;
        Ok(value)
    }

    fn define(&mut self, place: usize, value: Value, info: ValueInfo) -> Parsed<()> {
        if value.0 as usize != self.values.len() {
            self.next = place;
            return self
                .refuse(format!("%{}, the next number in order of definition", self.values.len()));
        }
        self.values.push(info);
        Ok(())
    }

    fn op(&mut self, results: &[Value]) -> Parsed<Op> {
        let Kind::Word(mnemonic) = self.peek() else {
            return self.refuse("an operation");
        };
        self.next += 1;
        match mnemonic {
            "const" => self.constant(results),
            "special" => Ok(Op::Special(self.named::<Special>("a value of the launch")?)),
            "fma" => self.three().map(|[a, b, c]| Op::Fma(a, b, c)),
            "select" => self.three().map(|[cond, a, b]| Op::Select(cond, a, b)),
            "bitcast" => Ok(Op::Bitcast(self.value()?)),
            "pack" => Ok(Op::Pack(self.uses()?)),
            "extract" => {
                let vector = self.value()?;
                self.mark(',')?;
                Ok(Op::Extract(vector, self.number("an element's index")?))
            }
            "lane_xor" => {
                let value = self.value()?;
                self.mark(',')?;
                Ok(Op::LaneXor { value, mask: self.number("a lane mask")? })
            }
            "read_first_lane" => Ok(Op::ReadFirstLane(self.value()?)),
            "ptr_add" => self.two().map(|[pointer, offset]| Op::PtrAdd(pointer, offset)),
            "load" => Ok(Op::Load(self.address()?)),
            "store" => self.destination().map(|(address, value)| Op::Store(address, value)),
            "atomic_or" => self.destination().map(|(address, value)| Op::AtomicOr(address, value)),
            "matrix" => self.matrix(),
            "barrier" => Ok(Op::Barrier),
            "intrinsic" => self.intrinsic(),
            "for" => self.for_loop(),
            "if" => self.conditional(),
            _ => self.elementwise(mnemonic),
        }
    }

    /// An address and what goes there.
    fn destination(&mut self) -> Parsed<(Address, Value)> {
        let address = self.address()?;
        self.mark(',')?;
        Ok((address, self.value()?))
    }

    /// Operations that are a mnemonic and their operands.
    fn elementwise(&mut self, mnemonic: &str) -> Parsed<Op> {
        if let Some(op) = UnOp::from_spelling(mnemonic) {
            return Ok(Op::Unary(op, self.value()?));
        }
        if let Some(conversion) = Conversion::from_spelling(mnemonic) {
            return Ok(Op::Convert(conversion, self.value()?));
        }
        if let Some(op) = BinOp::from_spelling(mnemonic) {
            return self.two().map(|[a, b]| Op::Binary(op, a, b));
        }
        if let Some(op) = CmpOp::from_spelling(mnemonic) {
            return self.two().map(|[a, b]| Op::Cmp(op, a, b));
        }
        self.next -= 1;
        self.refuse("an operation")
    }

    fn constant(&mut self, results: &[Value]) -> Parsed<Op> {
        let [result] = results else {
            return self.refuse("a constant to define one value");
        };
        let ty = self.values[result.0 as usize].ty;
        let Kind::Integer { negative, magnitude } = self.peek() else {
            return self.refuse("the constant's bits");
        };
        let bits = if negative { magnitude.wrapping_neg() & width_mask(ty) } else { magnitude };
        self.taken(Op::Const { ty, bits })
    }

    /// A target's name for the operation; the verifier answers for whether this kernel's target has it.
    fn matrix(&mut self) -> Parsed<Op> {
        let Kind::Word(name) = self.peek() else {
            return self.refuse("a matrix operation");
        };
        let Some(op) = Target::ALL.iter().find_map(|target| Matrix::named(name, *target)) else {
            return self.refuse("a matrix operation");
        };
        self.next += 1;
        self.three().map(|[a, b, c]| Op::Matrix { op, a, b, c })
    }

    fn intrinsic(&mut self) -> Parsed<Op> {
        let name = self.name("the intrinsic's name")?;
        let args = if self.peek() == Kind::EndOfLine { Vec::new() } else { self.uses()? };
        Ok(Op::Intrinsic { name, args })
    }

    fn address(&mut self) -> Parsed<Address> {
        let base = if self.take_word("global") {
            Base::Global(self.value()?)
        } else {
            self.word("lds")
                .map_err(|error| ParseError { expected: "global or lds".to_owned(), ..error })?;
            Base::Lds(self.lds_id()?)
        };
        let mut plus = self.take_mark('+');
        let mut offset = None;
        if plus && matches!(self.peek(), Kind::Value(_)) {
            offset = Some(self.value()?);
            plus = self.take_mark('+');
        }
        let constant = if plus { self.number("a constant offset in bytes")? } else { 0 };
        Ok(Address { base, offset, constant, align_bytes: self.align()? })
    }

    fn lds_id(&mut self) -> Parsed<LdsId> {
        let Kind::Word(name) = self.peek() else {
            return self.refuse("the name of an LDS buffer");
        };
        match self.lds.iter().position(|buffer| buffer.name == name) {
            Some(position) => self.taken(LdsId(position as u32)),
            None => self.refuse("the name of an LDS buffer of this kernel"),
        }
    }

    fn for_loop(&mut self) -> Parsed<Op> {
        let index = self.definition()?;
        self.word("from")?;
        let lower = self.value()?;
        self.word("to")?;
        let upper = self.value()?;
        self.word("step")?;
        let step = self.number("the loop's step")?;
        self.open()?;
        let mut carried = Vec::new();
        let mut inits = Vec::new();
        while self.take_word("carry") {
            carried.push(self.definition()?);
            self.mark('=')?;
            inits.push(self.value()?);
            self.end_of_line()?;
        }
        let body = self.statements()?;
        Ok(Op::For { index, lower, upper, step, carried, inits, body })
    }

    fn conditional(&mut self) -> Parsed<Op> {
        let cond = self.value()?;
        let then = self.block()?;
        let otherwise = if self.take_word("else") { self.block()? } else { Block::default() };
        Ok(Op::If { cond, then, otherwise })
    }
}

/// The bits that a constant of this type may use.
fn width_mask(ty: Type) -> u64 {
    match ty.scalar().map_or(0, Scalar::size_bytes) {
        0 => 1,
        bytes => u64::MAX >> (64 - 8 * bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{print, print_with_locations};

    const SCALE_ROWS: &str = "wavesmith-ir 1
kernel scale_rows
target gfx1100
workgroup_size 64
param %0 x: buffer f32 read_write align 16
param %1 factor: f32
lds partial: 256 bytes align 16
body {
  %2: i32 varying = special thread_id
  %3: i32 uniform = const 2
  %4: i32 uniform = const -1
  %5: i32 varying = shl %2, %3
  %6: f32x4 varying = load global %0 + %5 + 16 align 4
  %7: f32 varying = extract %6, 1
  store lds partial + %5 align 4, %7
  %8: f32 varying, %9: i32 uniform = for %10: i32 uniform from %4 to %3 step 1 {
    carry %11: f32 varying = %7
    carry %12: i32 uniform = %3
    %13: i1 uniform = lt_s %10, %3
    %14: f32 varying = if %13 {
      %15: f32 uniform = const 0x3f800000
      %16: f32 varying = fma %11, %15, %1
      yield %16
    } else {
      yield %11
    }
    yield %14, %12
  }
  %17: i1 varying = flt %8, %7
  if %17 {
    store global %0 align 16, %8
  }
  barrier
}
";

    #[test]
    fn canonical_text_survives_parse_and_print() {
        let kernel = parse(SCALE_ROWS).unwrap();
        assert_eq!(print(&kernel), SCALE_ROWS);
        assert_eq!(parse(&print(&kernel)).unwrap(), kernel);
    }

    #[test]
    fn comments_and_blank_lines_are_nothing() {
        let kernel = parse(SCALE_ROWS).unwrap();
        let annotated = print_with_locations(&kernel);
        assert!(annotated.contains("const 0x3f800000  ; 1.0, unknown location"), "{annotated}");
        assert_eq!(parse(&annotated.replace('\n', "\n\n ; aside\n")).unwrap(), kernel);
    }

    /// One line of the kernel replaced, and what the parser says.
    #[track_caller]
    fn refused(line: &str, by: &str, message: &str) {
        assert!(SCALE_ROWS.contains(line), "{line}");
        let error = parse(&SCALE_ROWS.replacen(line, by, 1)).unwrap_err();
        assert_eq!(error.to_string(), format!("kernel text, {message}"));
    }

    #[test]
    fn errors_name_the_place_and_both_sides() {
        refused(
            "wavesmith-ir 1",
            "wavesmith-ir 2",
            "line 1, column 14: got '2', expected version 1",
        );
        refused(
            "gfx1100",
            "gfx1101",
            "line 3, column 8: got 'gfx1101', expected gfx950 or gfx1100",
        );
        refused(
            "size 64",
            "size 5000000000",
            "line 4, column 16: got '5000000000', expected work-items in a workgroup within 32 bits",
        );
        refused(
            "%2: i32",
            "%7: i32",
            "line 9, column 3: got '%7', expected %2, the next number in order of definition",
        );
        refused(
            "shl %2, %3",
            "shl %2, %30",
            "line 12, column 29: got '%30', expected a value defined above",
        );
        refused(
            "shl %2, %3",
            "shl %2",
            "line 12, column 27: got the end of the line, expected ','",
        );
        refused("shl %2", "shift %2", "line 12, column 21: got 'shift', expected an operation");
        refused(
            "f32x4",
            "f32x400",
            "line 13, column 7: got 'f32x400', expected a type such as f32, i32x4 or ptr",
        );
        refused(
            "lds partial +",
            "lds other +",
            "line 15, column 13: got 'other', expected the name of an LDS buffer of this kernel",
        );
        refused(
            "load global",
            "load glöbal",
            "line 13, column 28: got 'gl', expected global or lds",
        );
        refused(
            "barrier\n}\n",
            "barrier\n",
            "line 34, column 1: got the end of the text, expected an operation",
        );
    }

    #[test]
    fn nesting_has_a_limit() {
        let deep = "if %13 {\n".repeat(100_000);
        let error = parse(&SCALE_ROWS.replacen("  barrier\n", &deep, 1)).unwrap_err();
        assert_eq!(error.expected, "at most 64 nested blocks");
    }

    #[test]
    fn every_member_is_found_by_its_spelling() {
        fn check<T: Named + PartialEq + std::fmt::Debug>() {
            T::ALL
                .iter()
                .for_each(|member| assert_eq!(T::from_spelling(member.spelling()), Some(*member)));
        }
        check::<Scalar>();
        check::<Special>();
        check::<UnOp>();
        check::<BinOp>();
        check::<CmpOp>();
        check::<Conversion>();
    }
}
