//! The tables of docs/costs.md and docs/choosing-a-timeout.md, computed anew.

use sqs_lease_core::{
    Action, Answer, Event, Failure, Lease, LeaseSet, Moment, Policy, Received, SetPolicy, StopReason,
    Visibility,
};

use super::{page, table};

const EXTENSIONS: &str = "| T | alone | in full calls |";
const SHARED: &str = "| leases | `coalesce(0)` | `coalesce(10)`, the default | `coalesce(25)` |";
const MONEY: &str =
    "| leases | T | calls a second, full | USD a month, each alone | USD a month, full calls |";
const LIMITS: &str = "| queue | limit | leases with T = 30 s, alone | in full calls |";
const OUTAGES: &str = "| timeout | first attempt | last attempt | told, if all fail | SQS may hand it on | outage bridged at any time |";

/// Checks a table row by row: what each is expected to be follows from its first cells.
fn check(page_name: &str, header: &str, row: impl Fn(&[String]) -> Vec<String>) {
    let rows = table(&page(page_name), header);
    let expected: Vec<_> = rows.iter().map(|cells| row(cells)).collect();
    let show = |rows: &[Vec<String>]| rows.iter().map(|it| it.join(" | ")).collect::<Vec<_>>().join("\n");
    assert!(rows == expected, "docs/{page_name} has\n{}\n\nit comes to\n{}", show(&rows), show(&expected));
}

fn number(cell: &str) -> f64 {
    cell.split(" and ")
        .next()
        .unwrap()
        .replace(' ', "")
        .parse()
        .unwrap_or_else(|_| panic!("no number: {cell}"))
}

/// `30 s`, `1 h`.
fn seconds(cell: &str) -> u32 {
    let (number, unit) = cell.split_once(' ').unwrap();
    number.parse::<u32>().unwrap() * if unit == "h" { 3_600 } else { 1 }
}

/// What a lease is extended in an hour, counted on a lease.
fn extensions_an_hour(timeout: u32) -> f64 {
    let start = Moment::from_secs(1_000);
    let mut lease = Lease::new(&Policy::new(), Received::new(start, Visibility::new(timeout).unwrap()));
    let mut count = 0;
    while let Some(now) =
        lease.poll_timeout().filter(|now| *now <= start + std::time::Duration::from_hours(10))
    {
        if let Some(Action::Extend(extend)) = lease.poll(now) {
            lease.handle_answer(extend.attempt.id, Ok(()), now);
            count += 1;
        }
    }
    f64::from(count) / 10.0
}

