//! Plays transcripts: `transcript [--set | --reference] FILE...`.

use std::process::ExitCode;

use sqs_lease_suite::transcript::{Transcript, With, play};

const USAGE: &str = "usage: transcript [--set | --reference] FILE...
  Plays each transcript on a lease, with --set on a lease set that holds one lease, or with --reference on the
  reference, which says what should come.
  Prints each disagreement; ends with how many transcripts agree.";

fn main() -> ExitCode {
    let mut with = With::Lease;
    let mut files = Vec::new();
    let mut only_files = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--" if !only_files => only_files = true,
            "--set" if !only_files => with = With::Set,
            "--reference" if !only_files => with = With::Reference,
            "--help" | "-h" if !only_files => {
                println!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            unknown if !only_files && unknown.starts_with('-') => {
                eprintln!("unknown option {unknown}\n{USAGE}");
                return ExitCode::from(2);
            }
            _ => files.push(argument),
        }
    }
    if files.is_empty() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    let agree = files.iter().filter(|file| agrees(file, with)).count();
    println!("{agree} of {} transcripts agree", files.len());
    if agree == files.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn agrees(file: &str, with: With) -> bool {
    let transcript = match std::fs::read_to_string(file).map_err(|error| error.to_string()) {
        Ok(text) => Transcript::parse(&text).map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    match transcript {
        Ok(transcript) => {
            let disagreements = play(&transcript, with);
            for disagreement in &disagreements {
                println!("{file}: {disagreement}");
            }
            disagreements.is_empty()
        }
        Err(error) => {
            println!("{file}: {error}");
            false
        }
    }
}
