use alloc::boxed::Box;
use alloc::vec::Vec;

/// No slot, no place.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// For each slot a number, in pages that are there only while one of their slots has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    pages: Vec<Option<Box<Page>>>,
    /// A few pages that were just given back: those who leave often come back at once.
    #[expect(clippy::vec_box, reason = "a page goes in and out of its place in its box")]
    spare: Vec<Box<Page>>,
}

#[derive(Clone, Debug)]
struct Page {
    len: u32,
    links: [u32; PAGE],
}

const PAGE: usize = 64;
/// What leaves in one wake fits into so many pages, as a rule.
const SPARE: usize = 16;

impl Links {
    /// The number of a slot; [`NOWHERE`] where it has none.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> u32 {
        let Some(Some(page)) = self.pages.get(slot as usize / PAGE) else { return NOWHERE };
        page.links.get(slot as usize % PAGE).copied().unwrap_or(NOWHERE)
    }

    /// Gives a slot a number that is not [`NOWHERE`].
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, link: u32) {
        let number = slot as usize / PAGE;
        if let Some(Some(page)) = self.pages.get_mut(number) {
            page.set(slot, link);
        } else if let Some(page) = self.begin(number) {
            page.set(slot, link);
        }
    }

    /// Takes its number from a slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> u32 {
        let Some(Some(page)) = self.pages.get_mut(slot as usize / PAGE) else { return NOWHERE };
        let Some(it) = page.links.get_mut(slot as usize % PAGE) else { return NOWHERE };
        let link = core::mem::replace(it, NOWHERE);
        if link != NOWHERE {
            page.len = page.len.saturating_sub(1);
            if page.len == 0 {
                self.end(slot as usize / PAGE);
            }
        }
        link
    }

    #[cold]
    fn begin(&mut self, number: usize) -> Option<&mut Page> {
        if self.pages.len() <= number {
            self.pages.resize_with(number.saturating_add(1), || None);
        }
        let page = self.spare.pop().unwrap_or_else(|| Box::new(Page { len: 0, links: [NOWHERE; PAGE] }));
        Some(self.pages.get_mut(number)?.insert(page))
    }

    #[cold]
    fn end(&mut self, number: usize) {
        let page = self.pages.get_mut(number).and_then(Option::take);
        if self.spare.len() < SPARE {
            self.spare.extend(page);
        }
    }

    #[cfg(test)]
    pub(crate) fn pages(&self) -> usize {
        self.pages.iter().flatten().count()
    }
}

impl Page {
    #[inline]
    fn set(&mut self, slot: u32, link: u32) {
        let Some(it) = self.links.get_mut(slot as usize % PAGE) else { return };
        if *it == NOWHERE {
            self.len = self.len.saturating_add(1);
        }
        *it = link;
    }
}
