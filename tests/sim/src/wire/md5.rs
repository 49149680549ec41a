//! The MD5 sums that SDKs check what they sent and received with.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};

use crate::model::{AttributeValue, Data};

pub(crate) fn of_body(body: &str) -> String {
    hex(&Md5::digest(body))
}

/// The attributes in the order of their names: length and bytes of the name and of the data type, one byte for
/// the kind of value, length and bytes of the value.
pub(crate) fn of_attributes<'a>(
    attributes: impl IntoIterator<Item = (&'a String, &'a AttributeValue)>,
) -> String {
    let mut sum = Md5::new();
    for (name, value) in attributes {
        add(&mut sum, name.as_bytes());
        add(&mut sum, value.data_type.as_bytes());
        match &value.data {
            Data::Text(text) => {
                sum.update([1]);
                add(&mut sum, text.as_bytes());
            }
            Data::Binary(bytes) => {
                sum.update([2]);
                add(&mut sum, bytes);
            }
        }
    }
    hex(&sum.finalize())
}

fn add(sum: &mut Md5, bytes: &[u8]) {
    // No message is as large as 4 GiB.
    sum.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    sum.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
