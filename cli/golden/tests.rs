//! The engine over a made-up source of artefacts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use specs::{Activation, ConvStepSpec, Dtype, Spec, Target};
use tempfile::TempDir;

use super::*;

fn spec(target: Target, width: u32) -> Spec {
    let (channels, waves, wave_width) = (64, 4, target.wave_width());
    let (dtype, bias, activation) = (Dtype::Bf16, false, Activation::None);
    ConvStepSpec { target, channels, width, dtype, bias, activation, waves, wave_width }.into()
}

/// Artefacts that are functions of the spec and of these settings.
struct Fake {
    /// Replaces the kernel IR of every spec.
    kernel_ir: Option<String>,
    /// VGPRs of the GCN back end's code; `None`: it has too few.
    gcn: Option<u64>,
    /// `None`: there is no LLVM.
    llvm: Option<(&'static str, u64)>,
    /// Target whose kernels cannot be built.
    broken: Option<Target>,
}

const FAKE: Fake =
    Fake { kernel_ir: None, gcn: Some(36), llvm: Some(("22.1.2", 40)), broken: None };

impl ArtefactSource for Fake {
    fn kernel_ir(&self, spec: &Spec) -> Result<String, SourceError> {
        if self.broken == Some(spec.target()) {
            return Err(SourceError::Failed("rule 'some-rule': no".to_owned()));
        }
        let text = || format!("kernel {}\ntarget {}\nend\n", spec.name(), spec.target());
        Ok(self.kernel_ir.clone().unwrap_or_else(text))
    }

    fn gcn(&self, spec: &Spec) -> Result<Option<GcnRecord>, SourceError> {
        Ok(self.gcn.map(|vgprs| GcnRecord {
            assembly_sha256: format!("assembly of {}", spec.name()),
            code_object_sha256: format!("code object of {} in {vgprs}", spec.name()),
            properties: BTreeMap::from([("vgprs".to_owned(), vgprs)]),
        }))
    }

    fn llvm(&self, spec: &Spec) -> Result<LlvmRecord, SourceError> {
        let (version, vgprs) = self.llvm.ok_or(SourceError::Unavailable("build it".to_owned()))?;
        let hash = |what: &str| format!("{what} of {} with {version} in {vgprs}", spec.name());
        Ok(LlvmRecord {
            version: version.to_owned(),
            llvm_ir_sha256: format!("llvm ir of {}", spec.name()),
            code_object_sha256: hash("code object"),
            properties: BTreeMap::from([("vgprs".to_owned(), vgprs), ("waits".to_owned(), 7)]),
        })
    }
}

/// Two widths on both targets, blessed.
struct Bench {
    folder: TempDir,
    suite: Suite,
}

fn all_specs() -> Vec<Spec> {
    Target::ALL.into_iter().flat_map(|target| [spec(target, 3), spec(target, 4)]).collect()
}

fn blessing() -> Blessing {
    Blessing { why: "first".to_owned(), date: "2026-11-29".to_owned() }
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let suite = Suite::new(&all_specs(), folder.path()).unwrap();
        bless(&suite, &FAKE, &blessing()).unwrap();
        Bench { folder, suite }
    }

    fn with_specs(&self, specs: &[Spec]) -> Suite {
        Suite::new(specs, self.folder.path()).unwrap()
    }

    fn path(&self, spec: &Spec) -> PathBuf {
        self.folder.path().join(spec.family()).join(format!("{}.toml", spec.name()))
    }

    fn edit(&self, spec: &Spec, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(spec)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(self.path(spec), text.replace(from, to)).unwrap();
    }
}

fn statuses(report: &Report) -> Vec<&Status> {
    report.entries.iter().map(|entry| &entry.status).collect()
}

fn moved(what: &str, old: &str, new: &str) -> Moved {
    let (old, new) = (Some(old.to_owned()), Some(new.to_owned()));
    Moved { what: what.to_owned(), old, new }
}

#[test]
fn what_was_blessed_matches() {
    let bench = Bench::new();
    let report = check(&bench.suite, &FAKE, true).unwrap();
    assert!(report.passed);
    assert_eq!(report.counts, Counts { matching: 4, ..Counts::default() });
    let order = report.entries.iter().map(|entry| (entry.variant.clone(), entry.target.unwrap()));
    let order: Vec<_> = order.collect();
    assert!(order.is_sorted() && order.len() == 4, "{order:?}");
    let fixture = Fixture::read(&bench.path(&spec(Target::Gfx950, 3))).unwrap();
    assert_eq!(fixture.blessed, blessing());
    assert_eq!(fixture.targets.len(), 2);
}

