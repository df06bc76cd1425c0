//! The JSON forms that others build on: version 1, documented in docs/JSON.md, only ever added to.
//!
//! Unknown is `null`; a number that is not finite is `null` too (serde_json makes it so). One of
//! the two modules of this crate that know serde.

mod activity;
mod commands;
mod compare;
mod doctor;
mod engines;
mod executions;
mod old_names;
mod queries;
mod worklist;

pub use compare::compare;
pub use doctor::doctor;
pub use engines::{EngineEntry, engines};

use crate::csv::status_words;
use crate::layout::{CpuState, in_state};
use crate::words::metric_name;
use crate::{Document, Facts, ReportError};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use std::io::Write;
use threadwise_analysis::hardware::Hardware;
use threadwise_analysis::{BlockCovariates, Covariates, Estimate, Finding, NoiseFloor, TreatmentSummary};
use threadwise_machine::text::escaped_json;
use threadwise_machine::topology::{Group, LogicalCpu};
use threadwise_machine::{CpuSet, Pin, Topology};
use threadwise_study::probe::{LatencyFigures, PairLatency, PairSharing, Probe, Sharing, Slowdown};
use threadwise_study::{OptionValue, Options, Role, Run, SessionSlice, Slice, Stopping, Study};

/// Version of all forms.
pub const VERSION: u32 = 1;

/// The report: study, machine, treatments, estimates, noise floors, findings.
pub fn report(facts: &Facts<'_>, document: &Document) -> String {
    let (analysis, own_study) = (facts.analysis, facts.study);
    let list = |items: &mut dyn Iterator<Item = Value>| -> Value { items.collect() };
    let of_commands = analysis.commands.as_ref().map(|own| commands::commands(facts, own));
    let report = json!({
        "version": VERSION,
        "program": {"name": "threadwise", "version": facts.program_version},
        "source": facts.source,
        "created_utc": facts.created_utc,
        "simulated": facts.is_simulated(),
        "study": study(facts),
        "machine": machine(facts.topology),
        "blocks": analysis.blocks,
        "treatments": list(&mut analysis.treatments.iter().map(|summary| treatment(facts, summary))),
        "estimates": list(&mut analysis.estimates.iter().map(|own| estimate(own, own_study))),
        "noise_floor": facts.widest_floor().map(|floor| noise_floor(floor, own_study)),
        "noise_floors": list(&mut analysis.noise_floors.iter().map(|floor| noise_floor(floor, own_study))),
        "queries": analysis.queries.as_ref().map(queries::queries),
        "covariates": covariates(&analysis.covariates),
        "probe": facts.probe.map(|probe| probe_json(facts.topology, probe, facts.hardware)),
        "excluded_blocks": analysis.excluded_blocks,
        "failures": list(&mut facts.runs.iter().filter(|run| !run.status.is_valid()).map(run_head)),
        "findings": list(&mut document.verdict.iter().map(finding_json)),
        "notes": facts.notes,
    });
    let of_lists = analysis.worklist.as_ref().map(worklist::worklist);
    let more = of_commands.into_iter().chain(of_lists);
    pretty(&more.fold(report, merged))
}

/// The machine: counts over allowed and online logical CPUs, lists over all.
pub fn topology(topology: &Topology) -> String {
    let ids = Ids::new(topology);
    let cpus = topology.logical_cpus.iter().enumerate();
    let caches = topology.caches.iter().map(|cache| {
        let own = json!({"level": cache.level, "kind": cache.kind, "size_bytes": cache.size_bytes});
        merged(own, ids.members(&cache.cpus))
    });
    let kinds = topology.kinds.iter().enumerate().map(|(id, kind)| {
        merged(json!({"id": id, "name": kind.name, "evidence": kind.evidence}), ids.members(&kind.cpus))
    });
    let nodes = topology.numa_nodes.iter().enumerate().map(|(id, node)| {
        let own = json!({"id": id, "os_id": node.os_id, "memory_bytes": node.memory_bytes});
        merged(own, ids.members(&node.cpus))
    });
    let cores = topology.cores.iter().enumerate().map(|(id, core)| {
        let own = json!({"id": id, "os_id": core.os_id, "package": core.package, "kind": core.kind});
        merged(own, ids.members(&core.cpus))
    });
    pretty(&json!({
        "version": VERSION,
        "counts": counts(topology),
        "logical_cpus": cpus.map(|(id, cpu)| logical_cpu(id, cpu, &ids)).collect::<Value>(),
        "cores": cores.collect::<Value>(),
        "packages": groups(&topology.packages, &ids),
        "dies": groups(&topology.dies, &ids),
        "clusters": groups(&topology.clusters, &ids),
        "numa_nodes": nodes.collect::<Value>(),
        "llc_domains": groups(&topology.llc_domains, &ids),
        "caches": caches.collect::<Value>(),
        "kinds": kinds.collect::<Value>(),
        "limits": limits(topology),
        "identity": identity(topology),
    }))
}

