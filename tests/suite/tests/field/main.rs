//! What users of other queue consumers ran into, kind by kind, on the simulated SQS from seeds: the timeout is 2 to 120 s,
//! SQS up to a twentieth of it away, each way, and 3 s at most. The truth is asked, not the lease.

mod dead_letters;
mod groups;
mod leaks;
mod lost;
mod outlives;
mod scene;
mod settles;
mod shutdown;
mod twice;
