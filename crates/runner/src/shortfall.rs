//! What a time limit cannot hold, as text, with the smallest one that can. Pure.

use std::fmt;
use threadwise_study::time::{typed, typed_up};

/// Allowance for longer blocks in the next start.
const ROOM: f64 = 1.25;
/// Seconds for ending in order.
const ENDING_S: f64 = 2.0;

/// Why a limit cannot hold the blocks that a study needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// The limit, seconds from the program's start.
    pub limit_s: f64,
    /// Blocks that the study needs.
    pub blocks: u32,
    /// Complete blocks, including those before a resume.
    pub blocks_done: u32,
    /// Those of this start of the program.
    pub blocks_here: u32,
    /// Seconds of setting up, so far if it is not done.
    pub setup_s: f64,
    /// Whether setting up was done.
    pub is_set_up: bool,
    /// Seconds of a block.
    pub block_s: f64,
    /// Whether that is a lower bound: none was complete.
    pub is_least: bool,
    /// Seconds that long windows take; 0 in a study without.
    pub long_s: f64,
    /// Rounds of a block, if a study with a larger budget could have more, which make its blocks longer.
    pub rounds: Option<u32>,
}

impl Shortfall {
    /// The smallest budget that holds the whole study, as the user types it. A lower bound if setting up was
    /// not done, or no block was.
    pub fn budget(&self) -> String {
        // A resumed study has its earlier blocks.
        self.holding(self.blocks_at_start())
    }

    /// The smallest budget that holds the remaining blocks.
    pub fn budget_to_go_on(&self) -> String {
        self.holding(self.blocks.saturating_sub(self.blocks_done))
    }

    fn holding(&self, blocks: u32) -> String {
        // The missing part of setting up is unknown: twice the time converges.
        let setup_s = if self.is_set_up { self.setup_s } else { 2.0 * self.setup_s };
        typed_up(setup_s + self.long_s * ROOM + f64::from(blocks) * self.block_s * ROOM + ENDING_S)
    }

    /// Blocks that this start of the program had to make.
    fn blocks_at_start(&self) -> u32 {
        self.blocks.saturating_sub(self.blocks_done.saturating_sub(self.blocks_here))
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = match (self.blocks_at_start(), self.blocks_done > self.blocks_here) {
            (1, true) => "the remaining block".to_owned(),
            (left, true) => format!("the {left} remaining blocks"),
            (1, false) => "1 block".to_owned(),
            (all, false) => format!("{all} blocks"),
        };
        write!(f, "a budget of {} cannot hold {blocks}: setting up ", typed(self.limit_s))?;
        let how = if self.is_set_up { "took" } else { "was not done after" };
        write!(f, "{how} {}", seconds(self.setup_s))?;
        if self.block_s > 0.0 {
            let how = if self.is_least { "at least" } else { "about" };
            write!(f, ", a block takes {how} {}", seconds(self.block_s))?;
        }
        if self.long_s > 0.0 {
            write!(f, ", long windows take {}", seconds(self.long_s))?;
        }
        write!(f, "; give --budget {} or more", self.budget())?;
        // A resumed study keeps its rounds.
        match self.rounds.filter(|_| self.blocks_done == self.blocks_here) {
            Some(rounds) => write!(f, " with --rounds {rounds}, or fewer treatments"),
            None => write!(f, ", or fewer treatments"),
        }
    }
}

/// Whole seconds, with tenths if they are few.
fn seconds(seconds: f64) -> String {
    if seconds < 9.95 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short() -> Shortfall {
        Shortfall {
            limit_s: 60.0,
            blocks: 8,
            long_s: 0.0,
            blocks_done: 1,
            blocks_here: 1,
            setup_s: 41.0,
            is_set_up: true,
            block_s: 23.0,
            is_least: false,
            rounds: None,
        }
    }

    #[test]
    fn what_does_not_fit_is_said_with_what_does() {
        assert_eq!(
            short().to_string(),
            "a budget of 60s cannot hold 8 blocks: setting up took 41 s, a block takes about 23 s; give \
             --budget 5m or more, or fewer treatments"
        );
        let with_rounds = Shortfall { rounds: Some(6), ..short() }.to_string();
        assert!(
            with_rounds.ends_with("; give --budget 5m or more with --rounds 6, or fewer treatments"),
            "{with_rounds}"
        );
        assert_eq!(short().budget_to_go_on(), "4m30s", "41 + 7 * 23 * 1.25 + 2 = 244.25");
        let resumed = Shortfall { blocks_done: 3, blocks_here: 1, rounds: Some(6), ..short() };
        assert!(resumed.to_string().contains("cannot hold the 6 remaining blocks: "), "{resumed}");
        assert!(!resumed.to_string().contains("--rounds"), "{resumed}");
        let last = Shortfall { blocks_done: 7, blocks_here: 0, is_least: true, block_s: 0.5, ..short() };
        assert_eq!(
            last.to_string(),
            "a budget of 60s cannot hold the remaining block: setting up took 41 s, a block takes at least \
             0.5 s; give --budget 45s or more, or fewer treatments"
        );
    }

    #[test]
    fn setting_up_that_was_not_done_is_no_duration() {
        let early = Shortfall {
            blocks_done: 0,
            blocks_here: 0,
            setup_s: 58.8,
            is_set_up: false,
            block_s: 0.0,
            is_least: true,
            ..short()
        };
        assert_eq!(
            early.to_string(),
            "a budget of 60s cannot hold 8 blocks: setting up was not done after 59 s; give --budget 120s or \
             more, or fewer treatments"
        );
        let sliced = Shortfall { setup_s: 18.0, block_s: 8.8, ..early };
        assert!(
            sliced
                .to_string()
                .contains(": setting up was not done after 18 s, a block takes at least 8.8 s; ")
        );
    }
}
