use alloc::boxed::Box;
use alloc::vec::Vec;

/// Where a slot stands in a [`Schedule`](crate::schedule::Schedule): in which group, and beside whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) group: u32,
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// No group, no slot.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The links of those slots that have one, in pages that are there only while one of their slots has.
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
    links: [Link; PAGE],
}

const PAGE: usize = 64;
/// What leaves in one wake fits into so many pages, as a rule.
const SPARE: usize = 16;
const NONE: Link = Link { group: NOWHERE, before: NOWHERE, after: NOWHERE };

impl Links {
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<Link> {
        let page = self.pages.get(slot as usize / PAGE)?.as_ref()?;
        page.links.get(slot as usize % PAGE).filter(|link| link.group != NOWHERE).copied()
    }

    /// The link of a slot that has one.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Link> {
        let page = self.pages.get_mut(slot as usize / PAGE)?.as_mut()?;
        page.links.get_mut(slot as usize % PAGE).filter(|link| link.group != NOWHERE)
    }

    /// Gives a link to a slot that has none.
    #[inline]
    pub(crate) fn insert(&mut self, slot: u32, link: Link) {
        let number = slot as usize / PAGE;
        if !matches!(self.pages.get(number), Some(Some(_))) {
            self.begin(number);
        }
        let Some(Some(page)) = self.pages.get_mut(number) else { return };
        if let Some(it) = page.links.get_mut(slot as usize % PAGE) {
            *it = link;
            page.len = page.len.saturating_add(1);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> Option<Link> {
        let page = self.pages.get_mut(slot as usize / PAGE)?.as_mut()?;
        let it = page.links.get_mut(slot as usize % PAGE).filter(|link| link.group != NOWHERE)?;
        let link = core::mem::replace(it, NONE);
        page.len = page.len.saturating_sub(1);
        if page.len == 0 {
            self.end(slot as usize / PAGE);
        }
        Some(link)
    }

    #[cold]
    fn begin(&mut self, number: usize) {
        if self.pages.len() <= number {
            self.pages.resize_with(number.saturating_add(1), || None);
        }
        let page = self.spare.pop().unwrap_or_else(|| Box::new(Page { len: 0, links: [NONE; PAGE] }));
        if let Some(place) = self.pages.get_mut(number) {
            *place = Some(page);
        }
    }

    #[cold]
    fn end(&mut self, number: usize) {
        let page = self.pages.get_mut(number).and_then(Option::take);
        if self.spare.len() < SPARE {
            self.spare.extend(page);
        }
    }
}
