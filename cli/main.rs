//! The command `wavesmith`: one verb a question, text or JSON, stable exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    wavesmith::command_line::main()
}