/// A probe: raw figures, what is declared beside what was measured, and the verdict.
pub fn probe(topology: &Topology, probe: &Probe, hardware: &Hardware) -> String {
    let head = json!({"version": VERSION, "machine": machine(topology)});
    pretty(&merged(head, probe_json(topology, probe, Some(hardware))))
}

/// One JSON object a line and run: its fields, status and readings, without its slices.
///
/// # Errors
/// The writer's.
pub fn runs_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().try_for_each(|run| {
        let readings = run.readings.iter().map(|reading| {
            json!({
                "sampler": reading.sampler, "metric": reading.metric, "cpu": reading.cpu,
                "start_ns": reading.start_ns, "end_ns": reading.end_ns,
                "value": reading.value, "gap": reading.gap,
            })
        });
        let own = json!({
            "version": VERSION, "cpus": run.cpus, "started_s": run.started_s, "prepare_ns": run.prepare_ns,
            "slices": run.slices.len(), "readings": readings.collect::<Value>(),
        });
        line(out, &merged(merged(run_head(run), own), commands::said(facts, run)))
    })
}

/// One JSON object a line and slice, with every session (its histogram too) and every CPU.
///
/// # Errors
/// The writer's.
pub fn slices_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts
        .runs
        .iter()
        .try_for_each(|run| run.slices.iter().try_for_each(|slice| line(out, &slice_json(run, slice))))
}

/// Every execution of a query, one JSON object a line, with the counters over it.
///
/// # Errors
/// The writer's.
pub fn queries_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().try_for_each(|run| {
        crate::csv::executions(run).try_for_each(|(slice, stream, query)| {
            line(out, &executions::execution(run, slice, stream, query))
        })
    })
}

/// Every item of a work list in every run, one JSON object a line.
///
/// # Errors
/// The writer's.
pub fn items_jsonl(facts: &Facts<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
    facts.runs.iter().try_for_each(|run| {
        crate::items::items(run).try_for_each(|item| line(out, &worklist::item(run, &item)))
    })
}

/// Something that can be run, or a placement that this machine can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// `preset`, `engine`, `workload`, `recipe`, `parser`, `placement`.
    pub kind: String,
    /// Name as the command line takes it.
    pub name: String,
    /// One line.
    pub about: String,
}

/// The entries of `threadwise list --json`.
pub fn listing(entries: &[ListEntry]) -> String {
    let entry = |entry: &ListEntry| json!({"kind": old_names::stable(&entry.kind), "name": entry.name, "about": entry.about});
    pretty(&json!({"version": VERSION, "entries": entries.iter().map(entry).collect::<Value>()}))
}

fn pretty(value: &Value) -> String {
    escaped_json(&format!("{value:#}")).into_owned()
}

fn line(out: &mut dyn Write, value: &Value) -> Result<(), ReportError> {
    Ok(writeln!(out, "{}", escaped_json(&value.to_string()))?)
}

/// The fields of both objects; the second's win.
fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            first.extend(second);
            Value::Object(first)
        }
        (first, _) => first,
    }
}

fn study(facts: &Facts<'_>) -> Value {
    let study = facts.study;
    let design = &study.design;
    let stopping = match design.stopping {
        Stopping::Budget { budget_s } => json!({"kind": "budget", "budget_s": budget_s}),
        Stopping::Until { half_width, budget_s } => {
            json!({"kind": "until", "half_width": half_width, "budget_s": budget_s})
        }
        Stopping::Blocks { blocks } => json!({"kind": "blocks", "blocks": blocks}),
    };
    json!({
        "name": study.name, "title": study.title, "seed": study.seed.to_string(),
        "engine": study.engine, "engine_version": facts.engine_version,
        "engine_options": options(&study.engine_options), "workload": study.workload,
        "design": {
            "rounds": design.rounds, "slice_ns": design.slice_ns, "rewarm_ns": design.rewarm_ns,
            "level": design.level, "target_half_width": design.target_half_width, "stopping": stopping,
        },
        "left_out": study.left_out,
    })
}

fn options(options: &Options) -> Value {
    let value = |value: &OptionValue| match value {
        OptionValue::Text(text) => json!(text),
        OptionValue::Integer(number) => json!(number),
        OptionValue::Number(number) => json!(number),
        OptionValue::Flag(flag) => json!(flag),
    };
    Value::Object(options.iter().map(|(name, option)| (name.clone(), value(option))).collect())
}

