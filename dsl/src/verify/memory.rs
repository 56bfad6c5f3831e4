//! Pointers and the accesses made through them.

use crate::ir::{Access, Address, Base, LdsId, Op, ParamKind, Stmt, Type, Value};

use super::{Rule, Verifier};

impl<'k> Verifier<'k> {
    /// Lets pointers that a loop carries belong to the buffer of their initial value while the body is walked.
    pub(super) fn carry_origins(&mut self, stmt: &Stmt) {
        if let Op::For { carried, inits, .. } = &stmt.op {
            for (carried, init) in carried.iter().zip(inits) {
                self.hand_on(*carried, *init);
            }
        }
    }

    pub(super) fn memory(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::PtrAdd(pointer, _) => self.hand_on(stmt.results[0], *pointer),
            Op::Select(_, a, b) => self.merge(stmt.results[0], &[*a, *b]),
            Op::If { then, otherwise, .. } => {
                for (position, result) in stmt.results.iter().enumerate() {
                    self.merge(*result, &[then.yields[position], otherwise.yields[position]]);
                }
            }
            Op::For { inits, body, .. } => {
                for (position, result) in stmt.results.iter().enumerate() {
                    self.merge(*result, &[inits[position], body.yields[position]]);
                }
            }
            Op::Load(address) => {
                self.access(address, self.ty(stmt.results[0]), Access::WriteOnly, "a load from")
            }
            Op::Store(address, value) => {
                self.access(address, self.ty(*value), Access::ReadOnly, "a store to")
            }
            Op::AtomicOr(address, value) => {
                let is_global = matches!(address.base, Base::Global(_));
                self.demand(is_global, Rule::Access, "an atomic in LDS", "one in global memory");
                self.access(address, self.ty(*value), Access::ReadOnly, "an atomic on");
            }
            _ => stmt.results.iter().for_each(|result| self.check_no_pointer(*result)),
        }
    }

    fn hand_on(&mut self, to: Value, from: Value) {
        if let Some(origin) = self.origins.get(&from).copied() {
            self.origins.insert(to, origin);
        }
    }

    /// A pointer that may be one of several, all of one buffer.
    fn merge(&mut self, to: Value, sources: &[Value]) {
        let mut origins = sources.iter().map(|source| self.origins.get(source).copied());
        let Some(first) = origins.next().flatten() else { return };
        if origins.all(|origin| origin == Some(first)) {
            self.origins.insert(to, first);
        } else {
            self.refuse(
                Rule::Provenance,
                format!("%{} from two buffers", to.0),
                "pointers into one buffer",
            );
        }
    }

    fn check_no_pointer(&mut self, value: Value) {
        let pointer = self.ty(value) == Type::Pointer;
        self.demand(
            !pointer,
            Rule::Provenance,
            "a pointer made of other values",
            "a buffer parameter, moved by ptr_add",
        );
    }

    fn access(&mut self, address: &Address, ty: Type, forbidden: Access, what: &str) {
        if let Some(offset) = address.offset {
            let got = self.ty(offset);
            self.demand(got == Type::I32, Rule::Type, format_args!("offset {got}"), Type::I32);
        }
        match address.base {
            Base::Global(pointer) => self.global(address, pointer, forbidden, what),
            Base::Lds(id) => self.lds_access(address, id, ty),
        }
        let element = ty.scalar().map_or(1, |scalar| scalar.size_bytes());
        let align = address.align_bytes;
        self.demand(
            align.is_power_of_two() && align >= element,
            Rule::Alignment,
            format_args!("{align} bytes for {ty}"),
            format_args!("a power of two, at least {element}"),
        );
    }

    fn global(&mut self, address: &Address, pointer: Value, forbidden: Access, what: &str) {
        let kernel = self.kernel;
        let Some(param) = self.origins.get(&pointer).and_then(|origin| kernel.params.get(*origin))
        else {
            return self.refuse(
                Rule::Provenance,
                format!("%{}", pointer.0),
                "a pointer into a buffer parameter",
            );
        };
        let ParamKind::Buffer { access, align_bytes, .. } = param.kind else { return };
        self.demand(
            access != forbidden,
            Rule::Access,
            format_args!("{what} {} ({access:?})", param.name),
            "an access that the parameter allows",
        );
        self.check_promise(
            address,
            align_bytes,
            &param.name,
            kernel.params.iter().any(|param| param.value == pointer),
        );
    }

    fn lds_access(&mut self, address: &Address, id: LdsId, ty: Type) {
        let Some(buffer) = self.kernel.lds.get(id.0 as usize) else {
            return self.refuse(
                Rule::Lds,
                format!("LDS buffer {}", id.0),
                format!("one of the kernel's {}", self.kernel.lds.len()),
            );
        };
        self.check_promise(address, buffer.align_bytes, &buffer.name, true);
        if let Some(start) = self.constant_offset(address) {
            let end = start + u64::from(ty.size_bytes());
            let holds = end <= u64::from(buffer.size_bytes);
            self.demand(
                holds,
                Rule::Bounds,
                format_args!("bytes {start} to {end} of {}", buffer.name),
                format_args!("within {} bytes", buffer.size_bytes),
            );
        }
    }

    /// The promised alignment against what the buffer guarantees; `at_start` tells that the base is the buffer's start.
    fn check_promise(&mut self, address: &Address, guaranteed: u32, buffer: &str, at_start: bool) {
        let align = address.align_bytes;
        self.demand(
            align <= guaranteed,
            Rule::Alignment,
            format_args!("{align} bytes"),
            format_args!("at most {guaranteed}, the alignment of {buffer}"),
        );
        let start = self.constant_offset(address).filter(|_| at_start);
        let broken = start.is_some_and(|start| !start.is_multiple_of(u64::from(align)));
        self.demand(
            !broken,
            Rule::Alignment,
            format_args!("{align} bytes at byte {} of {buffer}", start.unwrap_or(0)),
            "an alignment that divides the offset",
        );
    }

    /// The offset in bytes, when it is known now.
    fn constant_offset(&self, address: &Address) -> Option<u64> {
        let offset = match address.offset {
            Some(offset) => *self.constants.get(&offset)?,
            None => 0,
        };
        Some(offset + u64::from(address.constant))
    }
}
