//! The loopback server over plain sockets: headers, codes, long polls, faults, clocks.

mod bounds;
mod client;
mod control;
mod crowd;
mod faults;
mod operations;
mod polls;
mod seeds;
