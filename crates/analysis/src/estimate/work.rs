//! What was done in slices, and in both halves of them: sums from which rates are made.

use threadwise_study::Slice;

/// What was done in a slice, or in several.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Slices.
    pub slices: u32,
    /// Rows.
    pub rows: f64,
    /// Window.
    pub window_ns: f64,
    /// Window times sessions.
    pub session_ns: f64,
    /// CPU time of the sessions; of several slices 0 where one of them does not know it.
    pub cpu_ns: f64,
    /// Slices that know no CPU time.
    pub without_cpu: u32,
}

impl Work {
    /// That of a slice.
    pub(super) fn of(slice: &Slice) -> Self {
        let cpu_ns = slice.cpu_ns() as f64;
        Self {
            slices: 1,
            rows: slice.rows() as f64,
            window_ns: slice.window_ns as f64,
            session_ns: slice.window_ns as f64 * slice.sessions.len() as f64,
            cpu_ns,
            without_cpu: u32::from(cpu_ns == 0.0),
        }
    }

    /// Whether there was a slice at all.
    pub fn is_there(&self) -> bool {
        self.slices > 0
    }

    /// Both together.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            slices: self.slices + other.slices,
            rows: self.rows + other.rows,
            window_ns: self.window_ns + other.window_ns,
            session_ns: self.session_ns + other.session_ns,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            without_cpu: self.without_cpu + other.without_cpu,
        }
    }

    /// Rows per second; `None` without a row.
    pub fn rows_per_s(&self) -> Option<f64> {
        (self.rows > 0.0 && self.window_ns > 0.0).then(|| self.rows * 1e9 / self.window_ns)
    }

    /// Share of their time in which sessions ran on a CPU; `None` where a slice does not know its CPU time.
    pub fn cpu_share(&self) -> Option<f64> {
        let is_known = self.session_ns > 0.0 && self.cpu_ns > 0.0 && self.without_cpu == 0;
        // What is counted at the first step boundaries may be a step longer than the window.
        is_known.then(|| (self.cpu_ns / self.session_ns).min(1.0))
    }

    /// CPU time per row; `None` without a row, or where a slice does not know its CPU time.
    pub fn cpu_ns_per_row(&self) -> Option<f64> {
        (self.rows > 0.0 && self.cpu_ns > 0.0 && self.without_cpu == 0).then(|| self.cpu_ns / self.rows)
    }
}

/// What a treatment did in both halves of its slices, by round.
#[derive(Debug, Clone, PartialEq)]
pub struct Halves {
    /// First halves.
    pub first: Vec<Work>,
    /// Second halves.
    pub second: Vec<Work>,
}

impl Halves {
    /// Those of a run's slices, rounds beyond the design left out; `None` where a slice does not know them, and for a
    /// fixed amount of work, which has no window to halve.
    pub fn of(slices: &[Slice], rounds: u32) -> Option<Self> {
        let mut halves = Self { first: Vec::new(), second: Vec::new() };
        for slice in slices.iter().filter(|slice| slice.round < rounds) {
            if slice.sessions.iter().any(|session| session.finished_ns.is_some()) {
                return None;
            }
            let first = slice.rows_first_half()?;
            let round = slice.round as usize;
            if halves.first.len() <= round {
                halves.first.resize(round + 1, Work::default());
                halves.second.resize(round + 1, Work::default());
            }
            let half = |rows: u64| Work {
                slices: 1,
                rows: rows as f64,
                window_ns: slice.window_ns as f64 / 2.0,
                ..Work::default()
            };
            halves.first[round] = half(first);
            halves.second[round] = half(slice.rows().saturating_sub(first));
        }
        Some(halves)
    }
}
