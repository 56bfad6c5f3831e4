//! Views: typed windows on buffers, which own all address arithmetic.
//!
//! A view knows its element type, its axes with their strides, and which power of two divides its start. Fixing the
//! slow axes with [`View::at`] moves a 64-bit pointer; what remains must lie within 32-bit offsets. Loads widen f16
//! and bf16 to f32, stores narrow; an access promises the alignment that follows from strides and indices, so that
//! vectors become wide accesses wherever that is sound.

use crate::ir::{Address, Base, LdsId, Op, Scalar, Type};

use super::order::ResultOrder;
use super::stride::Stride;
use super::{Expr, Index, Indices, KernelBuilder};

/// A tensor in a buffer argument or in LDS, or a part of one.
#[derive(Clone)]
pub struct View<'k> {
    k: &'k KernelBuilder,
    space: Space<'k>,
    elem: Scalar,
    /// Axes, slowest first.
    dims: Vec<Option<u32>>,
    /// From one index of an axis to the next.
    strides: Vec<Stride<'k>>,
    /// The order of the last axis in memory, when it is not its own.
    order: Option<ResultOrder>,
    /// Offset of the start in bytes.
    offset: Option<Expr<'k>>,
    constant: u64,
    /// The base is a multiple of two to this power.
    log2_align: u32,
}

#[derive(Clone, Copy)]
enum Space<'k> {
    Global(Expr<'k>),
    Lds(LdsId),
}

