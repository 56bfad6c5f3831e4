//! Where the worker is.

use std::env;
use std::path::PathBuf;

use super::{Cause, Options};

/// File name of the worker, without the system's suffix.
pub const WORKER_NAME: &str = "wavesmith-llvm";

/// Names the worker's file and overrides every other place.
pub const WORKER_VARIABLE: &str = "WAVESMITH_LLVM_WORKER";

/// The worker of the options, of the environment, or beside the running program.
pub fn worker(options: &Options) -> Result<PathBuf, Cause> {
    let named = options.worker.clone().or_else(|| env::var_os(WORKER_VARIABLE).map(PathBuf::from));
    let looked_for = match named {
        Some(file) => vec![file],
        None => beside_this_program(),
    };
    match looked_for.iter().find(|file| file.is_file()) {
        Some(file) => Ok(file.clone()),
        None => Err(Cause::WorkerMissing { looked_for }),
    }
}

/// Beside the program; one folder up too, since Cargo keeps test programs in `deps/`.
fn beside_this_program() -> Vec<PathBuf> {
    let Ok(program) = env::current_exe() else { return Vec::new() };
    let file_name = format!("{WORKER_NAME}{}", env::consts::EXE_SUFFIX);
    program.ancestors().skip(1).take(2).map(|folder| folder.join(&file_name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_worker_that_does_not_exist_is_reported_with_the_remedy() {
        let options =
            Options { worker: Some("/nowhere/wavesmith-llvm".into()), ..Options::default() };
        let cause = worker(&options).expect_err("the file does not exist");
        let words = cause.to_string();
        assert!(words.contains("/nowhere/wavesmith-llvm"), "{words}");
        assert!(words.contains("cargo build --release"), "{words}");
        assert!(cause.is_unavailable());
    }

    #[test]
    fn test_programs_look_in_both_folders() {
        let looked_for = beside_this_program();
        assert_eq!(looked_for.len(), 2);
        assert_eq!(looked_for[0].parent().and_then(|deps| deps.parent()), looked_for[1].parent());
    }
}
