use std::time::Duration;

use sqs_lease_core::Moment;

use crate::model::{Error, ErrorKind, mix};

/// A network between a client and SQS that loses, delays and refuses, all of it from one seed.
///
/// Sans-IO: ask it for the [`Trip`] of each request, in the order in which they are sent, and carry that out in
/// whatever time there is. The same seed gives the same trips.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{Fate, Moment, Network, Weather};
///
/// let weather = Weather::calm().latency(Duration::from_millis(5), Duration::from_millis(80)).lost_answers(100);
/// let mut network = Network::new(weather, 7);
/// let trips: Vec<_> = (0..1_000).map(|_| network.trip(Moment::ORIGIN)).collect();
/// let lost = trips.iter().filter(|trip| trip.fate == Fate::AnswerLost).count();
/// assert!((50..150).contains(&lost), "a tenth of them: {lost}");
/// assert!(trips.iter().all(|trip| trip.there <= Duration::from_millis(80)));
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    weather: Weather,
    seed: u64,
    drawn: u64,
}

/// How bad a [`Network`] is. Rates are in a thousand requests.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{Moment, Weather};
///
/// let at = Moment::from_secs;
/// let bad = Weather::calm()
///     .latency(Duration::from_millis(5), Duration::from_millis(80))
///     .throttled(50) // a twentieth of all requests
///     .refused_entries(10)
///     .outage(at(60), at(90));
/// # let _ = bad;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weather {
    shortest: Duration,
    longest: Duration,
    lost_requests: u32,
    lost_answers: u32,
    broken: u32,
    throttled: u32,
    failed: u32,
    refused_entries: u32,
    outages: Vec<(Moment, Moment)>,
}

/// What becomes of one request.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{Fate, Model, Moment, Network, Receive, Weather};
///
/// let way = Duration::from_millis(100);
/// let mut network = Network::new(Weather::calm().latency(way, way), 1);
/// let mut sqs = Model::default();
/// let now = Moment::from_secs(1);
/// sqs.create_queue("jobs", &[], now)?;
///
/// // A request that is sent now is carried out later, and its answer comes later still.
/// let trip = network.trip(now);
/// assert_eq!(trip.fate, Fate::Arrives);
/// let answer = sqs.receive("jobs", &Receive::new(), now + trip.there)?;
/// assert!(answer.is_empty());
/// assert_eq!(now + trip.there + trip.back, Moment::from_millis(1_200));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trip {
    /// How long the request takes to SQS.
    pub there: Duration,
    /// How long the answer takes back. SQS counts a visibility timeout from before that.
    pub back: Duration,
    /// What happens on the way.
    pub fate: Fate,
    /// The entries of a batch that fail without effect, each for itself: bit 0 for the first.
    pub refused_entries: u16,
}

/// What happens to a request on its way.
///
/// ```
/// use sqs_lease_sim::Fate;
///
/// /// Whether SQS has done what it was asked for. A client that gets no answer cannot tell.
/// fn has_its_effect(fate: &Fate) -> bool {
///     matches!(fate, Fate::Arrives | Fate::AnswerLost | Fate::BrokenAfter)
/// }
/// # assert!(has_its_effect(&Fate::AnswerLost) && !has_its_effect(&Fate::RequestLost));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It arrives, and so does its answer.
    Arrives,
    /// It never arrives, and nobody says so: the call does not return.
    RequestLost,
    /// It has its effect, and the answer never arrives: the call does not return.
    AnswerLost,
    /// The connection breaks before the request arrives.
    BrokenBefore,
    /// The connection breaks when the request has had its effect.
    BrokenAfter,
    /// It is refused without effect: throttled, or SQS is in trouble.
    Refused(Error),
}

impl Weather {
    /// No faults and no latency.
    pub fn calm() -> Self {
        Self {
            shortest: Duration::ZERO,
            longest: Duration::ZERO,
            lost_requests: 0,
            lost_answers: 0,
            broken: 0,
            throttled: 0,
            failed: 0,
            refused_entries: 0,
            outages: Vec::new(),
        }
    }

    /// How long each way takes.
    #[must_use]
    pub fn latency(mut self, shortest: Duration, longest: Duration) -> Self {
        (self.shortest, self.longest) = (shortest, longest.max(shortest));
        self
    }

    /// So many requests in a thousand are lost on the way there: [`Fate::RequestLost`].
    #[must_use]
    pub fn lost_requests(mut self, per_mille: u32) -> Self {
        self.lost_requests = per_mille;
        self
    }

    /// So many answers in a thousand are lost on the way back: [`Fate::AnswerLost`].
    #[must_use]
    pub fn lost_answers(mut self, per_mille: u32) -> Self {
        self.lost_answers = per_mille;
        self
    }

    /// So many connections in a thousand break, half of them when the request has had its effect.
    #[must_use]
    pub fn broken(mut self, per_mille: u32) -> Self {
        self.broken = per_mille;
        self
    }

