//! The driver in virtual time, with a scripted queue.

mod engine;
mod holds;
mod scene;
mod settles;
