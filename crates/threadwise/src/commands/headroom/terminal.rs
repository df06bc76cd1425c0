//! The terminal in `headroom --live`: the alternate screen, no cursor, no echo, and restored at the end, also after
//! Ctrl-C and a panic.
//!
//! Source: ECMA-48; `termios(3)` (ECHO, ICANON). Four sequences need no library (evidence/decisions.md, "Libraries").

use crate::error::AppError;
use crate::output;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;
use threadwise_headroom::screen::{ENTER, LEAVE, Size};

/// Holds the terminal; dropping it restores it.
pub struct Terminal {
    before: Option<Termios>,
}

impl Terminal {
    /// Switches the terminal to the live display.
    ///
    /// # Errors
    /// Standard output is not a terminal.
    pub fn enter() -> Result<Self, AppError> {
        if !io::stdout().is_terminal() {
            return Err(AppError::Input(
                "--live needs a terminal, and standard output is not one: remove it for lines, or use --json"
                    .to_owned(),
            ));
        }
        // A message on the alternate screen would disappear with it.
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            write(LEAVE);
            next(info);
        }));
        let before = quiet_keys();
        write(ENTER);
        Ok(Self { before })
    }

    /// Its current size.
    pub fn size(&self) -> Size {
        let (columns, lines) = output::terminal_size().unwrap_or((80, 24));
        Size { columns, lines, unicode: output::style().unicode }
    }

    /// Shows a frame.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn show(&self, frame: &str) -> Result<(), AppError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(frame.as_bytes()).and_then(|()| stdout.flush()).map_err(|_| AppError::ClosedPipe)
    }

    /// Waits; returns whether `q` was typed.
    pub fn wait(&self, time: Duration) -> bool {
        let stdin = io::stdin();
        let timeout = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
        let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
        // Without keys, or after a signal, wait for the rest of the time.
        let ready = self.before.is_some() && poll(&mut keys, Some(&timeout)).is_ok_and(|count| count > 0);
        if !ready {
            if self.before.is_none() {
                std::thread::sleep(time);
            }
            return false;
        }
        let mut typed = [0; 64];
        match stdin.lock().read(&mut typed) {
            Ok(count @ 1..) => typed[..count].contains(&b'q'),
            _ => true,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        write(LEAVE);
        if let Some(before) = &self.before {
            // A terminal that is gone needs no restoring.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, before);
        }
    }
}

/// Turns off echo and line mode if standard input is a terminal; returns the earlier settings.
fn quiet_keys() -> Option<Termios> {
    let before = tcgetattr(io::stdin()).ok()?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
    tcsetattr(io::stdin(), OptionalActions::Now, &quiet).ok()?;
    Some(before)
}

fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    // A failed write to a closed terminal does not matter.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}
