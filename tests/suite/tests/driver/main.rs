//! The driver in virtual time, with a scripted queue.

mod engine;
mod holds;
mod receives;
mod scarce;
mod scene;
mod settles;