#[test]
fn changes_say_what_moved() {
    let bench = Bench::new();
    let fewer = Fake { llvm: Some(("22.1.2", 32)), ..FAKE };
    let report = check(&bench.suite, &fewer, false).unwrap();
    assert_eq!((report.passed, report.counts.changed), (false, 4));
    let Status::Changed { moved: found, kernel_ir } = &report.entries[0].status else {
        panic!("{:?}", report.entries[0])
    };
    let names: Vec<_> = found.iter().map(|moved| moved.what.as_str()).collect();
    assert_eq!(names, ["code_object_sha256", "vgprs"]);
    assert_eq!(found[1], moved("vgprs", "40", "32"));
    assert_eq!(*kernel_ir, None);
}

#[test]
fn properties_may_come_and_go() {
    let bench = Bench::new();
    let one = spec(Target::Gfx950, 3);
    bench.edit(&one, "waits = 7", "barriers = 1");
    let report = check(&bench.with_specs(&[one]), &FAKE, false).unwrap();
    let Status::Changed { moved, .. } = &report.entries[1].status else { panic!("{report:?}") };
    let gone = Moved { what: "barriers".to_owned(), old: Some("1".to_owned()), new: None };
    let new = Moved { what: "waits".to_owned(), old: None, new: Some("7".to_owned()) };
    assert_eq!(*moved, [gone, new]);
}

#[test]
fn diff_shows_the_kernel_ir() {
    let bench = Bench::new();
    let text = "kernel x\ntarget gfx950\nadd\nend\n".to_owned();
    let source = Fake { kernel_ir: Some(text), ..FAKE };
    let report = diff(&bench.suite, &source).unwrap();
    let Status::Changed { kernel_ir: Some(text), .. } = &report.entries[1].status else {
        panic!("{:?}", report.entries[1])
    };
    assert!(text.contains("\n+add\n") && text.contains("\n target gfx950\n"), "{text}");
    assert!(!check(&bench.suite, &source, false).unwrap().passed);
}

#[test]
fn another_llvm_is_not_comparable() {
    let bench = Bench::new();
    for llvm in [Some(("23.1.0", 40)), None] {
        let other = Fake { llvm, ..FAKE };
        let report = check(&bench.suite, &other, false).unwrap();
        assert!(report.passed, "{report:?}");
        assert_eq!(report.counts, Counts { not_comparable: 4, ..Counts::default() });
        assert!(!check(&bench.suite, &other, true).unwrap().passed);
    }
}

#[test]
fn kernel_ir_is_compared_whatever_llvm() {
    let bench = Bench::new();
    let source = Fake { kernel_ir: Some("other\n".to_owned()), llvm: None, ..FAKE };
    let report = check(&bench.suite, &source, false).unwrap();
    assert_eq!((report.passed, report.counts.changed), (false, 4));
}

#[test]
fn the_gcn_back_end_is_compared_whatever_llvm() {
    let bench = Bench::new();
    let of = |gcn, llvm| {
        let report = check(&bench.suite, &Fake { gcn, llvm, ..FAKE }, false).unwrap();
        assert_eq!((report.passed, report.counts.changed), (false, 4));
        let Status::Changed { moved, .. } = &report.entries[0].status else { panic!("{report:?}") };
        moved.clone()
    };
    let names = |moved: &[Moved]| moved.iter().map(|moved| moved.what.clone()).collect::<Vec<_>>();
    for llvm in [FAKE.llvm, None] {
        let more = of(Some(48), llvm);
        assert_eq!(names(&more), ["gcn.code_object_sha256", "gcn.vgprs"]);
        assert_eq!(more[1], moved("gcn.vgprs", "36", "48"));
        assert_eq!(of(None, llvm), [moved("gcn", "fits", "refused")]);
    }
}

