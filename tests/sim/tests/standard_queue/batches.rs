use sqs_lease_sim::{Change, Entry, Error, Receive};

use crate::{QUEUE, at, one_message};

#[test]
fn a_batch_is_refused_as_a_whole_or_each_entry_by_itself() {
    let mut model = one_message("30");
    let change = |id: &str| Entry::new(id, Change::new("garbage", 1));
    let long = "a".repeat(81);
    for (entries, code, text) in [
        (
            vec![],
            "AWS.SimpleQueueService.EmptyBatchRequest",
            "There should be at least one ChangeMessageVisibilityBatchRequestEntry in the request.",
        ),
        (
            (0..11).map(|i| change(&i.to_string())).collect(),
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            "Maximum number of entries per request are 10. You have sent 11.",
        ),
        (
            vec![change("a"), change("b"), change("b"), change("a")],
            "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            "Id b repeated.",
        ),
        (
            vec![change("")],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
        ),
        (
            vec![change("a b")],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
        ),
        (
            vec![change(&long)],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
        ),
    ] {
        let error = model.change_visibility_batch(QUEUE, &entries, at(0)).unwrap_err();
        assert_eq!((error.code(), &*error.text(), error.status()), (code, text, 400));
    }
}

#[test]
fn an_entry_fails_with_a_code_of_its_own() {
    let mut model = one_message("30");
    model.send(QUEUE, "more", at(0)).unwrap();
    let deliveries = model.receive(QUEUE, &Receive::new().max(2), at(0)).unwrap();
    let [gone, held] = &*deliveries else { panic!("two messages") };
    model.delete(QUEUE, &gone.receipt_handle, at(1)).unwrap();
    let entries = [
        Entry::new("held", Change::new(&*held.receipt_handle, 60)),
        Entry::new("gone", Change::new(&*gone.receipt_handle, 60)),
        Entry::new("garbage", Change::new("garbage", 60)),
        Entry::new("limit", Change::new(&*held.receipt_handle, 43_200)),
        Entry::new("none", Change { receipt_handle: held.receipt_handle.clone(), secs: None }),
    ];
    let outcomes = model.change_visibility_batch(QUEUE, &entries, at(1)).unwrap();
    let seen: Vec<_> = outcomes
        .iter()
        .map(|(id, outcome)| {
            let error = outcome.as_ref().err();
            (&**id, error.map_or("", Error::entry_code), error.map(Error::entry_text).unwrap_or_default())
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("held", "", String::new()),
            (
                "gone",
                "ReceiptHandleIsInvalid",
                "Message does not exist or is not available for visibility timeout change".into()
            ),
            (
                "garbage",
                "ReceiptHandleIsInvalid",
                "The input receipt handle \"garbage\" is not a valid receipt handle.".into()
            ),
            (
                "limit",
                "InvalidParameterValue",
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]".into()
            ),
            ("none", "MissingParameter", "The request must contain the parameter VisibilityTimeout.".into()),
        ]
    );
    assert_eq!(model.next_change(QUEUE, at(1)), Some(at(61)));
}
