use crate::time::{Moment, NANOS_PER_SEC};

/// Finds out which calls are throttled whatever the distance between calls is.
///
/// Where SQS takes so many calls a second, calls that are further apart are throttled less. Where just as many of a hundred
/// are throttled after the gap was widened, the gap is not why, and making it wider still would stop the calls for nothing:
/// so many are expected then, for a minute, and only what is more than that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chance {
    /// What is being counted, and what was counted before with a narrower gap.
    now: Tally,
    before: Option<Tally>,
    /// How many of [`WHOLE`] answers are throttled by chance.
    share: u32,
    /// How many throttled answers chance explains, in parts of [`WHOLE`].
    credit: u32,
    found_at: Moment,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    answers: u32,
    throttled: u32,
    /// The gaps of all of them, and the first.
    gaps: u128,
    first_gap: u64,
}

const WHOLE: u32 = 1_024;
/// So many throttled answers make a share that can be compared.
const SOLID: u32 = 8;
/// Not one in so many is no matter of chance that would do harm.
const RARE: u32 = 512;
/// Chance has its runs of bad luck.
const BAD_LUCK: u32 = 8 * WHOLE;
/// How long it is believed.
const BELIEVED: u64 = 60 * NANOS_PER_SEC;

impl Chance {
    pub(crate) fn is_known(&self) -> bool {
        self.share > 0
    }

    /// A call was not throttled.
    pub(crate) fn answered(&mut self) {
        // Half more than was found: what was counted was little, and may have been good luck.
        let more = self.share.saturating_add(self.share / 2);
        self.credit = self.credit.saturating_add(more).min(BAD_LUCK);
    }

    /// A call was throttled: whether that was to be expected.
    pub(crate) fn explains(&mut self, now: Moment) -> bool {
        if !self.is_known() {
            return false;
        }
        self.answered();
        let is_explained = self.credit >= WHOLE && now.nanos_since(self.found_at) <= BELIEVED;
        self.credit = self.credit.saturating_sub(WHOLE);
        if !is_explained {
            *self = Self::default();
        }
        is_explained
    }

    /// How wide the gap may become while so little is known.
    pub(crate) fn widest(&self) -> u64 {
        let is_some_taken = self.now.throttled < self.now.answers;
        if is_some_taken { self.now.first_gap.saturating_add(self.now.first_gap / 2) } else { u64::MAX }
    }

    /// So many answers were throttled, and so many not, with this gap: if that is by chance, which gap was as good.
    pub(crate) fn is_found(&mut self, well: u32, ill: u32, gap: u64, now: Moment) -> Option<u64> {
        self.now.add(well, ill, gap);
        if self.now.throttled < SOLID {
            if self.now.answers > SOLID.saturating_mul(RARE) {
                (self.now, self.before) = (Tally::default(), None);
            }
            return None;
        }
        let wide = core::mem::take(&mut self.now);
        if wide.taken() < WHOLE / 2 {
            // Far too fast, whatever else.
            self.before = None;
            return None;
        }
        let Some(narrow) = self.before else {
            self.before = Some(wide);
            return None;
        };
        if wide.gap() <= narrow.gap() {
            self.before = Some(wide);
        }
        if wide.gap() < narrow.gap().saturating_add(narrow.gap() / 4) {
            return None;
        }
        // Of a rate more would be taken: as many more as the gap is wider, or all.
        let of_rate = u64::from(narrow.taken()).saturating_mul(wide.gap()) / narrow.gap().max(1);
        let of_rate = u32::try_from(of_rate).unwrap_or(WHOLE).min(WHOLE);
        if wide.taken() >= narrow.taken().midpoint(of_rate) {
            self.before = Some(wide);
            return None;
        }
        let share = WHOLE.saturating_sub(wide.taken().midpoint(narrow.taken()));
        *self = Self { share, credit: BAD_LUCK, found_at: now, ..Self::default() };
        Some(narrow.first_gap)
    }
}

impl Tally {
    fn add(&mut self, well: u32, ill: u32, gap: u64) {
        if self.answers == 0 {
            self.first_gap = gap;
        }
        let answers = well.saturating_add(ill);
        self.answers = self.answers.saturating_add(answers);
        self.throttled = self.throttled.saturating_add(ill);
        self.gaps = self.gaps.saturating_add(u128::from(gap) * u128::from(answers));
    }

    /// The mean gap.
    fn gap(&self) -> u64 {
        u64::try_from(self.gaps / u128::from(self.answers.max(1))).unwrap_or(u64::MAX)
    }

