//! `explain`: its numbers against the code object's, its pictures, its refusals.

use std::process::{Command, Output};

use codeobj::CodeObject;
use emit::gcn::{self, Options};
use serde_json::Value;

use super::whole_library;

fn explain(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavesmith"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("explain").args(arguments).output().unwrap()
}

fn document(arguments: &[&str]) -> Value {
    let output = explain(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn live_registers_fit_in_what_the_descriptor_allocates_and_need_most_of_it() {
    for (name, spec) in whole_library() {
        let kernel = kernels::build(&spec).unwrap();
        let profile = gcn::profiled(&kernel, &Options::default()).unwrap();
        let artefacts = gcn::compile(&kernel, &Options::default()).unwrap();
        let object = CodeObject::parse(&artefacts.code_object).unwrap();
        let allocated = object.kernel(&kernel.name).unwrap().metadata.vgpr_count;
        let most = profile.places.iter().map(|place| place.vgprs + place.agprs).max().unwrap();
        assert!(most <= allocated, "{name}: {most} alive, {allocated} allocated");
        assert!(2 * most >= allocated, "{name}: {most} alive, {allocated} allocated");
        let at_peak: u32 = profile.at_peak.iter().map(|alive| alive.vgprs).sum();
        assert!(at_peak >= profile.places.iter().map(|place| place.vgprs).max().unwrap(), "{name}");
    }
}

#[test]
fn the_schedule_has_every_instruction_and_wait_of_the_code() {
    for (name, spec) in whole_library().into_iter().step_by(7) {
        let kernel = kernels::build(&spec).unwrap();
        let profile = gcn::profiled(&kernel, &Options::default()).unwrap();
        let artefacts = gcn::compile(&kernel, &Options::default()).unwrap();
        let object = CodeObject::parse(&artefacts.code_object).unwrap();
        let properties = wavesmith::golden::properties(&object, &kernel.name).unwrap();
        let named = |prefix: &str| {
            profile.lines.iter().filter(|line| line.text.starts_with(prefix)).count() as u64
        };
        // Waits for results of vector instructions are none for memory.
        let waits = named("s_waitcnt ") + named("s_waitcnt_depctr");
        assert_eq!(properties.get("waits").copied().unwrap_or(0), waits, "{name}");
        let of_memory = profile.lines.iter().filter(|line| line.is_wait).count() as u64;
        assert_eq!(named("s_waitcnt "), of_memory, "{name}");
        let last = profile.lines.iter().rposition(|line| line.text.starts_with("s_endpgm"));
        assert_eq!(last, Some(profile.lines.len() - 1), "{name}");
        // A kernel that loads waits for what it loads.
        let stalls: u32 = profile.lines.iter().map(|line| line.stall_slots).sum();
        assert!(stalls > 0, "{name}");
    }
}

#[test]
fn documents_name_lines_of_source_and_pictures_are_whole() {
    let spec = "specs/library/conv_step_gfx1100.toml";
    let registers = document(&[spec, "registers"]);
    assert_eq!(
        (&registers["view"], &registers["target"]),
        (&"registers".into(), &"gfx1100".into())
    );
    let places = registers["places"].as_array().unwrap();
    let most = places.iter().map(|place| place["vgprs"].as_u64().unwrap()).max();
    assert_eq!(registers["most"]["vgprs"].as_u64(), most);
    let runs = registers["runs"].as_array().unwrap();
    let covered: u64 = runs.iter().map(|run| run["instructions"].as_u64().unwrap()).sum();
    assert_eq!(covered, places.len() as u64);
    assert!(runs.iter().any(|run| run["phase"].as_str().unwrap().contains("conv_step.rs:")));

    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("stalls.svg");
    let schedule = document(&[spec, "schedule", "-o", picture.to_str().unwrap()]);
    let of_phases: u64 = schedule["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| phase["stall_slots"].as_u64().unwrap())
        .sum();
    assert_eq!(schedule["stall_slots"].as_u64(), Some(of_phases));
    let text = std::fs::read_to_string(&picture).unwrap();
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
    assert!(text.contains("<polyline") && text.contains("(modelled)"), "{text}");
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let refused = |arguments: &[&str], exit: i32, words: &str| {
        let output = explain(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(exit), "{said}");
        assert!(said.contains(words), "{said}");
    };
    let spec = "specs/library/conv_step_gfx1100.toml";
    refused(&[spec, "registers", "-o", "picture.png"], 2, "ending .svg");
    refused(&[spec, "registers", "--problem", "batch=2"], 2, "--problem goes with a problem file");
    refused(&[spec, "registers", "--kernel", "decode"], 2, "means 0 kernels");
    refused(&["specs/library/none.toml", "registers"], 2, "none.toml");
}
