//! Puts the library where clients find it: a copy under the client's name in a directory of its own.
//!
//! `hip-emulated [DIRECTORY]`; without one, the directory `hip` beside this program. Prints the copy's path. Beside the copy
//! lie links with the numbers of HIP's releases, under which programs linked with one of them look for it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wavesmith_hip_emulated::{BUILT_FILE_NAME, CLIENT_FILE_NAME, TARGET_VARIABLE};

const USAGE: &str = "usage: hip-emulated [DIRECTORY]";

/// Releases of HIP whose programs name the library with a number of its own.
const RELEASES: [u32; 3] = [5, 6, 7];

/// The directory beside this program, which is not called as the program is.
const DIRECTORY: &str = "hip";

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let directory = match &arguments[..] {
        [] => None,
        [help] if ["-h", "--help"].map(Path::new).contains(&help.as_path()) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [directory] if !directory.as_os_str().as_encoded_bytes().starts_with(b"-") => {
            Some(directory.clone())
        }
        _ => {
            eprintln!("error: {USAGE}");
            return ExitCode::from(2);
        }
    };
    match install(directory) {
        Ok(library) => {
            println!("{}", library.display());
            eprintln!(
                "programs find it by WAVESMITH_HIP or LD_LIBRARY_PATH; {TARGET_VARIABLE} names its target"
            );
            ExitCode::SUCCESS
        }
        Err(words) => {
            eprintln!("error: {words}");
            ExitCode::from(2)
        }
    }
}

fn install(directory: Option<PathBuf>) -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let directory = directory.unwrap_or_else(|| folder.join(DIRECTORY));
    let built = built_library(folder)?;
    let (library, whole) = (directory.join(CLIENT_FILE_NAME), directory.join(".new"));
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", library.display());
    std::fs::create_dir_all(&directory).map_err(failed)?;
    std::fs::copy(built, &whole).map_err(failed)?;
    std::fs::rename(&whole, &library).map_err(failed)?;
    for release in RELEASES {
        link(&whole, &directory.join(format!("{CLIENT_FILE_NAME}.{release}")))?;
    }
    Ok(library)
}

/// Makes or replaces a link to the library beside it.
fn link(temporary: &Path, name: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(CLIENT_FILE_NAME, temporary)
        .and_then(|()| std::fs::rename(temporary, name))
        .map_err(|error| format!("cannot write {}: {error}", name.display()))
}

/// The library that Cargo built with this program.
fn built_library(folder: &Path) -> Result<PathBuf, String> {
    let places = [folder.join(BUILT_FILE_NAME), folder.join("deps").join(BUILT_FILE_NAME)];
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        format!(
            "{BUILT_FILE_NAME} is not in {}: cargo build -p wavesmith-hip-emulated",
            folder.display()
        )
    })
}
