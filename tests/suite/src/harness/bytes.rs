//! Choices read from bytes.

/// Reads choices from bytes. When they run out each choice is the first one.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// Choices of these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Whether there are no bytes left.
    pub const fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.left.split_first() else { return 0 };
        self.left = rest;
        *first
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut value = u64::from(self.byte());
        let mut most = 255;
        while most < bound - 1 {
            value = (value << 8) | u64::from(self.byte());
            most = (most << 8) | 255;
        }
        value % bound
    }

    /// One of these.
    ///
    /// # Panics
    /// There are none.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let index = self.below(of.len() as u64);
        of[usize::try_from(index).expect("below a length")]
    }
}

/// Bytes of a seed, always the same.
///
/// ```
/// use sqs_lease_suite::harness::bytes::of_seed;
///
/// assert_eq!(of_seed(1, 4), of_seed(1, 4));
/// assert_ne!(of_seed(1, 8), of_seed(2, 8));
/// ```
pub fn of_seed(seed: u64, len: usize) -> Vec<u8> {
    // SplitMix64.
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = state;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (it ^ (it >> 31)).to_le_bytes()
    })
    .flatten()
    .take(len)
    .collect()
}
