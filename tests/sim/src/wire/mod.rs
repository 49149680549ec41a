//! AWS JSON 1.0: requests and answers as bytes, without a socket.

pub(crate) mod decode;
pub(crate) mod encode;
mod fields;
mod md5;
mod operation;
pub(crate) mod told;

pub use operation::Action;
pub(crate) use operation::{Answer, Page, Request, Wanted, What};
