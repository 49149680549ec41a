//! The clock, the faults and the truth, as a test in another language has them.

use serde_json::{Value, json};
use sqs_lease_sim::Moment;

use crate::client::{Client, send, start, start_manual};

#[test]
fn the_clock_moves_over_http() {
    let (server, url, mut client) = start_manual("43200");
    send(&server);
    assert!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body["Messages"][0].is_object());
    let advance =
        |client: &mut Client, query: &str| client.control("POST", &format!("/clock/advance{query}"), "");
    for query in
        ["?seconds=-1", "?seconds=1e3", "?seconds=", "?seconds=1.", "?seconds=.5", "?minutes=1", "", "?"]
    {
        let (status, body) = advance(&mut client, query);
        let text = "POST /clock/advance?seconds=N wants a number of seconds, such as 43200 or 0.5";
        assert_eq!((status, body), (400, json!({"error": text})), "{query}");
    }
    let (status, body) = advance(&mut client, "?seconds=99999999999");
    assert_eq!((status, body), (400, json!({"error": "the clock goes no further than a hundred years"})));
    let (status, body) = advance(&mut client, "?seconds=43199.5");
    assert_eq!((status, &body["seconds"], &body["stands_still"]), (200, &json!(43_199.5), &json!(true)));
    assert_eq!(server.now(), Moment::from_millis(43_199_500));
    assert_eq!(client.control("GET", "/clock", "").1, body);
    assert_eq!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body, json!({}));
    advance(&mut client, "?seconds=0.500000000");
    assert!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body["Messages"][0].is_object());
}

#[test]
fn a_running_clock_moves_over_http_too() {
    let (server, _, mut client) = start("30");
    let (status, body) = client.control("POST", "/clock/advance?seconds=43200", "");
    assert_eq!((status, &body["stands_still"]), (200, &json!(false)));
    assert!(server.now() >= Moment::from_secs(43_200));
}

#[test]
fn faults_come_and_go_over_http() {
    let (_server, url, mut client) = start_manual("30");
    let receive = json!({"QueueUrl": url});
    let rule = json!({"effect": "throttle", "action": "ReceiveMessage", "queue": "jobs", "first": 1});
    let (status, body) = client.control("POST", "/faults", &rule.to_string());
    assert_eq!((status, body), (200, json!({"ids": [1]})));
    assert_eq!(client.call("ReceiveMessage", &receive).status, 403);
    assert_eq!(client.call("ReceiveMessage", &receive).status, 200);

    let two = json!([{"effect": "rate-exceeded"}, {"effect": "unavailable", "action": "SendMessage"}]);
    assert_eq!(client.control("POST", "/faults", &two.to_string()).1, json!({"ids": [2, 3]}));
    let throttled = client.call("ReceiveMessage", &receive);
    assert_eq!((throttled.status, &throttled.body["__type"]), (400, &json!("ThrottlingException")));
    let (_, shown) = client.control("GET", "/faults", "");
    assert_eq!(
        shown["faults"][0],
        json!({"id": 1, "effect": "throttle", "action": "ReceiveMessage", "queue": "jobs", "first": 1, "seen": 3, "hit": 1})
    );
    assert_eq!(client.control("DELETE", "/faults/2", "").0, 200);
    let (status, body) = client.control("DELETE", "/faults/2", "");
    assert_eq!((status, body), (404, json!({"error": "there is no fault 2"})));
    assert_eq!(client.call("ReceiveMessage", &receive).status, 200);
    assert_eq!(client.call("SendMessage", &json!({"QueueUrl": url, "MessageBody": "x"})).status, 503);
    client.control("DELETE", "/faults", "");
    assert_eq!(client.control("GET", "/faults", "").1, json!({"faults": []}));
    assert_eq!(client.call("SendMessage", &json!({"QueueUrl": url, "MessageBody": "x"})).status, 200);
    assert_eq!(client.control("GET", "/calls", "").1, json!({"ReceiveMessage": 4, "SendMessage": 2}));
}

