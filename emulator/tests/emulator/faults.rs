//! Every check and fault: code that triggers it, and the repaired twin that does not.
//!
//! The cases are diffs: lines with `-` are only in the faulty code, lines with `+` only in the repaired
//! one. They overwrite the no-ops of `template.{target}.hsaco`; each line's text must be what the
//! disassembler says about its words.

mod gfx1100;
mod gfx950;
mod races_gfx1100;
mod races_gfx950;
mod visibility_gfx1100;
mod visibility_gfx950;

use crate::bench::Args;
use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::{
    Access, Alignment, Dispatch, Fault, Finding, LdsOrder, Machine, Options, Report, Rule,
};

/// A line of a case: which versions have it, text, words.
pub type Line = (char, &'static str, &'static [u32]);

/// What the faulty version does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expect {
    /// Ends, with findings of this rule only.
    Found(Rule),
    /// Stops with a fault whose text has this part.
    Stopped(&'static str),
}

pub struct Case {
    pub name: &'static str,
    expect: Expect,
    lines: &'static [Line],
}

impl Case {
    /// The rule of a fault that is a finding.
    pub fn rule(&self) -> Option<Rule> {
        match self.expect {
            Expect::Found(rule) => Some(rule),
            Expect::Stopped(_) => None,
        }
    }
}

const fn case(name: &'static str, expect: Expect, lines: &'static [Line]) -> Case {
    Case { name, expect, lines }
}

fn cases(target: Target) -> impl Iterator<Item = &'static Case> {
    let lists = match target {
        Target::Gfx950 => [gfx950::CASES, races_gfx950::CASES, visibility_gfx950::CASES],
        Target::Gfx1100 => [gfx1100::CASES, races_gfx1100::CASES, visibility_gfx1100::CASES],
    };
    lists.into_iter().flatten()
}

fn set_up(target: Target) -> &'static [Line] {
    match target {
        Target::Gfx950 => gfx950::SET_UP,
        Target::Gfx1100 => gfx1100::SET_UP,
    }
}

/// Whether a finding is about two instructions. The others are about what one instruction demands, or about
/// a register that it reads and nothing has written.
fn has_two_sites(finding: &Finding) -> bool {
    match finding.rule {
        Rule::UndefinedAddress
        | Rule::UndefinedBranch
        | Rule::UndefinedExec
        | Rule::UndefinedStore => !finding.what.contains("nothing has written"),
        Rule::Misaligned | Rule::PartialExec | Rule::LaneDuplication => false,
        _ => true,
    }
}

/// The cases about one wave.
pub fn race_free_cases(target: Target) -> impl Iterator<Item = &'static Case> {
    let list = match target {
        Target::Gfx950 => gfx950::CASES,
        Target::Gfx1100 => gfx1100::CASES,
    };
    list.iter()
}

