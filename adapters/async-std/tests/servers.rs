//! The scenes that every adapter plays on the SQS-compatible servers of others, on async-std.
//!
//! Without those servers (`tests/servers/servers.sh`) they say that they are skipped.

sqs_lease_suite::off_tokio_server_tests!(sqs_lease_async_std, AsyncStdRuntime, async_std::task::block_on);
