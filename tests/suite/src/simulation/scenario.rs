use std::fmt;
use std::time::Duration;

use sqs_lease_sim::{ClientClock, Moment, Settings, Weather};

use crate::virtual_time::VirtualTime;

/// Something that can be taken out of a scenario to see whether it fails without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Feature {
    /// Requests and answers that are lost, connections that break.
    Losses,
    /// Throttling, 500 and 503, entries that are refused.
    Refusals,
    /// Times in which everything is lost.
    Outages,
    /// Calls that take longer than the guard, up to seconds.
    SlowCalls,
    /// Clients that stop for a while.
    Stops,
    /// Clocks that go wrong.
    Drift,
    /// Consumers that die.
    Crashes,
    /// Duplicates, and timeouts that end early or late.
    Disorder,
    /// A dead-letter queue.
    Redrive,
    /// A FIFO queue.
    Fifo,
    /// An extension other than the timeout.
    Extension,
    /// Another choice than the default where public sources on SQS disagree, and a FIFO queue with a pace.
    Disputed,
    /// Handlers that hear of no loss and go on: a bug, for tests of what is to find one. No seed has it.
    Deaf,
}

impl Feature {
    /// All that a seed may have.
    pub const ALL: [Self; 12] = [
        Self::Losses,
        Self::Refusals,
        Self::Outages,
        Self::SlowCalls,
        Self::Stops,
        Self::Drift,
        Self::Crashes,
        Self::Disorder,
        Self::Redrive,
        Self::Fifo,
        Self::Extension,
        Self::Disputed,
    ];

    /// The feature of this name, as `Debug` writes it, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .chain([Self::Deaf])
            .find(|feature| format!("{feature:?}").eq_ignore_ascii_case(name))
    }
}

/// One run: what there is to do, and what goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Decides everything below, and each chance in the run.
    pub seed: u64,
    /// How many messages are sent.
    pub messages: u32,
    /// How many consumers work on them.
    pub consumers: u32,
    /// What is in it; a feature takes part in about a third of the seeds.
    pub features: Vec<Feature>,
}

impl Scenario {
    /// The scenario of a seed, with at most so many messages.
    pub fn of_seed(seed: u64, at_most: u32) -> Self {
        let mut dice = Dice::new(seed, 0);
        let messages = 1 + dice.below(at_most.into());
        let consumers = 1 + dice.below(4);
        let features = Feature::ALL.into_iter().filter(|_| dice.below(3) == 0).collect();
        Self { seed, messages: small(messages), consumers: small(consumers), features }
    }