    /// How many of [`WHOLE`] answers were not throttled.
    fn taken(&self) -> u32 {
        let taken = u64::from(self.answers.saturating_sub(self.throttled)) * u64::from(WHOLE);
        u32::try_from(taken / u64::from(self.answers.max(1))).unwrap_or(WHOLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_000);

    /// The gap that was as good as the last, once so many of ten were throttled with each of these gaps.
    fn found(shares: &[(u32, u64)]) -> (Chance, Option<u64>) {
        let mut chance = Chance::default();
        let mut found = None;
        for (ill, gap) in shares {
            for _ in 0..SOLID {
                found = found.or(chance.is_found(10 - ill, *ill, *gap, NOW));
            }
        }
        (chance, found)
    }

    #[test]
    fn as_many_throttled_with_a_wider_gap_are_chance() {
        assert_eq!(found(&[(3, 1_000), (3, 1_300)]).1, Some(1_000));
        assert_eq!(found(&[(1, 1_000), (1, 1_300)]).1, Some(1_000));
        assert_eq!(found(&[(1, 1_000), (2, 1_300)]).1, Some(1_000), "more, and sooner so many");
    }

    #[test]
    fn fewer_throttled_with_a_wider_gap_are_a_limit() {
        assert_eq!(
            found(&[(4, 1_000), (2, 1_300)]).1,
            None,
            "a quarter fewer calls are throttled by a quarter less"
        );
        assert_eq!(found(&[(3, 1_000), (0, 1_300), (0, 3_000)]).1, None);
        assert_eq!(found(&[(5, 1_000), (4, 1_300)]).1, None, "a fifth more is taken by a quarter less");
    }

    #[test]
    fn what_a_limit_leaves_may_be_chance() {
        assert_eq!(found(&[(4, 1_000), (2, 1_300), (2, 1_700)]).1, Some(1_300));
    }

    #[test]
    fn as_many_throttled_with_the_same_gap_say_nothing() {
        assert_eq!(found(&[(3, 1_000), (3, 1_200)]).1, None);
        assert_eq!(found(&[(3, 1_000), (3, 700)]).1, None);
    }

    #[test]
    fn where_most_are_throttled_it_is_not_chance() {
        assert_eq!(found(&[(6, 1_000), (6, 1_300), (6, 2_000)]).1, None);
    }

    #[test]
    fn what_chance_explains_is_what_was_found_and_half_more() {
        let (found, _) = found(&[(2, 1_000), (2, 1_300)]);
        let unlucky = |ill: u32| {
            let mut chance = found;
            (0..1_000).all(|_| {
                (ill..10).for_each(|_| chance.answered());
                (0..ill).all(|_| chance.explains(NOW))
            })
        };
        assert!(unlucky(2));
        assert!(unlucky(3), "half more");
        assert!(!unlucky(4), "more than it was is not chance");
    }

    #[test]
    fn chance_explains_eight_in_a_row() {
        let (mut chance, _) = found(&[(1, 1_000), (1, 1_300)]);
        // What they bring themselves is less than two more.
        let in_a_row = (0..100).take_while(|_| chance.explains(NOW)).count();
        assert!((8..10).contains(&in_a_row), "{in_a_row}");
    }

    #[test]
    fn one_of_some_thousands_is_nothing_to_look_into() {
        for (answers, is_found) in [(400, true), (4_200, false)] {
            let mut chance = Chance::default();
            let gaps = [[1_000; 8], [1_300; 8]].concat();
            let found = gaps.iter().find_map(|gap| chance.is_found(answers, 1, *gap, NOW));
            assert_eq!(found.is_some(), is_found, "one of {answers}");
        }
    }

    #[test]
    fn it_is_believed_for_a_minute() {
        let (mut chance, _) = found(&[(3, 1_000), (3, 1_300)]);
        assert!(chance.explains(NOW.plus_nanos(BELIEVED)));
        assert!(!chance.explains(NOW.plus_nanos(BELIEVED + 1)));
        assert!(!chance.is_known());
    }

    #[test]
    fn little_widens_the_gap_by_half_at_most_unless_nothing_is_taken() {
        let mut chance = Chance::default();
        assert_eq!(chance.is_found(0, 3, 1_000, NOW), None);
        assert_eq!(chance.widest(), u64::MAX);
        assert_eq!(chance.is_found(1, 1, 1_400, NOW), None);
        assert_eq!(chance.widest(), 1_500);
    }
}
