//! Several launches over the same memory in one call.

use std::path::Path;

use isa::Target;

use super::{document, ends_with, fixture, read_npy};

/// Adds, then sums the sums with another code object: the words of a call.
fn add_then_reduce([adds, sums]: [&str; 2]) -> Vec<&str> {
    let words = "--kernel vector_add --grid 6 --block 100 --arg a=iota:f32:512 --arg b=fill:f32:0.5:512 \
                 --arg out=nan:f32:512 --arg n=i32:512 --then --kernel reduce --grid 2 --block 256 \
                 --arg in=same:1/out --arg out=nan:f32:2 --object";
    [adds].into_iter().chain(words.split_whitespace()).chain([sums]).collect()
}

/// What `add_then_reduce` makes of i + 1/2 in two halves, by the sum of the first integers.
const SUMS: [f32; 2] = [32_768.0, 98_304.0];

#[test]
fn a_later_launch_reads_what_an_earlier_one_wrote() {
    for target in Target::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sums.npy");
        let objects = ["vector_add", "reduce"].map(|name| fixture(name, target));
        let save = format!("2/out={}", path.display());
        let args = [&add_then_reduce([&objects[0], &objects[1]])[..], &["--save", &save]].concat();
        let told = document(&args, 0);
        assert_eq!(read_npy(&path).1, SUMS.map(f32::to_bits), "{target}");
        let launches = told["launches"].as_array().unwrap();
        assert_eq!(launches.len(), 2);
        assert_eq!(launches[1]["kernel"], "reduce");
        assert_eq!(launches[1]["file"], objects[1]);
        assert_eq!(launches[1]["args"][0]["buffer"], "1/out");
        let instructions = |at: usize| launches[at]["wave_instructions"].as_u64().unwrap();
        assert_eq!(told["wave_instructions"], instructions(0) + instructions(1));
        assert_eq!(told["buffers"].as_object().unwrap().len(), 4);
        ends_with(&args, 0, &["launch 1: vector_add", "launch 2: reduce", "buffer 2/out"]);
    }
}

#[test]
fn a_launch_file_gives_the_same_document_as_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("launches.toml");
    let target = Target::Gfx950;
    let objects = ["vector_add", "reduce"].map(|name| fixture(name, target));
    let text = format!(
        "[[launch]]\nkernel = 'vector_add'\ngrid = [6]\nblock = [100]\n\
         args = {{ a = 'iota:f32:512', b = 'fill:f32:0.5:512', out = 'nan:f32:512', n = 'i32:512' }}\n\
         [[launch]]\nobject = '{}'\nkernel = 'reduce'\ngrid = [2]\nblock = [256]\n\
         args = {{ in = 'same:1/out', out = 'nan:f32:2' }}\n",
        objects[1]
    );
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap();
    let mut by_file = document(&[&objects[0], "--launches", file], 0);
    let mut by_flags = document(&add_then_reduce([&objects[0], &objects[1]]), 0);
    by_file["seconds"] = 0.into();
    by_flags["seconds"] = 0.into();
    assert_eq!(by_file, by_flags);
    let both = [&objects[0], "--launches", file, "--kernel", "reduce"];
    ends_with(&both, 2, &["--launches describes every launch"]);
    ends_with(&["--launches", file], 2, &["launch 1 has no code object"]);
    ends_with(&["--launches", "no/such.toml"], 2, &["no/such.toml"]);
    ends_with(&["--launches", "README.md"], 2, &["README.md", "TOML"]);
}

#[test]
fn a_fault_keeps_later_launches_from_running() {
    for target in Target::ALL {
        let objects = ["vector_add", "reduce"].map(|name| fixture(name, target));
        let mut args = add_then_reduce([&objects[0], &objects[1]]);
        let out = args.iter().position(|arg| *arg == "out=nan:f32:512").unwrap();
        args[out] = "out=nan:f32:500";
        let told = document(&args, 1);
        assert_eq!(told["fault"]["launch"], 1);
        assert_eq!(told["launches"].as_array().unwrap().len(), 1);
        assert_eq!(told["launches_not_run"], 1);
        assert_eq!(told["buffers"].as_object().unwrap().len(), 0);
        ends_with(&args, 1, &["launch 1: vector_add", "1 more launches did not run", "FAULT"]);
    }
}