fn treatment(facts: &Facts<'_>, summary: &TreatmentSummary) -> Value {
    let named = |name: &str| metric_name(facts.study, name);
    let metrics: Map<String, Value> =
        summary.metrics.iter().map(|(name, metric)| (named(name), activity::interval(metric))).collect();
    let own = json!({
        "name": summary.name, "group": summary.group, "placement": summary.placement,
        "sessions": summary.sessions, "runs": summary.runs, "failed": summary.failed,
        "excluded": summary.excluded, "metrics": old_names::beside(Value::Object(metrics)),
    });
    let own = merged(own, activity::activity(&summary.activity));
    let Some((_, planned)) = facts.study.treatment(&summary.name) else { return own };
    let role = match planned.role {
        Role::Baseline => "baseline",
        Role::BaselineTwin => "baseline-twin",
        Role::Compared => "compared",
    };
    let pin = match planned.pin {
        Pin::Each => "each",
        Pin::Set => "set",
    };
    let more = json!({
        "role": role, "pin": pin, "options": options(&planned.options), "factors": planned.factors,
    });
    merged(own, more)
}

fn estimate(estimate: &Estimate, study: &Study) -> Value {
    let unflagged = estimate.unflagged.map(
        |(value, low, high, blocks)| json!({"value": value, "low": low, "high": high, "blocks": blocks}),
    );
    json!({
        "name": estimate.name, "kind": estimate.kind, "treatment": estimate.treatment,
        "baseline": estimate.baseline, "metric": metric_name(study, &estimate.metric),
        "value": estimate.ratio.value,
        "low": estimate.ratio.low, "high": estimate.ratio.high, "holm_low": estimate.ratio.holm_low,
        "holm_high": estimate.ratio.holm_high, "blocks": estimate.ratio.blocks, "level": estimate.ratio.level,
        "unit": estimate.unit, "method": estimate.method, "direction": estimate.ratio.direction,
        "conclusive": estimate.ratio.conclusive, "effect": estimate.ratio.effect, "p_t": estimate.p_t,
        "p_sign_flip": estimate.p_sign_flip, "lag1": estimate.lag1, "unflagged": unflagged,
    })
}

fn noise_floor(floor: &NoiseFloor, study: &Study) -> Value {
    json!({
        "group": floor.group, "metric": metric_name(study, &floor.metric), "low": floor.low,
        "high": floor.high, "floor": floor.floor,
    })
}

fn covariates(covariates: &Covariates) -> Value {
    let block = |block: &BlockCovariates| {
        old_names::beside(json!({
            "block": block.block, "causes": old_names::causes(&block.causes), "steal_share": block.steal_share,
            "left_over_busy_share": block.left_over_busy_share,
            "others_busy_share": block.others_busy_share,
            "co_runner_before_share": block.co_runner_before_share,
            "co_runner_after_share": block.co_runner_after_share, "co_runner_share": block.co_runner_share,
            "co_runner_share_max": block.co_runner_share_max, "clock_mhz": block.clock_mhz,
            "straggler_share": block.straggler_share, "telemetry_cpu_share": block.telemetry_cpu_share,
        }))
    };
    old_names::beside(json!({
        "steal_share": covariates.steal_share, "steal_share_max": covariates.steal_share_max,
        "left_over_busy_share": covariates.left_over_busy_share,
        "others_busy_share": covariates.others_busy_share,
        "co_runner_share": covariates.co_runner_share, "co_runner_share_max": covariates.co_runner_share_max,
        "clock_mhz": covariates.clock_mhz, "straggler_share": covariates.straggler_share,
        "telemetry_cpu_share": covariates.telemetry_cpu_share,
        "flagged_blocks": covariates.flagged_blocks,
        "blocks": covariates.blocks.iter().map(block).collect::<Value>(),
    }))
}

