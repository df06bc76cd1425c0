//! Lookups of the findings: treatments by shape, estimates by their two sides.

use crate::groups::bare;
use crate::shape::Shape;
use crate::{Estimate, Facts};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::Pin;
use threadwise_study::{Role, Treatment};

impl<'a> Facts<'a> {
    /// The first treatment of a group with a shape.
    pub fn find(&self, group: &str, shape: Shape) -> Option<&'a Treatment> {
        self.study.treatments.iter().find(|t| t.group == group && Shape::of(t) == shape)
    }

    /// Name of baselines: `single` if they are one session, which then has its logical CPU to itself, otherwise by
    /// name: `two (2 sessions on 2c1t)`. A study has one baseline, under each group's levels.
    pub fn alone(&self, single: &str) -> String {
        let mut baselines = self.study.treatments.iter().filter(|t| t.role == Role::Baseline);
        let is_other = |t: &&Treatment| t.sessions != 1 || t.service.is_some();
        let Some(other) = baselines.find(is_other) else { return single.to_owned() };
        let service =
            other.service.as_ref().map(|service| format!(", service={service}")).unwrap_or_default();
        let pin = if other.pin == Pin::Set { ", pin=set" } else { "" };
        let sessions = numbers::counted(other.sessions as usize, "session");
        format!("{} ({sessions} on {}{pin}{service})", bare(&other.name), other.placement)
    }

    /// Whether baselines are one session alone.
    pub fn alone_is_one(&self) -> bool {
        self.study.treatments.iter().all(|t| t.role != Role::Baseline || t.sessions == 1)
    }

    /// The estimate of a treatment against its group's baseline.
    pub fn against_alone(&self, treatment: &Treatment, metric: &str) -> Option<&'a Estimate> {
        self.estimate(treatment, metric, |below| {
            below.iter().all(|treatment| treatment.role != Role::Compared)
        })
    }

    /// The estimate of a treatment against one other treatment.
    pub fn against(&self, treatment: &Treatment, other: &Treatment, metric: &str) -> Option<&'a Estimate> {
        self.estimate(treatment, metric, |below| below.len() == 1 && below[0].name == other.name)
    }

    /// The estimate of a group's treatment of one shape against that of another.
    pub fn shapes(&self, group: &str, top: Shape, below: Shape, metric: &str) -> Option<&'a Estimate> {
        let top = self.find(group, top)?;
        if below == Shape::Alone {
            return self.against_alone(top, metric);
        }
        self.against(top, self.find(group, below)?, metric)
    }

    /// Throughput estimates (for a command its headline's) in the study's order.
    pub fn throughput(&self) -> impl Iterator<Item = &'a Estimate> + use<'a> {
        let headline = self.analysis.headline();
        self.analysis.estimates.iter().filter(move |estimate| estimate.metric == headline)
    }

    /// The treatment that uses two cores with one session on each: `same-package`, or the sweep's point of two sessions
    /// if that is the same.
    pub fn two_cores(&self, group: &str) -> Option<&'a Treatment> {
        let sweep = || {
            self.study
                .treatments
                .iter()
                .find(|t| t.group == group && Shape::of(t) == Shape::Spread && t.sessions == 2)
                .filter(|_| self.topology.cores.len() >= 2)
        };
        self.find(group, Shape::SamePackage).or_else(sweep)
    }

    fn estimate(
        &self,
        treatment: &Treatment,
        metric: &str,
        baseline: impl Fn(&[&Treatment]) -> bool,
    ) -> Option<&'a Estimate> {
        let comparison = self.study.comparisons.iter().find(|comparison| {
            let below: Option<Vec<&Treatment>> =
                comparison.baseline.iter().map(|name| self.study.treatment(name).map(|(_, t)| t)).collect();
            comparison.treatment == treatment.name && below.is_some_and(|below| baseline(&below))
        })?;
        self.analysis.estimates.iter().find(|e| e.name == comparison.name && e.metric == metric)
    }
}

/// One text per group, each with its group's name if there is more than one group.
pub fn by_group(facts: &Facts<'_>, text: impl Fn(&str) -> Option<Prose>) -> Option<Prose> {
    let groups = facts.study.groups();
    let parts = groups.iter().filter_map(|group| {
        let words = facts.group_words(group);
        let space = if words.is_empty() { "" } else { " " };
        Some(prose!("{}{}{}", text(group)?, space, words))
    });
    let text = Prose::join(parts, "; ");
    (!text.is_empty()).then_some(text)
}

/// The estimates of all groups that have one.
pub fn estimates<'a>(facts: &Facts<'a>, find: impl Fn(&str) -> Option<&'a Estimate>) -> Vec<&'a Estimate> {
    facts.study.groups().into_iter().filter_map(find).collect()
}