#[test]
fn a_trace_says_where_the_next_launch_starts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.txt");
    let objects = ["vector_add", "reduce"].map(|name| fixture(name, Target::Gfx1100));
    let flag = format!("--trace={}", path.display());
    document(&[&add_then_reduce([&objects[0], &objects[1]])[..], &[&flag]].concat(), 0);
    let trace = std::fs::read_to_string(&path).unwrap();
    let titles: Vec<_> = trace.lines().filter(|line| line.starts_with("launch ")).collect();
    assert_eq!(titles, ["launch 1: vector_add", "launch 2: reduce"]);
}

#[test]
fn launches_that_do_not_fit_together_are_refused_by_number() {
    let [adds, sums] = ["vector_add", "reduce"].map(|name| fixture(name, Target::Gfx1100));
    let other = fixture("reduce", Target::Gfx950);
    let good = add_then_reduce([&adds, &sums]);
    let changed = |from: &str, to: &str, words: &[&str]| {
        let swap = |arg: &&str| if *arg == from { to.to_owned() } else { (*arg).to_owned() };
        let args: Vec<String> = good.iter().map(swap).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        ends_with(&args, 2, words);
    };
    let (from, ambiguous) =
        ("in=same:1/out", "launch 2: argument 'in': 'out' may mean 1/out or 2/out");
    changed(from, "in=same:out", &[ambiguous]);
    changed(from, "in=same:3/out", &["is of launch 3, which comes later than launch 2"]);
    changed(from, "in=same:none", &["'none' names no argument with a buffer", "1/out"]);
    changed(from, "x=same:1/out", &["launch 2: the arguments do not fit 'reduce'"]);
    changed("reduce", "reduc", &["launch 2: ", "no kernel 'reduc'"]);
    ends_with(&[&good[..], &["--memory-limit", "9000"]].concat(), 2, &["the limit of 9000 B"]);
    let save = "out=no/such/x.npy";
    ends_with(&[&good[..], &["--save", "2/out=no/such/x.npy"]].concat(), 2, &[save, "folder"]);
    changed("256", "512", &["launch 2: ", "workgroup size"]);
    changed(&sums, &other, &["launch 2: ", "gfx950", "gfx1100"]);
    changed(&sums, "no/such.hsaco", &["no/such.hsaco"]);
    changed("--then", "--grid=7", &["--kernel 2 times: put --then between"]);
    ends_with(&[&good[..], &["--then"]].concat(), 2, &["launch 3 has no --kernel"]);
}

#[test]
fn one_file_takes_one_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let [adds, sums] = ["vector_add", "reduce"].map(|name| fixture(name, Target::Gfx1100));
    let [a, b] = ["a", "b"].map(|name| format!("{name}={}", path.display()));
    let twice = ["--save", &a, "--save", &b];
    let args = [&add_then_reduce([&adds, &sums])[..], &twice].concat();
    ends_with(&args, 2, &["--save", "two results"]);
    assert!(!Path::new(&path).exists());
}

#[test]
fn stats_count_each_launch_with_its_waves_and_memories() {
    for target in Target::ALL {
        let objects = ["vector_add", "reduce"].map(|name| fixture(name, target));
        let args = [&add_then_reduce([&objects[0], &objects[1]])[..], &["--stats"]].concat();
        let words = [
            "launch 2: stats: 2 workgroups",
            "all launches: 8 workgroups",
            "wave by wave",
            "128 B lines",
            "modelled",
        ];
        ends_with(&args, 0, &words);
        let told = document(&args, 0);
        let detail = |launch: usize| &told["launches"][launch]["stats"]["detail"];
        // 512 sums of two words each; 256 words of either workgroup through LDS and a tree of 255 sums.
        assert_eq!(detail(0)["traffic"]["global_loads"]["bytes"], 512 * 8);
        assert_eq!(detail(0)["traffic"]["lds_reads"]["bytes"], 0);
        assert_eq!(detail(1)["traffic"]["lds_writes"]["bytes"], 2 * 4 * (256 + 255));
        assert_eq!(detail(1)["traffic"]["lds_reads"]["conflict_clocks"], 0);
        let totals = &told["totals"];
        assert_eq!(totals["workgroups"], 6 + 2);
        assert_eq!(totals["traffic"]["global_stores"]["bytes"], 4 * (512 + 2));
        let valu = |launch: usize| &told["launches"][launch]["stats"]["instructions"]["valu"];
        let sum = valu(0).as_u64().unwrap() + valu(1).as_u64().unwrap();
        assert_eq!(totals["instructions"]["valu"], sum);
        let waves = detail(1)["waves"]["listed"].as_array().unwrap();
        assert_eq!(waves.len() as u32, 2 * 256 / target.wave_width());
    }
}
