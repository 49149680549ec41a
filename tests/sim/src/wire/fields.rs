use serde_json::{Map, Value};

use crate::model::{Error, ErrorKind, FractionalTimeout};

/// The members of a JSON object, read as strictly as SQS reads them.
pub(crate) struct Fields<'a> {
    members: &'a Map<String, Value>,
    fractions: FractionalTimeout,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(value: &'a Value, fractions: FractionalTimeout) -> Result<Self, Error> {
        match value {
            Value::Object(members) => Ok(Self { members, fractions }),
            other => Err(wrong(other, "a Structure")),
        }
    }

    /// The members of a value inside this one, read as strictly.
    pub(crate) fn inside(&self, value: &'a Value) -> Result<Self, Error> {
        Self::of(value, self.fractions)
    }

    /// A member; one that is `null` is absent.
    fn member(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn string(&self, name: &str) -> Result<Option<&'a str>, Error> {
        self.member(name).map(|value| value.as_str().ok_or_else(|| wrong(value, "a String"))).transpose()
    }

    pub(crate) fn required(&self, name: &str) -> Result<&'a str, Error> {
        self.string(name)?.ok_or_else(|| Error::missing(name))
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i32>, Error> {
        let read = |value: &Value| {
            value.as_i64().and_then(|n| i32::try_from(n).ok()).ok_or_else(|| wrong(value, "an Integer"))
        };
        self.member(name).map(read).transpose()
    }

    /// A whole number of seconds, or one that is cut down to that where the settings say so.
    pub(crate) fn timeout(&self, name: &str) -> Result<Option<i32>, Error> {
        match self.member(name).and_then(Value::as_f64).filter(|secs| secs.fract() != 0.0) {
            #[allow(clippy::cast_possible_truncation, reason = "that is the point, and it saturates")]
            Some(secs) if self.fractions == FractionalTimeout::CutOff => Ok(Some(secs as i32)),
            _ => self.integer(name),
        }
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<&'a [Value]>, Error> {
        let read = |value: &'a Value| match value {
            Value::Array(items) => Ok(&**items),
            other => Err(wrong(other, "a List")),
        };
        self.member(name).map(read).transpose()
    }

    pub(crate) fn strings(&self, name: &str) -> Result<Vec<String>, Error> {
        let read = |value: &Value| value.as_str().map(Into::into).ok_or_else(|| wrong(value, "a String"));
        self.list(name)?.unwrap_or_default().iter().map(read).collect()
    }

    /// The members of a map of objects.
    pub(crate) fn map(&self, name: &str) -> Result<Vec<(&'a str, &'a Value)>, Error> {
        match self.member(name) {
            None => Ok(Vec::new()),
            Some(Value::Object(members)) => {
                Ok(members.iter().map(|(name, value)| (name.as_str(), value)).collect())
            }
            Some(other) => Err(wrong(other, "a Map")),
        }
    }

    pub(crate) fn map_of_strings(&self, name: &str) -> Result<Vec<(String, String)>, Error> {
        let read = |(name, value): (&str, &Value)| {
            let value = value.as_str().ok_or_else(|| wrong(value, "a String"))?;
            Ok((name.to_owned(), value.to_owned()))
        };
        self.map(name)?.into_iter().map(read).collect()
    }
}

fn wrong(value: &Value, wanted: &str) -> Error {
    let found = match value {
        Value::Null => "NULL_VALUE",
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        Value::Number(_) => "NUMBER_VALUE",
        Value::String(_) => "STRING_VALUE",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    };
    Error::new(ErrorKind::Serialization, format!("{found} can not be converted to {wanted}"))
}
