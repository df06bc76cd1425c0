//! Work of slices, and of both halves of them: sums from which rates are made.

use threadwise_study::Slice;

/// Work of one or more slices.
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
    /// CPU time of the sessions; of several slices 0 if one of them does not report it.
    pub cpu_ns: f64,
    /// Slices without a CPU time.
    pub without_cpu: u32,
}

impl Work {
    /// Work of a slice.
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

    /// The sum of both.
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

    /// Share of their time in which sessions ran on a CPU; `None` if a slice has no CPU time.
    pub fn cpu_share(&self) -> Option<f64> {
        let is_known = self.session_ns > 0.0 && self.cpu_ns > 0.0 && self.without_cpu == 0;
        // Counts at the first step boundaries may cover a step more than the window.
        is_known.then(|| (self.cpu_ns / self.session_ns).min(1.0))
    }

    /// CPU time per row; `None` without a row, or if a slice has no CPU time.
    pub fn cpu_ns_per_row(&self) -> Option<f64> {
        (self.rows > 0.0 && self.cpu_ns > 0.0 && self.without_cpu == 0).then(|| self.cpu_ns / self.rows)
    }
}

/// Work of a treatment in both halves of its slices, by round.
#[derive(Debug, Clone, PartialEq)]
pub struct Halves {
    /// First halves.
    pub first: Vec<Work>,
    /// Second halves.
    pub second: Vec<Work>,
}

impl Halves {
    /// The halves of a run's slices, without rounds beyond the design; `None` if a slice has none, and for a fixed
    /// amount of work, which has no window to halve.
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
