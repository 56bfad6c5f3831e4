//! What LLVM makes of the memory orders: data handed on through flags, at every scope, by every kind of atomic,
//! from workgroup to workgroup and from wave to wave. All of it must be right and without a finding.

use isa::Target;

use crate::bench::{ALL_LEVELS, BOTH, Bench, Program, assert_equal, random_words};
use crate::ir::{Ir, kernel, v};

/// How a flag is written and waited for.
#[derive(Clone, Copy)]
enum How {
    /// An atomic store and an atomic load of these orders.
    Access(&'static str, &'static str),
    /// Relaxed ones beside fences.
    Fences,
    /// An exchange, and a compare and exchange that succeeds once the flag is set.
    Exchange,
}

/// Who hands data on to whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    /// Each work-item to that of the next workgroup.
    Items,
    /// Each work-item to that of the next wave of its workgroup.
    Waves,
    /// The first work-item for its workgroup, beside barriers, to the next workgroup.
    Groups,
}

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    chain: Chain,
    how: How,
    /// Of the flags: global, LDS or generic addresses.
    space: u32,
    /// Bits of a flag.
    bits: u32,
    scope: &'static str,
}

macro_rules! ordering {
    ($($name:ident: $chain:ident $how:expr, $space:expr, $bits:literal, $scope:literal;)*) => {
        pub const PROGRAMS: &[Program] = &[$(
            Program {
                name: stringify!($name),
                targets: BOTH,
                levels: ALL_LEVELS,
                source: |target| source(target, case!($name $chain $how, $space, $bits, $scope)),
                check: |bench| check(bench, Chain::$chain),
            },
        )*
        LOCK];
    };
}

macro_rules! case {
    ($name:ident $chain:ident $how:expr, $space:expr, $bits:literal, $scope:literal) => {
        Case {
            name: stringify!($name),
            chain: Chain::$chain,
            how: $how,
            space: $space,
            bits: $bits,
            scope: $scope,
        }
    };
}

const FLAT: u32 = 0;
const GLOBAL: u32 = 1;
const LDS: u32 = 3;
const BLOCK: u32 = 128;
const PAIR: How = How::Access("release", "acquire");
const SEQUENTIAL: How = How::Access("seq_cst", "seq_cst");

ordering! {
    items_agent: Items PAIR, GLOBAL, 32, "agent";
    items_agent_fences: Items How::Fences, GLOBAL, 64, "agent";
    items_agent_exchange: Items How::Exchange, GLOBAL, 32, "agent";
    items_agent_sequential: Items SEQUENTIAL, FLAT, 32, "agent";
    items_system: Items PAIR, GLOBAL, 64, "";
    items_system_exchange: Items How::Exchange, FLAT, 64, "";
    items_one_space: Items PAIR, GLOBAL, 32, "agent-one-as";
    groups_agent: Groups PAIR, GLOBAL, 32, "agent";
    groups_agent_fences: Groups How::Fences, FLAT, 32, "agent";
    groups_agent_exchange: Groups How::Exchange, GLOBAL, 64, "agent";
    groups_system: Groups SEQUENTIAL, GLOBAL, 32, "";
    groups_system_fences: Groups How::Fences, GLOBAL, 32, "one-as";
    waves_group: Waves PAIR, GLOBAL, 32, "workgroup";
    waves_group_fences: Waves How::Fences, GLOBAL, 32, "workgroup";
    waves_group_exchange: Waves How::Exchange, FLAT, 32, "workgroup";
    waves_group_one_space: Waves PAIR, GLOBAL, 64, "workgroup-one-as";
    waves_group_lds: Waves How::Exchange, LDS, 32, "workgroup";
    waves_agent: Waves PAIR, GLOBAL, 32, "agent";
}

fn scope(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("syncscope(\"{name}\")") }
}

/// Functions that set a flag and wait for one.
fn flags(case: Case) -> String {
    let Case { how, space, bits, .. } = case;
    let (scope, align) = (scope(case.scope), bits / 8);
    let ptr = format!("ptr addrspace({space}) %flag");
    let (tell, before, look) = match how {
        How::Access(release, acquire) => (
            format!("store atomic i{bits} 1, {ptr} {scope} {release}, align {align}"),
            String::new(),
            format!("%seen = load atomic i{bits}, {ptr} {scope} {acquire}, align {align}"),
        ),
        How::Fences => (
            format!("store atomic i{bits} 1, {ptr} {scope} monotonic, align {align}"),
            format!("fence {scope} release"),
            format!("%seen = load atomic i{bits}, {ptr} {scope} monotonic, align {align}"),
        ),
        How::Exchange => (
            format!("%old = atomicrmw xchg {ptr}, i{bits} 1 {scope} release"),
            String::new(),
            format!(
                "%pair = cmpxchg {ptr}, i{bits} 1, i{bits} 2 {scope} acquire monotonic\n  \
                 %seen = extractvalue {{ i{bits}, i1 }} %pair, 0"
            ),
        ),
    };
    let after =
        if matches!(how, How::Fences) { format!("fence {scope} acquire") } else { String::new() };
    format!(
        "define internal void @tell({ptr}) alwaysinline {{
  {before}
  {tell}
  ret void
}}
define internal void @await({ptr}) alwaysinline {{
entry:
  br label %look
look:
  {look}
  %is_early = icmp eq i{bits} %seen, 0
  br i1 %is_early, label %look, label %done
done:
  {after}
  ret void
}}"
    )
}

/// A place in the flags.
fn flag(ir: &mut Ir, case: Case, at: &str) -> String {
    let Case { space, bits, .. } = case;
    let base = match space {
        FLAT => v!(ir, "addrspacecast ptr addrspace(1) %flags to ptr"),
        LDS => "@told".to_owned(),
        _ => "%flags".to_owned(),
    };
    let place = ir.at(space, &format!("i{bits}"), &base, at);
    format!("ptr addrspace({space}) {place}")
}

