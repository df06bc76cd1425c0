//! Findings: sentences of a verdict, each with its kind, which decides where it stands.

use crate::Prose;
use schemars::JsonSchema;
use serde::Serialize;

/// One finding of a verdict.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// One line, figures with their intervals.
    #[serde(rename = "text")]
    pub line: Prose,
    /// Names of the estimates or treatments that it is based on.
    pub evidence: Vec<String>,
}

impl Finding {
    /// Its line as plain text, commands between backticks.
    pub fn text(&self) -> String {
        self.line.to_string()
    }
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Nothing can be said of the study.
    Nothing,
    /// Runs are missing.
    Validity,
    /// The figures are those of a model.
    Simulated,
    /// The machine is emulated.
    Emulated,
    /// A server was not where its placement says.
    NotPlaced,
    /// The machine declares its cores otherwise than they are.
    DeclaredWrongly,
    /// The same treatment differed from itself, or is uncertain.
    AAAlarm,
    /// What to set.
    Advice,
    /// A CPU quota stopped treatments.
    Quota,
    /// One core against several.
    Scaling,
    /// Several sessions on one logical CPU.
    OneCpu,
    /// Two packages against one.
    Packages,
    /// The study's own comparisons.
    Asked,
    /// From one number of sessions to the next.
    Sweep,
    /// What second threads add.
    SmtYield,
    /// The machine with one busy thread of every core and with both.
    Capacity,
    /// Latencies at rates.
    Load,
    /// Which rate, or which treatment at a rate, keeps a bound for latency.
    LoadBound,
    /// Rates that are too high.
    Overload,
    /// Elapsed time of fixed work, or of a command that has another headline.
    Elapsed,
    /// What sessions waited for.
    Waits,
    /// Spins on locks.
    Locks,
    /// CPU time of the client.
    ClientCpu,
    /// What waking sleeping CPUs takes of a client's steps.
    RoundTrips,
    /// SMT enabled and disabled.
    SmtArms,
    /// Turbo and governors.
    ClockArms,
    /// Instances of a server.
    Instances,
    /// Two versions of a program.
    Versions,
    /// Arms over boots.
    Arms,
    /// Slices on one core against slices on several.
    ByState,
    /// What moves with a ratio.
    Why,
    /// The law of a sweep.
    ScalingLaw,
    /// Steps longer than a slice.
    Stalls,
    /// The headline of a command.
    Command,
    /// Another metric of a command.
    Metric,
    /// CPU time and memory of a command.
    Cost,
    /// Seconds per item of a work list.
    Worklist,
    /// From one number of jobs to the next.
    JobsStep,
    /// Both threads of every core against one of each.
    SmtWhole,
    /// Jobs without work at the end.
    IdleTail,
    /// Other schedules of a work list.
    Schedule,
    /// Gains of second threads by kind of lock.
    LockThreads,
    /// Gains of more cores by kind of lock.
    LockCores,
    /// Workers of parallel scans with a busy sibling.
    ParallelWorkers,
    /// All queries together.
    QueriesTotal,
    /// The fastest treatment of queries.
    Fastest,
    /// The queries that differ most.
    QueriesRange,
    /// Queries whose plans differ.
    PlanChange,
    /// Core-seconds of queries.
    CoreSeconds,
    /// Short queries beside others.
    ShortQueries,
    /// From one DOP to the next.
    DopStep,
    /// A DOP of one thread a core against both.
    SmtDop,
    /// The same DOP on both threads of half the cores.
    BothThreads,
    /// Where more parallelism stops helping.
    Plateau,
    /// Executions out of line.
    Outlier,
    /// Something cannot be measured here.
    NotMeasurable,
    /// The machine.
    Machine,
    /// Where slices ran.
    Looks,
    /// Size of the data against caches and memory.
    DataSize,
    /// How far to trust the rest.
    Trust,
    /// CPU time that others took.
    LostCpu,
    /// The baseline changed during the study.
    Drift,
    /// Clocks of treatments.
    Clock,
    /// A treatment is shown in the slice after it.
    CarryOver,
    /// A warm-up was too short.
    WarmUp,
    /// An arm needed time after a switch.
    Settling,
    /// What neighbours on sibling threads cost.
    Neighbours,
    /// Long windows against slices.
    LongWindows,
    /// What the figures hold for, and what to run next.
    Scope,
    /// Studies that cannot be compared without more.
    Caution,
    /// Whether something changed.
    Change,
    /// Whether studies agree.
    Agreement,
    /// Cores as measured.
    ProbeSharing,
    /// Times of cache lines.
    ProbeLatency,
    /// Neighbours at the probe.
    ProbeNeighbour,
    /// Clocks at the probe.
    ProbeClock,
    /// What a probe could not measure.
    ProbeGap,
    /// A probe of an emulated machine.
    ProbeEmulated,
    /// Kinds of machine against each other.
    FleetBetween,
    /// A kind of machine.
    FleetKind,
    /// Rates of kinds.
    FleetRate,
    /// A machine unlike others of its kind.
    FleetMachine,
    /// How many machines more.
    FleetAdvice,
    /// Cells of a fleet without a study.
    Absent,
}