    /// So many requests in a thousand are throttled: `RequestThrottled` (403) as SQS's model has it, or
    /// `ThrottlingException` (400) as its FIFO guide names it.
    #[must_use]
    pub fn throttled(mut self, per_mille: u32) -> Self {
        self.throttled = per_mille;
        self
    }

    /// So many requests in a thousand meet SQS in trouble: 500 or 503.
    #[must_use]
    pub fn failed(mut self, per_mille: u32) -> Self {
        self.failed = per_mille;
        self
    }

    /// So many entries of batches in a thousand fail for themselves, by SQS's fault.
    #[must_use]
    pub fn refused_entries(mut self, per_mille: u32) -> Self {
        self.refused_entries = per_mille;
        self
    }

    /// From one moment to another everything that is sent is lost.
    #[must_use]
    pub fn outage(mut self, from: Moment, until: Moment) -> Self {
        self.outages.push((from, until));
        self
    }
}

impl Network {
    /// A network of this weather, decided by this seed.
    pub fn new(weather: Weather, seed: u64) -> Self {
        Self { weather, seed, drawn: 0 }
    }

    /// What becomes of the request that is sent at `now`.
    pub fn trip(&mut self, now: Moment) -> Trip {
        let (there, back) = (self.latency(), self.latency());
        let refused_entries = (0..10).filter(|_| self.happens(self.weather.refused_entries)).count();
        let refused_entries = (0..refused_entries).fold(0, |bits, _| bits | 1 << (self.draw() % 10));
        Trip { there, back, fate: self.fate(now), refused_entries }
    }

    fn fate(&mut self, now: Moment) -> Fate {
        if self.weather.outages.iter().any(|&(from, until)| from <= now && now < until) {
            return Fate::RequestLost;
        }
        if self.happens(self.weather.lost_requests) {
            return Fate::RequestLost;
        }
        if self.happens(self.weather.lost_answers) {
            return Fate::AnswerLost;
        }
        let coin = self.draw() & 1 == 0;
        if self.happens(self.weather.broken) {
            return if coin { Fate::BrokenBefore } else { Fate::BrokenAfter };
        }
        if self.happens(self.weather.throttled) {
            return Fate::Refused(if coin {
                Error::new(ErrorKind::Throttled, "Request is throttled.")
            } else {
                Error::injected(400, "ThrottlingException", "Rate exceeded")
            });
        }
        if self.happens(self.weather.failed) {
            return Fate::Refused(if coin {
                Error::new(ErrorKind::InternalFailure, "The request has failed because of an unknown error.")
            } else {
                Error::new(ErrorKind::ServiceUnavailable, "The service is unavailable.")
            });
        }
        Fate::Arrives
    }

    fn latency(&mut self) -> Duration {
        let Weather { shortest, longest, .. } = self.weather;
        let span = longest.saturating_sub(shortest).as_nanos() + 1;
        shortest + Duration::from_nanos(u64::try_from(u128::from(self.draw()) % span).unwrap_or(0))
    }

    fn happens(&mut self, per_mille: u32) -> bool {
        self.draw() % 1_000 < u64::from(per_mille)
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed ^ mix(self.drawn))
    }
}

/// The clock of a client: fast or slow against SQS's, and of a client that is stopped now and then (a paused virtual
/// machine, a suspended laptop). It counts while it is stopped, as `CLOCK_BOOTTIME` does.
///
/// ```
/// use std::time::Duration;
/// use sqs_lease_sim::{ClientClock, Moment};
///
/// let at = Moment::from_secs;
/// let clock = ClientClock::new(at(1_000)).ppm(-200).stopped(at(2_000), at(2_060));
/// // A thousand seconds after the start it is a fifth of a second behind.
/// assert_eq!(clock.shows(at(2_000)), at(2_000) - Duration::from_millis(200));
/// assert_eq!(clock.when(clock.shows(at(1_500))), at(1_500));
/// // What it would have done in the middle of the stop, it does at its end.
/// assert_eq!(clock.awake(at(2_030)), at(2_060));
/// ```
#[derive(Clone, Debug)]
pub struct ClientClock {
    origin: Moment,
    ppm: i64,
    stops: Vec<(Moment, Moment)>,
}

impl ClientClock {
    /// A clock that agrees with SQS's at `origin`, and goes right.
    pub fn new(origin: Moment) -> Self {
        Self { origin, ppm: 0, stops: Vec::new() }
    }

    /// So many millionths too fast, or too slow where negative. Crystals are within 200.
    #[must_use]
    pub fn ppm(mut self, ppm: i32) -> Self {
        self.ppm = ppm.into();
        self
    }

    /// The client does nothing between these moments of SQS's clock.
    #[must_use]
    pub fn stopped(mut self, from: Moment, until: Moment) -> Self {
        self.stops.push((from, until));
        self.stops.sort_unstable();
        self
    }

    /// What it shows at a moment of SQS's clock.
    pub fn shows(&self, at: Moment) -> Moment {
        self.origin + scaled(at.since(self.origin), 1_000_000 + self.ppm, 1_000_000)
    }

