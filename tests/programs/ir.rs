//! Writing LLVM IR as text: fresh names, structured loops and branches. What stands in the text is LLVM's
//! language, nothing is translated.

use std::fmt::Write;

use isa::Target;

/// One instruction with a result: `v!(ir, "add i32 {a}, {b}")` is the name of the sum.
macro_rules! v {
    ($ir:expr, $($text:tt)*) => {{
        let text = format!($($text)*);
        $ir.value(&text)
    }};
}

/// One instruction without a result.
macro_rules! s {
    ($ir:expr, $($text:tt)*) => {{
        let text = format!($($text)*);
        $ir.statement(&text)
    }};
}

pub(crate) use {s, v};

/// A module under construction: one kernel whose body is being written.
pub struct Ir {
    pub target: Target,
    /// What stands outside the kernel: globals, other functions, attributes.
    globals: String,
    body: String,
    next: u32,
    /// Label of the block that is being written.
    block: String,
}

/// Text of a module with one kernel. `params` are written as in a signature; `block` is the exact size of
/// the workgroup.
pub fn kernel(
    target: Target,
    name: &str,
    params: &str,
    block: u32,
    body: impl FnOnce(&mut Ir),
) -> String {
    kernel_with(target, name, params, block, "", body)
}

/// As [`kernel`] with further function attributes.
pub fn kernel_with(
    target: Target,
    name: &str,
    params: &str,
    block: u32,
    attributes: &str,
    body: impl FnOnce(&mut Ir),
) -> String {
    let mut ir =
        Ir { target, globals: String::new(), body: String::new(), next: 0, block: "entry".into() };
    body(&mut ir);
    let Ir { globals, body, .. } = ir;
    format!(
        "target triple = \"amdgcn-amd-amdhsa\"\n{globals}\n\
         define amdgpu_kernel void @{name}({params}) #0 {{\nentry:\n{body}  ret void\n}}\n\
         attributes #0 = {{ \"amdgpu-flat-work-group-size\"=\"{block},{block}\" \
         \"uniform-work-group-size\"=\"true\" {attributes} }}\n"
    )
}

impl Ir {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub fn value(&mut self, text: &str) -> String {
        let name = format!("%v{}", self.fresh());
        writeln!(self.body, "  {name} = {text}").unwrap();
        name
    }

    pub fn statement(&mut self, text: &str) {
        writeln!(self.body, "  {text}").unwrap();
    }

    /// Lines outside the kernel.
    pub fn global(&mut self, text: &str) {
        self.globals.push_str(text);
        self.globals.push('\n');
    }

    /// An LDS array; the name has no sigil.
    pub fn lds(&mut self, name: &str, ty: &str, count: u32) -> String {
        self.global(&format!(
            "@{name} = internal addrspace(3) global [{count} x {ty}] poison, align 16"
        ));
        format!("@{name}")
    }

    fn label(&mut self, label: String) {
        writeln!(self.body, "{label}:").unwrap();
        self.block = label;
    }

    /// `for i in from..to step by`, with carried values (`type`, initial). The body gets the index and the
    /// values and returns the next ones; the result is what they are after the loop.
    pub fn each(
        &mut self,
        [from, to, by]: [&str; 3],
        carried: &[(&str, &str)],
        body: impl FnOnce(&mut Ir, &str, &[String]) -> Vec<String>,
    ) -> Vec<String> {
        let n = self.fresh();
        let (index, next) = (format!("%i{n}"), format!("%n{n}"));
        let names: Vec<String> = (0..carried.len()).map(|k| format!("%c{n}.{k}")).collect();
        let entered_from = self.block.clone();
        self.statement(&format!("br label %head{n}"));
        self.label(format!("head{n}"));
        let phis_at = self.body.len();
        let more = self.value(&format!("icmp slt i32 {index}, {to}"));
        self.statement(&format!("br i1 {more}, label %body{n}, label %exit{n}"));
        self.label(format!("body{n}"));
        let results = body(self, &index, &names);
        assert_eq!(results.len(), carried.len(), "a loop's body returns what it carries");
        self.statement(&format!("{next} = add i32 {index}, {by}"));
        let mut phis = format!(
            "  {index} = phi i32 [ {from}, %{entered_from} ], [ {next}, %{} ]\n",
            self.block
        );
        for ((name, (ty, initial)), result) in names.iter().zip(carried).zip(&results) {
            writeln!(
                phis,
                "  {name} = phi {ty} [ {initial}, %{entered_from} ], [ {result}, %{} ]",
                self.block
            )
            .unwrap();
        }
        self.statement(&format!("br label %head{n}"));
        self.body.insert_str(phis_at, &phis);
        self.label(format!("exit{n}"));
        names
    }

