//! The engine `simulated`: slices from a known truth, without a database. It tests the statistics and the
//! runner; everything made from it is marked as simulated.

mod model;
mod queue;

use std::time::Duration;
use threadwise_study::engine::Properties;
use threadwise_study::{Counters, OptionValue, Options, SessionSlice, Workload};

use crate::worker::StepResult;
use crate::worker::arrivals::Arrivals;
use crate::workloads::burn;
use crate::workloads::logical_io::LogicalIo;
use crate::workloads::options::{no_loop, no_workload};
use crate::workloads::transaction::Quoting;
use crate::{
    Engine, EngineError, LoadRequest, Loaded, Running, Session, SessionRequest, StartRequest, Window, latency,
};
pub use model::{KEYED_OPTIONS, Model, OPTIONS, OUTLIER_FACTOR, demonstration};

/// Standard deviation of ln(latency) inside a slice.
const LATENCY_SD: f64 = 0.2;

/// Standard normal quantiles at (i + 0.5) / 10, from the lowest; enough for a plausible shape.
const QUANTILES: [f64; 10] = [-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645];

/// How long a session that is asked to hang sleeps.
const HANG: Duration = Duration::from_secs(3600);

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Simulated;

impl Engine for Simulated {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Ok("model 1".into())
    }

    fn about(&self) -> &'static str {
        "no database: slices drawn from a known truth with drift, noise, outliers and steal"
    }

    fn workloads(&self) -> &'static [Workload] {
        &[Workload::LogicalIo, Workload::Burn]
    }

    fn properties(&self) -> Properties {
        Properties { simulated: true, service_threads: false, ..Properties::default() }
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        Model::new(&request.engine_options)?;
        spec(request).map(drop)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        let spec = spec(request)?;
        Ok(Loaded {
            bytes_per_session: 0,
            rows_per_session: spec.blocks,
            notes: vec!["simulated: no data was made and nothing was measured".into()],
        })
    }

    fn start(&self, _: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        Ok(Box::new(Simulated))
    }
}

impl Running for Simulated {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let model = Model::new(&request.load.engine_options)?.with_seed(request.load.seed);
        let spec = spec(&request.load)?;
        Ok(Box::new(SimulatedSession { model, spec, request: request.clone(), slices: 0 }))
    }
}

fn spec(request: &LoadRequest) -> Result<LogicalIo, EngineError> {
    if !Simulated.workloads().contains(&request.workload) {
        return Err(no_workload("simulated", &request.workload, Simulated.workloads()));
    }
    no_loop(&request.options, "simulated")?;
    if request.workload == Workload::Burn {
        // Checks the options; a unit is a row.
        burn::parse(&request.options, "SELECT 1", Quoting::default())?;
        let unit = Options::from([("work_unit".to_owned(), OptionValue::Integer(1))]);
        return LogicalIo::parse(&unit);
    }
    LogicalIo::parse(&request.options)
}

struct SimulatedSession {
    model: Model,
    spec: LogicalIo,
    request: SessionRequest,
    slices: u64,
}

impl SimulatedSession {
    /// Whether the fault of this kind is due in this slice.
    fn due(&self, kind: &str) -> bool {
        self.model.keyed(kind, &self.request.load.treatment).is_some_and(|at| at as u64 == self.slices)
    }
}

impl Session for SimulatedSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        self.slices += 1;
        let treatment = &self.request.load.treatment;
        if self.due("crash") {
            return Err(EngineError::Failed {
                engine: "simulated".into(),
                action: format!("do slice {} of {treatment}", self.slices),
                why: "the option crash asks for it".into(),
            });
        }
        if self.due("hang") {
            std::thread::sleep(HANG);
        }
        let window_ns = window.end_ns - window.start_ns;
        let rate = self.model.rate(treatment, self.request.seed, window.sequence);
        let stolen = self.model.steal_share(window.sequence);
        let mut slice = match &window.arrivals {
            Some(arrivals) => self.at_a_rate(window, arrivals, rate)?,
            None => self.closed(window_ns, rate, stolen)?,
        };
        if self.due("wrong") {
            slice.answers_wrong = 1;
        }
        if self.model.keyed("miss", treatment).is_some() {
            slice.counters.insert("physical_reads".into(), slice.rows / 10 + 1);
        }
        Ok(slice)
    }
}

impl SimulatedSession {
    /// A slice of steps one after the other; `rate` is rows a second of all sessions.
    fn closed(&self, window_ns: u64, rate: f64, stolen: f64) -> Result<SessionSlice, EngineError> {
        let rows = rate * window_ns as f64 / 1e9 / f64::from(self.request.sessions.max(1));
        let steps = (rows / self.spec.work_unit as f64).round() as u64;
        let mut slice = work(steps, self.spec.work_unit, window_ns)?;
        slice.cpu_ns = (window_ns as f64 * (1.0 - stolen)) as u64;
        Ok(slice)
    }

