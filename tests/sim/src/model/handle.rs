//! Receipt handles: what SQS would look up by a handle is sealed inside it, so that none need be stored.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqs_lease_core::Moment;

/// What a receipt handle stands for: one receive of one message from one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) queue: u32,
    pub(crate) message: u64,
    /// The message's receive count at this receive, so a number of its own among the message's receives.
    pub(crate) delivery: u32,
    /// When SQS got the receive request: the 12 hours count from here.
    pub(crate) requested: Moment,
    /// When SQS answered it.
    pub(crate) received: Moment,
}

// "AQEB" is the base64 of these three bytes; SQS's handles have begun so for years.
const PREFIX: [u8; 3] = [1, 1, 1];
/// 3 + 26 * 8 + 2 bytes are 284 characters, the length of a handle that SQS gave out.
const WORDS: usize = 26;
const SEALED_WORDS: usize = 5;
const TAIL: usize = 2;

impl Sealed {
    /// The handle's text. The same receive always gives the same text.
    pub(crate) fn to_handle(self, key: u64) -> String {
        let mut bytes = [0; PREFIX.len() + WORDS * 8 + TAIL];
        bytes[..3].copy_from_slice(&PREFIX);
        let tag = self.tag(key);
        let mut stream = Stream(tag ^ key);
        for (i, word) in bytes[3..].chunks_mut(8).enumerate() {
            let plain = match i {
                0 => tag,
                1..=SEALED_WORDS => self.words()[i - 1] ^ stream.next(),
                _ => stream.next(),
            };
            word.copy_from_slice(&plain.to_le_bytes()[..word.len()]);
        }
        STANDARD.encode(bytes)
    }

    /// What the handle stands for; none if it was never given out under this key.
    pub(crate) fn from_handle(handle: &str, key: u64) -> Option<Self> {
        let bytes = STANDARD.decode(handle).ok()?;
        if bytes.len() != PREFIX.len() + WORDS * 8 + TAIL {
            return None;
        }
        let word = |i: usize| {
            let at = PREFIX.len() + i * 8;
            bytes[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or_default()
        };
        let mut stream = Stream(word(0) ^ key);
        let mut words = [0; SEALED_WORDS];
        for (i, plain) in words.iter_mut().enumerate() {
            *plain = word(i + 1) ^ stream.next();
        }
        let sealed = Self {
            queue: u32::try_from(words[0]).ok()?,
            message: words[1],
            delivery: u32::try_from(words[2]).ok()?,
            requested: Moment::from_nanos(words[3]),
            received: Moment::from_nanos(words[4]),
        };
        // Sealing again and comparing leaves no character of a handle free to be changed.
        (sealed.to_handle(key) == handle).then_some(sealed)
    }

    fn words(self) -> [u64; SEALED_WORDS] {
        let (requested, received) = (self.requested.as_nanos(), self.received.as_nanos());
        [u64::from(self.queue), self.message, u64::from(self.delivery), requested, received]
    }

    fn tag(self, key: u64) -> u64 {
        self.words().into_iter().fold(key, |tag, word| mix(tag ^ mix(word)))
    }
}

/// Scrambles 64 bits (the finalizer of `SplitMix64`). Hides structure from the eye, nothing from an attacker.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEALED: Sealed = Sealed {
        queue: 3,
        message: 77,
        delivery: 2,
        requested: Moment::from_secs(1_000_000),
        received: Moment::from_secs(1_000_020),
    };

    #[test]
    fn looks_like_a_handle_of_sqs_and_opens_again() {
        let handle = SEALED.to_handle(42);
        assert!(handle.starts_with("AQEB"));
        assert_eq!(handle.len(), 284);
        assert_eq!(Sealed::from_handle(&handle, 42), Some(SEALED));
        assert_eq!(Sealed::from_handle(&handle, 43), None);
    }

    #[test]
    fn a_handle_with_one_character_changed_was_never_given_out() {
        let handle = SEALED.to_handle(42);
        for i in 0..handle.len() {
            let mut changed = handle.clone().into_bytes();
            changed[i] = if changed[i] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(Sealed::from_handle(&changed, 42), None, "character {i}");
        }
        assert_eq!(Sealed::from_handle("", 42), None);
        assert_eq!(Sealed::from_handle(&handle[..280], 42), None);
    }

    #[test]
    fn every_receive_has_its_own() {
        let again = Sealed { delivery: 3, ..SEALED };
        assert_ne!(SEALED.to_handle(42)[4..40], again.to_handle(42)[4..40]);
    }
}
