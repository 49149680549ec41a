use std::fmt::Write as _;

use super::{Call, Delivery, End, Kind, Timeline};

/// Colours of a picture, as six hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Behind everything.
    pub ground: &'static str,
    /// Words.
    pub text: &'static str,
    /// The axis, and what is over or empty.
    pub faint: &'static str,
    /// A delivery that is held.
    pub held: &'static str,
    /// A timeout that SQS granted.
    pub granted: &'static str,
    /// What failed, and the loss.
    pub bad: &'static str,
    /// Another consumer.
    pub rival: &'static str,
}

/// On a light page.
pub const LIGHT: Palette = Palette {
    ground: "ffffff",
    text: "1f2328",
    faint: "6e7781",
    held: "1a7f37",
    granted: "0969da",
    bad: "cf222e",
    rival: "8250df",
};

/// On a dark page.
pub const DARK: Palette = Palette {
    ground: "0d1117",
    text: "e6edf3",
    faint: "8b949e",
    held: "3fb950",
    granted: "58a6ff",
    bad: "ff7b72",
    rival: "bc8cff",
};

/// The size of the smallest words, in a picture 760 wide: half of it is still read.
pub const SMALLEST_TEXT: u32 = 22;

const WIDTH: u32 = 760;
const LEFT: f64 = 24.0;
const RIGHT: f64 = 736.0;
/// What a letter takes, rather too much.
const LETTER: f64 = 12.0;

impl Timeline {
    /// Draws it, for light and for dark pages.
    pub fn to_svg(&self) -> String {
        let mut drawing = Drawing { out: String::new(), y: 36.0, from: self.origin(), until: self.until };
        for line in lines(&self.title, 44) {
            drawing.words(LEFT, 0.0, "start", "title", &line);
            drawing.y += 32.0;
        }
        drawing.y -= 14.0;
        let top = drawing.y;
        for (index, delivery) in self.deliveries.iter().enumerate() {
            let is_first = index == 0;
            drawing.delivery(delivery, if is_first { "held" } else { "rival" });
            if is_first && !self.polls.is_empty() {
                drawing.polls(&self.polls);
            }
            if let Some(limit) = self.limit.filter(|_| is_first) {
                let (x, bottom) = (drawing.x(limit), drawing.y);
                drawing.line((x, top), (x, bottom), "limit");
                drawing.words(x, 22.0, "middle", "bad", "limit");
                drawing.y += 22.0;
            }
        }
        drawing.axis();
        drawing.legend(self);
        let height = drawing.y + 12.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <title>{}</title>\n<style>\n{}@media (prefers-color-scheme: dark) {{\n{}}}\n</style>\n\
             <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n{}</svg>\n",
            escaped(&self.title),
            fixed() + &colours(&LIGHT),
            colours(&DARK),
            drawing.out
        )
    }

    fn origin(&self) -> u64 {
        self.deliveries.iter().map(|it| it.received).min().unwrap_or(0)
    }
}

fn fixed() -> String {
    format!(
        "text {{ font: {SMALLEST_TEXT}px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }}\n\
         .title {{ font-size: 26px; font-weight: 600 }}\n\
         .limit {{ stroke-dasharray: 8 6 }}\n\
         .wait {{ stroke-dasharray: 3 4 }}\n\
         line, path, .empty {{ stroke-width: 3; fill: none; stroke-linecap: round }}\n"
    )
}

fn colours(it: &Palette) -> String {
    let Palette { ground, text, faint, held, granted, bad, rival } = it;
    format!(
        ".ground {{ fill: #{ground} }}\n\
         text {{ fill: #{text} }} text.bad {{ fill: #{bad} }}\n\
         rect.held {{ fill: #{held} }} rect.rival, circle.got {{ fill: #{rival} }}\n\
         rect.granted {{ fill: #{granted} }} rect.over {{ fill: #{faint} }}\n\
         path.good {{ fill: #{held} }} path.final {{ fill: #{held}; stroke: #{text} }}\n\
         path.bad, line.bad, line.limit, line.wait {{ stroke: #{bad} }}\n\
         circle.empty, line.axis {{ stroke: #{faint} }} path.settle {{ fill: #{text} }}\n"
    )
}

struct Drawing {
    out: String,
    /// The next line's place.
    y: f64,
    from: u64,
    until: u64,
}