    /// Reads one as [`Display`](fmt::Display) writes it; what is not named follows from the seed.
    ///
    /// # Errors
    /// A word that is none, or no seed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<_> = text.split_whitespace().collect();
        let value = |name: &str| words.iter().position(|it| *it == name).and_then(|at| words.get(at + 1));
        let number = |name: &str| {
            value(name).map(|it| it.parse().map_err(|_| format!("{name} does not take '{it}'"))).transpose()
        };
        if let Some(unknown) = words
            .chunks(2)
            .map(|pair| pair[0])
            .find(|it| !["--seed", "--messages", "--consumers", "--with"].contains(it))
        {
            return Err(format!("'{unknown}' is no option"));
        }
        let seed = number("--seed")?.ok_or("there is no --seed")?;
        let mut scenario = Self::of_seed(seed, 50);
        let small = |number: Option<u64>| number.and_then(|it| u32::try_from(it).ok());
        scenario.messages = small(number("--messages")?).unwrap_or(scenario.messages);
        scenario.consumers = small(number("--consumers")?).unwrap_or(scenario.consumers);
        if let Some(names) = value("--with") {
            let features = names.split(',').filter(|it| *it != "nothing");
            let features =
                features.map(|it| Feature::parse(it).ok_or_else(|| format!("there is no feature '{it}'")));
            scenario.features = features.collect::<Result<_, _>>()?;
        }
        Ok(scenario)
    }

    /// Whether it has this.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The same with this, too.
    #[must_use]
    pub fn with(&self, feature: Feature) -> Self {
        let mut features = self.without(feature).features;
        features.push(feature);
        Self { features, ..self.clone() }
    }

    /// The same without this.
    #[must_use]
    pub fn without(&self, feature: Feature) -> Self {
        let features = self.features.iter().copied().filter(|it| *it != feature).collect();
        Self { features, ..self.clone() }
    }

    pub(crate) fn dice(&self, purpose: u64) -> Dice {
        Dice::new(self.seed, 1 + purpose)
    }

    /// The visibility timeout in seconds.
    pub(crate) fn timeout(&self) -> u32 {
        [2, 3, 5, 10, 30, 30, 60, 120, 600, 3_600][self.dice(1).index(10)]
    }

    pub(crate) fn extension(&self) -> Option<u32> {
        let factor = [1, 2, 3][self.dice(2).index(3)];
        let extension = if self.dice(3).below(2) == 0 { self.timeout() / 2 } else { self.timeout() * factor };
        self.has(Feature::Extension).then_some(extension.clamp(2, 3_600))
    }

    /// The guard that every lease has at least.
    pub(crate) fn guard(&self) -> Duration {
        let span = self.extension().unwrap_or(u32::MAX).min(self.timeout());
        (Duration::from_secs(span.into()) / 20).min(Duration::from_secs(1))
    }

    /// After how many receives a message goes to the dead-letter queue.
    pub(crate) fn max_receives(&self) -> Option<u32> {
        self.has(Feature::Redrive).then(|| small(1 + self.dice(4).below(5)))
    }

    /// When the consumers take their last message.
    pub(crate) fn stop_at(&self) -> Moment {
        VirtualTime::START + self.span() * 20
    }

    /// When it is judged: what was received last has come to its end by then.
    pub(crate) fn end_at(&self) -> Moment {
        self.stop_at() + self.span() * 30 + Duration::from_mins(3)
    }

    pub(crate) fn span(&self) -> Duration {
        Duration::from_secs(self.timeout().max(self.extension().unwrap_or(0)).into())
    }

    /// Whether SQS keeps its promises: none of its timeouts ends early, and no message comes twice.
    pub(crate) fn is_orderly(&self) -> bool {
        // A FIFO queue has no such disorder.
        !self.has(Feature::Disorder) || self.has(Feature::Fifo)
    }

    /// How the simulated SQS behaves.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default().seed(self.seed);
        if self.has(Feature::Disorder) {
            settings = settings
                .duplicates(50)
                .lost_deletes(20)
                .missed_polls(100)
                .expiry(Duration::from_millis(200), Duration::from_secs(1));
        }
        if self.has(Feature::Disputed) {
            let mut dice = self.dice(800);
            for (point, ways) in Settings::disputed() {
                let way = ways[dice.index(ways.len() as u64)];
                settings = settings.choose(&point, way).expect("one of its own");
            }
            settings = settings
                .change_distance(dice.up_to(self.guard() * 2))
                .fifo_calls_per_second(small(5 + dice.below(300)));
        }
        settings
    }

    /// How long one way may take: less than half the guard, unless calls are slow.
    pub(crate) fn longest_way(&self) -> Duration {
        let quick = self.guard() * 2 / 5;
        if self.has(Feature::SlowCalls) {
            quick.max(Duration::from_secs(1 + self.dice(5).below(4)))
        } else {
            quick
        }
    }

    /// The network of one consumer's calls.
    pub(crate) fn weather(&self, consumer: u32) -> Weather {
        let mut dice = self.dice(100 + u64::from(consumer));
        let mut weather = Weather::calm().latency(Duration::from_millis(1), self.longest_way());
        let mut rate = |most| small(dice.below(most));
        if self.has(Feature::Losses) {
            weather = weather.lost_requests(rate(300)).lost_answers(rate(300)).broken(rate(300));
        }
        if self.has(Feature::Refusals) {
            weather = weather.throttled(rate(300)).failed(rate(300)).refused_entries(rate(200));
        }
        if self.has(Feature::Outages) {
            for _ in 0..=dice.below(4) {
                let from = dice.moment(self);
                weather = weather.outage(from, from + dice.up_to(self.span() * 2));
            }
        }
        weather
    }

    /// The network of its receives, whose answers always come back within the guard: what a lease needs.
    pub(crate) fn receive_weather(&self, consumer: u32) -> Weather {
        let quick = self.without(Feature::SlowCalls);
        quick.weather(consumer)
    }

    /// The clock of one consumer. What the guard leaves beside the way back of a receive is for the clock.
    pub(crate) fn clock(&self, consumer: u32) -> ClientClock {
        let mut dice = self.dice(200 + u64::from(consumer));
        let mut clock = ClientClock::new(VirtualTime::START);
        if self.has(Feature::Drift) {
            let span = self.span().as_nanos().max(1);
            let bearable = u64::try_from(self.guard().as_nanos() * 1_000_000 / 2 / span).unwrap_or(0);
            let ppm = i32::try_from(bearable.min(200)).unwrap_or(200);
            clock = clock.ppm(if dice.below(2) == 0 { ppm } else { -ppm });
        }
        if self.has(Feature::Stops) {
            for _ in 0..=dice.below(3) {
                let from = dice.moment(self);
                clock = clock.stopped(from, from + dice.up_to(self.span() * 2));
            }
        }
        clock
    }

    /// When one consumer dies, if it does.
    pub(crate) fn crash(&self, consumer: u32) -> Option<Moment> {
        let mut dice = self.dice(300 + u64::from(consumer));
        let at = dice.moment(self);
        (self.has(Feature::Crashes) && dice.below(2) == 0).then_some(at)
    }
}

/// As `simulate` takes it.
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--seed {} --messages {} --consumers {}", self.seed, self.messages, self.consumers)?;
        for (i, feature) in self.features.iter().enumerate() {
            let before = if i == 0 { " --with " } else { "," };
            write!(f, "{before}{}", format!("{feature:?}").to_lowercase())?;
        }
        if self.features.is_empty() { f.write_str(" --with nothing") } else { Ok(()) }
    }
}

/// Numbers from a seed, one sequence for each purpose, so that taking one thing out of a scenario moves nothing else.
pub(crate) struct Dice(u64);

impl Dice {
    fn new(seed: u64, purpose: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    /// `SplitMix64`.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn index(&mut self, len: u64) -> usize {
        usize::try_from(self.below(len)).unwrap_or(0)
    }

    pub(crate) fn up_to(&mut self, longest: Duration) -> Duration {
        Duration::from_nanos(self.below(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// A moment while messages are taken.
    fn moment(&mut self, scenario: &Scenario) -> Moment {
        VirtualTime::START + self.up_to(scenario.span() * 20)
    }
}

pub(crate) fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
