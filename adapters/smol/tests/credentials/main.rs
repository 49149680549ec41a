//! Where the SDK finds credentials with no Tokio runtime, and what it says where it finds none.
//!
//! The environment belongs to the whole process, so each case runs in a process of its own.

mod case;
mod fake;
mod signature;

use std::fmt::Write as _;
use std::time::{Duration, Instant};
use std::{env, fs};

use sqs_lease_smol::aws_async_io::{AsyncIoSleep, SystemDns};
use sqs_lease_smol::aws_config::ecs::EcsCredentialsProvider;
use sqs_lease_smol::aws_config::provider_config::ProviderConfig;
use sqs_lease_smol::aws_sdk_sqs::Client;
use sqs_lease_smol::in_one_line;
use sqs_lease_suite::conformance::threads;

use case::{Case, MODE, RESULT};
use fake::{Fake, Request};
use signature::{Signature, signer};

/// What a case runs: the configuration as a smol program loads it, and two calls.
#[test]
#[ignore = "not a test by itself: each case below runs it in a process of its own"]
fn in_a_process_of_its_own() {
    let (Some(result), Ok(mode)) = (env::var_os(RESULT), env::var(MODE)) else { return };
    let report = smol::block_on(async {
        let started = Instant::now();
        let mut loader = sqs_lease_smol::config_loader().unwrap();
        if mode == "container with a resolver" {
            let http_client = sqs_lease_smol::http_client().unwrap();
            let provider =
                ProviderConfig::empty().with_http_client(http_client).with_sleep_impl(AsyncIoSleep::new());
            let container = EcsCredentialsProvider::builder().configure(&provider).dns(SystemDns::new());
            loader = loader.credentials_provider(container.build());
        }
        let client = Client::new(&loader.load().await);
        let mut report = String::new();
        for _ in 0..2 {
            let signature = Signature::default();
            let call = client.get_queue_url().queue_name("jobs").customize().interceptor(signature.clone());
            let answer = call.send().await;
            if let Some(with) = signature.seen() {
                writeln!(report, "signed {with}").unwrap();
            }
            if let Err(error) = answer {
                writeln!(report, "error {}", in_one_line(&error)).unwrap();
            }
        }
        writeln!(report, "took {}", started.elapsed().as_millis()).unwrap();
        report
    });
    assert!(!threads().iter().any(|name| name.starts_with("tokio")), "{:?}", threads());
    fs::write(result, report).unwrap();
}

const ROLE: &str = "arn:aws:iam::123456789012:role/worker";

/// The only request that came.
#[track_caller]
fn only(fake: &Fake) -> Request {
    let seen = fake.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    seen.into_iter().next().unwrap()
}

#[test]
fn the_environment() {
    let case = Case::new("environment").env("AWS_ACCESS_KEY_ID", "AKIDENV");
    case.env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_SESSION_TOKEN", "AKIDENV-token")
        .run()
        .is_signed_with("AKIDENV");
}

#[test]
fn a_profile() {
    let keys = "[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other\n\
        [work]\naws_access_key_id = AKIDFILE\naws_secret_access_key = secret\n\
        aws_session_token = AKIDFILE-token\n";
    let case = Case::new("profile").file(".aws/credentials", keys);
    case.env("AWS_PROFILE", "work").run().is_signed_with("AKIDFILE");
}

#[test]
fn a_role_assumed_by_a_profile() {
    let fake = Fake::start();
    let config = format!(
        "[profile work]\nrole_arn = {ROLE}\nsource_profile = base\nrole_session_name = night\n\
        external_id = ours\n[profile base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = secret\n"
    );
    let case = Case::new("assume-role").file(".aws/config", &config).env("AWS_PROFILE", "work");
    case.env("AWS_ENDPOINT_URL_STS", fake.url()).run().is_signed_with("AKIDASSUMED");
    let asked = only(&fake);
    assert_eq!(asked.field("RoleArn").as_deref(), Some(ROLE));
    assert_eq!(asked.field("RoleSessionName").as_deref(), Some("night"));
    assert_eq!(asked.field("ExternalId").as_deref(), Some("ours"));
    assert_eq!(asked.header("authorization").and_then(signer), Some("AKIDBASE"));
}

/// A role on top of what the container gives: two providers in a row.
#[test]
fn a_role_assumed_by_a_container() {
    let fake = Fake::start();
    let config = format!("[profile work]\nrole_arn = {ROLE}\ncredential_source = EcsContainer\n");
    let case = Case::new("assume-in-container").file(".aws/config", &config).env("AWS_PROFILE", "work");
    case.env("AWS_ENDPOINT_URL_STS", fake.url())
        .env("AWS_CONTAINER_CREDENTIALS_FULL_URI", fake.url() + "/container")
        .run()
        .is_signed_with("AKIDASSUMED");
    let seen = fake.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[1].header("authorization").and_then(signer), Some("AKIDCONTAINER"));
    assert_eq!(seen[1].header("x-amz-security-token"), Some("AKIDCONTAINER-token"));
}