/// Everyone adds what the one before left in the box, and leaves the sum.
fn source(target: Target, case: Case) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %box, ptr addrspace(1) %flags";
    kernel(target, case.name, params, BLOCK, |ir| {
        ir.global(&flags(case));
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let value = ir.load(1, "i32", "%in", &at);
        let sum = ir.lds("sum", "i32", BLOCK);
        ir.store(3, "i32", &value, &sum, &item);
        let (unit, step) = match case.chain {
            Chain::Waves => (ir.wave(), target.wave_width()),
            Chain::Items | Chain::Groups => (group.clone(), BLOCK),
        };
        let mine = match (case.chain, case.space) {
            (Chain::Groups, _) => group,
            (_, LDS) => item.clone(),
            _ => at.clone(),
        };
        if case.space == LDS {
            let told = ir.lds("told", "i32", BLOCK);
            ir.store(3, "i32", "0", &told, &item);
            ir.barrier();
        }
        let has_before = v!(ir, "icmp ne i32 {unit}, 0");
        ir.when(&has_before, |ir| {
            let before = if case.chain == Chain::Groups { 1 } else { step };
            let theirs = v!(ir, "sub i32 {mine}, {before}");
            await_flag(ir, case, &item, &theirs);
            let from = v!(ir, "sub i32 {at}, {step}");
            let theirs = ir.load(1, "i32", "%box", &from);
            let both = v!(ir, "add i32 {value}, {theirs}");
            ir.store(3, "i32", &both, &sum, &item);
        });
        let sum = ir.load(3, "i32", &sum, &item);
        ir.store(1, "i32", &sum, "%box", &at);
        tell_flag(ir, case, &item, &mine);
    })
}

fn await_flag(ir: &mut Ir, case: Case, item: &str, at: &str) {
    if case.chain != Chain::Groups {
        let flag = flag(ir, case, at);
        ir.statement(&format!("call void @await({flag})"));
        return;
    }
    let is_first = v!(ir, "icmp eq i32 {item}, 0");
    ir.when(&is_first, |ir| {
        let flag = flag(ir, case, at);
        ir.statement(&format!("call void @await({flag})"));
    });
    ir.barrier();
}

fn tell_flag(ir: &mut Ir, case: Case, item: &str, at: &str) {
    if case.chain != Chain::Groups {
        let flag = flag(ir, case, at);
        ir.statement(&format!("call void @tell({flag})"));
        return;
    }
    ir.barrier();
    let is_first = v!(ir, "icmp eq i32 {item}, 0");
    ir.when(&is_first, |ir| {
        let flag = flag(ir, case, at);
        ir.statement(&format!("call void @tell({flag})"));
    });
}

fn check(bench: &mut Bench, chain: Chain) {
    let groups = 3;
    let n = (groups * BLOCK) as usize;
    let values = random_words(61, n);
    let (input, letters) = (bench.input(&values), bench.output::<u32>(n));
    let flags = bench.input(&vec![0_u64; n]);
    bench.launch(groups, BLOCK, &[input, letters, flags]);
    let step = if chain == Chain::Waves { bench.target.wave_width() } else { BLOCK } as usize;
    let mut expected = values;
    for i in 0..n {
        let has_before = if chain == Chain::Waves { i % BLOCK as usize >= step } else { i >= step };
        if has_before {
            expected[i] = expected[i].wrapping_add(expected[i - step]);
        }
    }
    assert_equal("sums", &bench.read::<u32>(letters), &expected);
}

/// A counter and a sum behind a lock: taken by compare and exchange, given back by an atomic store.
const LOCK: Program =
    Program { name: "lock", targets: BOTH, levels: ALL_LEVELS, source: lock, check: check_lock };

fn lock(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %guarded, ptr addrspace(1) %lock";
    kernel(target, "lock", params, BLOCK, |ir| {
        ir.global(
            "define internal void @take(ptr addrspace(1) %lock) alwaysinline {
entry:
  br label %try
try:
  %pair = cmpxchg ptr addrspace(1) %lock, i32 0, i32 1 syncscope(\"agent\") acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %done, label %try
done:
  ret void
}",
        );
        let (item, group) = (ir.item(), ir.group());
        let start = v!(ir, "mul i32 {group}, {BLOCK}");
        let at = v!(ir, "add i32 {start}, {item}");
        let is_first = v!(ir, "icmp eq i32 {item}, 0");
        ir.when(&is_first, |ir| {
            let value = ir.load(1, "i32", "%in", &at);
            ir.statement("call void @take(ptr addrspace(1) %lock)");
            for (cell, add) in [("0", "1"), ("1", value.as_str())] {
                let old = ir.load(1, "i32", "%guarded", cell);
                let new = v!(ir, "add i32 {old}, {add}");
                ir.store(1, "i32", &new, "%guarded", cell);
            }
            ir.statement(
                "store atomic i32 0, ptr addrspace(1) %lock syncscope(\"agent\") release, align 4",
            );
        });
    })
}

fn check_lock(bench: &mut Bench) {
    let groups = 5;
    let values = random_words(62, (groups * BLOCK) as usize);
    let (input, guarded) = (bench.input(&values), bench.input(&[0_u32; 2]));
    let lock = bench.input(&[0_u32]);
    bench.launch(groups, BLOCK, &[input, guarded, lock]);
    let first = values.iter().step_by(BLOCK as usize);
    let total = first.fold(0_u32, |sum, value| sum.wrapping_add(*value));
    assert_equal("guarded", &bench.read::<u32>(guarded), &[groups, total]);
    assert_equal("lock", &bench.read::<u32>(lock), &[0]);
}
