//! What the engine is made of; its model check puts other parts here.

pub(crate) use event_listener::Event;
pub(crate) use std::sync::{Arc, Mutex, PoisonError};
