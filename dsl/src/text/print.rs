//! The printer. Total: it prints invalid kernels too, so that errors about them can show them.

use std::fmt::{self, Display, Write};

use crate::ir::{Address, Base, Block, Kernel, Op, Param, ParamKind, Scalar, Stmt, Type, Value};

use super::HEADER;
use super::names::Named;

/// The canonical text of a kernel.
pub fn print(kernel: &Kernel) -> String {
    Printer { kernel, locations: false, text: String::new(), depth: 0 }.kernel()
}

/// The canonical text with a comment at each statement: who asked for it, and what float constants are worth.
pub fn print_with_locations(kernel: &Kernel) -> String {
    Printer { kernel, locations: true, text: String::new(), depth: 0 }.kernel()
}

struct Printer<'k> {
    kernel: &'k Kernel,
    locations: bool,
    text: String,
    depth: usize,
}

impl Printer<'_> {
    fn kernel(mut self) -> String {
        let kernel = self.kernel;
        self.line(format_args!("{HEADER}"));
        self.line(format_args!("kernel {}", kernel.name));
        self.line(format_args!("target {}", kernel.target));
        self.line(format_args!("workgroup_size {}", kernel.workgroup_size));
        if let Some(max_vgprs) = kernel.max_vgprs {
            self.line(format_args!("max_vgprs {max_vgprs}"));
        }
        for param in &kernel.params {
            self.line(format_args!("param {}", ParamText(param)));
        }
        for lds in &kernel.lds {
            self.line(format_args!(
                "lds {}: {} bytes align {}",
                lds.name, lds.size_bytes, lds.align_bytes
            ));
        }
        self.line(format_args!("body {{"));
        self.block(&kernel.body);
        self.line(format_args!("}}"));
        self.text
    }

    fn line(&mut self, content: fmt::Arguments<'_>) {
        let indent = self.depth * 2;
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{:indent$}{content}", "");
    }

    fn block(&mut self, block: &Block) {
        self.depth += 1;
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        if !block.yields.is_empty() {
            self.line(format_args!("yield {}", Values(&block.yields)));
        }
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let head = Head(self.kernel, stmt);
        self.line(format_args!("{head}{}", self.comment(stmt)));
        match &stmt.op {
            Op::For { carried, inits, body, .. } => {
                self.carries(carried, inits);
                self.block(body);
                self.line(format_args!("}}"));
            }
            Op::If { then, otherwise, .. } => {
                self.block(then);
                if !otherwise.stmts.is_empty() || !otherwise.yields.is_empty() {
                    self.line(format_args!("}} else {{"));
                    self.block(otherwise);
                }
                self.line(format_args!("}}"));
            }
            _ => {}
        }
    }

    fn carries(&mut self, carried: &[Value], inits: &[Value]) {
        self.depth += 1;
        for (carried, init) in carried.iter().zip(inits) {
            let carried = Definition(self.kernel, *carried);
            self.line(format_args!("carry {carried} = {}", Use(*init)));
        }
        self.depth -= 1;
    }

    fn comment(&self, stmt: &Stmt) -> String {
        if !self.locations {
            return String::new();
        }
        let worth = match stmt.op {
            Op::Const { ty, bits } => {
                float_worth(ty, bits).map(|worth| format!("{worth:?}, ")).unwrap_or_default()
            }
            _ => String::new(),
        };
        format!("  ; {worth}{}", stmt.loc)
    }
}

/// The value of a float constant, for readers.
fn float_worth(ty: Type, bits: u64) -> Option<f32> {
    match ty.scalar()? {
        Scalar::F32 => Some(f32::from_bits(bits as u32)),
        Scalar::F16 => Some(half::f16::from_bits(bits as u16).to_f32()),
        Scalar::Bf16 => Some(half::bf16::from_bits(bits as u16).to_f32()),
        Scalar::I1 | Scalar::I16 | Scalar::I32 | Scalar::I64 => None,
    }
}

/// A use of a value: `%7`.
struct Use(Value);

impl Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0.0)
    }
}

/// Uses, separated by commas.
struct Values<'k>(&'k [Value]);

impl Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        separated(f, self.0.iter().map(|value| Use(*value)))
    }
}

/// A definition of a value: `%7: f32 varying`.
struct Definition<'k>(&'k Kernel, Value);

impl Display for Definition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Definition(kernel, value) = *self;
        match kernel.values.get(value.0 as usize) {
            Some(info) => write!(f, "{}: {} {}", Use(value), info.ty, info.uniformity.spelling()),
            None => write!(f, "{}: unknown", Use(value)),
        }
    }
}

/// The first line of a statement.
pub struct Head<'k>(pub &'k Kernel, pub &'k Stmt);

impl Display for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head(kernel, stmt) = *self;
        write!(f, "{}{}", Results(kernel, &stmt.results), Operation(kernel, &stmt.op))
    }
}

/// What stands before an operation: its definitions and `=`.
struct Results<'k>(&'k Kernel, &'k [Value]);

