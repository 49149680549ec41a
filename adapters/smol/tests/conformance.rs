//! The script that every adapter passes, on smol.

sqs_lease_suite::off_tokio_tests!(sqs_lease_smol, SmolRuntime, smol::block_on, smol::unblock);
