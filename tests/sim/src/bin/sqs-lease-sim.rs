//! Serves a simulated SQS on loopback until it is killed.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use sqs_lease_sim::{Server, Settings};

const USAGE: &str = "\
Serves a simulated Amazon SQS on 127.0.0.1 until it is killed.

Usage: sqs-lease-sim serve [--port N] [--limit SECS] [--manual-clock]

  --port N      listen on this port (9324 unless told otherwise; 0 for any that is free)
  --limit SECS  how long a message can be held after its receive (43200 unless told otherwise)
  --manual-clock  time stands still but for POST /clock/advance?seconds=N, which moves a running clock forward, too

Its first line says where it listens. Give that to a client as endpoint URL, with any credentials and any region.";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("sqs-lease-sim: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut port, mut limit) = (9_324, 43_200);
    let mut manual = false;
    let mut arguments = std::env::args().skip(1).peekable();
    // The one command there is; it may be left out.
    arguments.next_if_eq("serve");
    while let Some(argument) = arguments.next() {
        let mut number = |what: &str| {
            let value = arguments.next().ok_or(format!("{what} wants a number"))?;
            value.parse::<u64>().map_err(|_| format!("{what} wants a number, not '{value}'"))
        };
        match &*argument {
            "--port" => {
                port = number("--port")?.try_into().map_err(|_| "--port goes to 65535".to_owned())?;
            }
            "--limit" => limit = number("--limit")?,
            "--manual-clock" => manual = true,
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            other => return Err(format!("'{other}' is no option\n\n{USAGE}")),
        }
    }
    // It may run for days: no record of what happened to each message.
    let settings = Settings::default().limit(Duration::from_secs(limit)).record(false);
    let builder = Server::builder().settings(settings).port(port);
    let builder = if manual { builder.manual_clock() } else { builder };
    let server = builder.start().map_err(|error| format!("cannot listen on 127.0.0.1:{port}: {error}"))?;
    let mut out = std::io::stdout();
    // Whoever started this with its output closed goes without the line.
    let _ = writeln!(out, "sqs-lease-sim listens on {}", server.endpoint_url()).and_then(|()| out.flush());
    loop {
        std::thread::park();
    }
}