    /// Its part of a slice in which requests arrive. Every session computes all of them alike; the first takes the
    /// window's own arrivals, which count them.
    fn at_a_rate(
        &self,
        window: &Window,
        arrivals: &Arrivals,
        rows_per_s: f64,
    ) -> Result<SessionSlice, EngineError> {
        let sessions = self.request.sessions.max(1);
        let mean_ns = f64::from(sessions) * 1e9 * self.spec.work_unit as f64 / rows_per_s;
        let mut draws = self.model.services(&self.request.load.treatment, window.sequence);
        let result = StepResult { rows: self.spec.work_unit, checked: 1, ..StepResult::default() };
        let fresh;
        let arrivals = match self.request.session {
            0 => arrivals,
            _ => {
                fresh = arrivals.again();
                &fresh
            }
        };
        let done = queue::serve(window, arrivals, sessions, |_| (mean_ns * draws.next()) as u64, result)?;
        let Some(served) = done.into_iter().nth(self.request.session as usize) else {
            return Ok(SessionSlice::default());
        };
        let used = SessionSlice {
            cpu_ns: served.busy_ns,
            run_queue_wait_ns: Some(0),
            counters: Counters::from([("physical_reads".into(), 0)]),
            ..SessionSlice::default()
        };
        let mut slice = served.requests.give(used)?;
        slice.counters.insert("logical_reads".into(), slice.rows * 2 + slice.rows / 20);
        Ok(slice)
    }
}

/// A slice of this many steps, with the reads per row of a three-level tree and latencies that fill the
/// window.
fn work(steps: u64, work_unit: u64, window_ns: u64) -> Result<SessionSlice, EngineError> {
    let rows = steps * work_unit;
    let failed = |why: latency::LatencyError| EngineError::Failed {
        engine: "simulated".into(),
        action: "record latencies".into(),
        why: why.to_string(),
    };
    let mut histogram = latency::histogram().map_err(failed)?;
    if steps > 0 {
        // The mean of a log-normal distribution is its median times exp(sd² / 2).
        let median = window_ns as f64 / steps as f64 / (LATENCY_SD * LATENCY_SD / 2.0).exp();
        for (index, quantile) in QUANTILES.iter().enumerate() {
            let share = (steps + index as u64) / QUANTILES.len() as u64;
            let latency_ns = (median * (LATENCY_SD * quantile).exp()) as u64;
            histogram.saturating_record_n(latency_ns.max(1), share as u32);
        }
    }
    Ok(SessionSlice {
        steps,
        rows,
        answers_checked: steps,
        run_queue_wait_ns: Some(0),
        counters: Counters::from([
            ("logical_reads".into(), rows * 2 + rows / 20),
            ("physical_reads".into(), 0),
        ]),
        latency: latency::to_bytes(&histogram).map_err(failed)?,
        ..SessionSlice::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(
        engine_options: Options,
        treatment: &str,
        count: u64,
    ) -> Vec<Result<SessionSlice, EngineError>> {
        let load = LoadRequest {
            workload: Workload::LogicalIo,
            options: Options::new(),
            engine_options,
            data_dir: "/proc/nonexistent".into(),
            treatment: treatment.into(),
            sessions: 2,
            seed: 3,
        };
        Simulated.check(&load).unwrap();
        let request = SessionRequest {
            load,
            session: 0,
            sessions: 2,
            cpus: threadwise_machine::CpuSet::new(),
            seed: 9,
        };
        let mut session = Simulated.open(&request).unwrap();
        let window = |sequence| Window {
            sequence,
            start_ns: 1000,
            end_ns: 50_001_000,
            piece_ns: None,
            arrivals: None,
        };
        (0..count).map(|sequence| session.slice(&window(sequence))).collect()
    }

    #[test]
    fn a_session_does_its_share_and_its_latencies_fill_the_window() {
        let options = Options::from([("ratio.pair".into(), OptionValue::Number(1.5))]);
        let slice = slices(options, "pair/l2", 1).remove(0).unwrap();
        // 1.5 million rows/s over two sessions and 50 ms are 37,500 rows, 586 steps of 64.
        assert_eq!((slice.steps, slice.rows, slice.answers_wrong), (586, 37_504, 0));
        assert_eq!(latency::steps(&slice.latency), Ok(586));
        assert_eq!(slice.cpu_ns, 50_000_000);
        assert_eq!(slice.counters["physical_reads"], 0);
    }

    #[test]
    fn faults_come_when_asked_for_and_only_to_their_treatment() {
        let fault = |name: &str| Options::from([(name.to_owned(), OptionValue::Integer(2))]);
        let crashed = slices(fault("crash.a"), "a/l2", 2);
        assert!(crashed[0].is_ok());
        assert_eq!(crashed[1].as_ref().unwrap_err().kind(), "engine");
        assert!(slices(fault("crash.a"), "b", 3).iter().all(Result::is_ok));
        let wrong: Vec<u64> =
            slices(fault("wrong.a"), "a", 3).into_iter().map(|slice| slice.unwrap().answers_wrong).collect();
        assert_eq!(wrong, [0, 1, 0]);
        let missed = slices(fault("miss.a"), "a", 1).remove(0).unwrap();
        assert!(missed.counters["physical_reads"] > 0);
    }
}
