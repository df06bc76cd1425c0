//! Metrics over HTTP for Prometheus: `GET /metrics` and nothing else, one request at a time.
//!
//! Source: RFC 9110 (methods, status), RFC 9112 (messages); Prometheus, "Exposition formats".

use crate::error::AppError;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use threadwise_headroom::exposition::CONTENT_TYPE;

/// Longest request: Prometheus sends some hundred bytes.
const MOST_BYTES: usize = 8 << 10;
/// Longest time that a request and its answer may take: others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause after a connection that could not be accepted, for want of file descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);

/// What is answered: the newest metrics; `None` before the first window.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<Option<String>>>);

impl Page {
    /// Replaces what is answered.
    pub fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Listens, answers in a thread of its own until the program ends, and gives the address that it listens at.
///
/// # Errors
/// The address cannot be used.
pub fn serve(address: SocketAddr, page: Page) -> Result<SocketAddr, AppError> {
    let wrong = |error: io::Error| {
        AppError::Failed(format!("cannot listen at {address}: {error}; give another --prometheus ADDR"))
    };
    let listener = TcpListener::bind(address).map_err(wrong)?;
    let address = listener.local_addr().map_err(wrong)?;
    let answer_all = move || {
        loop {
            match listener.accept() {
                // Who asked and went away gets no answer, and nobody else has to know.
                Ok((stream, _)) => drop(answer(&stream, &page)),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    };
    std::thread::Builder::new().name("metrics".to_owned()).spawn(answer_all).map_err(wrong)?;
    Ok(address)
}

fn answer(stream: &TcpStream, page: &Page) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut writer = stream;
    stream.set_write_timeout(Some(PATIENCE))?;
    let response = match request(stream, until)? {
        Some(head) => response(&head, page),
        None => plain("431 Request Header Fields Too Large", "the request is too long\n"),
    };
    writer.write_all(response.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)
}

/// The head of a request; `None` where it is too long.
fn request(mut stream: &TcpStream, until: Instant) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while head.len() <= MOST_BYTES {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut part)?;
        head.extend_from_slice(&part[..count]);
        if count == 0 || head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
    }
    Ok(None)
}

fn response(head: &str, page: &Page) -> String {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) || words.next().is_some() {
        return plain("400 Bad Request", "not a request of HTTP/1.1\n");
    }
    let path = target.unwrap_or_default().split('?').next();
    match (method, path, page.get()) {
        (_, path, _) if path != Some("/metrics") => plain("404 Not Found", "the metrics are at /metrics\n"),
        (Some("GET"), _, Some(text)) => message("200 OK", CONTENT_TYPE, "", &text),
        (Some("GET"), _, None) => plain("503 Service Unavailable", "the first window is not over yet\n"),
        _ => message("405 Method Not Allowed", "text/plain", "Allow: GET\r\n", "only GET is answered\n"),
    }
}

fn plain(status: &str, text: &str) -> String {
    message(status, "text/plain", "", text)
}

fn message(status: &str, content: &str, more: &str, text: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {}\r\n{more}Connection: close\r\n\r\n{text}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str, page: &Page) -> u16 {
        response(head, page).split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn only_metrics_are_answered() {
        let page = Page::default();
        assert_eq!(status("GET /metrics HTTP/1.1\r\n\r\n", &page), 503);
        page.set("a 1\n".to_owned());
        assert_eq!(status("GET /metrics?x=1 HTTP/1.0\r\n\r\n", &page), 200);
        assert_eq!(status("GET / HTTP/1.1\r\n\r\n", &page), 404);
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n", &page), 405);
        for head in
            ["", "GET", "GET /metrics", "GET  /metrics HTTP/1.1", "\u{16}\u{3}\u{1}", "GET /metrics HTTP/2"]
        {
            assert_eq!(status(head, &page), 400, "{head:?}");
        }
        assert!(response("GET /metrics HTTP/1.1", &page).ends_with("Connection: close\r\n\r\na 1\n"));
    }

    #[test]
    fn a_request_without_end_is_cut_off() {
        let page = Page::default();
        let address = serve("127.0.0.1:0".parse().unwrap(), page).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(&vec![b'x'; 2 * MOST_BYTES]);
        let mut text = String::new();
        // The rest of the request may be answered by a reset.
        let _ = stream.read_to_string(&mut text);
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 431 "), "{text}");
    }
}