#[test]
fn a_kernel_that_is_refused_is_recorded_so() {
    let folder = tempfile::tempdir().unwrap();
    let suite = Suite::new(&all_specs(), folder.path()).unwrap();
    let refused = Fake { gcn: None, ..FAKE };
    bless(&suite, &refused, &blessing()).unwrap();
    assert!(check(&suite, &refused, true).unwrap().passed);
    assert_eq!(check(&suite, &FAKE, true).unwrap().counts.changed, 4);
}

#[test]
fn comments_of_assembly_are_not_recorded() {
    let spec = spec(Target::Gfx1100, 4);
    let artefacts = crate::pipeline::compile_gcn(&spec).unwrap();
    let record = |text: &str| GcnRecord::of(text, &artefacts.code_object, &spec.name()).unwrap();
    let recorded = record(&artefacts.assembly);
    let moved = artefacts.assembly.replace(".rs:", ".rs:1");
    assert!(moved != artefacts.assembly && record(&moved) == recorded);
    assert!(record(&artefacts.assembly.replace("v1", "v2")) != recorded);
}

#[test]
fn missing_extra_and_strange_files_fail() {
    let bench = Bench::new();
    let more = [all_specs(), vec![spec(Target::Gfx950, 5)]].concat();
    let report = check(&bench.with_specs(&more), &FAKE, false).unwrap();
    assert_eq!((report.passed, report.counts.missing, report.counts.matching), (false, 1, 4));

    let fewer = [spec(Target::Gfx950, 3)];
    let report = check(&bench.with_specs(&fewer), &FAKE, false).unwrap();
    assert_eq!((report.passed, report.counts.extra, report.counts.matching), (false, 3, 1));

    fs::write(bench.folder.path().join("README.md"), "welcome").unwrap();
    assert!(check(&bench.suite, &FAKE, false).unwrap().passed);
    fs::write(bench.folder.path().join("conv").join("notes.txt"), "stray").unwrap();
    let report = check(&bench.suite, &FAKE, false).unwrap();
    let stray = report.entries.iter().find(|entry| entry.target.is_none()).unwrap();
    assert_eq!((report.passed, stray.family.as_str()), (false, "conv"));
    assert_eq!((stray.variant.as_str(), &stray.status), ("notes.txt", &Status::Extra));
}

#[test]
fn a_record_of_another_spec_is_stale() {
    let bench = Bench::new();
    let one = spec(Target::Gfx950, 3);
    bench.edit(&one, &one.spec_hash(), &"0".repeat(64));
    let report = check(&bench.suite, &FAKE, false).unwrap();
    let stale = Status::Stale { recorded_spec_sha256: "0".repeat(64) };
    assert!(statuses(&report).contains(&&stale), "{report:?}");
    assert_eq!((report.passed, report.counts.stale), (false, 1));
}

#[test]
fn what_cannot_be_built_fails_and_is_not_blessed() {
    let bench = Bench::new();
    let before = fs::read_to_string(bench.path(&spec(Target::Gfx950, 3))).unwrap();
    let broken = Fake { broken: Some(Target::Gfx950), ..FAKE };
    let report = check(&bench.suite, &broken, false).unwrap();
    assert_eq!((report.passed, report.counts.failed), (false, 2));
    let refused = bless(&bench.suite, &broken, &blessing()).unwrap_err();
    let GoldenError::Incomplete { unavailable: false, reasons } = &refused else {
        panic!("{refused}")
    };
    assert!(reasons.len() == 2 && reasons[0].contains("for gfx950: rule 'some-rule'"), "{refused}");

    let no_llvm = Fake { llvm: None, ..FAKE };
    let refused = bless(&bench.suite, &no_llvm, &blessing()).unwrap_err();
    assert!(matches!(refused, GoldenError::Incomplete { unavailable: true, .. }), "{refused}");
    assert_eq!(refused.exit_code(), 3);
    assert_eq!(fs::read_to_string(bench.path(&spec(Target::Gfx950, 3))).unwrap(), before);
}

