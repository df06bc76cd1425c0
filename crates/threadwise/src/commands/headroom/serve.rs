//! Metrics over HTTP for Prometheus: only `GET /metrics`, as OpenMetrics for a client that accepts it.
//!
//! hyper reads requests, one task each on one thread, so that a silent or slow client does not delay others: a request
//! has [`PATIENCE`], a connection [`AT_MOST`], and connections beyond [`CONNECTIONS`] wait. Each is closed after its
//! answer.
//!
//! Source: RFC 9110 (methods, status, 12.5.1 Accept), RFC 9112 (messages); Prometheus, "Exposition formats".

use crate::error::AppError;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use threadwise_headroom::exposition;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Maximum head of a request, bytes: Prometheus sends some hundred; hyper allows no less.
const MOST_BYTES: usize = 8 << 10;
/// Time limit for the head of a request.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time limit of a connection, with its answer: a scrape of Prometheus gives up after 10 s (`scrape_timeout`).
const AT_MOST: Duration = Duration::from_secs(10);
/// Maximum concurrent connections. A process may have 1,024 open files by default (getrlimit(2)).
const CONNECTIONS: usize = 512;
/// Pause after a failed accept, for example for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The newest metrics; `None` before the first window.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<Option<String>>>);

impl Page {
    /// Replaces the metrics.
    pub fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Listens, answers in its own thread until the program ends, and returns the listening address.
///
/// # Errors
/// The address cannot be used.
pub fn serve(address: SocketAddr, page: Page) -> Result<SocketAddr, AppError> {
    let wrong = |error: io::Error| {
        AppError::Failed(format!("cannot listen at {address}: {error}; give another --prometheus ADDR"))
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(wrong)?;
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(wrong)?;
    let address = listener.local_addr().map_err(wrong)?;
    let answer_all = move || answer_all(&runtime, &listener, &page);
    std::thread::Builder::new().name("metrics".to_owned()).spawn(answer_all).map_err(wrong)?;
    Ok(address)
}

fn answer_all(runtime: &Runtime, listener: &TcpListener, page: &Page) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    runtime.block_on(async {
        loop {
            // The semaphore is never closed, so it always gives a permit.
            let place = Arc::clone(&places).acquire_owned().await;
            let Ok((stream, _)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            let page = page.clone();
            runtime.spawn(async move {
                let _place = place;
                let answer = service_fn(|request: Request<Incoming>| {
                    let response = response(&request, page.get());
                    async { Ok::<_, Infallible>(response) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .max_buf_size(MOST_BYTES)
                    .keep_alive(false)
                    .serve_connection(TokioIo::new(stream), answer);
                // A client that left or is too slow gets no answer; this is not an error.
                let _ = timeout(AT_MOST, connection).await;
            });
        }
    });
}

/// Whether the client accepts OpenMetrics, in any place of its list: both forms say the same.
fn accepts_openmetrics<B>(request: &Request<B>) -> bool {
    let values = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|text| text.split(',')).any(is_openmetrics)
}

/// Whether a media range is that of OpenMetrics, with another weight than 0, which refuses it.
fn is_openmetrics(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let refuses = |part: &str| {
        let weight = part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0))
    };
    parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"))
        && !parts.any(refuses)
}

fn response<B>(request: &Request<B>, metrics: Option<String>) -> Response<Full<Bytes>> {
    let (status, content, text) = match (request.uri().path(), request.method(), metrics) {
        ("/metrics", &Method::GET, Some(text)) if accepts_openmetrics(request) => {
            (StatusCode::OK, exposition::OPENMETRICS_TYPE, exposition::openmetrics(&text))
        }
        ("/metrics", &Method::GET, Some(text)) => (StatusCode::OK, exposition::CONTENT_TYPE, text),
        (path, method, _) => {
            let (status, text) = match (path, method) {
                ("/metrics", &Method::GET) => {
                    (StatusCode::SERVICE_UNAVAILABLE, "the first window has not ended yet\n")
                }
                ("/metrics", _) => (StatusCode::METHOD_NOT_ALLOWED, "only GET is supported\n"),
                _ => (StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
            };
            (status, "text/plain", text.to_owned())
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn ready() -> SocketAddr {
        let page = Page::default();
        page.set("a 1\n".to_owned());
        serve("127.0.0.1:0".parse().unwrap(), page).unwrap()
    }

    /// What comes back for these bytes, until the connection is closed; a reset ends it as well.
    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn status(answer: &str) -> Option<u16> {
        answer.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
    }

    const SCRAPE: &[u8] = b"GET /metrics?x=1 HTTP/1.1\r\nHost: here\r\n\r\n";

    #[test]
    fn a_media_range_may_refuse_openmetrics() {
        let ranges = [
            ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5", true),
            (" Application/OpenMetrics-Text ; Q=0.1", true),
            ("application/openmetrics-text;q=0", false),
            ("application/openmetrics-text; version=1.0.0; q=0.000", false),
            ("text/plain;note=application/openmetrics-text", false),
            ("*/*;q=0.1", false),
        ];
        for (range, is_taken) in ranges {
            assert_eq!(is_openmetrics(range), is_taken, "{range}");
        }
    }

    #[test]
    fn only_metrics_are_answered() {
        let address = ready();
        let scraped = ask(address, SCRAPE);
        assert!(status(&scraped) == Some(200) && scraped.ends_with("\r\n\r\na 1\n"), "{scraped}");
        assert!(scraped.to_lowercase().contains("connection: close"), "{scraped}");
        assert_eq!(status(&ask(address, b"GET /metrics HTTP/1.0\r\n\r\n")), Some(200));
        assert_eq!(status(&ask(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")), Some(404));
        let posted = ask(address, b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        assert!(status(&posted) == Some(405) && posted.to_lowercase().contains("allow: get"), "{posted}");
        let open = b"GET /metrics HTTP/1.0\r\nAccept: text/html,application/openmetrics-text;version=1.0.0;q=0.5\r\n\r\n";
        let open = ask(address, open);
        assert!(open.contains("openmetrics-text; version=1.0.0") && open.ends_with("a 1\n# EOF\n"), "{open}");
        let early = serve("127.0.0.1:0".parse().unwrap(), Page::default()).unwrap();
        assert_eq!(status(&ask(early, SCRAPE)), Some(503));
    }

    #[test]
    fn hostile_requests_get_no_metrics_and_the_next_scrape_does() {
        let address = ready();
        let long =
            [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &vec![b'x'; 4 * MOST_BYTES], b"\r\n\r\n"].concat();
        let many = [b"GET /metrics HTTP/1.1\r\n".as_slice(), &b"A: b\r\n".repeat(2_000), b"\r\n"].concat();
        let hostile: [&[u8]; 9] = [
            b"GET  /metrics HTTP/1.1\r\n\r\n",
            b"GET /metrics HTTP/3\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET /metrics\0 HTTP/1.1\r\n\r\n",
            b"\r\n\r\n\r\n\r\nnonsense\r\n\r\n",
            b"GET /%2e%2e/metrics HTTP/1.1\r\nHost: x\r\n\r\n",
            &long,
            &many,
        ];
        for request in hostile {
            let answer = ask(address, request);
            let shown = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
            assert!(status(&answer).is_none_or(|status| status >= 400), "{shown:?}: {answer}");
            assert_eq!(status(&ask(address, SCRAPE)), Some(200), "after {shown:?}");
        }
    }

    /// The idle ones are still connected when the scrape is answered, which would otherwise wait for each of them.
    #[test]
    fn clients_that_say_nothing_keep_no_scrape_waiting() {
        let address = ready();
        let mut idle: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
        for stream in idle.iter_mut().step_by(2) {
            stream.write_all(b"GET /met").unwrap();
        }
        // That they are all let in before the scrape needs no wait: connections are accepted in their order.
        assert_eq!(status(&ask(address, SCRAPE)), Some(200));
        // Each of them is closed by itself, not by us.
        for mut stream in idle {
            stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
            let mut answer = Vec::new();
            let ended = stream.read_to_end(&mut answer);
            assert!(!matches!(&ended, Err(error) if error.kind() == io::ErrorKind::WouldBlock), "{ended:?}");
            assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
        }
    }
}