impl Drawing {
    #[expect(clippy::cast_precision_loss, reason = "a picture needs four digits")]
    fn x(&self, at: u64) -> f64 {
        let at = at.clamp(self.from, self.until) - self.from;
        LEFT + (RIGHT - LEFT) * at as f64 / (self.until - self.from).max(1) as f64
    }

    fn delivery(&mut self, it: &Delivery, class: &str) {
        let (from, end) = (self.x(it.received), it.end.as_ref().map_or(self.until, |(at, ..)| *at));
        let to = self.x(end);
        self.y += 28.0;
        let label = from.min(RIGHT - LETTER * len(&it.who));
        self.words(label, 0.0, "start", "", &it.who);
        self.y += 8.0;
        self.rect(from, to, 24.0, class);
        if let Some((_, how, text)) = &it.end {
            self.end(from, to, *how, text, label + LETTER * len(&it.who));
        }
        self.y += 32.0;
        if !it.calls.is_empty() {
            for call in &it.calls {
                self.call(call);
            }
            self.y += 28.0;
        }
        // The timeouts, in two lanes, so that one sees where one was replaced by the next: there it fades.
        for (index, (from, to)) in it.timeouts.iter().enumerate() {
            let replaced =
                it.timeouts.get(index + 1).map_or(*to, |(next, _)| *next).min(*to).min(end.max(*from));
            self.y += if index % 2 == 0 { 0.0 } else { 14.0 };
            let (a, b, c) = (self.x(*from), self.x(replaced), self.x(*to));
            self.rect(b, c, 10.0, "over");
            self.rect(a, b, 10.0, "granted");
            self.y -= if index % 2 == 0 { 0.0 } else { 14.0 };
        }
        self.y += if it.timeouts.len() > 1 { 28.0 } else { 14.0 };
        self.y += 6.0;
    }

    /// Says how it ended: right of the bar where there is room, else above it, else left of it.
    fn end(&mut self, from: f64, to: f64, how: End, text: &str, label_ends: f64) {
        let class = if how == End::Lost { "bad" } else { "" };
        let width = LETTER * len(text) + 8.0;
        if RIGHT - to > width {
            self.words(to + 8.0, 19.0, "start", class, text);
        } else if to - width > label_ends.max(from) {
            // Not up to the very end: the limit's line may stand there.
            self.words(to - 6.0, -8.0, "end", class, text);
        } else {
            self.words(from - 8.0, 19.0, "end", class, text);
        }
    }

    fn call(&mut self, call: &Call) {
        let (x, y) = (self.x(call.sent), self.y);
        if let Some(failed) = call.failed {
            let to = self.x(failed);
            if to - x > 9.0 {
                self.line((x + 9.0, y + 9.0), (to, y + 9.0), "wait");
            }
            self.path("bad", &format!("M{:.1} {:.1}l14 14m0 -14l-14 14", x - 7.0, y + 2.0));
            return;
        }
        match call.kind {
            Kind::Extension => self.path("good", &format!("M{x:.1} {y:.1}l8 18h-16z")),
            Kind::Final => self.path("final", &format!("M{x:.1} {y:.1}l8 18h-16z")),
            _ => self.path("settle", &format!("M{:.1} {:.1}h14v14h-14z", x - 7.0, y + 2.0)),
        }
    }

    fn polls(&mut self, polls: &[(u64, bool)]) {
        self.y += 22.0;
        self.words(LEFT, 0.0, "start", "", "another consumer asks");
        self.y += 18.0;
        for (at, got) in polls {
            let (x, class) = (self.x(*at), if *got { "got" } else { "empty" });
            let _ =
                writeln!(self.out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"7\"/>", self.y);
        }
        self.y += 14.0;
    }

    fn axis(&mut self) {
        self.y += 10.0;
        self.line((LEFT, self.y), (RIGHT, self.y), "axis");
        let (step, unit, name) = ticks(self.until - self.from);
        let count = (self.until - self.from) / step;
        for tick in 0..=count {
            let x = self.x(self.from + tick * step);
            self.line((x, self.y), (x, self.y + 8.0), "axis");
            let text = format!("{}{}", tick * step / unit, if tick == 0 { name } else { "" });
            let anchor = if tick == 0 {
                "start"
            } else if RIGHT - x < 20.0 {
                "end"
            } else {
                "middle"
            };
            self.words(if tick == 0 { x - 4.0 } else { x }, 32.0, anchor, "", &text);
        }
        self.y += 44.0;
    }

