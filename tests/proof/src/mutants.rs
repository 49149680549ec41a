//! Copies of the core with a mistake each, made by the build script from the source of the core.

include!(concat!(env!("OUT_DIR"), "/mutants.rs"));