fn probe_json(topology: &Topology, probe: &Probe, hardware: Option<&Hardware>) -> Value {
    let ids = Ids::new(topology);
    let sets = probe
        .sets
        .iter()
        .map(|set| json!({"ran": set.ran.to_string(), "at_full_width": set.at_full_width.to_string()}));
    let co_runners = probe.co_runners.iter().map(|co_runner| {
        json!({
            "cpu": co_runner.cpu, "windows": co_runner.windows,
            "adds_per_step_p10": co_runner.adds_per_step_p10,
            "adds_per_step_p50": co_runner.adds_per_step_p50,
            "adds_per_step_p90": co_runner.adds_per_step_p90, "busy_share": co_runner.busy_share,
            "off_cpu_share": co_runner.off_cpu_share, "why": co_runner.why,
        })
    });
    let levels = probe.levels.iter().map(|level| {
        json!({
            "name": level.name, "low_ns": level.low_ns, "high_ns": level.high_ns,
            "groups": level.groups.iter().map(CpuSet::to_string).collect::<Value>(),
        })
    });
    let clocks = probe.clocks.iter().map(|clock| {
        json!({
            "cpu": clock.cpu, "busy_cpus": clock.busy_cpus, "source": clock.source.word(),
            "avg_mhz": clock.avg_mhz, "busy_pct": clock.busy_pct, "bzy_mhz": clock.bzy_mhz,
            "tsc_mhz": clock.tsc_mhz,
        })
    });
    let figures = old_names::beside(json!({
        "form": probe.form.word(), "cpus": probe.cpus.to_string(), "duration_s": probe.duration_s,
        "interrupted": probe.interrupted,
        "pairs": probe.pairs.iter().map(|pair| pair_json(topology, pair)).collect::<Value>(),
        "sets": sets.collect::<Value>(), "co_runners": co_runners.collect::<Value>(),
        "latencies": probe.latencies.iter().map(latency_json).collect::<Value>(),
        "levels": levels.collect::<Value>(), "clocks": clocks.collect::<Value>(), "gaps": probe.gaps,
    }));
    match hardware {
        Some(hardware) => merged(figures, hardware_json(hardware, &ids)),
        None => figures,
    }
}

fn pair_json(topology: &Topology, pair: &PairSharing) -> Value {
    let slowdown = |slowdown: Option<Slowdown>| {
        slowdown.map(|figures| json!({"median": figures.median, "low": figures.low, "high": figures.high}))
    };
    let siblings = topology.cpu(pair.a).zip(topology.cpu(pair.b));
    let declared =
        siblings.filter(|(a, b)| !a.siblings.is_empty() && !b.siblings.is_empty()).map(|(a, b)| {
            let same = a.siblings.contains(b.os_id);
            if same { Sharing::SameCore.word() } else { Sharing::DifferentCores.word() }
        });
    json!({
        "a": pair.a, "b": pair.b, "sharing": pair.sharing.word(), "declared": declared,
        "wide": slowdown(pair.wide), "chain": slowdown(pair.chain),
        "load_store": slowdown(pair.load_store), "on_cpu_share": pair.on_cpu_share,
        "rounds_used": pair.rounds_used, "rounds": pair.rounds, "why": pair.why,
    })
}

fn latency_json(pair: &PairLatency) -> Value {
    let figures = |figures: &LatencyFigures| {
        json!({
            "min_ns": figures.min_ns, "median_ns": figures.median_ns, "spread_ns": figures.spread_ns,
            "samples": figures.samples,
        })
    };
    json!({
        "a": pair.a, "b": pair.b, "level": pair.level, "cas": figures(&pair.cas),
        "two_lines": figures(&pair.two_lines),
    })
}

