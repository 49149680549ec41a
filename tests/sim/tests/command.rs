//! The command `sqs-lease-sim`: what it says first, and what it refuses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// Killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sqs-lease-sim"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn its_first_line_says_where_it_listens() {
    for (arguments, beyond) in [
        (&["serve", "--port", "0", "--manual-clock"][..], ""),
        (&["--port", "0", "--manual-clock", "--record", "0", "--choose", "limit-edge=accepted"], ""),
        (
            &["serve", "--port", "0", "--bind", "0.0.0.0", "--allow-non-loopback", "--manual-clock"],
            ", and as 0.0.0.0 for other machines",
        ),
    ] {
        let mut child = Running(command(arguments).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = line.trim_end().strip_prefix("sqs-lease-sim listens on http://").expect(&line);
        let address = said.strip_suffix(beyond).expect(&line);
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /clock HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(r#""stands_still":true"#), "{answer}");
    }
}

#[test]
fn what_it_refuses_it_names() {
    for (arguments, said) in [
        (
            &["serve", "--bind", "0.0.0.0"][..],
            "--bind 0.0.0.0 is not a loopback address: leave it out for 127.0.0.1, or add --allow-non-loopback to let other machines in",
        ),
        (&["serve", "--port", "65536"], "--port wants a number from 0 to 65535, not '65536'"),
        (&["--bind", "localhost"], "--bind wants an IP address, not 'localhost'"),
        (&["--choose", "limit-edge=maybe"], "limit-edge is refused or accepted, not maybe"),
        (&["--choose", "limit-edge"], "--choose wants POINT=WAY, not 'limit-edge'"),
        (&["--limit"], "--limit wants a number of seconds"),
        (&["serve", "--quick"], "'--quick' is no option"),
        (&["--port", "0", "serve"], "'serve' is no option"),
    ] {
        let output = command(arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(error.lines().next(), Some(&*format!("sqs-lease-sim: {said}")), "{arguments:?}");
    }
    let ways = command(&["--choices"]).output().unwrap();
    let ways = String::from_utf8(ways.stdout).unwrap();
    assert!(ways.lines().any(|line| line == "limit-edge=refused|accepted"), "{ways}");
    let help = command(&["--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--manual-clock"));
}

#[test]
fn it_ends_in_peace_where_nobody_reads_on() {
    for question in ["--choices", "--help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(&[question]).stdout(writer).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