    fn legend(&mut self, timeline: &Timeline) {
        let calls = || timeline.deliveries.iter().flat_map(|it| &it.calls);
        let any = |kind: fn(Kind) -> bool| calls().any(|it| kind(it.kind) && it.failed.is_none());
        let failed = calls().any(|it| it.failed.is_some());
        let entries = [
            (any(|it| it == Kind::Extension), Mark::Call(Kind::Extension, false), "extension"),
            (any(|it| it == Kind::Final), Mark::Call(Kind::Final, false), "final one, up to the limit"),
            (failed, Mark::Call(Kind::Extension, true), "failed, unanswered"),
            (any(|it| it == Kind::Delete), Mark::Call(Kind::Delete, false), "delete"),
            (any(|it| matches!(it, Kind::Release(_))), Mark::Call(Kind::Release(0), false), "release"),
            (true, Mark::Rect("granted"), "timeout that SQS granted"),
            (
                timeline.deliveries.iter().any(|it| it.timeouts.len() > 1),
                Mark::Rect("over"),
                "replaced, or left over",
            ),
            (timeline.polls.iter().any(|(_, got)| !got), Mark::Circle("empty"), "asks, gets nothing"),
            (timeline.polls.iter().any(|(_, got)| *got), Mark::Circle("got"), "gets it"),
        ];
        let mut x = LEFT;
        self.y += 8.0;
        for (_, mark, text) in entries.into_iter().filter(|(is_there, ..)| *is_there) {
            let width = 34.0 + LETTER * len(text) + 14.0;
            if x + width > RIGHT + 14.0 {
                (x, self.y) = (LEFT, self.y + 32.0);
            }
            self.mark(x + 10.0, mark);
            self.words(x + 28.0, 18.0, "start", "", text);
            x += width;
        }
        self.y += 26.0;
    }

    fn mark(&mut self, x: f64, mark: Mark) {
        let from = self.from;
        match mark {
            Mark::Call(kind, failed) => {
                // Drawn where the time would be; moved from the left edge to its place.
                let _ = writeln!(self.out, "<g transform=\"translate({:.1} 0)\">", x - LEFT);
                self.call(&Call { sent: from, kind, failed: failed.then_some(from) });
                self.out.push_str("</g>\n");
            }
            Mark::Rect(class) => {
                self.y += 5.0;
                self.rect(x - 10.0, x + 10.0, 10.0, class);
                self.y -= 5.0;
            }
            Mark::Circle(class) => {
                let y = self.y + 10.0;
                let _ = writeln!(self.out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/>");
            }
        }
    }

    fn rect(&mut self, from: f64, to: f64, height: f64, class: &str) {
        // What is there is seen, however short.
        let width = (to - from).max(if class == "over" { 0.0 } else { 2.0 });
        if width > 0.0 {
            let _ = writeln!(
                self.out,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height}\" rx=\"2\"/>",
                self.y
            );
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = writeln!(
            self.out,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    fn path(&mut self, class: &str, d: &str) {
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    fn words(&mut self, x: f64, below: f64, anchor: &str, class: &str, text: &str) {
        let y = self.y + below;
        let _ = writeln!(
            self.out,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(text)
        );
    }
}

#[derive(Clone, Copy)]
enum Mark {
    Call(Kind, bool),
    Rect(&'static str),
    Circle(&'static str),
}

/// The step of the axis, its unit, and the unit's name: at most eight numbers.
fn ticks(span: u64) -> (u64, u64, &'static str) {
    const SECOND: u64 = 1_000_000_000;
    const STEPS: [u64; 16] =
        [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400];
    let step = STEPS.into_iter().find(|step| span / (step * SECOND) < 8).unwrap_or(604_800);
    let (unit, name) = match step {
        0..60 => (1, " s"),
        60..3_600 => (60, " min"),
        _ => (3_600, " h"),
    };
    (step * SECOND, unit * SECOND, name)
}

/// Breaks a text between words.
fn lines(text: &str, longest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= longest {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[expect(clippy::cast_precision_loss, reason = "a few letters")]
fn len(text: &str) -> f64 {
    text.chars().count() as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
