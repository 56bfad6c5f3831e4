//! A kernel is complete when a user can find, run, compare and read about it. This test lists what a
//! kernel lacks: library specs on every target, goldens, numeric tests, a support-matrix row, a page
//! with its algorithm, a benchmark. It grows with the project (the second back end).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use isa::Target;
use specs::dispatch::CANDIDATES;
use specs::dispatch::candidate::Kernels;
use specs::registry::{FAMILIES, LIBRARY};

/// What the repository holds, as sets of names.
#[derive(Clone, Debug, Default)]
struct Inventory {
    /// Family, kernel, target of every library spec.
    specs: BTreeSet<(String, String, String)>,
    /// Family, variant, target that the library asks goldens for.
    variants: BTreeSet<(String, String, String)>,
    /// Family, variant, target that have a golden record.
    goldens: BTreeSet<(String, String, String)>,
    /// Family, kernel, target of every row of the support matrix.
    matrix: BTreeSet<(String, String, String)>,
    /// Kernels that have a page with an algorithm and an order of operations.
    pages: BTreeSet<String>,
    /// Kernels that have a file of numeric tests.
    numeric_tests: BTreeSet<String>,
    /// Spec files that the benchmark runs.
    benchmarked: BTreeSet<String>,
    /// Spec files in specs/library.
    files: BTreeSet<String>,
    /// Family and kernel of everything that dispatch can choose, where a problem file asks for the family.
    dispatched: BTreeSet<(String, String)>,
}

/// The page that has a kernel's algorithm: one for all kernels of chunked prefill, one for those of attention.
fn page_of(kernel: &str) -> &str {
    match kernel {
        _ if kernel.starts_with("chunk_") => "kda",
        _ if kernel.starts_with("attention_") => "attention",
        _ => kernel,
    }
}

/// The file of a kernel's numeric tests.
fn numeric_tests_of(kernel: &str) -> String {
    if kernel.starts_with("chunk_") {
        return "tests/chunk_prefill/main.rs".to_owned();
    }
    format!("tests/{}.rs", page_of(kernel))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

impl Inventory {
    fn of_repository() -> Inventory {
        let mut inventory = Inventory::default();
        for entry in LIBRARY {
            let spec = entry.spec().unwrap();
            let (family, target) = (spec.family().to_owned(), spec.target().name().to_owned());
            let kernel = spec.kernel().to_string();
            inventory.specs.insert((family.clone(), kernel, target.clone()));
            inventory.variants.insert((family, spec.name(), target));
            inventory.benchmarked.insert(entry.file.to_owned());
        }
        if !read("benches/path.rs").contains("for entry in LIBRARY") {
            inventory.benchmarked.clear();
        }
        inventory.add_dispatch();
        let files = toml_files(&root().join("specs/library"));
        inventory.files = files.iter().map(|path| file_name(path)).collect();
        for family in FAMILIES {
            inventory.add_goldens(family.name);
            for kernel in family.kernels.iter().map(ToString::to_string) {
                inventory.add_documents(family.name, &kernel);
            }
        }
        inventory
    }

    fn add_dispatch(&mut self) {
        for candidate in CANDIDATES {
            let kernels: &[&str] = match candidate.kernels {
                Kernels::Split => &["chunk_tile", "chunk_scan"],
                Kernels::Fused => &["chunk_fused"],
            };
            for (family, target) in candidate
                .families
                .iter()
                .flat_map(|f| candidate.targets.iter().map(move |t| (f, t)))
            {
                if !root().join(format!("specs/problems/{family}_prefill_{target}.toml")).exists() {
                    continue;
                }
                let pair = |kernel: &&str| (family.to_string(), (*kernel).to_owned());
                self.dispatched.extend(kernels.iter().map(pair));
            }
        }
    }

    fn add_goldens(&mut self, family: &str) {
        for path in toml_files(&root().join("golden").join(family)) {
            let fixture: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
            let variant = file_name(&path).trim_end_matches(".toml").to_owned();
            let targets = fixture["targets"].as_table().unwrap().keys();
            let records =
                targets.map(|target| (family.to_owned(), variant.clone(), target.clone()));
            self.goldens.extend(records);
        }
    }

    fn add_documents(&mut self, family: &str, kernel: &str) {
        let matrix = read("SUPPORT_MATRIX.md");
        for target in Target::ALL {
            if matrix.contains(&format!("| {family} | {kernel} | {target} |")) {
                self.matrix.insert((family.to_owned(), kernel.to_owned(), target.to_string()));
            }
        }
        let page = read(&format!("docs/kernels/{}.md", page_of(kernel)));
        if page.contains("## The mathematics") && page.contains("## Order of float operations") {
            self.pages.insert(kernel.to_owned());
        }
        if read(&numeric_tests_of(kernel)).contains("#[test]") {
            self.numeric_tests.insert(kernel.to_owned());
        }
    }

    /// Everything that is not there, one line each.
    fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for family in FAMILIES {
            for kind in family.kernels {
                let kernel = kind.to_string();
                for target in Target::ALL.iter().map(ToString::to_string) {
                    let key = (family.name.to_owned(), kernel.clone(), target);
                    let mut need = |set: &BTreeSet<_>, what: &str| {
                        if !set.contains(&key) {
                            missing.push(format!("{} {} {}: {what}", key.0, key.1, key.2));
                        }
                    };
                    need(&self.specs, "no library spec");
                    need(&self.matrix, "no row in SUPPORT_MATRIX.md");
                }
                let mut need = |set: &BTreeSet<String>, what: &str| {
                    if !set.contains(&kernel) {
                        missing.push(format!("{kernel}: {what}"));
                    }
                };
                need(
                    &self.pages,
                    "no page in docs/kernels with its algorithm and order of operations",
                );
                need(&self.numeric_tests, "no numeric tests in tests/");
                let pair = (family.name.to_owned(), kernel.clone());
                if kernel.starts_with("chunk_") && !self.dispatched.contains(&pair) {
                    missing.push(format!("{} {kernel}: no candidate of dispatch", family.name));
                }
            }
        }
        for (family, variant, target) in self.variants.difference(&self.goldens) {
            missing.push(format!("{family} {variant} {target}: no golden"));
        }
        for file in self.files.difference(&self.benchmarked) {
            missing.push(format!(
                "{file}: not in the library's list, so neither listed nor benchmarked"
            ));
        }
        missing.sort();
        missing.dedup();
        missing
    }
}

#[test]
fn nothing_is_missing() {
    assert_eq!(Inventory::of_repository().missing(), [""; 0]);
}

/// Takes one entry out of a set and demands that exactly this is reported.
#[track_caller]
fn planted<T: Ord + Clone>(set: impl Fn(&mut Inventory) -> &mut BTreeSet<T>, what: &str) {
    let mut inventory = Inventory::of_repository();
    let victim = set(&mut inventory).first().cloned().expect("the set is not empty");
    set(&mut inventory).remove(&victim);
    let missing = inventory.missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].contains(what), "{missing:?}");
}

#[test]
fn planted_omissions_are_found() {
    planted(|inventory| &mut inventory.specs, "no library spec");
    planted(|inventory| &mut inventory.goldens, "no golden");
    planted(|inventory| &mut inventory.matrix, "no row in SUPPORT_MATRIX.md");
    planted(|inventory| &mut inventory.pages, "no page");
    planted(|inventory| &mut inventory.numeric_tests, "no numeric tests");
    planted(|inventory| &mut inventory.dispatched, "no candidate of dispatch");
    planted(|inventory| &mut inventory.benchmarked, "neither listed nor benchmarked");
}
