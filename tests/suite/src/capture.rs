//! Captures `tracing` events, of every crate and level.

use std::fmt::{Debug, Write};
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// The events captured so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Captured(Arc<Mutex<Vec<Line>>>);

/// One event.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its level.
    pub level: Level,
    /// Its target.
    pub target: String,
    /// Its message and fields: `message="extended" attempt=1`.
    pub text: String,
}

impl Captured {
    /// Captures what this thread logs until the guard is dropped.
    pub fn here() -> (Self, tracing::subscriber::DefaultGuard) {
        listen_everywhere();
        let captured = Self::default();
        let subscriber = tracing_subscriber::registry().with(captured.clone());
        (captured, tracing::subscriber::set_default(subscriber))
    }

    /// Captures what a future logs while it is polled, on whatever thread.
    pub fn watch<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        listen_everywhere();
        task.with_subscriber(tracing_subscriber::registry().with(self.clone()))
    }

    /// The events of `sqs_lease` so far, as `LEVEL text`.
    pub fn ours(&self) -> Vec<String> {
        let lines = self.lines();
        let ours = lines.iter().filter(|line| line.target == "sqs_lease");
        ours.map(|line| format!("{} {}", line.level, line.text)).collect()
    }

    /// All events so far.
    pub fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Has two subscribers there always. With one, `tracing` asks only that of the thread which comes to a place in the code
/// first; where that thread has none, the place is silent for the others as well.
fn listen_everywhere() {
    static LISTENING: OnceLock<[Dispatch; 2]> = OnceLock::new();
    LISTENING.get_or_init(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Captured {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        let line = Line { level, target, text: text.0.trim_end().to_owned() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        _: &tracing::span::Id,
        _: Context<'_, S>,
    ) {
        let mut text = Text(String::new());
        attributes.record(&mut text);
        let metadata = attributes.metadata();
        let line = Line { level: *metadata.level(), target: metadata.target().to_owned(), text: text.0 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}
