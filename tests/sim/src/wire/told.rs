//! The truth in JSON: what happened to each message, with times in seconds since the model's start.

use std::time::Duration;

use serde_json::{Value, json};
use sqs_lease_core::Moment;

use crate::model::{Asked, Event, Hidden, MessageId, Overlap, Recorded};

pub(crate) fn seconds(at: Moment) -> f64 {
    at.since(Moment::ORIGIN).as_secs_f64()
}

pub(crate) fn unix_millis(origin: Duration, at: Moment) -> u64 {
    u64::try_from((origin + at.since(Moment::ORIGIN)).as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn overlap(it: &Overlap) -> Value {
    json!({
        "message_id": it.message_id.to_string(),
        "held": it.held,
        "began": it.began,
        "from": seconds(it.from),
        "until": it.until.map(seconds),
        "is_injected": it.is_injected,
    })
}

pub(crate) fn hidden(it: &Hidden) -> Value {
    json!({
        "message_id": it.message_id.to_string(),
        "delivery": it.delivery,
        "crashed": seconds(it.crashed),
        "hidden": it.hidden.as_secs_f64(),
    })
}

pub(crate) fn history(id: MessageId, history: &[Recorded]) -> Value {
    json!({ "message_id": id.to_string(), "history": history.iter().map(recorded).collect::<Value>() })
}

fn recorded(it: &Recorded) -> Value {
    let mut told = event(&it.event);
    told["at"] = seconds(it.at).into();
    told
}

fn event(event: &Event) -> Value {
    match event {
        Event::Sent { queue, visible_at } => {
            json!({ "event": "sent", "queue": **queue, "visible_at": seconds(*visible_at) })
        }
        Event::Received { delivery, requested, until, is_injected } => json!({
            "event": "received",
            "delivery": delivery,
            "requested": seconds(*requested),
            "until": seconds(*until),
            "is_injected": is_injected,
        }),
        Event::Repeated { delivery, until } => {
            json!({ "event": "repeated", "delivery": delivery, "until": seconds(*until) })
        }
        Event::Changed { delivery, current, from, to } => json!({
            "event": "changed",
            "delivery": delivery,
            "current": current,
            "from": seconds(*from),
            "to": seconds(*to),
        }),
        Event::Refused { delivery, asked, kind } => {
            let (asked, seconds) = match asked {
                Asked::Change(seconds) => ("change", Some(*seconds)),
                Asked::Delete => ("delete", None),
            };
            let kind = format!("{kind:?}");
            json!({ "event": "refused", "delivery": delivery, "asked": asked, "seconds": seconds, "kind": kind })
        }
        Event::Deleted { delivery, current } => {
            json!({ "event": "deleted", "delivery": delivery, "current": current })
        }
        Event::Moved { from, to } => json!({ "event": "moved", "from": **from, "to": **to }),
        Event::Redriven { from, to, anew } => {
            json!({ "event": "redriven", "from": **from, "to": **to, "anew": anew.to_string() })
        }
        Event::LetGo { delivery } => json!({ "event": "let-go", "delivery": delivery }),
        Event::Crashed { delivery } => json!({ "event": "crashed", "delivery": delivery }),
        Event::Expired => json!({ "event": "expired" }),
        Event::Purged => json!({ "event": "purged" }),
    }
}
