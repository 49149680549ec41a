//! Many leases where SQS takes fewer calls than they need, and where it takes none for a while.
//!
//! On the core, in virtual time, beside a queue that counts what it takes.

mod chance;
mod outage;
mod scene;
mod throttled;