/// The part of a verdict in which a finding stands, in reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictPart {
    /// Problems of the whole study.
    Validity,
    /// What to set.
    Advice,
    /// The answer to the study's question.
    Lead,
    /// What limited all treatments.
    Frame,
    /// Other answers.
    Answer,
    /// What cannot be measured.
    NotMeasurable,
    /// The machine.
    Machine,
    /// Where it ran.
    Where,
    /// The data.
    Data,
    /// How far to trust it.
    Limits,
    /// Its scope.
    Scope,
}

impl FindingKind {
    /// The part in which it stands, unless it is the answer to the study's question.
    pub fn part(self) -> VerdictPart {
        match self {
            Self::Nothing
            | Self::Validity
            | Self::Simulated
            | Self::Emulated
            | Self::NotPlaced
            | Self::DeclaredWrongly
            | Self::AAAlarm => VerdictPart::Validity,
            Self::Advice => VerdictPart::Advice,
            Self::Quota => VerdictPart::Frame,
            Self::NotMeasurable => VerdictPart::NotMeasurable,
            Self::Machine => VerdictPart::Machine,
            Self::Looks => VerdictPart::Where,
            Self::DataSize => VerdictPart::Data,
            Self::Trust
            | Self::LostCpu
            | Self::Drift
            | Self::Clock
            | Self::CarryOver
            | Self::WarmUp
            | Self::Settling
            | Self::Neighbours
            | Self::LongWindows
            | Self::Stalls => VerdictPart::Limits,
            Self::Scope => VerdictPart::Scope,
            _ => VerdictPart::Answer,
        }
    }

    /// Whether an answer on one screen may be made of it.
    pub fn is_answer(self) -> bool {
        match self {
            Self::Outlier | Self::PlanChange | Self::Why => false,
            Self::Neighbours | Self::Stalls => true,
            _ => matches!(self.part(), VerdictPart::Frame | VerdictPart::Answer),
        }
    }
}

/// Findings in reading order; `lead` answers the study's question. Those of one part keep their order.
pub fn in_order(mut findings: Vec<Finding>, lead: Option<FindingKind>) -> Vec<Finding> {
    let is_lead = |finding: &Finding| Some(finding.kind) == lead;
    let first = findings.iter().position(is_lead).map(|at| findings.remove(at));
    findings.sort_by_key(|finding| finding.kind.part());
    let at = findings.partition_point(|finding| finding.kind.part() < VerdictPart::Lead);
    findings.splice(at..at, first);
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use FindingKind::{
        Advice, Machine, NotMeasurable, Quota, Scaling, Scope, SmtYield, Sweep, Trust, Validity,
    };

    fn kinds(all: &[FindingKind], lead: Option<FindingKind>) -> Vec<FindingKind> {
        let finding = |kind: &FindingKind| Finding { kind: *kind, line: "".into(), evidence: Vec::new() };
        in_order(all.iter().map(finding).collect(), lead).into_iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn validity_advice_answer_rest_setting_limits() {
        let all = [Trust, Scope, NotMeasurable, Scaling, SmtYield, Quota, Sweep, Machine, Validity, Advice];
        assert_eq!(
            kinds(&all, None),
            [Validity, Advice, Quota, Scaling, SmtYield, Sweep, NotMeasurable, Machine, Trust, Scope]
        );
        assert_eq!(
            kinds(&all, Some(Sweep)),
            [Validity, Advice, Sweep, Quota, Scaling, SmtYield, NotMeasurable, Machine, Trust, Scope]
        );
        assert_eq!(kinds(&all, Some(FindingKind::Why)), kinds(&all, None));
    }
}