/// What is declared beside what was measured.
fn hardware_json(hardware: &Hardware, ids: &Ids) -> Value {
    let pairs = &hardware.pairs;
    let cores = |cores: &[CpuSet]| cores.iter().map(|core| ids.members(core)).collect::<Value>();
    let differences = hardware.differences.iter().map(|difference| {
        let own = json!({
            "declared": difference.declared, "measured": difference.measured, "text": difference.text.to_string(),
        });
        merged(own, ids.members(&difference.cpus))
    });
    json!({
        "measured": hardware.measured.to_string(), "declared_cores": cores(&hardware.declared_cores),
        "measured_cores": cores(&hardware.measured_cores), "undecided": ids.members(&hardware.undecided),
        "pair_counts": {
            "agree": pairs.agree, "differ": pairs.differ, "masked": pairs.masked,
            "moving": pairs.moving, "unclear": pairs.unclear, "unknown": pairs.unknown,
        },
        "differences": differences.collect::<Value>(),
        "verdict": hardware.verdict.iter().map(finding_json).collect::<Value>(),
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({"kind": old_names::stable(&finding.kind), "text": finding.line.to_string(), "evidence": finding.evidence})
}

/// What names a run, and how it ended.
fn run_head(run: &Run) -> Value {
    let (status, kind, message) = status_words(&run.status);
    let known = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    json!({
        "run": run.id, "block": run.block, "attempt": run.attempt, "treatment": run.treatment,
        "status": status, "kind": known(kind), "message": known(message),
    })
}

fn slice_json(run: &Run, slice: &Slice) -> Value {
    let times = slice.cpu_times.iter().map(|times| {
        json!({
            "cpu": times.cpu, "busy_ns": times.busy_ns, "steal_ns": times.steal_ns, "total_ns": times.total_ns,
        })
    });
    json!({
        "version": VERSION, "run": run.id, "block": run.block, "attempt": run.attempt,
        "treatment": run.treatment, "status": status_words(&run.status).0, "sequence": slice.sequence,
        "round": slice.round, "start_ns": slice.start_ns, "window_ns": slice.window_ns,
        "sessions": slice.sessions.iter().map(session_json).collect::<Value>(),
        "counters": slice.counters, "cpu_times": times.collect::<Value>(),
    })
}

fn session_json(session: &SessionSlice) -> Value {
    let latency = Some(&session.latency).filter(|bytes| !bytes.is_empty());
    json!({
        "steps": session.steps, "rows": session.rows, "answers_checked": session.answers_checked,
        "answers_wrong": session.answers_wrong, "cpu_ns": session.cpu_ns,
        "voluntary_switches": session.voluntary_switches,
        "involuntary_switches": session.involuntary_switches,
        "run_queue_wait_ns": session.run_queue_wait_ns, "counters": session.counters,
        "finished_ns": session.finished_ns,
        "latency_ns_hdr_v2_base64": latency.map(|bytes| BASE64_STANDARD.encode(bytes)),
    })
}

fn counts(topology: &Topology) -> Value {
    json!({
        "packages": topology.packages.len(), "dies": topology.dies.len(),
        "clusters": topology.clusters.len(), "numa_nodes": topology.numa_nodes.len(),
        "llc_domains": topology.llc_domains.len(), "cores": topology.cores.len(),
        "logical_cpus": topology.allowed().len(), "max_threads_per_core": topology.max_threads_per_core(),
    })
}

fn machine(topology: &Topology) -> Value {
    let more = json!({
        "counts": counts(topology), "limits": limits(topology),
        "allowed_cpus": topology.allowed().to_string(),
        "not_allowed_cpus": in_state(topology, CpuState::NotAllowed).to_string(),
        "offline_cpus": in_state(topology, CpuState::Offline).to_string(),
    });
    merged(identity(topology), more)
}

fn identity(topology: &Topology) -> Value {
    let identity = &topology.identity;
    json!({
        "cpu_model": identity.cpu_model, "cpu_vendor": identity.cpu_vendor,
        "hypervisor": identity.hypervisor, "smt_control": identity.smt_control,
        "kernel": identity.kernel, "memory_bytes": identity.memory_bytes,
    })
}

fn limits(topology: &Topology) -> Value {
    let limits = &topology.limits;
    json!({
        "cpuset": limits.cpuset.as_ref().map(CpuSet::to_string),
        "affinity": limits.affinity.as_ref().map(CpuSet::to_string),
        "quota_cpus": limits.quota_cpus,
        "quota_source": limits.quota_source.as_ref().map(|path| path.display().to_string()),
        "memory_bytes": limits.memory_bytes,
    })
}

fn logical_cpu(id: usize, cpu: &LogicalCpu, ids: &Ids) -> Value {
    json!({
        "id": id, "os_id": cpu.os_id, "core": cpu.core, "package": cpu.package, "die": cpu.die,
        "cluster": cpu.cluster, "numa_node": cpu.numa_node, "llc": cpu.llc,
        "siblings": ids.of(&cpu.siblings), "kind": cpu.kind, "allowed": cpu.allowed, "online": cpu.online,
    })
}

fn groups(groups: &[Group], ids: &Ids) -> Value {
    let group = |(id, group): (usize, &Group)| {
        merged(json!({"id": id, "os_id": group.os_id}), ids.members(&group.cpus))
    };
    groups.iter().enumerate().map(group).collect()
}

/// Dense ids of logical CPUs: their places in `Topology::logical_cpus`.
struct Ids<'a>(&'a Topology);

impl<'a> Ids<'a> {
    fn new(topology: &'a Topology) -> Self {
        Self(topology)
    }

    fn of(&self, cpus: &CpuSet) -> Vec<usize> {
        let cpus_by_id = &self.0.logical_cpus;
        cpus.iter()
            .filter_map(|os_id| cpus_by_id.binary_search_by_key(&os_id, |cpu| cpu.os_id).ok())
            .collect()
    }

    /// Members both ways: as ids, and as a list of OS numbers that taskset(1) takes.
    fn members(&self, cpus: &CpuSet) -> Value {
        json!({"logical_cpus": self.of(cpus), "os_cpus": cpus.to_string()})
    }
}

#[cfg(test)]
mod tests;