impl<'k> View<'k> {
    #[track_caller]
    pub(super) fn global(
        pointer: Expr<'k>,
        elem: Scalar,
        dims: &[Option<u32>],
        align_bytes: u32,
    ) -> View<'k> {
        View::packed(pointer.builder(), Space::Global(pointer), elem, dims.to_vec(), align_bytes)
    }

    #[track_caller]
    pub(super) fn lds(
        k: &'k KernelBuilder,
        id: LdsId,
        elem: Scalar,
        dims: &[u32],
        align_bytes: u32,
    ) -> View<'k> {
        View::packed(
            k,
            Space::Lds(id),
            elem,
            dims.iter().map(|dim| Some(*dim)).collect(),
            align_bytes,
        )
    }

    #[track_caller]
    fn packed(
        k: &'k KernelBuilder,
        space: Space<'k>,
        elem: Scalar,
        dims: Vec<Option<u32>>,
        align_bytes: u32,
    ) -> View<'k> {
        if dims.iter().skip(1).any(Option::is_none) {
            k.mistake(
                "the shape of a buffer",
                format!("{dims:?}"),
                "known lengths behind the first axis",
            );
        }
        View {
            k,
            space,
            elem,
            strides: Stride::packed(&dims, elem),
            dims,
            order: None,
            offset: None,
            constant: 0,
            log2_align: align_bytes.trailing_zeros(),
        }
    }

    /// The same buffer with other strides: for each axis but the last, elements from one index to the next, where a
    /// value of the launch gives them.
    pub(super) fn strided(mut self, strides: &[Option<Expr<'k>>]) -> View<'k> {
        for (mine, given) in self.strides.iter_mut().zip(strides) {
            if let Some(elements) = *given {
                *mine = Stride::Elements(elements);
            }
        }
        self
    }

    /// The same memory with its last axis in the order of an operation's results.
    pub(super) fn ordered(mut self, order: Option<ResultOrder>) -> View<'k> {
        self.order = order;
        self
    }

    /// Some bytes of an LDS buffer, from a multiple of 16 on, as a tensor without gaps.
    #[track_caller]
    pub fn carved(&self, offset_bytes: u32, elem: Scalar, dims: &[u32]) -> View<'k> {
        let Space::Lds(id) = self.space else {
            self.k.mistake("a part of a buffer", "global memory", "LDS");
            return self.clone();
        };
        let part = View::lds(self.k, id, elem, dims, 16);
        View { constant: self.constant + u64::from(offset_bytes), ..part }
    }

    /// Other lengths of the axes, which lie as they lay.
    pub(super) fn set_dims(&mut self, dims: Vec<Option<u32>>) {
        self.dims = dims;
    }

    pub(super) fn order(&self) -> Option<ResultOrder> {
        self.order
    }

    /// Axes, slowest first; `None` is any length.
    pub fn dims(&self) -> &[Option<u32>] {
        &self.dims
    }

    /// Element type in memory.
    pub fn elem(&self) -> Scalar {
        self.elem
    }

    /// The part at fixed indices of the leading axes. Indices are unsigned.
    #[track_caller]
    pub fn at(&self, indices: impl Indices<'k>) -> View<'k> {
        self.fixed(&indices.list())
    }

    /// The part that starts at `origin`, an index for each axis: what follows may use constant indices. Lengths of axes
    /// stay as upper bounds.
    #[track_caller]
    pub fn window(&self, origin: impl Indices<'k>) -> View<'k> {
        let origin = origin.list();
        let start = self.element(&origin, 0);
        View { dims: self.dims.clone(), strides: self.strides.clone(), ..start }
    }

    /// The part at a fixed index of one axis, whichever it is.
    #[track_caller]
    pub fn pick(&self, axis: usize, index: impl Into<Index<'k>>) -> View<'k> {
        if axis >= self.dims.len() {
            self.k.mistake("an axis", axis, format!("below {}", self.dims.len()));
            return self.clone();
        }
        let front = |view: &View<'k>| {
            let mut view = view.clone();
            let (dim, stride) = (view.dims.remove(axis), view.strides.remove(axis));
            view.dims.insert(0, dim);
            view.strides.insert(0, stride);
            view
        };
        front(self).fixed(&[index.into()])
    }

    /// The first `rows` of the first axis. An axis of known length needs no 64-bit addresses.
    pub fn first_rows(&self, rows: u32) -> View<'k> {
        let mut part = self.clone();
        if let Some(first) = part.dims.first_mut() {
            *first = Some(rows);
        }
        part
    }

    /// The first `columns` of the last axis.
    pub(super) fn narrowed(mut self, columns: u32) -> View<'k> {
        if let Some(last) = self.dims.last_mut() {
            *last = Some(columns);
        }
        self
    }

    /// The same memory as integers of the elements' size, for copies that must not change a bit.
    pub fn bits(&self) -> View<'k> {
        let elem = match self.elem.size_bytes() {
            2 => Scalar::I16,
            4 => Scalar::I32,
            _ => self.elem,
        };
        View { elem, ..self.clone() }
    }

    /// One element: f16 and bf16 widened to f32.
    #[track_caller]
    pub fn load(&self, indices: impl Indices<'k>) -> Expr<'k> {
        self.load_vector(indices, 1)
    }

    /// `lanes` neighbours along the last axis: f16 and bf16 widened to f32. One lane gives a scalar.
    #[track_caller]
    pub fn load_vector(&self, indices: impl Indices<'k>, lanes: u8) -> Expr<'k> {
        let start = self.element(&indices.list(), u32::from(lanes));
        start.load_here(0, lanes)
    }

    /// `lanes` neighbours along the last axis in the buffer's own type: f16 and bf16 stay as they are.
    #[track_caller]
    pub fn load_stored(&self, indices: impl Indices<'k>, lanes: u8) -> Expr<'k> {
        let start = self.element(&indices.list(), u32::from(lanes));
        start.load_raw(0, lanes)
    }

    /// `count` neighbours along the last axis, one by one, read by the widest accesses (up to 16 bytes) whose
    /// alignment is certain.
    #[track_caller]
    pub fn load_run(&self, indices: impl Indices<'k>, count: u32) -> Vec<Expr<'k>> {
        let start = self.element(&indices.list(), count);
        let mut run = Vec::with_capacity(count as usize);
        while let Some(rest) = count.checked_sub(run.len() as u32).filter(|rest| *rest > 0) {
            let position = run.len() as u32;
            let vector = start.load_here(position, start.widest(position, rest));
            run.extend(vector.elements());
        }
        run
    }

    /// Stores a value, or a vector of neighbours along the last axis: f32 is rounded to f16 or bf16, elements of the
    /// buffer's size are stored as they are.
    #[track_caller]
    pub fn store(&self, indices: impl Indices<'k>, value: Expr<'k>) {
        let lanes = value.ty().lanes();
        match self.order {
            None => self.element(&indices.list(), u32::from(lanes)).store_here(0, value),
            Some(order) => order.store(self, indices.list(), value),
        }
    }

    /// ORs an i32 into one element of a global buffer, one indivisible step for all of the device.
    #[track_caller]
    pub fn atomic_or(&self, indices: impl Indices<'k>, value: Expr<'k>) {
        let start = self.element(&indices.list(), 1);
        let address = start.address(0, value.ty());
        self.k.push(Vec::new(), Op::AtomicOr(address, self.k.own(value)));
    }

    /// Stores neighbours along the last axis, given one by one, by the widest accesses (up to 16 bytes) whose
    /// alignment is certain.
    #[track_caller]
    pub fn store_run(&self, indices: impl Indices<'k>, values: &[Expr<'k>]) {
        let start = self.element(&indices.list(), values.len() as u32);
        let mut position = 0;
        while position < values.len() {
            let lanes = start.widest(position as u32, (values.len() - position) as u32);
            let end = position + usize::from(lanes);
            start.store_here(position as u32, self.k.pack(&values[position..end]));
            position = end;
        }
    }

    /// The place of an access to `count` neighbours, as a view without axes.
    #[track_caller]
    pub(super) fn element(&self, indices: &[Index<'k>], count: u32) -> View<'k> {
        if indices.len() != self.dims.len() {
            let expected = format!("{}, one an axis", self.dims.len());
            self.k.mistake("an access", format!("{} indices", indices.len()), expected);
        }
        self.check_end(indices, count);
        self.fixed(indices)
    }

    #[track_caller]
    fn load_here(&self, position: u32, lanes: u8) -> Expr<'k> {
        let loaded = self.load_raw(position, lanes);
        if matches!(self.elem, Scalar::F16 | Scalar::Bf16) { loaded.widen() } else { loaded }
    }

    #[track_caller]
    fn load_raw(&self, position: u32, lanes: u8) -> Expr<'k> {
        let ty = if lanes == 1 { Type::Scalar(self.elem) } else { Type::Vector(self.elem, lanes) };
        self.k.emit(ty, Op::Load(self.address(position, ty)))
    }

    #[track_caller]
    pub(super) fn store_here(&self, position: u32, value: Expr<'k>) {
        let value = match value.ty().scalar() {
            Some(Scalar::F32) if matches!(self.elem, Scalar::F16 | Scalar::Bf16) => {
                value.narrow(self.elem)
            }
            _ => value,
        };
        if value.ty().scalar().map(Scalar::size_bytes) != Some(self.elem.size_bytes()) {
            return self.k.mistake(
                "a store",
                value.ty(),
                format!("elements of {}", self.elem.name()),
            );
        }
        let address = self.address(position, value.ty());
        self.k.push(Vec::new(), Op::Store(address, self.k.own(value)));
    }

    /// Most elements that one access may take at `position` elements behind the start.
    fn widest(&self, position: u32, count: u32) -> u8 {
        let size = self.elem.size_bytes();
        let aligned = self.align_bytes(u64::from(position) * u64::from(size));
        let fits = |lanes: &u32| *lanes <= count && lanes * size <= aligned.min(16);
        [8, 4, 2].into_iter().find(fits).unwrap_or(1) as u8
    }

    /// The certain alignment of the address `distance` bytes behind the start.
    fn align_bytes(&self, distance: u64) -> u32 {
        let offset = self.offset.map_or(64, |offset| self.k.facts(offset.value()).log2_multiple);
        let constant = match self.constant.saturating_add(distance) {
            0 => 64,
            constant => constant.trailing_zeros(),
        };
        1 << self.log2_align.min(offset).min(constant).min(31)
    }

    /// The address of an access `position` elements behind the start.
    #[track_caller]
    fn address(&self, position: u32, ty: Type) -> Address {
        let distance = u64::from(position) * u64::from(self.elem.size_bytes());
        let natural = ty.size_bytes().max(1).next_power_of_two();
        Address {
            base: match self.space {
                Space::Global(pointer) => Base::Global(self.k.own(pointer)),
                Space::Lds(id) => Base::Lds(id),
            },
            offset: self.offset.map(|offset| self.k.own(offset)),
            constant: self.small(self.constant.saturating_add(distance)),
            align_bytes: natural.min(self.align_bytes(distance)),
        }
    }

    /// The view at fixed indices of the leading axes: axes that reach beyond 32 bits move the pointer.
    #[track_caller]
    fn fixed(&self, indices: &[Index<'k>]) -> View<'k> {
        let count = indices.len().min(self.dims.len());
        if indices.len() > count {
            self.k.mistake(
                "a view's indices",
                format!("{} indices", indices.len()),
                format!("at most {count}, one an axis"),
            );
        }
        let wide = (0..count).filter(|axis| self.is_wide(*axis)).count();
        let mut part = self.clone();
        let mut moves = Vec::with_capacity(wide);
        for (axis, index) in indices.iter().enumerate().take(count) {
            let (value, stride) = (self.checked(axis, *index), self.strides[axis]);
            let (value, constant) = stride.place(self.k, value, index.constant);
            part.constant = part.constant.saturating_add(constant);
            match value {
                Some(value) if axis < wide => moves.push((value, stride)),
                Some(value) => part.offset = Some(sum(part.offset, stride.bytes(value, self.elem))),
                None => {}
            }
        }
        part.dims.drain(..count);
        part.strides.drain(..count);
        part.moved(moves)
    }

    /// The view with its pointer moved by indices of wide axes. What remains of it then starts at that pointer.
    #[track_caller]
    fn moved(mut self, moves: Vec<(Expr<'k>, Stride<'k>)>) -> View<'k> {
        let Space::Global(pointer) = self.space else { return self };
        let mut offset = None;
        for (index, stride) in moves {
            offset = Some(sum(offset, stride.wide_bytes(index, self.elem)));
        }
        if offset.is_some()
            && !self.dims.is_empty()
            && let Some(narrow) = self.offset.take()
        {
            offset = Some(sum(offset, narrow.zero_extend(Scalar::I64)));
        }
        if self.constant > u64::from(u32::MAX) {
            offset = Some(sum(offset, self.k.i64(self.constant as i64)));
            self.constant = 0;
        }
        if let Some(offset) = offset {
            self.log2_align = self.log2_align.min(self.k.facts(offset.value()).log2_multiple);
            let moved =
                self.k.emit(Type::Pointer, Op::PtrAdd(self.k.own(pointer), self.k.own(offset)));
            self.space = Space::Global(moved);
        }
        self
    }

    /// Whether an axis reaches beyond 32-bit byte offsets.
    fn is_wide(&self, axis: usize) -> bool {
        let reach = self.dims[axis].map(|dim| self.strides[axis].reach(dim));
        matches!(self.space, Space::Global(_))
            && reach.is_none_or(|reach| reach > u64::from(u32::MAX))
    }

    /// The value of an index, after a look at its type and its constant part.
    #[track_caller]
    fn checked(&self, axis: usize, index: Index<'k>) -> Option<Expr<'k>> {
        if let Some(dim) = self.dims[axis].filter(|dim| index.constant >= *dim) {
            self.k.mistake("an index", index.constant, format!("below {dim}, the axis' length"));
        }
        let ty = index.value?.ty();
        if ty != Type::I32 {
            self.k.mistake("an index", ty, Type::I32);
        }
        index.value.filter(|_| ty == Type::I32)
    }

    /// Refuses a vector that leaves the last axis for certain.
    #[track_caller]
    fn check_end(&self, indices: &[Index<'k>], lanes: u32) {
        if let (Some(Some(dim)), Some(index)) = (self.dims.last(), indices.last())
            && index.constant < *dim
            && index.constant.saturating_add(lanes) > *dim
        {
            self.k.mistake(
                "a vector",
                format!("elements up to {}", index.constant.saturating_add(lanes)),
                format!("at most {dim}, the axis' length"),
            );
        }
    }

    #[track_caller]
    fn small(&self, constant: u64) -> u32 {
        u32::try_from(constant).unwrap_or_else(|_| {
            self.k.mistake(
                "a constant offset",
                format!("{constant} bytes"),
                "within 32 bits: fix slow axes with at()",
            );
            0
        })
    }
}

#[track_caller]
fn sum<'k>(a: Option<Expr<'k>>, b: Expr<'k>) -> Expr<'k> {
    match a {
        Some(a) => a + b,
        None => b,
    }
}
