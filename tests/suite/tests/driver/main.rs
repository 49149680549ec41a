//! The driver in virtual time, with a scripted queue.

mod engine;
mod holds;
mod receives;
mod scene;
mod settles;
