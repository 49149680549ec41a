//! The script that every adapter passes, on async-std.

use async_std::task;

sqs_lease_suite::off_tokio_tests!(sqs_lease_async_std, AsyncStdRuntime, task::block_on, task::spawn_blocking);
