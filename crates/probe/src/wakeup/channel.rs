//! What wakes a sleeping thread: a futex, a byte in a pipe, a byte over a TCP connection.
//!
//! Source: futex(2), pipe(7), tcp(7). All ends are closed on exec, and each belongs to one thread: when one ends, the
//! other is woken and gets an error.

use rustix::thread::futex;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use threadwise_study::probe::WakeMethod;

/// One thread's end of what the two wake each other by.
#[derive(Debug)]
pub(super) enum End {
    Futex(Turn),
    Pipe(PipeReader, PipeWriter),
    Tcp(TcpStream),
}

/// Both ends: of the thread that begins, and of the other.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) leader: End,
    pub(super) follower: End,
}

impl Ends {
    /// # Errors
    /// The system's: no more open files, no loopback interface, a filter of system calls.
    pub(super) fn new(method: WakeMethod) -> io::Result<Self> {
        let (leader, follower) = match method {
            WakeMethod::Futex => {
                let word = Arc::new(AtomicU32::new(LEADER));
                let turn = |who, other| End::Futex(Turn { word: Arc::clone(&word), who, other });
                (turn(LEADER, FOLLOWER), turn(FOLLOWER, LEADER))
            }
            WakeMethod::Pipe => {
                let ((here, to_here), (there, to_there)) = (io::pipe()?, io::pipe()?);
                (End::Pipe(here, to_there), End::Pipe(there, to_here))
            }
            WakeMethod::Tcp => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let client = TcpStream::connect(listener.local_addr()?)?;
                let (server, peer) = listener.accept()?;
                if peer != client.local_addr()? {
                    return Err(io::Error::other("another process connected to the probe's port"));
                }
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                (End::Tcp(client), End::Tcp(server))
            }
        };
        Ok(Self { leader, follower })
    }
}

impl End {
    /// Wakes the other thread.
    ///
    /// # Errors
    /// The system's; the other one has ended.
    pub(super) fn wake(&mut self) -> io::Result<()> {
        match self {
            Self::Futex(turn) => turn.wake(),
            Self::Pipe(_, writer) => writer.write_all(&[1]),
            Self::Tcp(stream) => stream.write_all(&[1]),
        }
    }

    /// Sleeps until the other thread wakes this one.
    ///
    /// # Errors
    /// The system's; the other one has ended.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        match self {
            Self::Futex(turn) => turn.wait(),
            Self::Pipe(reader, _) => reader.read_exact(&mut [0]),
            Self::Tcp(stream) => stream.read_exact(&mut [0]),
        }
    }
}

const LEADER: u32 = 0;
const FOLLOWER: u32 = 1;
const ENDED: u32 = 2;

/// Whose turn it is, in a word that threads sleep on.
#[derive(Debug)]
pub(super) struct Turn {
    word: Arc<AtomicU32>,
    who: u32,
    other: u32,
}

impl Turn {
    fn wake(&self) -> io::Result<()> {
        let given = self.word.compare_exchange(self.who, self.other, Ordering::AcqRel, Ordering::Acquire);
        given.map_err(|_| ended())?;
        futex::wake(&self.word, futex::Flags::PRIVATE, 1)?;
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        loop {
            match self.word.load(Ordering::Acquire) {
                turn if turn == self.who => return Ok(()),
                ENDED => return Err(ended()),
                turn => match futex::wait(&self.word, futex::Flags::PRIVATE, turn, None) {
                    // Woken, or the word had changed already, or a signal came: it is read again.
                    Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.word.store(ENDED, Ordering::Release);
        // The other thread may have ended too.
        let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
    }
}

fn ended() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other thread has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_passes_turns_and_an_end_wakes_the_other() {
        for method in WakeMethod::ALL {
            let Ends { mut leader, mut follower } = Ends::new(method).unwrap();
            let other = std::thread::spawn(move || {
                let mut turns = 0;
                while follower.wait().is_ok() {
                    turns += 1;
                    follower.wake().unwrap();
                }
                turns
            });
            for _ in 0..100 {
                leader.wake().unwrap();
                leader.wait().unwrap();
            }
            drop(leader);
            assert_eq!(other.join().unwrap(), 100, "{method:?}");
        }
    }

    #[test]
    fn a_follower_that_ended_wakes_its_leader() {
        for method in WakeMethod::ALL {
            let Ends { mut leader, follower } = Ends::new(method).unwrap();
            let other = std::thread::spawn(move || drop(follower));
            assert!(leader.wake().and_then(|()| leader.wait()).is_err(), "{method:?}");
            other.join().unwrap();
        }
    }
}