/// As it is written: without a fraction that is zero.
fn short(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Thousands apart, from four digits on where there is no fraction.
fn spaced(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[test]
fn calls_an_hour() {
    check("costs.md", EXTENSIONS, |cells| {
        let alone = extensions_an_hour(seconds(&cells[0]));
        vec![cells[0].clone(), short(alone, 1), short(alone / 10.0, 1)]
    });
}

#[test]
fn calls_an_hour_for_each_lease_where_calls_are_shared() {
    check("costs.md", SHARED, |cells| {
        let leases = cells[0].split(' ').next().unwrap().parse().unwrap();
        let of = |percent| format!("{:.0}", shared(leases, percent));
        vec![cells[0].clone(), of(0), of(10), of(25)]
    });
}

/// Calls an hour for each lease: the mean over ten sets of deliveries that were received at random within a timeout.
fn shared(leases: u32, percent: u8) -> f64 {
    const SETS: u32 = 10;
    const HALF_AN_HOUR: u64 = 1_800_000_000;
    let calls: u32 = (0..u64::from(SETS))
        .map(|seed| {
            let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            let mut random = || {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (dice >> 33) % 30_000_000
            };
            let us = |us: u64| Moment::from_secs(1_000) + std::time::Duration::from_micros(us);
            let mut set = LeaseSet::new(SetPolicy::new().coalesce(percent).unwrap());
            let mut arrivals: Vec<_> = (0..leases).map(|_| random()).collect();
            arrivals.sort_unstable();
            let mut arrivals = arrivals.into_iter().peekable();
            let mut open = std::collections::VecDeque::new();
            let end = us(2 * HALF_AN_HOUR);
            let mut calls = 0;
            loop {
                // What comes next: a delivery, an answer 20 ms after its call, or what the set has planned.
                let arrival = arrivals.peek().map(|at| us(*at));
                let answer = open.front().map(|(at, _)| *at);
                let now = [arrival, answer, set.poll_timeout()].into_iter().flatten().min().unwrap();
                if now >= end {
                    return calls;
                }
                if arrival == Some(now) {
                    arrivals.next();
                    set.insert(&Policy::new(), Received::new(now, Visibility::new(30).unwrap()), (), now);
                } else if answer == Some(now) {
                    let (_, call) = open.pop_front().unwrap();
                    set.handle_answer(call, Answer::Done, now);
                }
                while let Some(event) = set.poll_event(now) {
                    assert!(matches!(event, Event::Extended { .. }), "{event:?}");
                }
                while let Some(call) = set.poll_call(now) {
                    open.push_back((now + std::time::Duration::from_millis(20), call.id));
                    calls += u32::from(now >= us(HALF_AN_HOUR));
                }
            }
        })
        .sum();
    f64::from(calls) * 2.0 / f64::from(SETS) / f64::from(leases)
}

#[test]
fn money() {
    check("costs.md", MONEY, |cells| {
        let leases = number(&cells[0]);
        let calls = leases * extensions_an_hour(seconds(&cells[1]));
        let month = calls * 730.0 * 0.40 / 1e6;
        let usd = |usd: f64| if usd < 10.0 { format!("{usd:.2}") } else { spaced(usd) };
        let a_second = calls / 10.0 / 3_600.0;
        let a_second =
            if leases < 2.0 { "–".to_owned() } else { short(a_second, usize::from(a_second < 10.0)) };
        let full = if leases < 2.0 { "–".to_owned() } else { usd(month / 10.0) };
        vec![cells[0].clone(), cells[1].clone(), a_second, usd(month), full]
    });
    let text = page("costs.md");
    let twelve_hours = extensions_an_hour(30) * 12.0;
    let sentence = format!("{} extensions, {:.5} USD alone", spaced(twelve_hours), twelve_hours * 0.40 / 1e6);
    assert!(text.contains(&sentence), "{sentence}");
}

#[test]
fn limits_of_a_fifo_queue() {
    check("costs.md", LIMITS, |cells| {
        let [queue, limit, ..] = cells else { panic!("two columns at least") };
        let most = |calls: f64| spaced(calls / (extensions_an_hour(30) / 3_600.0));
        let (alone, full) = if queue == "standard" {
            (spaced(120_000.0), spaced(120_000.0))
        } else {
            (most(300.0), most(3_000.0))
        };
        vec![queue.clone(), limit.clone(), alone, full]
    });
}

#[test]
fn outages() {
    check("choosing-a-timeout.md", OUTAGES, |cells| {
        let timeout = seconds(&cells[0]);
        let start = Moment::from_secs(1_000);
        let mut lease = Lease::new(&Policy::new(), Received::new(start, Visibility::new(timeout).unwrap()));
        let (mut attempts, mut told) = (Vec::new(), None);
        while let Some(now) = lease.poll_timeout() {
            match lease.poll(now) {
                Some(Action::Extend(extend)) => {
                    attempts.push(now - start);
                    lease.handle_answer(extend.attempt.id, Err(Failure::Transient), now);
                }
                Some(Action::Stop(reason)) => {
                    assert_eq!(reason, StopReason::Expired);
                    told = Some(now - start);
                }
                _ => {}
            }
        }
        let (first, last) = (attempts[0], *attempts.last().unwrap());
        let minutes = timeout >= 3_600;
        let time = |it: std::time::Duration| {
            let (number, unit) =
                if minutes { (it.as_secs_f64() / 60.0, "min") } else { (it.as_secs_f64(), "s") };
            format!("{} {unit}", short(number, 2))
        };
        let end = std::time::Duration::from_secs(timeout.into());
        vec![
            cells[0].clone(),
            time(first),
            time(last),
            time(told.unwrap()),
            time(end),
            time(last.saturating_sub(first)),
        ]
    });
}
