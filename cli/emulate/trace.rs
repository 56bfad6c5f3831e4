//! The trace of a run: one line an executed instruction.

use std::io::Write;
use std::path::PathBuf;

use emulator::{Step, Tracer};

use crate::files::{self, FileError};

/// Where lines go.
enum Sink {
    /// As they come.
    Stderr,
    /// When the run is over, so that the file is whole or as it was.
    File(PathBuf, Vec<u8>),
}

/// Writes the first instructions of a run and counts the others.
pub struct Trace {
    sink: Sink,
    limit: u64,
    steps: u64,
}

impl Trace {
    /// A trace of at most `limit` lines to a file, or to stderr.
    pub fn new(path: Option<PathBuf>, limit: u64) -> Trace {
        let sink = path.map_or(Sink::Stderr, |path| Sink::File(path, Vec::new()));
        Trace { sink, limit, steps: 0 }
    }

    /// Says which launch the next lines are of.
    pub fn title(&mut self, title: &str) {
        if self.steps < self.limit {
            self.line(title);
        }
    }

    /// Says how many lines are missing and writes the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), FileError> {
        let dropped = self.steps.saturating_sub(self.limit);
        if dropped != 0 {
            let line = format!("… {dropped} more instructions; raise --trace-limit to see them");
            self.line(&line);
        }
        match self.sink {
            Sink::Stderr => Ok(()),
            Sink::File(path, lines) => files::write(&path, &lines),
        }
    }

    fn line(&mut self, line: &str) {
        // A reader of stderr that stopped reading is no failure, and memory takes everything.
        let _ = match &mut self.sink {
            Sink::Stderr => writeln!(std::io::stderr(), "{line}"),
            Sink::File(_, lines) => writeln!(lines, "{line}"),
        };
    }
}

impl Tracer for Trace {
    fn step(&mut self, step: Step) {
        if self.steps < self.limit {
            self.line(&step.to_string());
        }
        self.steps += 1;
    }
}
