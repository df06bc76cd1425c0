//! The processes of parallel scans in one table.

use crate::Facts;
use crate::parallel::TreatmentParallel;
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{Block, Cell, Column, Mark, Prose, Says, Section, Shown, Table, prose};

/// Most processes whose shares are listed one by one.
const MOST_SHARES: usize = 4;

/// The section; `None` where nothing is known of processes.
pub(super) fn workers(facts: &Facts<'_>) -> Option<Section> {
    let all = &facts.analysis.parallel.as_ref()?.treatments;
    let about = prose!(
        "Rows and times of each process are those of the scans' own answers. Where processes were comes from looks while \
         they ran, some milliseconds apart: a sibling was busy where another process of the same scan was found on the \
         other thread of its core. Equal parts: how much longer the scans would have taken with rows divided equally, at \
         the rates that the processes had, than with rows divided by rate. Idle: the part of the processes' time in which \
         they had ended and others had not, with the engine's own division."
    );
    let mut legend = vec![prose!("[low, high]: {} interval over blocks.", set_percent(facts.level()))];
    legend.extend(Mark::ALL.map(Prose::sign));
    let blocks = vec![
        Block::Text(about, Shown::Page),
        Block::Table(table(facts, all)),
        Block::Legend(legend, Shown::Terminal),
    ];
    Some(Section::new("parallel-workers", "Parallel workers", blocks))
}

fn table(facts: &Facts<'_>, all: &[TreatmentParallel]) -> Table {
    let columns = vec![
        Column::text("treatment").shorten_at(4),
        Column::figure("DOP").drop_at(2),
        Column::figure("processes"),
        Column::text("rows by process").drop_at(1),
        Column::figure("sibling busy").drop_at(3),
        Column::text("beside a busy sibling").shorten_at(5),
        Column::figure("equal parts"),
        Column::figure("idle"),
        Column::figure("looking").shown(Shown::Page),
        Column::figure("scans").shown(Shown::Page),
    ];
    let row = |one: &TreatmentParallel| {
        let group = facts.group_of(&one.treatment);
        let share = |interval: &Option<crate::Interval>| match interval {
            Some(interval) => Cell::Share(interval.clone()),
            None => Cell::none(),
        };
        let of_blocks = |text: String| match one.unsampled_scans {
            0 => text,
            unsampled => format!("{text}, {unsampled} not looked at closely enough"),
        };
        vec![
            Cell::text(facts.label(&one.treatment, group)),
            one.dop.map_or_else(Cell::none, |dop| Cell::Count(dop.into())),
            one.processes.map_or_else(Cell::none, |value| Cell::Value { value, unit: "1" }),
            Cell::text(shares(&one.row_shares)),
            share(&one.sibling_busy),
            match (&one.ratio, one.gap) {
                (Some(ratio), _) => Cell::Ratio(ratio.clone(), Says::Faster),
                (None, Some(gap)) => Cell::Gap(gap.words().to_owned()),
                (None, None) => Cell::none(),
            },
            share(&one.equal_loss),
            share(&one.idle_tail),
            share(&one.looking),
            Cell::text(of_blocks(format!("{} in {}", one.scans, counted(one.blocks as usize, "block")))),
        ]
    };
    Table::new("", columns, all.iter().map(row))
}

/// `27%, 26%, 24%, 23%`, or of more processes the most and the fewest.
fn shares(shares: &[f64]) -> String {
    let words = |shares: &[f64]| shares.iter().map(|share| percent(*share)).collect::<Vec<_>>().join(", ");
    match shares {
        [most, .., fewest] if shares.len() > MOST_SHARES => {
            format!("{} to {}", percent(*fewest), percent(*most))
        }
        all => words(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_shares_are_listed_and_of_many_the_ends() {
        assert_eq!(shares(&[0.6, 0.4]), "60%, 40%");
        assert_eq!(shares(&[0.3, 0.2, 0.2, 0.2, 0.1]), "10% to 30%");
        assert_eq!(shares(&[]), "");
    }
}