    /// Runs the body where the condition holds.
    pub fn when(&mut self, condition: &str, body: impl FnOnce(&mut Ir)) {
        let n = self.fresh();
        self.statement(&format!("br i1 {condition}, label %then{n}, label %join{n}"));
        self.label(format!("then{n}"));
        body(self);
        self.statement(&format!("br label %join{n}"));
        self.label(format!("join{n}"));
    }

    /// A value of the body where the condition holds, another elsewhere.
    pub fn when_else(
        &mut self,
        condition: &str,
        ty: &str,
        otherwise: &str,
        body: impl FnOnce(&mut Ir) -> String,
    ) -> String {
        let n = self.fresh();
        let from = self.block.clone();
        self.statement(&format!("br i1 {condition}, label %then{n}, label %join{n}"));
        self.label(format!("then{n}"));
        let value = body(self);
        let then = self.block.clone();
        self.statement(&format!("br label %join{n}"));
        self.label(format!("join{n}"));
        self.value(&format!("phi {ty} [ {value}, %{then} ], [ {otherwise}, %{from} ]"))
    }

    pub fn item(&mut self) -> String {
        self.value("call i32 @llvm.amdgcn.workitem.id.x()")
    }

    pub fn group(&mut self) -> String {
        self.value("call i32 @llvm.amdgcn.workgroup.id.x()")
    }

    /// The lane's number in its wave.
    pub fn lane(&mut self) -> String {
        let low = self.value("call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)");
        match self.target.wave_width() {
            64 => self.value(&format!("call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 {low})")),
            _ => low,
        }
    }

    /// The wave's number in a workgroup of one dimension.
    pub fn wave(&mut self) -> String {
        let item = self.item();
        let shift = self.target.wave_width().ilog2();
        let wave = self.value(&format!("lshr i32 {item}, {shift}"));
        self.value(&format!("call i32 @llvm.amdgcn.readfirstlane.i32(i32 {wave})"))
    }

    pub fn at(&mut self, space: u32, ty: &str, base: &str, index: &str) -> String {
        self.value(&format!("getelementptr {ty}, ptr addrspace({space}) {base}, i32 {index}"))
    }

    pub fn load(&mut self, space: u32, ty: &str, base: &str, index: &str) -> String {
        let place = self.at(space, ty, base, index);
        self.value(&format!("load {ty}, ptr addrspace({space}) {place}"))
    }

    pub fn store(&mut self, space: u32, ty: &str, value: &str, base: &str, index: &str) {
        let place = self.at(space, ty, base, index);
        self.statement(&format!("store {ty} {value}, ptr addrspace({space}) {place}"));
    }

    /// A barrier with the fences that make LDS and global memory of the workgroup visible.
    pub fn barrier(&mut self) {
        self.statement("fence syncscope(\"workgroup\") release");
        self.statement("call void @llvm.amdgcn.s.barrier()");
        self.statement("fence syncscope(\"workgroup\") acquire");
    }

    /// The word of the lane whose number is `source`, by ds_bpermute.
    pub fn permute(&mut self, ty: &str, value: &str, source: &str) -> String {
        let bytes = self.value(&format!("shl i32 {source}, 2"));
        let word = match ty {
            "i32" => value.to_owned(),
            _ => self.value(&format!("bitcast {ty} {value} to i32")),
        };
        let got =
            self.value(&format!("call i32 @llvm.amdgcn.ds.bpermute(i32 {bytes}, i32 {word})"));
        match ty {
            "i32" => got,
            _ => self.value(&format!("bitcast i32 {got} to {ty}")),
        }
    }

    /// A butterfly over the wave: `combine` gives the text of one instruction for two names.
    pub fn wave_reduce(
        &mut self,
        ty: &str,
        value: &str,
        combine: &dyn Fn(&str, &str) -> String,
    ) -> String {
        let lane = self.lane();
        let mut value = value.to_owned();
        let mut distance = 1;
        while distance < self.target.wave_width() {
            let source = self.value(&format!("xor i32 {lane}, {distance}"));
            let other = self.permute(ty, &value, &source);
            value = self.value(&combine(&value, &other));
            distance *= 2;
        }
        value
    }

    /// [`Ir::wave_reduce`] over the workgroup of `n_waves` waves, through `scratch`, an LDS array of as
    /// many elements. Every work-item gets the result; `scratch` may be used again at once.
    pub fn group_reduce(
        &mut self,
        ty: &str,
        value: &str,
        scratch: &str,
        n_waves: u32,
        combine: &dyn Fn(&str, &str) -> String,
    ) -> String {
        let of_wave = self.wave_reduce(ty, value, combine);
        let wave = self.wave();
        self.store(3, ty, &of_wave, scratch, &wave);
        self.barrier();
        let mut total = self.load(3, ty, scratch, "0");
        for other in 1..n_waves {
            let next = self.load(3, ty, scratch, &other.to_string());
            total = self.value(&combine(&total, &next));
        }
        self.barrier();
        total
    }
}
