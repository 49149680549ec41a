//! Every transcript of the suite plays, on a lease and on a set of one.

use std::path::Path;

use sqs_lease_suite::transcript::{Transcript, With, play};

fn play_all(with: With) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 68, "only {} transcripts were found", files.len());
    let mut disagreements = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let transcript = Transcript::parse(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        disagreements.extend(play(&transcript, with).iter().map(|it| format!("{name}: {it}")));
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

#[test]
fn all_transcripts_agree_on_a_lease() {
    play_all(With::Lease);
}

#[test]
fn all_transcripts_agree_on_a_set_of_one() {
    play_all(With::Set);
}

#[test]
fn all_transcripts_agree_on_the_reference() {
    play_all(With::Reference);
}
