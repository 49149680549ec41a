use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Effect, Fault, internal_failure};
use crate::model::{Error, ErrorKind};
use crate::wire::Action;

/// The longest delay that JSON can ask for: a day.
const LONGEST: f64 = 86_400.0;

impl Fault {
    /// A fault as JSON says it: an object with an `effect` and what that needs, and with what picks the requests.
    ///
    /// | `effect` | besides |
    /// | --- | --- |
    /// | `throttle`, `rate-exceeded`, `internal-failure`, `unavailable`, `hang`, `reset`, `lose-answer` | nothing |
    /// | `refuse` | `status` 400 to 599, `code`, `message` |
    /// | `latency-before`, `latency-after` | `seconds` |
    /// | `refuse-entry` | `index` 0 to 9, `code`, `message` |
    /// | `internal-failure-entry` | `index` 0 to 9 |
    ///
    /// All else may be left out: `action` (the name of an operation), `queue` (a name), `skip`, `first` and `every`
    /// (whole numbers).
    ///
    /// ```
    /// use sqs_lease_sim::Fault;
    ///
    /// let rule = r#"{"effect": "throttle", "action": "ReceiveMessage", "first": 3}"#;
    /// assert!(Fault::from_json(rule).is_ok());
    /// let error = Fault::from_json(r#"{"effect": "refuse", "status": 200}"#).unwrap_err();
    /// assert_eq!(error, "'status' has to be a whole number from 400 to 599, and is 200");
    /// ```
    ///
    /// # Errors
    /// A text that says what is wrong: no JSON object, an effect or a member that there is not, one that is missing, or
    /// one out of its range.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let rule: Value = serde_json::from_str(text).map_err(|error| format!("a fault is JSON: {error}"))?;
        Self::of_value(&rule)
    }

    pub(crate) fn of_value(rule: &Value) -> Result<Self, String> {
        let Value::Object(members) = rule else {
            return Err("a fault is a JSON object with an 'effect'".into());
        };
        let mut rule = Rule { members, read: vec!["effect"] };
        let effect = rule.text("effect")?.ok_or("a fault needs an 'effect'")?;
        let mut fault = match effect {
            "throttle" => Self::throttle(),
            "rate-exceeded" => Self::rate_exceeded(),
            "internal-failure" => Self::internal_failure(),
            "unavailable" => Self::unavailable(),
            "hang" => Self::hang(),
            "reset" => Self::reset(),
            "lose-answer" => Self::lose_answer(),
            "latency-before" => Self::latency_before(rule.seconds()?),
            "latency-after" => Self::latency_after(rule.seconds()?),
            "refuse" => {
                let status = rule.number("status", 400, 599)?.ok_or("'refuse' needs a 'status'")?;
                let (code, message) = rule.code_and_message(effect)?;
                Self::refuse(u16::try_from(status).unwrap_or(400), code, message)
            }
            "refuse-entry" => {
                let index = rule.index(effect)?;
                let (code, message) = rule.code_and_message(effect)?;
                Self::refuse_entry(index, code, message)
            }
            "internal-failure-entry" => Self::internal_failure_entry(rule.index(effect)?),
            _ => return Err(format!("there is no effect '{effect}'")),
        };
        if let Some(name) = rule.text("action")? {
            fault = fault.on(Action::parse(name).ok_or_else(|| format!("there is no action '{name}'"))?);
        }
        if let Some(name) = rule.text("queue")? {
            fault = fault.queue(name);
        }
        if let Some(skip) = rule.number("skip", 0, u64::MAX)? {
            fault = fault.skip(skip);
        }
        if let Some(first) = rule.number("first", 0, u64::MAX)? {
            fault = fault.first(first);
        }
        if let Some(every) = rule.number("every", 1, u64::MAX)? {
            fault = fault.every(every);
        }
        match rule.members.keys().find(|name| !rule.read.contains(&name.as_str())) {
            Some(name) => Err(format!("'{effect}' has no member '{name}'")),
            None => Ok(fault),
        }
    }

    /// What [`Fault::from_json`] reads, and how many requests it has `seen` and `hit` so far.
    pub(crate) fn to_json(&self) -> Value {
        let mut rule = self.effect.to_json();
        let mut add = |name: &str, value: Value| rule[name] = value;
        if let Some(action) = self.action {
            add("action", action.name().into());
        }
        if let Some(queue) = &self.queue {
            add("queue", queue.as_str().into());
        }
        if self.skip > 0 {
            add("skip", self.skip.into());
        }
        if self.first < u64::MAX {
            add("first", self.first.into());
        }
        if self.every > 1 {
            add("every", self.every.into());
        }
        add("seen", self.seen.into());
        add("hit", self.hit.into());
        rule
    }
}

impl Effect {
    fn to_json(&self) -> Value {
        match self {
            Self::Hang => json!({ "effect": "hang" }),
            Self::Reset => json!({ "effect": "reset" }),
            Self::LoseAnswer => json!({ "effect": "lose-answer" }),
            Self::Before(delay) => json!({ "effect": "latency-before", "seconds": delay.as_secs_f64() }),
            Self::After(delay) => json!({ "effect": "latency-after", "seconds": delay.as_secs_f64() }),
            Self::RefuseEntry(index, error) if *error == internal_failure() => {
                json!({ "effect": "internal-failure-entry", "index": index })
            }
            Self::RefuseEntry(index, error) => {
                json!({ "effect": "refuse-entry", "index": index, "code": error.code(), "message": error.text() })
            }
            Self::Refuse(error) => Self::refusal_to_json(error),
        }
    }