#[test]
fn a_web_identity() {
    let fake = Fake::start();
    let case = Case::new("web-identity").file("token", "a.web.token");
    let token = case.path("token");
    case.env("AWS_WEB_IDENTITY_TOKEN_FILE", token)
        .env("AWS_ROLE_ARN", ROLE)
        .env("AWS_ROLE_SESSION_NAME", "pod")
        .env("AWS_ENDPOINT_URL_STS", fake.url())
        .run()
        .is_signed_with("AKIDWEB");
    let asked = only(&fake);
    assert_eq!(asked.field("WebIdentityToken").as_deref(), Some("a.web.token"));
    assert_eq!(asked.field("RoleArn").as_deref(), Some(ROLE));
    assert_eq!(asked.field("RoleSessionName").as_deref(), Some("pod"));
    assert_eq!(asked.header("authorization"), None, "a web identity is not signed");
}

#[test]
fn a_container() {
    let fake = Fake::start();
    let case = Case::new("container").file("pod-token", "a-pod-token");
    let token = case.path("pod-token");
    case.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", fake.url() + "/container")
        .env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token)
        .run()
        .is_signed_with("AKIDCONTAINER");
    assert_eq!(only(&fake).header("authorization"), Some("a-pod-token"));
}

#[test]
fn credentials_about_to_expire_are_asked_for_again() {
    let fake = Fake::with_lifetime(Duration::from_secs(5));
    let case = Case::new("expiry");
    case.env("AWS_CONTAINER_CREDENTIALS_FULL_URI", fake.url() + "/container")
        .run()
        .is_signed_with("AKIDCONTAINER");
    assert_eq!(fake.seen().len(), 2, "{:?}", fake.seen());
}

/// The default chain has no resolver off Tokio, and no way to give it one. The provider by itself has.
#[test]
fn a_container_at_a_host_name() {
    let fake = Fake::start();
    let at_a_name = |name| {
        let url = format!("http://localhost:{}/container", fake.port());
        Case::new(name).env("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)
    };
    let missing = "no DNS resolver was provided";
    let Some(outcome) = at_a_name("container-name").run_off_tokio() else { return };
    outcome.is_refused_with(missing, missing);
    assert!(fake.seen().is_empty(), "{:?}", fake.seen());
    let mut case = at_a_name("container-resolver");
    case.mode = "container with a resolver";
    case.run().is_signed_with("AKIDCONTAINER");
    assert_eq!(only(&fake).target, "/container");
}

#[test]
fn instance_metadata() {
    let fake = Fake::start();
    let case = Case::new("instance").env("AWS_EC2_METADATA_DISABLED", "false");
    case.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake.url()).run().is_signed_with("AKIDINSTANCE");
    let seen = fake.seen();
    assert_eq!(seen.len(), 3, "a token, the role's name, its credentials: {seen:?}");
    assert_eq!(seen[0].header("x-aws-ec2-metadata-token-ttl-seconds"), Some("21600"));
    for asked in &seen[1..] {
        assert_eq!(asked.header("x-aws-ec2-metadata-token"), Some("metadata-token"));
    }
}

/// The SDK waits a second, and does not try again.
#[test]
fn instance_metadata_that_does_not_answer() {
    let fake = Fake::silent();
    let case = Case::new("silent-instance").env("AWS_EC2_METADATA_DISABLED", "false");
    let silent = "no response within the read timeout of 1s";
    case.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake.url()).run().is_refused_with(silent, silent);
}

const SSO: &str = "[default]\nsso_start_url = https://example.test/start\nsso_region = eu-west-1\n\
    sso_account_id = 123456789012\nsso_role_name = worker\n";

#[test]
fn sso_with_a_token_of_the_command_line() {
    let fake = Fake::start();
    let token = r#"{"accessToken":"an-sso-token","expiresAt":"2999-01-01T00:00:00Z"}"#;
    // Named by the SHA-1 of the start URL.
    let cached = ".aws/sso/cache/1997fabd2b1e0f948dd90c4e939020df4b7cbbbe.json";
    let case = Case::new("sso").file(".aws/config", SSO).file(cached, token);
    case.env("AWS_ENDPOINT_URL_SSO", fake.url()).run().is_signed_with("AKIDSSO");
    let asked = only(&fake);
    assert_eq!(asked.header("x-amz-sso_bearer_token"), Some("an-sso-token"));
    assert!(asked.target.contains("role_name=worker"), "{asked:?}");
}

#[test]
fn sso_without_a_token() {
    let outcome = Case::new("no-sso").file(".aws/config", SSO).run();
    let file = "failed to read `";
    outcome
        .is_refused_with(file, ".aws/sso/cache/1997fabd2b1e0f948dd90c4e939020df4b7cbbbe.json`: No such file");
}

/// A profile that cannot be used at all: aws-config gives its reason once.
const AGAIN: &str = "the first call of this client was told";

#[test]
fn a_credential_process() {
    let config = "[default]\ncredential_process = /bin/echo {}\n";
    let Some(outcome) = Case::new("process").file(".aws/config", config).run_off_tokio() else { return };
    outcome.is_refused_with("`credential_process` needs Tokio's reactor", AGAIN);
}

#[test]
fn a_login_session() {
    let config = format!("[default]\nlogin_session = {ROLE}\n");
    let outcome = Case::new("login").file(".aws/config", &config).run();
    outcome.is_refused_with("the `credentials-login` feature must be enabled", AGAIN);
}

#[test]
fn nothing() {
    let tried = "no credentials found in chain. Attempted: Environment: ";
    Case::new("nothing").run().is_refused_with(tried, "IMDS disabled by AWS_EC2_METADATA_DISABLED");
}
