//! The workload `kernels`: a loop that needs one resource of a core and little else, so that what a second thread costs and
//! yields is known by resource. Each session has its own data, apart from the lock; each step is one of some parts of the
//! data, whose result is known from when it was made, and is checked.

mod btree;
mod data;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use threadwise_study::kernels::{BYTES, KERNEL, KERNELS, default_bytes};
use threadwise_study::{Counters, SessionSlice, Workload};

use self::data::{Data, ELEMENT, Kernel};
use super::error::failed;
use super::locks::{Lock, LockKind, Waits};
use super::options::common;
use crate::worker::{StepResult, step_loop};
use crate::workloads::options::{only, whole, word};
use crate::{
    EngineError, LoadRequest, Loaded, Running, Session, SessionRequest, Standing, StartRequest, Window,
};

/// Largest data of a session.
const MOST_BYTES: u64 = 64 << 30;

/// The options, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelSpec {
    kernel: Kernel,
    bytes: u64,
}

impl KernelSpec {
    /// Checks a whole request.
    ///
    /// # Errors
    /// The first option that is unknown or impossible.
    pub fn parse(request: &LoadRequest) -> Result<Self, EngineError> {
        use Kernel::{Add, Bandwidth, Chase, Interleaved, Lock, Multiply, Search};
        common(request)?;
        only(&request.options, Workload::Kernels, &[KERNEL, BYTES])?;
        let at = word(&request.options, KERNEL, &KERNELS)?;
        let kernel = [Add, Multiply, Chase, Chase, Chase, Chase, Bandwidth, Search, Interleaved, Lock][at];
        let least = ELEMENT * data::PARTS as u64;
        let bytes = whole(&request.options, BYTES, least, MOST_BYTES)?.unwrap_or(default_bytes(KERNELS[at]));
        Ok(Self { kernel, bytes })
    }

    fn has_data(self) -> bool {
        !matches!(self.kernel, Kernel::Add | Kernel::Multiply | Kernel::Lock)
    }
}

/// Memory of one session, and notes.
pub fn size(spec: &KernelSpec) -> Loaded {
    let bytes = if spec.has_data() { spec.bytes } else { 0 };
    Loaded { bytes_per_session: bytes, rows_per_session: 0, notes: Vec::new() }
}

/// What all sessions share.
#[derive(Debug)]
struct Counter {
    lock: Lock,
    /// Read and written apart, so that only the lock makes it right.
    count: AtomicU64,
    reported: AtomicU64,
}

/// The workload, started for one treatment.
pub struct RunningKernels {
    spec: KernelSpec,
    counter: Arc<Counter>,
}

impl RunningKernels {
    /// Gets ready.
    ///
    /// # Errors
    /// An option is impossible.
    pub fn begin(request: &StartRequest) -> Result<Self, EngineError> {
        let counter = Counter {
            lock: Lock::new(LockKind::Spin, request.sessions.len()),
            count: AtomicU64::new(0),
            reported: AtomicU64::new(0),
        };
        Ok(Self { spec: KernelSpec::parse(&request.load)?, counter: Arc::new(counter) })
    }

    fn check(&self) -> Result<(), EngineError> {
        let [count, reported] =
            [&self.counter.count, &self.counter.reported].map(|count| count.load(Ordering::SeqCst));
        match count == reported {
            true => Ok(()),
            false => Err(EngineError::WrongAnswer(format!(
                "the counter behind the lock is {count} after {reported} increments"
            ))),
        }
    }
}

impl Running for RunningKernels {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(KernelSession {
            spec: self.spec,
            session: request.session as usize,
            seed: request.seed.wrapping_add(u64::from(request.session)),
            data: None,
            part: 0,
            counter: Arc::clone(&self.counter),
        }))
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        Ok(Standing::default())
    }

    fn after(&self, _: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        self.check()?;
        Ok(Counters::new())
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.check()
    }
}

struct KernelSession {
    spec: KernelSpec,
    session: usize,
    seed: u64,
    /// Made by the session's own thread, so that it lies where that runs.
    data: Option<Data>,
    /// The next part of the data.
    part: usize,
    counter: Arc<Counter>,
}

impl KernelSession {
    fn step(&mut self) -> Result<StepResult, EngineError> {
        if self.spec.kernel == Kernel::Lock {
            return Ok(self.count());
        }
        let data = self.data.as_ref().ok_or_else(|| failed("run a kernel", "it has no data"))?;
        let part = self.part;
        self.part = (part + 1) % data.parts();
        let (done, found) = data.run(part);
        let wrong = u64::from(found != data.expected(part));
        Ok(StepResult { rows: done, checked: 1, wrong, think_ns: 0 })
    }

    fn count(&mut self) -> StepResult {
        const TIMES: u64 = 64;
        let mut waits = Waits::default();
        for _ in 0..TIMES {
            self.counter.lock.acquire(self.session, &mut waits);
            let count = self.counter.count.load(Ordering::Relaxed);
            self.counter.count.store(count + 1, Ordering::Relaxed);
            self.counter.lock.release(self.session, &mut waits);
        }
        self.counter.reported.fetch_add(TIMES, Ordering::Relaxed);
        StepResult { rows: TIMES, checked: TIMES, wrong: 0, think_ns: 0 }
    }
}

impl Session for KernelSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.spec.kernel != Kernel::Lock {
            self.data = Some(Data::new(self.spec.kernel, self.spec.bytes, self.seed));
        }
        Ok(())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        step_loop(window, || self.step(), || Ok([]))
    }
}

#[cfg(test)]
mod tests;