#[test]
fn blessing_rewrites_only_what_moved() {
    let bench = Bench::new();
    let later = Blessing { why: "width 5 for a new model".to_owned(), ..blessing() };
    let specs = [spec(Target::Gfx950, 3), spec(Target::Gfx1100, 3), spec(Target::Gfx950, 5)];
    let suite = bench.with_specs(&specs);
    let blessed = bless(&suite, &FAKE, &later).unwrap();
    assert_eq!(blessed.written, [bench.path(&specs[2])]);
    assert_eq!(blessed.removed, [bench.path(&spec(Target::Gfx950, 4))]);
    assert_eq!((blessed.before.counts.missing, blessed.before.counts.extra), (1, 2));
    assert_eq!(Fixture::read(&bench.path(&specs[0])).unwrap().blessed, blessing());
    assert_eq!(Fixture::read(&bench.path(&specs[2])).unwrap().blessed, later);
    assert!(check(&suite, &FAKE, true).unwrap().passed);
    let again = bless(&suite, &FAKE, &blessing()).unwrap();
    assert!(again.written.is_empty() && again.removed.is_empty());
}

#[test]
fn long_kernel_ir_is_kept_as_a_hash_only() {
    let bench = Bench::new();
    let source = Fake { kernel_ir: Some("add\n".repeat(10_000)), ..FAKE };
    bless(&bench.suite, &source, &blessing()).unwrap();
    let fixture = Fixture::read(&bench.path(&spec(Target::Gfx950, 3))).unwrap();
    assert!(fixture.targets.values().all(|record| record.kernel_ir.is_none()));
    assert!(check(&bench.suite, &source, true).unwrap().passed);
}

#[test]
fn malformed_fixtures_are_refused_by_name() {
    let refused = |from: &str, to: &str| {
        let bench = Bench::new();
        let one = spec(Target::Gfx950, 3);
        bench.edit(&one, from, to);
        let error = check(&bench.suite, &FAKE, false).unwrap_err().to_string();
        assert!(error.contains(&format!("{}.toml is no fixture", one.name())), "{error}");
        error
    };
    assert!(refused("schema = 1", "schema = 2").contains("schema is 2"));
    assert!(refused("[targets.gfx950", "[targets.gfx951").contains("gfx951"));
    assert!(refused("vgprs = 40", "vgprs = -1").contains("-1"));
    assert!(refused("why =", "because =").contains("because"));
    assert!(refused("family = \"conv\"", "family = \"gdn\"").contains("fixture of gdn/"));
    assert!(refused("schema = 1", "schema = ").contains("TOML"));
}

#[test]
fn one_variant_has_one_record() {
    let twice = [spec(Target::Gfx950, 3), spec(Target::Gfx950, 3)];
    let error = Suite::new(&twice, Path::new("golden")).unwrap_err();
    assert!(matches!(error, GoldenError::VariantTwice { target: Target::Gfx950, .. }), "{error}");
}

#[test]
fn a_repository_brings_its_own_specs() {
    let root = tempfile::tempdir().unwrap();
    let missing = Suite::in_repository(root.path()).unwrap_err();
    assert!(matches!(missing, GoldenError::File(_)), "{missing}");
    let library = root.path().join("specs/library");
    fs::create_dir_all(&library).unwrap();
    let empty = Suite::in_repository(root.path()).unwrap_err();
    assert!(matches!(empty, GoldenError::NoSpecs { .. }), "{empty}");
    let text = "schema = 1\nkind = \"spec\"\nkernel = \"conv_step\"\ntarget = \"gfx950\"\n\
                channels = 64\nwidth = 3\ndtype = \"bf16\"\n";
    fs::write(library.join("one.toml"), text).unwrap();
    let suite = Suite::in_repository(root.path()).unwrap();
    bless(&suite, &FAKE, &blessing()).unwrap();
    assert!(root.path().join("golden/conv").is_dir());
    assert!(check(&suite, &FAKE, true).unwrap().passed);
    fs::write(library.join("two.toml"), "schema = 1\n").unwrap();
    assert!(matches!(Suite::in_repository(root.path()), Err(GoldenError::Spec(_))));
}

#[test]
fn reports_are_documents() {
    let bench = Bench::new();
    let fewer = Fake { llvm: Some(("22.1.2", 32)), ..FAKE };
    let report = serde_json::to_value(check(&bench.suite, &fewer, false).unwrap()).unwrap();
    assert_eq!(report["counts"]["changed"], 4);
    let entry = &report["entries"][0];
    assert_eq!((&entry["status"], &entry["target"]), (&"changed".into(), &"gfx1100".into()));
    assert_eq!(entry["moved"][1]["new"], "32");
}
