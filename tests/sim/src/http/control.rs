//! The clock, the faults and the truth over HTTP, for tests in any language.
//!
//! No SDK sends a request without `x-amz-target`, so none is mistaken for one of these.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response};
use serde_json::{Value, json};
use sqs_lease_core::Moment;

use crate::fault::{Fault, Faults};
use crate::model::{Error, MessageId, Model};
use crate::shared::{Shared, State};
use crate::wire::told;

const HELP: &str = "\
A simulated Amazon SQS. Give this address to an SDK as its endpoint URL, with any credentials and any region.

Beside SQS's own operations (POST with x-amz-target) it answers these, in JSON:

GET    /clock                      the time in seconds since the start, and whether it stands still
POST   /clock/advance?seconds=N    puts the clock forward, by a fraction, too; what falls due happens on the way
GET    /faults                     all of them, how many requests each has seen and hit
POST   /faults                     adds a fault, or a list of them; the answer has their ids
DELETE /faults                     takes all of them back
DELETE /faults/ID                  takes one back
GET    /calls                      how many requests of each operation have come
GET    /truth                      the overlaps, what was hidden by the dead, and each message's history
GET    /truth/overlaps             where two handlers worked on one message at once
GET    /truth/hidden-since-crash   how long messages lay hidden after their holder died
GET    /truth/messages/ID          the history of one message
POST   /truth/let-go               {\"QueueUrl\", \"ReceiptHandle\"}: its handler works on it no longer
POST   /truth/crash                {\"QueueUrl\", \"ReceiptHandle\"}: its handler has died
DELETE /truth                      forgets all that has happened so far

A fault: {\"effect\": \"throttle\", \"action\": \"ReceiveMessage\", \"queue\": \"jobs\", \"skip\": 0, \"first\": 3, \"every\": 1}.
Effects: throttle, rate-exceeded, internal-failure, unavailable, hang, reset, lose-answer; refuse (status, code,
message); latency-before, latency-after (seconds); refuse-entry (index, code, message); internal-failure-entry (index).
";

/// A hundred years are enough for any test, and far from where moments end.
const LATEST: Duration = Duration::from_hours(24 * 36_525);

/// Why there is no answer: a status and a text.
type Refused = (u16, String);

/// Whether a request that is none of SQS's is for the clock, the faults or the truth.
pub(super) fn is_control(method: &Method, path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    (path == "/" && method == Method::GET) || ["clock", "faults", "calls", "truth"].contains(&first)
}

pub(super) fn too_large(most: usize) -> Response<Full<Bytes>> {
    response(413, &json!({ "error": format!("the body is larger than {most} bytes") }))
}

pub(super) fn answer(head: &Parts, body: &[u8], shared: &Shared) -> Response<Full<Bytes>> {
    let path: Vec<_> = head.uri.path().split('/').skip(1).collect();
    let allowed: &[Method] = match *path {
        ["" | "clock" | "calls"]
        | ["truth", "overlaps" | "hidden-since-crash"]
        | ["truth", "messages", _] => &[Method::GET],
        ["clock", "advance"] | ["truth", "let-go" | "crash"] => &[Method::POST],
        ["faults"] => &[Method::GET, Method::POST, Method::DELETE],
        ["faults", _] => &[Method::DELETE],
        ["truth"] => &[Method::GET, Method::DELETE],
        _ => {
            let text = format!("there is no {}; GET / says what there is", head.uri.path());
            return response(404, &json!({ "error": text }));
        }
    };
    if !allowed.contains(&head.method) {
        let names: Vec<_> = allowed.iter().map(Method::as_str).collect();
        let text = format!("{} takes {}, not {}", head.uri.path(), names.join(", "), head.method);
        let mut refused = response(405, &json!({ "error": text }));
        if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
            refused.headers_mut().insert(ALLOW, names);
        }
        return refused;
    }
    if *path == [""] {
        let mut help = Response::new(Full::new(Bytes::from_static(HELP.as_bytes())));
        help.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        return help;
    }
    match shared.with(|state, now| act(&head.method, &path, head.uri.query(), body, state, now)) {
        Ok(answer) => response(200, &answer),
        Err((status, text)) => response(status, &json!({ "error": text })),
    }
}

fn act(
    method: &Method,
    path: &[&str],
    query: Option<&str>,
    body: &[u8],
    state: &mut State,
    now: Moment,
) -> Result<Value, Refused> {
    match (method.as_str(), path) {
        ("POST", ["clock", _]) => {
            let by = seconds(query)?;
            if now + by > Moment::ORIGIN + LATEST {
                return Err((400, "the clock goes no further than a hundred years".into()));
            }
            state.advance(by);
            Ok(clock(state, state.now()))
        }
        (_, ["clock"]) => Ok(clock(state, now)),
        ("POST", ["faults"]) => add_faults(body, &mut state.service.faults),
        ("GET", ["faults"]) => Ok(json!({ "faults": state.service.faults.show() })),
        (_, ["faults"]) => {
            state.service.faults.clear();
            Ok(json!({}))
        }
        (_, ["faults", id]) => {
            let was_there = id.parse().is_ok_and(|id| state.service.faults.remove(id));
            if was_there { Ok(json!({})) } else { Err((404, format!("there is no fault {id}"))) }
        }
        (_, ["calls"]) => {
            let calls = state
                .service
                .all_calls()
                .map(|(action, calls)| (action.name().to_owned(), Value::from(calls)));
            Ok(Value::Object(calls.collect()))
        }
        ("POST", ["truth", what]) => note(what, body, &mut state.service.model, now),
        ("DELETE", ["truth"]) => {
            state.service.model.forget();
            Ok(json!({}))
        }
        (_, ["truth", rest @ ..]) => look(rest, &state.service.model, now),
        _ => Err((404, "there is no such thing".into())),
    }
}

fn clock(state: &State, now: Moment) -> Value {
    json!({
        "seconds": told::seconds(now),
        "unix_milliseconds": told::unix_millis(state.service.model.unix_origin(), now),
        "stands_still": state.is_manual(),
    })
}

/// Whole seconds with up to nine decimals.
fn seconds(query: Option<&str>) -> Result<Duration, Refused> {
    let wanted =
        || (400, "POST /clock/advance?seconds=N wants a number of seconds, such as 43200 or 0.5".to_owned());
    let text = query.and_then(|query| query.strip_prefix("seconds=")).ok_or_else(wanted)?;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let has_digits =
        |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    // Eleven digits of seconds are three thousand years.
    if !(has_digits(whole, 11) && has_digits(decimals, 9)) {
        return Err(wanted());
    }
    let whole = whole.parse().map_err(|_| wanted())?;
    let nanos = format!("{decimals:0<9}").parse().map_err(|_| wanted())?;
    Ok(Duration::new(whole, nanos))
}

/// All of them or, if one is wrong, none.
fn add_faults(body: &[u8], faults: &mut Faults) -> Result<Value, Refused> {
    let body: Value = parse(body)?;
    let (rules, is_list) = match &body {
        Value::Array(rules) => (rules.as_slice(), true),
        rule => (std::slice::from_ref(rule), false),
    };
    if faults.len() + rules.len() > Faults::MOST {
        return Err((
            400,
            format!("there can be {} faults at most; DELETE /faults takes them back", Faults::MOST),
        ));
    }
    let read = |(i, rule): (usize, &Value)| {
        Fault::of_value(rule).map_err(|text| (400, if is_list { format!("fault {i}: {text}") } else { text }))
    };
    let read: Vec<_> = rules.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let ids: Vec<_> = read.into_iter().map(|fault| faults.add(fault)).collect();
    Ok(json!({ "ids": ids }))
}

/// What only the handler's own side can know.
fn note(what: &str, body: &[u8], model: &mut Model, now: Moment) -> Result<Value, Refused> {
    let body = parse(body)?;
    let text = |name: &str| {
        body[name]
            .as_str()
            .ok_or_else(|| (400, format!("/truth/{what} wants a JSON object with a text '{name}'")))
    };
    let (queue, handle) = (text("QueueUrl")?, text("ReceiptHandle")?);
    let noted: Result<(), Error> = match what {
        "crash" => model.crash(queue, handle, now),
        _ => model.let_go(queue, handle, now),
    };
    noted.map(|()| json!({})).map_err(|error| (400, error.to_string()))
}

fn look(path: &[&str], model: &Model, now: Moment) -> Result<Value, Refused> {
    let overlaps = || model.overlaps().iter().map(told::overlap).collect::<Value>();
    let hidden = || model.hidden_since_crash().iter().map(told::hidden).collect::<Value>();
    match path {
        ["overlaps"] => Ok(json!({ "overlaps": overlaps() })),
        ["hidden-since-crash"] => Ok(json!({ "hidden_since_crash": hidden() })),
        ["messages", id] => {
            let known = MessageId::parse(id).filter(|id| !model.history(*id).is_empty());
            let id = known.ok_or_else(|| (404, format!("nothing is recorded of a message {id}")))?;
            Ok(told::history(id, model.history(id)))
        }
        _ => Ok(json!({
            "now": told::seconds(now),
            "is_recorded": model.is_recording(),
            "forgotten": model.forgotten(),
            "overlaps": overlaps(),
            "hidden_since_crash": hidden(),
            "messages": model.histories().map(|(id, history)| told::history(id, history)).collect::<Value>(),
        })),
    }
}

fn parse(body: &[u8]) -> Result<Value, Refused> {
    serde_json::from_slice(body).map_err(|error| (400, format!("the body is no JSON: {error}")))
}

fn response(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::BAD_REQUEST);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
