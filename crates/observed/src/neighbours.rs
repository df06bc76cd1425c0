//! What looks at the logical CPUs of the server's machine saw of neighbours in an interval, or why that is not known.

/// Neighbours in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Neighbours {
    /// Looks showed whether one was there.
    Seen {
        /// Looks at single logical CPUs that showed it, at least 1.
        looks: u64,
        /// Share of these with a neighbour, 0 to 1.
        share: f64,
    },
    /// That is not known.
    Unknown(Unseen),
}

/// Why nothing is known of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// The server is on another machine.
    Elsewhere,
    /// The machine is not a virtual one.
    NoGuest,
    /// The hypervisor declares siblings: both threads of a core are this machine's.
    Declared,
    /// Looks do not cover all logical CPUs of the machine.
    Uncovered,
    /// The width of this processor's cores is not known.
    Width,
    /// No look showed whether a core was free.
    NoLook,
}

impl Unseen {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Elsewhere, Self::NoGuest, Self::Declared, Self::Uncovered, Self::Width, Self::NoLook];

    /// Its word in files and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Elsewhere => "server-elsewhere",
            Self::NoGuest => "not-a-guest",
            Self::Declared => "siblings-declared",
            Self::Uncovered => "not-all-cpus",
            Self::Width => "width-unknown",
            Self::NoLook => "no-look",
        }
    }

    /// The reason of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unseen| unseen.word() == word)
    }

    /// What is the case, for a message.
    pub fn words(self) -> &'static str {
        match self {
            Self::Elsewhere => "the server is not on this machine",
            Self::NoGuest => "this is not a virtual machine, so both threads of a core are its own",
            Self::Declared => {
                "the hypervisor declares siblings, so both threads of a core are this machine's"
            }
            Self::Uncovered => {
                "looks cover at most 16 logical CPUs that observe may use, and the server on others would seem to be a \
                 neighbour"
            }
            Self::Width => "the width of this processor's cores is unknown",
            Self::NoLook => "no look showed whether a core was free",
        }
    }
}

impl Neighbours {
    /// The share of looks with a neighbour, if it is known.
    pub fn share(self) -> Option<f64> {
        match self {
            Self::Seen { share, .. } => Some(share),
            Self::Unknown(_) => None,
        }
    }

    /// Looks that showed whether a neighbour was there.
    pub fn looks(self) -> u64 {
        match self {
            Self::Seen { looks, .. } => looks,
            Self::Unknown(_) => 0,
        }
    }

    /// Why it is not known, if so.
    pub fn unknown(self) -> Option<Unseen> {
        match self {
            Self::Seen { .. } => None,
            Self::Unknown(unseen) => Some(unseen),
        }
    }
}

/// Looks at single logical CPUs, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    looks: u64,
    with_neighbour: u64,
}

impl Tally {
    /// Adds a look at a logical CPU: whether a neighbour was there; `None` if it did not show that.
    pub fn add(&mut self, has_neighbour: Option<bool>) {
        if let Some(has_neighbour) = has_neighbour {
            self.looks += 1;
            self.with_neighbour += u64::from(has_neighbour);
        }
    }

    /// What they say.
    pub fn neighbours(self) -> Neighbours {
        match self.looks {
            0 => Neighbours::Unknown(Unseen::NoLook),
            looks => Neighbours::Seen { looks, share: self.with_neighbour as f64 / looks as f64 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_show_nothing_do_not_count() {
        let mut tally = Tally::default();
        [None, None].into_iter().for_each(|look| tally.add(look));
        assert_eq!(tally.neighbours(), Neighbours::Unknown(Unseen::NoLook));
        [Some(true), None, Some(false), Some(false), Some(false)]
            .into_iter()
            .for_each(|look| tally.add(look));
        assert_eq!(tally.neighbours(), Neighbours::Seen { looks: 4, share: 0.25 });
    }

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        for unseen in Unseen::ALL {
            assert_eq!(Unseen::of(unseen.word()), Some(unseen));
        }
        assert_eq!(Unseen::of(""), None);
    }
}
