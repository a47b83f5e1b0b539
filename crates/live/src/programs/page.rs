//! A small web server on port 80 of every host, for `curl` and browsers in the other namespace.
//!
//! `GET /` (or any path that is not a number) returns 177 669 bytes, the length of the page in the CSC458 lab. `GET /N` returns N
//! bytes. HTTP/1.1 with one request per connection.   Source: RFC 9112.

use super::poll::{BACKLOG, Token, tcp_socket, watch};
use crate::tun::{v4, v6};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// Length of the page in bytes.
const PAGE: u64 = 177_669;

/// Maximum size of an accepted request, bytes.
const MOST: usize = 16 * 1024;

/// Filler, from which every response body is sent.
static BODY: [u8; 64 * 1024] = [b'x'; 64 * 1024];

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    state: State,
}

/// The state of a connection, which carries a single request and its answer.
#[derive(Debug)]
enum State {
    /// The server is receiving the request. Holds the bytes received so far.
    Reading(Vec<u8>),
    /// The server is sending the answer. Holds the unsent part of the head, and the number of unsent bytes of the body.
    Answering { head: Vec<u8>, body: u64 },
    /// The answer is sent; the client closes the connection when it has received everything.
    Answered,
}

#[derive(Debug, Default)]
pub(super) struct Pages {
    listeners: Vec<OwnedFd>,
    clients: Vec<Option<Client>>,
}

impl Pages {
    /// Listens on port 80 of every host in the current namespace.
    pub(crate) fn listen(&mut self, poll: &OwnedFd, hosts: &[u16]) -> io::Result<()> {
        for host in hosts {
            self.bind(poll, tcp_socket()?, SocketAddr::from((v4(host + 1), 80)))?;
            // if the kernel has no IPv6, there is only the IPv4 listener
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            if let Ok(fd) = net::socket_with(AddressFamily::INET6, SocketType::STREAM, flags, None) {
                self.bind(poll, fd, SocketAddr::from((v6(host + 1), 80)))?;
            }
        }
        Ok(())
    }

    fn bind(&mut self, poll: &OwnedFd, fd: OwnedFd, at: SocketAddr) -> io::Result<()> {
        net::sockopt::set_socket_reuseaddr(&fd, true)?;
        net::bind(&fd, &at)?;
        net::listen(&fd, BACKLOG)?;
        watch(poll, &fd, Token::PageListener(self.listeners.len()), EventFlags::IN)?;
        self.listeners.push(fd);
        Ok(())
    }

    /// Accepts waiting clients.   Bound: one iteration per waiting client.
    pub(crate) fn accept(&mut self, poll: &OwnedFd, listener: usize) {
        while let Ok(socket) = net::accept_with(&self.listeners[listener], SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
        {
            let i = self.clients.iter().position(Option::is_none).unwrap_or(self.clients.len());
            if watch(poll, &socket, Token::Page(i), EventFlags::IN | EventFlags::OUT | EventFlags::ET).is_err() {
                continue;
            }
            let client = Client { socket, state: State::Reading(Vec::new()) };
            if i == self.clients.len() {
                self.clients.push(Some(client));
            } else {
                self.clients[i] = Some(client);
            }
        }
    }

    /// Serves a client that is readable or writable.
    pub(crate) fn ready(&mut self, i: usize, buffer: &mut [u8]) {
        if let Some(slot) = self.clients.get_mut(i)
            && slot.as_mut().is_some_and(|client| client.step(buffer).is_none())
        {
            *slot = None;
        }
    }
}

impl Client {
    /// Reads and writes until the socket blocks; returns `None` when the connection is over.
    fn step(&mut self, buffer: &mut [u8]) -> Option<()> {
        loop {
            match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return None,
                Ok((n, _)) => {
                    if let State::Reading(request) = &mut self.state {
                        request.extend(&buffer[..n]);
                        if request.len() > MOST {
                            return None;
                        }
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return None,
            }
        }
        if let State::Reading(request) = &self.state
            && request.windows(4).any(|w| w == b"\r\n\r\n")
        {
            let (head, body) = answer(request);
            self.state = State::Answering { head, body };
        }
        let State::Answering { head, body } = &mut self.state else { return Some(()) };
        while !head.is_empty() || *body > 0 {
            let data = if head.is_empty() { &BODY[..(*body).min(BODY.len() as u64) as usize] } else { &head[..] };
            match net::send(&self.socket, data, SendFlags::NOSIGNAL) {
                Ok(n) if head.is_empty() => *body -= n as u64,
                Ok(n) => drop(head.drain(..n)),
                Err(Errno::AGAIN) => return Some(()),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        net::shutdown(&self.socket, Shutdown::Write).ok()?;
        self.state = State::Answered;
        Some(())
    }
}

/// Returns the head of a response and the length of its body.
fn answer(request: &[u8]) -> (Vec<u8>, u64) {
    let text = String::from_utf8_lossy(request);
    let mut words = text.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "GET" && method != "HEAD" {
        let head =
            "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return (head.into(), 0);
    }
    let length = path.trim_start_matches('/').parse().unwrap_or(PAGE);
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    (head.into_bytes(), if method == "GET" { length } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_answered_once_and_kept_until_it_closes() {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (socket, far) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let mut client = Client { socket, state: State::Reading(Vec::new()) };
        let mut buffer = vec![0; 4096];
        let mut step = || client.step(&mut buffer);
        net::send(&far, b"GET /5 HT", SendFlags::empty()).unwrap();
        assert_eq!(step(), Some(()), "half a request");
        net::send(&far, b"TP/1.1\r\n\r\n", SendFlags::empty()).unwrap();
        assert_eq!(step(), Some(()));
        let mut answer = vec![0; 4096];
        let (n, _) = net::recv(&far, &mut answer[..], RecvFlags::empty()).unwrap();
        assert!(answer[..n].ends_with(b"\r\n\r\nxxxxx"), "{:?}", String::from_utf8_lossy(&answer[..n]));
        // the connection stays open after two more events: the socket becomes writable again when the client has
        // received the answer, and the client sends more data
        assert_eq!(step(), Some(()));
        net::send(&far, b"more", SendFlags::empty()).unwrap();
        assert_eq!(step(), Some(()));
        assert_eq!(net::recv(&far, &mut answer[..], RecvFlags::empty()).unwrap().0, 0, "the end of the answer");
        drop(far);
        assert_eq!(step(), None);
    }

    #[test]
    fn requests_and_their_answers() {
        let body = |request: &str| answer(request.as_bytes()).1;
        assert_eq!(body("GET / HTTP/1.1\r\n\r\n"), 177_669);
        assert_eq!((body("GET /1000 HTTP/1.1\r\n\r\n"), body("HEAD / HTTP/1.1\r\n\r\n")), (1000, 0));
        let (head, length) = answer(b"POST / HTTP/1.1\r\n\r\n");
        assert!(head.starts_with(b"HTTP/1.1 405") && length == 0);
    }
}