    fn refusal_to_json(error: &Error) -> Value {
        match (error.kind(), error.code()) {
            (ErrorKind::Throttled, _) => json!({ "effect": "throttle" }),
            (ErrorKind::InternalFailure, _) => json!({ "effect": "internal-failure" }),
            (ErrorKind::ServiceUnavailable, _) => json!({ "effect": "unavailable" }),
            (_, code) => json!({
                "effect": "refuse", "status": error.status(), "code": code, "message": error.text(),
            }),
        }
    }
}

/// The members of a rule, and which of them have been asked for.
struct Rule<'a> {
    members: &'a Map<String, Value>,
    read: Vec<&'static str>,
}

impl<'a> Rule<'a> {
    fn text(&mut self, name: &'static str) -> Result<Option<&'a str>, String> {
        self.read.push(name);
        let read =
            |value: &'a Value| value.as_str().ok_or(format!("'{name}' has to be a text, and is {value}"));
        self.members.get(name).map(read).transpose()
    }

    fn number(&mut self, name: &'static str, least: u64, most: u64) -> Result<Option<u64>, String> {
        self.read.push(name);
        let range = match (least, most) {
            (0, u64::MAX) => String::new(),
            (1, u64::MAX) => " from 1 on".into(),
            _ => format!(" from {least} to {most}"),
        };
        let read = |value: &Value| {
            value
                .as_u64()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| format!("'{name}' has to be a whole number{range}, and is {value}"))
        };
        self.members.get(name).map(read).transpose()
    }

    fn index(&mut self, effect: &str) -> Result<usize, String> {
        let index = self.number("index", 0, 9)?.ok_or_else(|| format!("'{effect}' needs an 'index'"))?;
        Ok(usize::try_from(index).unwrap_or_default())
    }

    fn code_and_message(&mut self, effect: &str) -> Result<(&'a str, &'a str), String> {
        let code = self.text("code")?.filter(|code| is_code(code));
        let code = code.ok_or_else(|| {
            format!("'{effect}' needs a 'code' of 1 to 128 letters, digits, '.', '-' and '_'")
        })?;
        Ok((code, self.text("message")?.unwrap_or_default()))
    }

    fn seconds(&mut self) -> Result<Duration, String> {
        self.read.push("seconds");
        let value = self.members.get("seconds").unwrap_or(&Value::Null);
        let seconds = value.as_f64().filter(|seconds| (0.0..=LONGEST).contains(seconds));
        let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        seconds.ok_or_else(|| format!("'seconds' has to be a number from 0 to {LONGEST}, and is {value}"))
    }
}

/// It goes into a header.
fn is_code(code: &str) -> bool {
    (1..=128).contains(&code.len())
        && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_what_is_read() {
        for rule in [
            json!({"effect": "throttle"}),
            json!({"effect": "internal-failure", "action": "DeleteMessage", "queue": "jobs"}),
            json!({"effect": "unavailable", "skip": 2, "first": 3, "every": 4}),
            json!({"effect": "hang"}),
            json!({"effect": "reset"}),
            json!({"effect": "lose-answer"}),
            json!({"effect": "latency-before", "seconds": 0.5}),
            json!({"effect": "latency-after", "seconds": 20.0}),
            json!({"effect": "refuse", "status": 418, "code": "Teapot", "message": "No."}),
            json!({"effect": "refuse-entry", "index": 2, "code": "AccessDenied", "message": "No."}),
            json!({"effect": "internal-failure-entry", "index": 9}),
        ] {
            let mut shown = rule.clone();
            (shown["seen"], shown["hit"]) = (0.into(), 0.into());
            assert_eq!(Fault::of_value(&rule).unwrap().to_json(), shown);
        }
        let shown = Fault::of_value(&json!({"effect": "rate-exceeded"})).unwrap().to_json();
        assert_eq!((&shown["code"], &shown["status"]), (&json!("ThrottlingException"), &json!(400)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (rule, error) in [
            ("nothing", "a fault is JSON: expected ident at line 1 column 2"),
            ("[]", "a fault is a JSON object with an 'effect'"),
            ("{}", "a fault needs an 'effect'"),
            (r#"{"effect": 1}"#, "'effect' has to be a text, and is 1"),
            (r#"{"effect": "explode"}"#, "there is no effect 'explode'"),
            (r#"{"effect": "hang", "action": "Dance"}"#, "there is no action 'Dance'"),
            (r#"{"effect": "hang", "frist": 1}"#, "'hang' has no member 'frist'"),
            (r#"{"effect": "hang", "seconds": 1}"#, "'hang' has no member 'seconds'"),
            (r#"{"effect": "hang", "first": -1}"#, "'first' has to be a whole number, and is -1"),
            (r#"{"effect": "hang", "every": 0}"#, "'every' has to be a whole number from 1 on, and is 0"),
            (r#"{"effect": "latency-after"}"#, "'seconds' has to be a number from 0 to 86400, and is null"),
            (
                r#"{"effect": "latency-after", "seconds": 86401}"#,
                "'seconds' has to be a number from 0 to 86400, and is 86401",
            ),
            (r#"{"effect": "refuse", "code": "X"}"#, "'refuse' needs a 'status'"),
            (
                r#"{"effect": "refuse", "status": 400, "code": "a b"}"#,
                "'refuse' needs a 'code' of 1 to 128 letters, digits, '.', '-' and '_'",
            ),
            (r#"{"effect": "refuse-entry", "code": "X"}"#, "'refuse-entry' needs an 'index'"),
        ] {
            assert_eq!(Fault::from_json(rule).unwrap_err(), error, "{rule}");
        }
    }
}
