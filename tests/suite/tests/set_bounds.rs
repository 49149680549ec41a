//! What a set does where calls are held back, given up, or answered late.
