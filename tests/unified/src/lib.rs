//! Nothing but dependencies: they turn on the SDK's Tokio features for the smol adapter beside them, as any crate of a
//! program may. The test asks whether a Tokio runtime runs all the same.
