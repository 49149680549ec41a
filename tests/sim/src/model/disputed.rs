//! Where public sources on SQS disagree, or are silent: each point a setting, none of them settled by a live queue here.
//!
//! The kinds of source, strongest first: a *recorded* answer of AWS (tests whose authors ran them against it), the *service
//! model* that SDKs carry, AWS's *documentation*, an SDK's, emulator's or library's *source*, and a *field report* of one
//! voice. The default is what is harder on whoever keeps a lease; where a stronger source stands against that, its
//! documentation says so.

use super::Settings;

/// Declares each point: its enum, whose first value is the default; its place in [`Choices`]; its setter.
macro_rules! disputed {
    ($($(#[$meta:meta])* $field:ident: $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)*
    })*) => {
        $(
            $(#[$meta])*
            ///
            /// What depends on it is tested every way:
            ///
            /// ```
            #[doc = concat!("use sqs_lease_sim::{Model, Settings, ", stringify!($name), "};")]
            ///
            #[doc = concat!("for way in ", stringify!($name), "::ALL {")]
            #[doc = concat!("    let sqs = Model::new(Settings::default().", stringify!($field), "(*way));")]
            ///     # let _ = sqs;
            /// }
            /// ```
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            #[non_exhaustive]
            pub enum $name {
                $($(#[$variant_meta])* $variant,)*
            }

            impl $name {
                /// Every way, the default first: what depends on it is tested with each.
                pub const ALL: &[Self] = &[$(Self::$variant),*];
            }
        )*

        /// What was chosen at each disputed point.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Choices {
            $(pub(crate) $field: $name,)*
        }

        /// The points on which public sources disagree or are silent.
        impl Settings {
            $(
                #[doc = concat!("Chooses where sources disagree: see [`", stringify!($name), "`](crate::", stringify!($name), ").")]
                #[must_use]
                pub fn $field(mut self, choice: $name) -> Self {
                    self.choices.$field = choice;
                    self
                }
            )*

            /// The name of each disputed point and of what can be chosen there, the default first: for
            /// [`Settings::choose`].
            pub fn disputed() -> Vec<(String, Vec<&'static str>)> {
                vec![$((stringify!($field).replace('_', "-"), vec![$($text),*])),*]
            }

            /// Chooses by name, as a command line or a test of every way does.
            ///
            /// ```
            /// use sqs_lease_sim::Settings;
            ///
            /// for (point, ways) in Settings::disputed() {
            ///     for way in ways {
            ///         let settings = Settings::default().choose(&point, way)?;
            ///         # let _ = settings;
            ///     }
            /// }
            /// let error = Settings::default().choose("limit-edge", "perhaps").unwrap_err();
            /// assert_eq!(error, "limit-edge is refused or accepted, not perhaps");
            /// # Ok::<(), String>(())
            /// ```
            ///
            /// # Errors
            /// A text that names what there is: no such point, or nothing of that name to choose there.
            pub fn choose(mut self, point: &str, way: &str) -> Result<Self, String> {
                match point.replace('-', "_").as_str() {
                    $(stringify!($field) => match way {
                        $($text => self.choices.$field = $name::$variant,)*
                        _ => return Err(format!("{point} is {}, not {way}", [$($text),*].join(" or "))),
                    },)*
                    _ => {
                        let points: Vec<_> = Self::disputed().into_iter().map(|(point, _)| point).collect();
                        return Err(format!("{point} is not disputed; these are: {}", points.join(", ")));
                    }
                }
                Ok(self)
            }
        }
    };
}

disputed! {
    /// A change of visibility on a standard queue after the timeout ran out, before anybody received the message again.
    ///
    /// SQS answers 200 (recorded, `LocalStack`'s AWS-validated tests, 2024). What it does then is disputed.
    change_after_timeout: ChangeAfterTimeout {
        /// It does nothing: the message stays visible (an emulator's maintainer's statement, localstack/localstack#9632).
        ///
        /// The default, for it is harder in the way that matters: whoever takes this 200 for a lease works on the message
        /// beside the next consumer. With [`Hides`](Self::Hides) a late change costs time at most: nobody has the message
        /// until the timeout runs out again.
        #[default]
        NoEffect = "no-effect",
        /// It hides the message again (a test of moto's, said to be checked on AWS, getmoto/moto#4655; `NServiceBus`'s
        /// source).
        Hides = "hides",
    }

    /// A change of visibility with the handle of an earlier delivery, on a standard queue, while another consumer has the
    /// message.
    overtaken_change: OvertakenChange {
        /// It acts on the new holder's timeout (recorded, `LocalStack`'s AWS-validated tests; a test of moto's, said to be
        /// checked on AWS, getmoto/moto#4655).
        ///
        /// The default: what a stale holder still sends shortens or ends somebody else's lease.
        #[default]
        Acts = "acts",
        /// `InvalidParameterValue`, "does not exist or is not available" (field reports, mapbox/ecs-watchbot#135).
        Refused = "refused",
        /// `MessageNotInflight`, which SQS's service model names and nobody could provoke (field reports,
        /// getmoto/moto#3586, against one that claims it, floci-io/floci#902).
        NotInflight = "not-inflight",
    }

    /// A delete with the handle of an earlier delivery, on a standard queue, while another consumer has the message.
    overtaken_delete: OvertakenDelete {
        /// The message is gone, under the new holder's hands (service model: a delete works even if another consumer
        /// holds the message). The default: the new holder learns of it by a refusal, in the middle of its work.
        #[default]
        Deletes = "deletes",
        /// It succeeds and the message stays (service model, of the same operation: with an old handle "the message
        /// might not be deleted").
        NoEffect = "no-effect",
    }

    /// A change of visibility on a FIFO queue after the timeout ran out, before anybody received the message again.
    ///
    /// A *delete* is refused then (recorded, 2025). For a change there are only the service model's general words that it
    /// "might" fail.
    fifo_change_after_timeout: FifoChangeAfterTimeout {
        /// `InvalidParameterValue`, "The receipt handle has expired" (a field report, aws/aws-sdk-java#1628). The default:
        /// the lease is lost, and the work cannot be acknowledged any more.
        #[default]
        Expired = "expired",
        /// `InvalidParameterValue`, "does not exist or is not available" (recorded of standard queues, for a message that
        /// is gone).
        NotAvailable = "not-available",
        /// It hides the message again (the source of emulators, moto among them).
        Hides = "hides",
    }

    /// A change of visibility on a FIFO queue with the handle of an earlier delivery, whoever has the message now.
    ///
    /// No source shows an answer of AWS's.
    fifo_overtaken_change: FifoOvertakenChange {
        /// `InvalidParameterValue`, "The receipt handle has expired", as for the delete (recorded, 2025). The default: the
        /// rule that is recorded for the other operation on such a handle.
        #[default]
        Expired = "expired",
        /// `InvalidParameterValue`, "does not exist or is not available" (recorded of standard queues, for a message that
        /// is gone).
        NotAvailable = "not-available",
        /// It acts on the new holder's timeout, as on a standard queue (the source of emulators: `LocalStack`, moto).
        /// Harder on a lease keeper; AWS's documentation says that a FIFO handle is of no use after its timeout.
        Acts = "acts",
    }

    /// From when the 12 hours of a delivery count.
    limit_from: LimitFrom {
        /// From SQS getting this delivery's receive request: of a long poll, before the message was there (documentation,
        /// 2023). The default, for its source is the stronger one.
        #[default]
        Request = "request",
        /// From the answer to the receive request (what a reader of "when the message is received" takes it for).
        Answer = "answer",
        /// From the first receive request of the message ever, so that a message that was received before has less
        /// left ("first receipt", a third party's summary of a later documentation). Harder on a lease keeper, who cannot
        /// know of the earlier receive. The handle itself lives 12 hours.
        FirstRequest = "first-request",
    }

    /// A change that would end exactly 12 hours after the receive request.
    ///
    /// Documentation says that 43 200 s right after a receive "likely fails", and that 43 195 s works; nobody has
    /// published the edge. On AWS time always passes on the way, so that only a clock that is set meets it.
    limit_edge: LimitEdge {
        /// Refused, as if time had passed on the way (documentation's "likely"; a field report saw 43 199 s fail,
        /// aws/aws-sdk-net#794). The default: whoever asks for all that is left is refused, and has to ask for less.
        #[default]
        Refused = "refused",
        /// Accepted: it does not go *beyond* the limit, as the error's text has it (field reports of that text, and the
        /// source of moto, which refuses more than 43 200 s only).
        Accepted = "accepted",
    }

    /// A handle that is 12 hours old, on a standard queue, of a message that its holder no longer hides.
    ///
    /// Of one whose holder kept it hidden all the time field reports say that it is dead then (boto/boto3#2898,
    /// elastic/beats#30675). Of others nobody says anything.
    handle_age: HandleAge {
        /// Dead as well. The default: the work cannot be acknowledged any more.
        #[default]
        Dies = "dies",
        /// It does what old handles do, for as long as the message exists.
        DiesWhileHidden = "dies-while-hidden",
    }

    /// The code of a change refused for the 12 hours, in one entry of a batch.
    ///
    /// No source shows it. In a batch the other two refusals of a handle come as `ReceiptHandleIsInvalid` (AWS's own
    /// .NET framework's source compares with it), and this one's text was logged without its frame (a field report,
    /// `MassTransit/MassTransit#6179`).
    limit_entry_code: LimitEntryCode {
        /// `InvalidParameterValue`, as in a single call (field reports). The default: one cause, one code.
        #[default]
        InvalidParameterValue = "invalid-parameter-value",
        /// `ReceiptHandleIsInvalid`, as its siblings. Harder on a lease keeper that reads codes alone: only the text tells
        /// that the delivery is not lost.
        ReceiptHandleIsInvalid = "receipt-handle-is-invalid",
    }

    /// A change to more than 43 200 seconds, or to less than none: the text of its refusal, whose code is
    /// `InvalidParameterValue` either way.
    ///
    /// No source shows AWS's own.
    out_of_range: OutOfRange {
        /// "Must be >= 0 and <= 43200, if provided.", as `WaitTimeSeconds` has it (recorded) and emulators word it here.
        /// The default: a text that names no limit is read as the end of the lease.
        #[default]
        Range = "range",
        /// "Total `VisibilityTimeout` for the message is beyond the limit", as within the range (the source of moto). Of
        /// less than none the text of the range.
        BeyondLimit = "beyond-limit",
    }

    /// An entry of `ChangeMessageVisibilityBatch` without a `VisibilityTimeout`, which SQS's service model lets one leave
    /// out.
    ///
    /// No source says what it does.
    entry_without_timeout: EntryWithoutTimeout {
        /// The entry fails with `MissingParameter`. The default: a slip is seen where it was made.
        #[default]
        Refused = "refused",
        /// The queue's own visibility timeout.
        OfQueue = "of-queue",
        /// Zero, as a number that is absent reads in many languages: the message is visible at once.
        Zero = "zero",
    }

    /// The HTTP status of `ReceiptHandleIsInvalid` over JSON.
    invalid_handle_status: InvalidHandleStatus {
        /// 404 (service model; field reports over the old protocol). The default: it looks like a queue that is gone.
        #[default]
        NotFound = "404",
        /// 400, as all other refusals that were recorded over JSON have it.
        BadRequest = "400",
    }

    /// A change of visibility whose message ended by its retention period, while in flight.
    ///
    /// A *delete* succeeds then (`LocalStack`'s AWS-validated tests). Of a change there is nothing.
    change_after_retention: ChangeAfterRetention {
        /// `InvalidParameterValue`, "does not exist or is not available", as for a deleted message (recorded). The default:
        /// the lease is lost.
        #[default]
        Refused = "refused",
        /// 200, and it does nothing (the source of emulators, `LocalStack` among them).
        NoEffect = "no-effect",
    }

    /// A `VisibilityTimeout` that is a number and not whole, such as 1.5, which no SDK of a typed language can send.
    ///
    /// A text in its place is refused (a field report, symfony/symfony#53910). Of a fraction there is nothing.
    fractional_timeout: FractionalTimeout {
        /// `SerializationException`. The default: no time is lost unseen.
        #[default]
        Refused = "refused",
        /// The fraction is cut off, and 0.5 makes the message visible (what a library was seen to do before it sent,
        /// celery/kombu#2581).
        CutOff = "cut-off",
    }

    /// A receive of several messages with a visibility timeout of zero.
    zero_timeout: ZeroTimeout {
        /// Each message comes once in one answer (no recorded answer shows another). The default: there is no lease
        /// to be kept either way.
        #[default]
        Once = "once",
        /// One answer may hold the same message several times, under different handles, and does as often as there is
        /// room (documentation, of FIFO queues: it "can"; field reports, boto/boto3#1566, aws/aws-sdk-java#705).
        Repeated = "repeated",
    }

    /// The code by which a FIFO queue throttles where [`Settings::fifo_calls_per_second`] bounds it.
    fifo_throttling: FifoThrottling {
        /// `RequestThrottled`, HTTP status 403 (service model). The default, as for other queues.
        #[default]
        RequestThrottled = "request-throttled",
        /// `ThrottlingException`, HTTP status 400 (documentation, the guide to FIFO throttling).
        ThrottlingException = "throttling-exception",
    }
}