/// The template with other code in it.
pub fn assembled(target: Target, words: &[u32]) -> CodeObject {
    let path = format!("{}/tests/fixtures/template.{target}.hsaco", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = std::fs::read(path).expect("the template is committed");
    let object = CodeObject::parse(&bytes).expect("the template is valid");
    let kernel = &object.kernels[0];
    let in_file = |address: u64| {
        let segment =
            object.segments.iter().find(|segment| segment.contains(address, 4)).expect("loaded");
        (segment.file_offset + address - segment.address) as usize
    };
    for (at, word) in (0..).step_by(4).zip(words) {
        bytes[in_file(kernel.entry_address + at)..][..4].copy_from_slice(&word.to_le_bytes());
    }
    CodeObject::parse(&bytes).expect("only code changed")
}

/// How a case is run.
#[derive(Clone)]
pub struct Setup {
    pub options: Options,
    pub n_workgroups: u32,
}

impl Setup {
    /// Cases about a mode run in that mode, cases about workgroups on two of them. Cases about one wave are
    /// not watched for races: both waves may do the same to one address.
    fn of(case: &Case) -> Setup {
        let is_about_waves =
            !gfx950::CASES.iter().chain(gfx1100::CASES).any(|alone| alone.name == case.name);
        let is_natural = case.expect == Expect::Found(Rule::Misaligned);
        let is_conservative = case.expect == Expect::Found(Rule::LdsOrder);
        let options = Options {
            instruction_limit: 100_000,
            race_checks: is_about_waves,
            alignment: if is_natural { Alignment::Natural } else { Alignment::Hsa },
            lds_order: if is_conservative {
                LdsOrder::Conservative
            } else {
                LdsOrder::Architectural
            },
            ..Options::default()
        };
        Setup { options, n_workgroups: if case.name.starts_with("workgroups") { 2 } else { 1 } }
    }
}

/// Runs code on workgroups of two waves: 1024 bytes of input at the first pointer, 1024 unwritten bytes at the second.
pub fn run(target: Target, words: &[u32], setup: &Setup) -> Result<Report, Fault> {
    let mut machine = Machine::new(target, setup.options.clone());
    let object = machine.load(&assembled(target, words)).expect("loads");
    let input = machine.memory_mut().allocate_with("input", &[1; 1024]).expect("fits");
    let output = machine.memory_mut().allocate("output", 1024, Access::ReadWrite).expect("fits");
    let args = Args::default().pointer(&machine, input).pointer(&machine, output);
    machine.dispatch(&Dispatch {
        object,
        kernel: "template",
        workgroups: [setup.n_workgroups, 1, 1],
        workgroup_size: [2 * target.wave_width(), 1, 1],
        kernarg: &args.0,
        dynamic_lds_bytes: 0,
    })
}

pub fn version(target: Target, case: &Case, marker: char) -> Vec<u32> {
    let set_up = set_up(target);
    set_up
        .iter()
        .chain(case.lines)
        .filter(|(kind, ..)| [' ', marker].contains(kind))
        .flat_map(|(.., words)| words.to_vec())
        .collect()
}

#[test]
fn every_planted_fault_is_reported() {
    for target in Target::ALL {
        for case in cases(target) {
            let result = run(target, &version(target, case, '-'), &Setup::of(case));
            match (case.expect, result) {
                (Expect::Found(rule), Ok(report)) => {
                    assert!(!report.findings.is_empty(), "{target} {}: nothing found", case.name);
                    assert!(
                        report.findings.iter().all(|finding| finding.rule == rule),
                        "{target} {}: {:#?}",
                        case.name,
                        report.findings
                    );
                    for finding in &report.findings {
                        assert_eq!(finding.producer.is_some(), has_two_sites(finding), "{finding}");
                        assert!(!finding.remedy.is_empty(), "{finding}");
                    }
                }
                (Expect::Stopped(text), Err(fault)) => {
                    let words = fault.to_string();
                    assert!(words.contains(text), "{target} {}: {fault}", case.name);
                    assert!(words.contains("\n  in 'template', workgroup (0, 0, 0)"), "{fault}");
                }
                (expect, result) => {
                    panic!("{target} {}: expected {expect:?}, got {result:?}", case.name)
                }
            }
        }
    }
}

#[test]
fn every_repaired_twin_is_clean() {
    for target in Target::ALL {
        for case in cases(target) {
            let report = run(target, &version(target, case, '+'), &Setup::of(case));
            let report = report.unwrap_or_else(|fault| panic!("{target} {}: {fault}", case.name));
            assert!(report.findings.is_empty(), "{target} {}: {:#?}", case.name, report.findings);
        }
    }
}

/// Texts with a dot in front stand for words that are no instruction, or that need no text.
pub fn check_text(target: Target, (_, text, words): &Line) {
    if text.starts_with('.') {
        return;
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let inst =
        isa::decode(target, &bytes).unwrap_or_else(|error| panic!("{target} {text}: {error}"));
    assert_eq!(isa::disasm::disassemble(target, &inst), *text, "{target}");
}

#[test]
fn the_text_of_every_line_is_what_its_words_say() {
    for target in Target::ALL {
        for line in set_up(target).iter().chain(cases(target).flat_map(|case| case.lines)) {
            check_text(target, line);
        }
    }
}

#[test]
fn unaligned_vector_accesses_are_legal_by_default() {
    for target in Target::ALL {
        let vector_cases = cases(target).filter(|case| {
            case.name.starts_with("misaligned_lds") || case.name.starts_with("misaligned_global")
        });
        for case in vector_cases {
            let mut setup = Setup::of(case);
            setup.options.alignment = Alignment::Hsa;
            let report = run(target, &version(target, case, '-'), &setup)
                .unwrap_or_else(|fault| panic!("{fault}"));
            assert!(report.findings.is_empty(), "{target} {}: {:#?}", case.name, report.findings);
        }
    }
}

#[test]
fn a_finding_names_both_sites_and_the_lane() {
    let find = |name: &str| {
        let case = gfx950::CASES.iter().find(|case| case.name == name).expect("a case");
        run(Target::Gfx950, &version(Target::Gfx950, case, '-'), &Setup::of(case))
            .expect("ends")
            .findings
            .remove(0)
    };
    let finding = find("read_before_vector_wait");
    assert_eq!(finding.site.instruction, "v_add_u32_e32 v2, 1, v1");
    assert_eq!(finding.producer.expect("a load").instruction, "global_load_dword v1, v0, s[4:5]");
    assert_eq!((finding.kernel.as_str(), finding.place.wave, finding.times), ("template", 0, 2));
    let finding = find("undefined_store_of_a_register");
    assert_eq!((finding.place.lane, finding.producer.is_none()), (Some(0), true));
    assert!(finding.to_string().contains("remedy"), "{finding}");
}

/// Register, and where it came to be undefined: never written and read here, read somewhere else, loaded.
#[test]
fn an_undefined_value_names_its_register_and_its_origin() {
    const ORIGINS: &[(&str, &str, &str)] = &[
        ("undefined_address", "nothing has written v5", ""),
        ("undefined_exec", "nothing has written s10", ""),
        ("undefined_scalar_branch", "SCC comes from s9", "s_cmp_eq_u32 s9, 0"),
        ("undefined_vector_branch", "vcc_lo comes from v5", "v_cmp_eq_u32_e32 vcc"),
        ("undefined_bits_masked_away", "vcc_lo comes from v5", "v_and_b32_e32 v5, 0x10000, v5"),
        ("undefined_store_of_a_register", "nothing has written v5", ""),
        ("undefined_store_of_half_a_register", "v5 comes from v5", "v_alignbit_b32 v5, v5, v6, 16"),
        ("undefined_store_of_unwritten_lds", "v5 holds what was loaded", "ds_"),
        ("undefined_store_of_unwritten_memory", "v5 holds what was loaded", "global_load_"),
    ];
    for target in Target::ALL {
        for (name, what, producer) in ORIGINS {
            let case = race(target, name);
            let report = run(target, &version(target, case, '-'), &Setup::of(case)).expect("ends");
            let finding = &report.findings[0];
            assert!(finding.what.contains(what), "{target} {name}: {finding}");
            let origin = finding.producer.as_ref().map_or("", |site| site.instruction.as_str());
            assert!(origin.starts_with(producer), "{target} {name}: {finding}");
        }
    }
}

#[test]
fn a_fault_names_lane_address_and_nearest_buffer() {
    let case = gfx1100::CASES.iter().find(|case| case.name == "load_past_the_end").expect("a case");
    let fault = run(Target::Gfx1100, &version(Target::Gfx1100, case, '-'), &Setup::of(case))
        .expect_err("stops")
        .to_string();
    for part in [
        "lane 0",
        "4 B at 0x7e",
        "'input'",
        "512 B past its end",
        "global_load_b32 v1, v0, s[4:5] offset:1536",
    ] {
        assert!(fault.contains(part), "'{part}' is missing in: {fault}");
    }
}

fn race(target: Target, name: &str) -> &'static Case {
    cases(target).find(|case| case.name == name).expect("a case")
}

#[test]
fn a_race_names_both_sites_waves_and_workgroups() {
    let find = |name: &str| {
        let case = race(Target::Gfx1100, name);
        run(Target::Gfx1100, &version(Target::Gfx1100, case, '-'), &Setup::of(case))
            .expect("ends")
            .findings
    };
    let findings = find("lds_read_of_another_waves_write");
    let finding = &findings[0];
    assert_eq!(finding.site.instruction, "ds_store_b32 v0, v0");
    let producer = finding.producer.as_ref().expect("the other side");
    assert_eq!(producer.instruction, "ds_load_b32 v2, v1");
    assert_eq!((finding.place.wave, finding.place.lane, finding.times), (1, Some(0), 32));
    let text = finding.to_string();
    for part in ["LDS at 0x80 is written", "read by wave 0 of workgroup (0, 0, 0)", "s_barrier"] {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
    let finding = find("workgroups_write_one_place").remove(0);
    assert_eq!(finding.place.workgroup, [1, 0, 0]);
    assert!(finding.what.contains("write by wave 0 of workgroup (0, 0, 0)"), "{finding}");
    let finding = find("wave_that_ends_before_a_barrier").remove(0);
    assert_eq!((finding.site.instruction.as_str(), finding.place.wave), ("s_barrier", 1));
    assert_eq!(finding.producer.expect("the end").instruction, "s_endpgm");
}

#[test]
fn the_architectural_order_trusts_lds_operations_of_one_wave() {
    for target in Target::ALL {
        let case = race(target, "conservative_lds_order");
        let mut setup = Setup::of(case);
        setup.options.lds_order = LdsOrder::Architectural;
        let report = run(target, &version(target, case, '-'), &setup).expect("ends");
        assert!(report.findings.is_empty(), "{target}: {:#?}", report.findings);
    }
}

/// Without checks only what costs nothing to see is reported, and the report says so.
#[test]
fn checks_can_be_switched_off() {
    const STILL_TOLD: [Rule; 3] = [Rule::Misaligned, Rule::PartialExec, Rule::LaneDuplication];
    for target in Target::ALL {
        for case in cases(target) {
            let mut setup = Setup::of(case);
            setup.options.checks = false;
            // An address that came from an undefined register is zero then, and outside every buffer.
            let Ok(report) = run(target, &version(target, case, '-'), &setup) else { continue };
            assert!(!report.checks);
            let told: Vec<_> = report.findings.iter().map(|finding| finding.rule).collect();
            assert!(told.iter().all(|rule| STILL_TOLD.contains(rule)), "{} {told:?}", case.name);
        }
    }
}

#[test]
fn race_checks_can_be_switched_off() {
    for target in Target::ALL {
        for case in cases(target) {
            let mut setup = Setup::of(case);
            if !setup.options.race_checks {
                continue;
            }
            setup.options.race_checks = false;
            let report = run(target, &version(target, case, '-'), &setup).expect("ends");
            assert!(report.findings.is_empty(), "{target} {}: {:#?}", case.name, report.findings);
        }
    }
}
