//! `threadwise headroom`: used and remaining capacity of the machine.

pub mod args;
pub mod destination;
pub mod meter;
mod notes;
pub mod serve;
mod sink;
mod terminal;
mod textfile;
mod trace;
pub mod yields;

use crate::commands::stop_flag_without_thread;
use crate::error::AppError;
use args::HeadroomArgs;
use meter::Meter;
use notes::{About, may_be_stolen, notes};
use sink::{Setting, Sink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use threadwise_document::numbers;
use threadwise_headroom::Layout;
use yields::{Chosen, choose};

/// Polling interval of the stop flag and keys.
const PATIENCE: Duration = Duration::from_millis(100);

/// Shows windows until it is stopped.
pub fn headroom(args: &HeadroomArgs) -> Result<(), AppError> {
    let chosen = choose(&args.yields)?;
    match args.recorded.is_empty() {
        true => live(args, &chosen),
        false => recorded(args, &chosen),
    }
}

fn live(args: &HeadroomArgs, chosen: &Chosen) -> Result<(), AppError> {
    let stop = stop_flag_without_thread()?;
    let mut meter = Meter::start(chosen, !args.no_switches, false)?;
    let setting = Setting {
        smt_yield: meter.smt_yield(),
        yield_source: chosen.source,
        may_be_stolen: may_be_stolen(meter.topology()),
    };
    let about = About {
        topology: meter.topology(),
        layout: meter.layout(),
        smt_yield: meter.smt_yield(),
        chosen,
        no_clock: meter.no_clock(),
        no_switches: meter.no_switches(),
        interval_s: args.interval,
        is_recorded: false,
    };
    let mut sink = Sink::open(&args.destination, &notes(&about), setting)?;
    let every = Duration::from_secs_f64(args.interval);
    let mut due = Instant::now() + every;
    let mut windows: u64 = 0;
    while args.count.is_none_or(|count| windows < count) {
        if is_stopped(&sink, &mut meter, due, &stop) {
            break;
        }
        windows += 1;
        // After a suspend, missed windows are skipped, not made up by short ones.
        due = (due + every).max(Instant::now() + every / 2);
        let window = meter.window()?;
        if let Some(cpus) = &window.online_now {
            sink.destination.remark(&format!("online now: logical CPUs {}", numbers::cpu_list(cpus)));
        }
        sink.window(&window)?;
    }
    Ok(())
}

/// Waits until a moment; returns whether to end before it.
fn is_stopped(sink: &Sink, meter: &mut Meter, until: Instant, stop: &AtomicBool) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        if left.is_zero() {
            return false;
        }
        if sink.destination.wait(left.min(PATIENCE)) {
            return true;
        }
        meter.tick();
    }
}

fn recorded(args: &HeadroomArgs, chosen: &Chosen) -> Result<(), AppError> {
    let (topology, windows) = meter::recorded(args, chosen.smt_yield)?;
    let setting = Setting {
        smt_yield: chosen.smt_yield,
        yield_source: chosen.source,
        may_be_stolen: may_be_stolen(&topology),
    };
    let about = About {
        topology: &topology,
        layout: &Layout::of(&topology),
        smt_yield: chosen.smt_yield,
        chosen,
        no_clock: Some("a recorded machine has no clock"),
        no_switches: Some("a recorded machine has no task switches"),
        interval_s: args.interval,
        is_recorded: true,
    };
    let mut sink = Sink::open(&args.destination, &notes(&about), setting)?;
    windows.iter().try_for_each(|window| sink.window(window))
}