impl Display for Results<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        separated(f, self.1.iter().map(|value| Definition(self.0, *value)))?;
        if self.1.is_empty() { Ok(()) } else { f.write_str(" = ") }
    }
}

/// What stands after `param`.
struct ParamText<'k>(&'k Param);

impl Display for ParamText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Param { name, kind, value } = self.0;
        write!(f, "{} {name}: ", Use(*value))?;
        match kind {
            ParamKind::Scalar(scalar) => f.write_str(scalar.name()),
            ParamKind::Buffer { elem, access, align_bytes } => {
                write!(f, "buffer {} {} align {align_bytes}", elem.name(), access.spelling())
            }
        }
    }
}

/// An operation up to its blocks.
struct Operation<'k>(&'k Kernel, &'k Op);

impl Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation(kernel, op) = *self;
        let address = |address| AddressText(kernel, address);
        match op {
            Op::Const { ty, bits } => write!(f, "const {}", Bits(*ty, *bits)),
            Op::Special(special) => write!(f, "special {}", special.spelling()),
            Op::Unary(op, a) => write!(f, "{} {}", op.spelling(), Use(*a)),
            Op::Binary(op, a, b) => write!(f, "{} {}", op.spelling(), Values(&[*a, *b])),
            Op::Fma(a, b, c) => write!(f, "fma {}", Values(&[*a, *b, *c])),
            Op::Cmp(op, a, b) => write!(f, "{} {}", op.spelling(), Values(&[*a, *b])),
            Op::Select(cond, a, b) => write!(f, "select {}", Values(&[*cond, *a, *b])),
            Op::Convert(conversion, a) => write!(f, "{} {}", conversion.spelling(), Use(*a)),
            Op::Bitcast(a) => write!(f, "bitcast {}", Use(*a)),
            Op::Pack(elements) => write!(f, "pack {}", Values(elements)),
            Op::Extract(vector, element) => write!(f, "extract {}, {element}", Use(*vector)),
            Op::LaneXor { value, mask } => write!(f, "lane_xor {}, {mask}", Use(*value)),
            Op::ReadFirstLane(a) => write!(f, "read_first_lane {}", Use(*a)),
            Op::PtrAdd(pointer, offset) => write!(f, "ptr_add {}", Values(&[*pointer, *offset])),
            Op::Load(from) => write!(f, "load {}", address(from)),
            Op::Store(to, value) => write!(f, "store {}, {}", address(to), Use(*value)),
            Op::AtomicOr(to, value) => write!(f, "atomic_or {}, {}", address(to), Use(*value)),
            Op::Matrix { op, a, b, c } => {
                let name = op.row().form(kernel.target).map_or("unknown", |form| form.mnemonic);
                write!(f, "matrix {name} {}", Values(&[*a, *b, *c]))
            }
            Op::Barrier => f.write_str("barrier"),
            Op::Intrinsic { name, args } if args.is_empty() => write!(f, "intrinsic {name}"),
            Op::Intrinsic { name, args } => write!(f, "intrinsic {name} {}", Values(args)),
            Op::For { index, lower, upper, step, .. } => {
                let index = Definition(kernel, *index);
                let [lower, upper] = [*lower, *upper].map(Use);
                write!(f, "for {index} from {lower} to {upper} step {step} {{")
            }
            Op::If { cond, .. } => write!(f, "if {} {{", Use(*cond)),
        }
    }
}

/// The bits of a constant in the spelling of its type.
struct Bits(Type, u64);

impl Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bits(ty, bits) = *self;
        match ty.scalar() {
            Some(Scalar::I32) if bits <= u64::from(u32::MAX) => write!(f, "{}", bits as u32 as i32),
            Some(Scalar::I16) if bits <= u64::from(u16::MAX) => write!(f, "{}", bits as u16 as i16),
            Some(Scalar::I64) => write!(f, "{}", bits as i64),
            Some(Scalar::F32) => write!(f, "0x{bits:08x}"),
            Some(Scalar::F16 | Scalar::Bf16) => write!(f, "0x{bits:04x}"),
            Some(Scalar::I1 | Scalar::I16 | Scalar::I32) | None => write!(f, "{bits}"),
        }
    }
}

/// An address with its alignment.
struct AddressText<'k>(&'k Kernel, &'k Address);

impl Display for AddressText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AddressText(kernel, address) = *self;
        match address.base {
            Base::Global(pointer) => write!(f, "global {}", Use(pointer))?,
            Base::Lds(id) => match kernel.lds.get(id.0 as usize) {
                Some(buffer) => write!(f, "lds {}", buffer.name)?,
                None => write!(f, "lds unknown_{}", id.0)?,
            },
        }
        if let Some(offset) = address.offset {
            write!(f, " + {}", Use(offset))?;
        }
        if address.constant != 0 {
            write!(f, " + {}", address.constant)?;
        }
        write!(f, " align {}", address.align_bytes)
    }
}

fn separated(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = impl Display>) -> fmt::Result {
    for (position, item) in items.enumerate() {
        let separator = if position == 0 { "" } else { ", " };
        write!(f, "{separator}{item}")?;
    }
    Ok(())
}
