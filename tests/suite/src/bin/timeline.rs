//! Draws what became of a message's deliveries: `timeline FILE.lease`, `timeline FILE.seed`, `timeline --seed N`.

use std::process::ExitCode;

use sqs_lease_suite::simulation::Scenario;
use sqs_lease_suite::timeline::Timeline;

const USAGE: &str = "\
usage: timeline FILE > FILE.svg
       timeline --seed N [--messages N] [--consumers N] [--with FEATURE,...] > FILE.svg

FILE.lease is a transcript: its delivery is drawn, with another consumer that asks for the message meanwhile. FILE.seed
is a scenario as `simulate` prints it, and --seed is the same without a file: the message with the most deliveries is
drawn. The title is the file's first line, if that is a comment.";

fn main() -> ExitCode {
    match draw() {
        Ok(svg) => {
            print!("{svg}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("timeline: {message}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn draw() -> Result<String, String> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let timeline = match &*arguments {
        [file] if !file.starts_with('-') => {
            let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
            Timeline::of_file(file, &text).map_err(|error| format!("{file}: {error}"))?
        }
        [] => return Err("what is to be drawn?".to_owned()),
        _ => {
            let scenario = Scenario::parse(&arguments.join(" "))?;
            Timeline::of_simulation(&scenario.to_string(), &scenario)?
        }
    };
    Ok(timeline.to_svg())
}
