//! Proxies asked for by the environment. Each case runs in a child process, since a process has one environment.
mod support;

use std::process::Command;

use aws_async_io::{Client, RequestErrorKind};
use support::server::Server;
use support::{cause, exchange, get};

/// Set in the child: the URI to ask for.
const CHILD: &str = "PROXY_TEST_URI";

/// What a client says that was built under these variables.
fn says(uri: &str, variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"] {
        child.env_remove(name).env_remove(name.to_lowercase());
    }
    let child = child.args(["--exact", "child", "--nocapture"]).env(CHILD, uri);
    let output = child.envs(variables.iter().copied()).output().expect("a child");
    let output = String::from_utf8(output.stdout).expect("text");
    let said = output.lines().find_map(|line| line.split_once("SAYS ")).expect("the child says something");
    said.1.to_owned()
}

#[test]
fn child() {
    let Ok(uri) = std::env::var(CHILD) else { return };
    let client = Client::builder().without_system_roots().build().expect("a client");
    match smol::block_on(exchange(&client, get(&uri))) {
        Ok((status, _)) => println!("SAYS {status}"),
        Err(error) => {
            let proxy = cause(&error).kind() == RequestErrorKind::Proxy;
            assert_eq!(error.is_user(), proxy, "a proxy is not tried again");
            println!("SAYS {}", cause(&error));
        }
    }
}

#[test]
fn a_proxy_asked_for_is_refused_with_a_sentence() {
    let server = Server::answering("{}");
    let uri = server.uri("/");
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let text = says(&uri, &[(name, "http://127.0.0.1:3128")]);
        let expected = format!(
            "127.0.0.1:{}: {name} asks for a proxy, which this client cannot speak to: unset it, name 127.0.0.1 in \
             NO_PROXY, or build the client with ignore_proxy_variables",
            server.port()
        );
        assert_eq!(text, expected);
    }
    let https = "https://sqs.eu-west-1.amazonaws.com/";
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let text = says(https, &[(name, "http://127.0.0.1:3128")]);
        assert!(
            text.starts_with(&format!("sqs.eu-west-1.amazonaws.com:443: {name} asks for a proxy")),
            "{text}"
        );
    }
    assert_eq!(server.accepted(), 0, "nothing goes past a proxy");
}

#[test]
fn what_is_exempt_from_the_proxy_is_connected_to() {
    let server = Server::answering("{}");
    let uri = server.uri("/");
    assert_eq!(says(&uri, &[("HTTP_PROXY", "http://p"), ("NO_PROXY", "sqs.example,127.0.0.0/8")]), "200");
    assert_eq!(says(&uri, &[("HTTPS_PROXY", "http://p")]), "200");
    assert_eq!(says(&uri, &[("HTTP_PROXY", "")]), "200");
    assert_eq!(says(&uri, &[]), "200");
}
