//! The verbs, one file each: arguments, what they do, how they say it.

pub mod bundle;
pub mod check;
pub mod disasm;
pub mod dispatch;
pub mod doctor;
pub mod emit;
pub mod emulate;
pub mod explain;
pub mod golden;
pub mod inspect;
pub mod lint;
pub mod list;
pub mod probe;
pub mod qualify;
pub mod run;
pub mod schema;