    /// The first moment of SQS's clock at which it shows this.
    pub fn when(&self, shown: Moment) -> Moment {
        let at = self.origin + scaled(shown.since(self.origin), 1_000_000, 1_000_000 + self.ppm);
        // Both round down.
        let behind = (0..3).map(|by| at + Duration::from_nanos(by)).find(|at| self.shows(*at) >= shown);
        behind.unwrap_or(at)
    }

    /// The first moment, `at` or later, at which the client is not stopped.
    pub fn awake(&self, at: Moment) -> Moment {
        self.stops.iter().fold(at, |at, &(from, until)| if from <= at && at < until { until } else { at })
    }
}

fn scaled(time: Duration, by: i64, of: i64) -> Duration {
    let (by, of) = (u128::from(by.unsigned_abs()), u128::from(of.unsigned_abs()).max(1));
    Duration::from_nanos(u64::try_from(time.as_nanos() * by / of).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(weather: Weather) -> Vec<Fate> {
        let mut network = Network::new(weather, 3);
        (0..2_000).map(|_| network.trip(Moment::ORIGIN).fate).collect()
    }

    #[test]
    fn each_fault_comes_as_often_as_it_is_asked_for() {
        let count = |fates: &[Fate], is: &dyn Fn(&Fate) -> bool| fates.iter().filter(|fate| is(fate)).count();
        let of = |weather: Weather, is: &dyn Fn(&Fate) -> bool| count(&fates(weather), is);
        let calm = Weather::calm;
        assert_eq!(of(calm(), &|fate| *fate == Fate::Arrives), 2_000);
        assert!((140..260).contains(&of(calm().lost_requests(100), &|fate| *fate == Fate::RequestLost)));
        assert!((140..260).contains(&of(calm().lost_answers(100), &|fate| *fate == Fate::AnswerLost)));
        assert!((50..150).contains(&of(calm().broken(100), &|fate| *fate == Fate::BrokenBefore)));
        assert!((50..150).contains(&of(calm().broken(100), &|fate| *fate == Fate::BrokenAfter)));
        let code =
            |code: &'static str| move |fate: &Fate| matches!(fate, Fate::Refused(it) if it.code() == code);
        for (weather, name) in [
            (calm().throttled(100), "RequestThrottled"),
            (calm().throttled(100), "ThrottlingException"),
            (calm().failed(100), "InternalFailure"),
            (calm().failed(100), "ServiceUnavailable"),
        ] {
            assert!((50..150).contains(&of(weather, &code(name))), "{name}");
        }
    }

    #[test]
    fn entries_are_refused_as_often_as_it_is_asked_for_and_at_every_place() {
        let mut network = Network::new(Weather::calm().refused_entries(20), 3);
        let mut refused = [0; 16];
        for _ in 0..2_000 {
            let trip = network.trip(Moment::ORIGIN);
            assert_eq!(trip.fate, Fate::Arrives, "the others are carried out");
            (0..16).filter(|i| trip.refused_entries >> i & 1 == 1).for_each(|i| refused[i] += 1);
        }
        assert!(refused[..10].iter().all(|count| (15..70).contains(count)), "{refused:?}");
        assert_eq!(refused[10..], [0; 6]);
    }

    #[test]
    fn each_way_takes_its_time_and_no_longer() {
        let (shortest, longest) = (Duration::from_millis(5), Duration::from_millis(80));
        let mut network = Network::new(Weather::calm().latency(shortest, longest), 3);
        let trips: Vec<_> = (0..2_000).map(|_| network.trip(Moment::ORIGIN)).collect();
        let of: [fn(&Trip) -> Duration; 2] = [|trip| trip.there, |trip| trip.back];
        for ways in of.map(|way| trips.iter().map(way).collect::<Vec<_>>()) {
            let (least, most) = (ways.iter().min().unwrap(), ways.iter().max().unwrap());
            assert!(
                shortest <= *least && *least < shortest * 2 && longest / 10 * 9 < *most && *most <= longest
            );
        }
    }

    #[test]
    fn an_outage_loses_all_of_it_and_nothing_else() {
        let at = Moment::from_secs;
        let mut network = Network::new(Weather::calm().outage(at(5), at(7)), 0);
        let lost: Vec<_> = (4..9).map(|now| network.trip(at(now)).fate == Fate::RequestLost).collect();
        assert_eq!(lost, [false, true, true, false, false]);
    }

    #[test]
    fn a_clock_shows_what_it_was_asked_to_wait_for() {
        for ppm in [-200, 0, 200] {
            let clock = ClientClock::new(Moment::from_secs(7)).ppm(ppm);
            for nanos in [7_000_000_000, 7_000_000_001, 9_123_456_789, 50_000_000_000_003] {
                let shown = Moment::from_nanos(nanos);
                let at = clock.when(shown);
                assert!(clock.shows(at) >= shown);
                assert!(
                    at == Moment::from_secs(7) || clock.shows(at - Duration::from_nanos(2)) <= shown,
                    "{ppm} {nanos}"
                );
            }
        }
    }
}
