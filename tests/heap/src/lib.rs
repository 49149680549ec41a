//! The system's allocator, and a count of what goes through it.
//!
//! The crates that count allocations, and there are good ones, count always, and their atomics would be part of every
//! time that is measured beside. This one is off until it is asked, and then costs a load that is never written.
//!
//! ```
//! use sqs_lease_heap::Heap;
//!
//! #[global_allocator]
//! static HEAP: Heap = Heap;
//!
//! Heap::count();
//! let before = Heap::counts();
//! let kept = vec![0_u8; 1000];
//! drop(vec![0_u8; 5000]);
//! let since = Heap::counts() - before;
//! assert_eq!((since.allocations, since.live), (2, 1000));
//! # drop(kept);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Sub;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// An allocator for `#[global_allocator]`. It counts for the whole process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allocations and reallocations.
    pub allocations: usize,
    /// Bytes that are allocated now, as asked for. Less than nothing where what was there before was freed.
    pub live: isize,
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { allocations: self.allocations - before.allocations, live: self.live - before.live }
    }
}

impl Heap {
    /// Counts from now on. What is there already is not known.
    pub fn count() {
        COUNTS.store(true, Relaxed);
    }

    /// What was counted so far.
    pub fn counts() -> Counts {
        Counts { allocations: ALLOCATIONS.load(Relaxed), live: LIVE.load(Relaxed) }
    }

    /// The most that [`Counts::live`] ever was, since the last [`forget_peak`](Self::forget_peak).
    pub fn peak() -> isize {
        PEAK.load(Relaxed)
    }

    /// The peak is what is live now.
    pub fn forget_peak() {
        PEAK.store(LIVE.load(Relaxed), Relaxed);
    }

    fn grown(by: usize) {
        if COUNTS.load(Relaxed) {
            ALLOCATIONS.fetch_add(1, Relaxed);
            let by = by.cast_signed();
            PEAK.fetch_max(LIVE.fetch_add(by, Relaxed) + by, Relaxed);
        }
    }

    fn shrunk(by: usize) {
        if COUNTS.load(Relaxed) {
            LIVE.fetch_sub(by.cast_signed(), Relaxed);
        }
    }
}

// SAFETY: everything is passed on to the system's allocator unchanged, and the counting allocates nothing.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::grown(layout.size());
        // SAFETY: the caller's promise is the system's condition.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::shrunk(layout.size());
        // SAFETY: as above; the pointer is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::grown(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it is moved both are there. Where the system moves pages instead, that counts too much, not too little.
        Self::grown(size);
        // SAFETY: as above; the pointer is the system's.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        Self::shrunk(if moved.is_null() { size } else { layout.size() });
        moved
    }
}
