//! Puts the library where clients find it: a copy under the client's name in a directory of its own beside this program.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wavesmith_hip_emulated::{BUILT_FILE_NAME, CLIENT_FILE_NAME, TARGET_VARIABLE};

/// The directory beside this program.
const DIRECTORY: &str = "hip-emulated";

fn main() -> ExitCode {
    match install() {
        Ok(library) => {
            println!("{}", library.display());
            eprintln!(
                "programs find it by WAVESMITH_HIP or LD_LIBRARY_PATH; {TARGET_VARIABLE} names its target"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn install() -> std::io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let directory = folder.join(DIRECTORY);
    std::fs::create_dir_all(&directory)?;
    let (library, whole) = (directory.join(CLIENT_FILE_NAME), directory.join(".new"));
    std::fs::copy(folder.join(BUILT_FILE_NAME), &whole)?;
    std::fs::rename(whole, &library)?;
    Ok(library)
}