#[test]
fn of_faults_that_are_wrong_none_is_added_and_the_first_is_named() {
    let (_server, _, mut client) = start_manual("30");
    for (body, text) in [
        ("", "the body is no JSON: EOF while parsing a value at line 1 column 0".to_owned()),
        (r#"{"effect": "explode"}"#, "there is no effect 'explode'".into()),
        (r#"[{"effect": "hang"}, {"effect": "refuse"}]"#, "fault 1: 'refuse' needs a 'status'".into()),
        (
            &Value::from(vec![json!({"effect": "hang"}); 1_001]).to_string(),
            "there can be 1000 faults at most; DELETE /faults takes them back".into(),
        ),
    ] {
        assert_eq!(client.control("POST", "/faults", body), (400, json!({"error": text})));
    }
    assert_eq!(client.control("GET", "/faults", "").1, json!({"faults": []}));
}

#[test]
fn the_truth_is_told_over_http() {
    let (_server, url, mut client) = start_manual("30");
    let receive = |client: &mut Client| {
        let answer = client.call("ReceiveMessage", &json!({"QueueUrl": url}));
        answer.body["Messages"][0].clone()
    };
    let sent = client.call("SendMessage", &json!({"QueueUrl": url, "MessageBody": "work"})).body;
    let id = &sent["MessageId"];
    let first = receive(&mut client);
    client.control("POST", "/clock/advance?seconds=30", "");
    let second = receive(&mut client);
    client.control("POST", "/clock/advance?seconds=5", "");
    let of =
        |message: &Value| json!({"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]}).to_string();
    assert_eq!(client.control("POST", "/truth/let-go", &of(&first)), (200, json!({})));
    assert_eq!(client.control("POST", "/truth/crash", &of(&second)), (200, json!({})));

    let overlap =
        json!({"message_id": id, "held": 1, "began": 2, "from": 30.0, "until": 35.0, "is_injected": false});
    let hidden = json!({"message_id": id, "delivery": 2, "crashed": 35.0, "hidden": 25.0});
    let history = json!({"message_id": id, "history": [
        {"at": 0.0, "event": "sent", "queue": "jobs", "visible_at": 0.0},
        {"at": 0.0, "event": "received", "delivery": 1, "requested": 0.0, "until": 30.0, "is_injected": false},
        {"at": 30.0, "event": "received", "delivery": 2, "requested": 30.0, "until": 60.0, "is_injected": false},
        {"at": 35.0, "event": "let-go", "delivery": 1},
        {"at": 35.0, "event": "crashed", "delivery": 2},
    ]});
    let path = format!("/truth/messages/{}", id.as_str().unwrap());
    assert_eq!(client.control("GET", "/truth/overlaps", "").1, json!({"overlaps": [overlap]}));
    assert_eq!(
        client.control("GET", "/truth/hidden-since-crash", "").1,
        json!({"hidden_since_crash": [hidden]})
    );
    assert_eq!(client.control("GET", &path, "").1, history);
    let truth = client.control("GET", "/truth", "").1;
    assert_eq!(
        truth,
        json!({"now": 35.0, "is_recorded": true, "forgotten": 0, "overlaps": [overlap],
               "hidden_since_crash": [hidden], "messages": [history]})
    );

    assert_eq!(client.control("DELETE", "/truth", ""), (200, json!({})));
    let truth = client.control("GET", "/truth", "").1;
    assert_eq!((&truth["forgotten"], &truth["messages"]), (&json!(1), &json!([])));
    assert_eq!(client.control("GET", &path, "").0, 404);
    client.control("POST", "/clock/advance?seconds=30", "");
    assert_eq!(receive(&mut client)["MessageId"], *id, "the message itself is where it was");
}

#[test]
fn what_is_wrong_with_a_question_is_said() {
    let (_server, url, mut client) = start_manual("30");
    for (method, path, body, status, text) in [
        (
            "GET",
            "/clock/advance?seconds=1",
            String::new(),
            405,
            "/clock/advance takes POST, not GET".to_owned(),
        ),
        ("PUT", "/faults", String::new(), 405, "/faults takes GET, POST, DELETE, not PUT".into()),
        ("POST", "/truth", String::new(), 405, "/truth takes GET, DELETE, not POST".into()),
        (
            "GET",
            "/truth/lies",
            String::new(),
            404,
            "there is no /truth/lies; GET / says what there is".into(),
        ),
        ("GET", "/truth/messages/x", String::new(), 404, "nothing is recorded of a message x".into()),
        (
            "POST",
            "/truth/crash",
            json!({"QueueUrl": url}).to_string(),
            400,
            "/truth/crash wants a JSON object with a text 'ReceiptHandle'".into(),
        ),
        (
            "POST",
            "/truth/let-go",
            json!({"QueueUrl": url, "ReceiptHandle": "garbage"}).to_string(),
            400,
            "The input receipt handle is not a valid receipt handle. (ReceiptHandleIsInvalid)".into(),
        ),
    ] {
        assert_eq!(client.control(method, path, &body), (status, json!({"error": text})), "{method} {path}");
    }
}
