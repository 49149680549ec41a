//! Each picture of the book is what the command makes of its file, and is read by everybody.

use std::fs;
use std::path::{Path, PathBuf};

use sqs_lease_suite::timeline::{DARK, LIGHT, Palette, SMALLEST_TEXT, Timeline};
use sqs_lease_suite::transcript::{Transcript, With, play};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the pictures are drawn from, by name and text.
fn files() -> Vec<(String, String)> {
    let folder = repository().join("docs/pictures");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = names
        .filter(|path| path.extension().is_some_and(|it| it != "svg"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn svg_name(file: &str) -> String {
    format!("{}.svg", file.rsplit_once('.').unwrap().0)
}

#[test]
fn each_picture_is_drawn_from_its_file() {
    let mut made = Vec::new();
    for (name, text) in files() {
        let picture = format!("docs/pictures/{}", svg_name(&name));
        let drawn =
            Timeline::of_file(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}")).to_svg();
        let command =
            format!("cargo run -q -p sqs-lease-suite --bin timeline -- docs/pictures/{name} > {picture}");
        let stored = fs::read_to_string(repository().join(&picture)).unwrap_or_default();
        assert!(stored == drawn, "{picture} is not what is drawn from {name}; if that is right:\n{command}");
        made.push(picture);
    }
    let pictures =
        fs::read_dir(repository().join("docs/pictures")).unwrap().map(|entry| entry.unwrap().file_name());
    let pictures = pictures.filter(|it| it.to_string_lossy().ends_with(".svg")).count();
    assert_eq!(pictures, made.len(), "a picture has no file that it is drawn from");
    assert!(made.len() >= 5);
}

#[test]
fn the_transcripts_of_the_pictures_agree() {
    for (name, text) in files().iter().filter(|(name, _)| name.contains(".lease")) {
        let transcript = Transcript::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(play(&transcript, With::Lease), [], "{name}");
    }
}

#[test]
fn each_picture_is_used() {
    let mut text = fs::read_to_string(repository().join("README.md")).unwrap();
    for entry in fs::read_dir(repository().join("docs")).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|it| it == "md") {
            text += &fs::read_to_string(entry).unwrap();
        }
    }
    for (name, _) in files() {
        let picture = format!("pictures/{})", svg_name(&name));
        assert!(text.contains(&picture), "no page shows {picture}");
    }
}

#[test]
fn pictures_are_read_at_half_their_width_and_on_dark_pages() {
    // A picture 760 wide is 380 at half width; 11 pixels are still read.
    const { assert!(SMALLEST_TEXT >= 22) };
    for Palette { ground, text, faint, held, granted, bad, rival } in [LIGHT, DARK] {
        // What WCAG 2 asks for words, and for graphics.
        for (colour, least) in
            [(text, 4.5), (bad, 4.5), (faint, 3.0), (held, 3.0), (granted, 3.0), (rival, 3.0)]
        {
            let contrast = contrast(colour, ground);
            assert!(contrast >= least, "#{colour} on #{ground}: {contrast:.2}");
        }
    }
    for (name, text) in files() {
        let svg = Timeline::of_file(&name, &text).unwrap().to_svg();
        let (light, dark) = svg.split_once("@media (prefers-color-scheme: dark)").unwrap();
        for (palette, style) in [(LIGHT, light), (DARK, dark)] {
            let colours =
                [palette.ground, palette.text, palette.faint, palette.held, palette.granted, palette.bad];
            assert!(colours.iter().all(|it| style.contains(it)), "{name} lacks a colour");
        }
        // All sizes are set in the style.
        let sizes = svg.split("font: ").skip(1).chain(svg.split("font-size: ").skip(1));
        for size in sizes.map(|it| it.split("px").next().unwrap().parse::<u32>().unwrap()) {
            assert!(size >= SMALLEST_TEXT, "{name} has words of {size}");
        }
        assert!(!svg.contains("font-size=") && svg.contains("class=\"ground\""));
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 "));
    }
}

/// The contrast of two colours as WCAG 2 counts it.
fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}
