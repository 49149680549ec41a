//! Serves a simulated SQS until it is killed.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use sqs_lease_sim::{Server, Settings};

const USAGE: &str = "\
Serves a simulated Amazon SQS until it is killed.

Usage: sqs-lease-sim serve [OPTIONS]

  --port N              listen on this port (9324 unless told otherwise; 0 for any that is free)
  --bind ADDRESS        listen on this address (127.0.0.1 unless told otherwise)
  --allow-non-loopback  let it listen where other machines reach it; whoever does may move its clock
  --endpoint URL        what queue URLs begin with, where clients know the server by another address
  --limit SECS          how long a message can be held after its receive (43200 unless told otherwise)
  --manual-clock        time stands still but for POST /clock/advance?seconds=N, which moves a running clock forward, too
  --choose POINT=WAY    what to do on a point where public sources on SQS disagree; may be repeated
  --choices             lists those points, each with its default first, and ends
  --record EVENTS       how many events of messages to keep for GET /truth (1000000 unless told otherwise; 0 for none)

Its first line says where it listens. Give that to a client as endpoint URL, with any credentials and any region.
GET on that address says how a test moves the clock, adds faults, and asks for the truth.";

struct Options {
    port: u16,
    bind: IpAddr,
    allow_non_loopback: bool,
    endpoint: Option<String>,
    limit: u64,
    manual_clock: bool,
    record: usize,
    settings: Settings,
}

fn main() -> ExitCode {
    match read(std::env::args().skip(1)).and_then(|options| options.map_or(Ok(()), serve)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("sqs-lease-sim: {message}");
            ExitCode::FAILURE
        }
    }
}

/// None where only help was asked for.
fn read(arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        port: 9_324,
        bind: Ipv4Addr::LOCALHOST.into(),
        allow_non_loopback: false,
        endpoint: None,
        limit: 43_200,
        manual_clock: false,
        record: 1_000_000,
        settings: Settings::default(),
    };
    let mut arguments = arguments.peekable();
    // The one command there is; it may be left out.
    arguments.next_if(|first| first == "serve");
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next();
        match &*argument {
            "--port" => options.port = parse("--port", "a number from 0 to 65535", value())?,
            "--bind" => options.bind = parse("--bind", "an IP address", value())?,
            "--allow-non-loopback" => options.allow_non_loopback = true,
            "--endpoint" => options.endpoint = Some(parse("--endpoint", "a URL", value())?),
            "--limit" => options.limit = parse("--limit", "a number of seconds", value())?,
            "--manual-clock" => options.manual_clock = true,
            "--record" => options.record = parse("--record", "a number of events", value())?,
            "--choose" => {
                let choice: String = parse("--choose", "POINT=WAY", value())?;
                let (point, way) = choice
                    .split_once('=')
                    .ok_or_else(|| format!("--choose wants POINT=WAY, not '{choice}'"))?;
                options.settings = options.settings.choose(point, way)?;
            }
            "--choices" => {
                for (point, ways) in Settings::disputed() {
                    say(&format!("{point}={}", ways.join("|")));
                }
                return Ok(None);
            }
            "--help" | "-h" => {
                say(USAGE);
                return Ok(None);
            }
            other => return Err(format!("'{other}' is no option\n\n{USAGE}")),
        }
    }
    Ok(Some(options))
}

/// Prints a line; whoever closes the output has read enough.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn parse<T: FromStr>(option: &str, wanted: &str, value: Option<String>) -> Result<T, String> {
    let value = value.ok_or_else(|| format!("{option} wants {wanted}"))?;
    value.parse().map_err(|_| format!("{option} wants {wanted}, not '{value}'"))
}

fn serve(options: Options) -> Result<(), String> {
    let limit = Duration::from_secs(options.limit);
    // It may run for days: what is recorded has an end.
    let settings = options.settings.limit(limit).record_at_most(options.record);
    let mut builder = Server::builder().settings(settings).bind(options.bind).port(options.port);
    if options.manual_clock {
        builder = builder.manual_clock();
    }
    if options.allow_non_loopback {
        builder = builder.allow_beyond_loopback();
    }
    if let Some(endpoint) = options.endpoint {
        builder = builder.endpoint(endpoint.trim_end_matches('/'));
    }
    let (bind, port) = (options.bind, options.port);
    let server = builder.start().map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => format!(
            "--bind {bind} is not a loopback address: leave it out for 127.0.0.1, or add --allow-non-loopback to let \
             other machines in"
        ),
        _ => format!("cannot listen on {bind}, port {port}: {error}"),
    })?;
    let mut out = std::io::stdout();
    let beyond =
        if bind.is_loopback() { String::new() } else { format!(", and as {bind} for other machines") };
    // Whoever started this with its output closed goes without the line.
    let _ = writeln!(out, "sqs-lease-sim listens on {}{beyond}", server.endpoint_url())
        .and_then(|()| out.flush());
    loop {
        std::thread::park();
    }
}
