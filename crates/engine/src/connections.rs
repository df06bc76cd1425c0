//! Connections to a server that others use too: how many a study holds at once, how many are free, and the
//! share of every limit that is never taken, so that no application is refused because of a study.
//! The engines ask their servers for the limits ([`crate::Engine::limits`]).

/// Share of a limit that is left to others, percent.
const RESERVE_PERCENT: u32 = 20;

/// Connections left to others at least.
const LEAST_RESERVE: u32 = 10;

/// Connections of a treatment besides those of its sessions: one that controls and checks them, and the
/// first probe of the server, which the server may not have closed yet.
const BESIDE_SESSIONS: u32 = 2;

/// Connections of a study besides those of its treatments: one that holds the objects made for it, and one that
/// loads or probes.
const BESIDE_TREATMENTS: u32 = 2;

/// A limit on connections of a server, a database or an account, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The setting and what it applies to, such as `max_connections of the server`.
    pub name: String,
    /// The most connections.
    pub most: u32,
    /// Of those, the ones reserved for superusers.
    pub set_aside: u32,
    /// Connections that count against it now, without the one that reads this.
    pub in_use: u32,
}

impl Limit {
    /// Connections always left to others.
    pub fn reserve(&self) -> u32 {
        (u64::from(self.most) * u64::from(RESERVE_PERCENT)).div_ceil(100).max(u64::from(LEAST_RESERVE)) as u32
    }

    /// Connections that any client may open now.
    pub fn free(&self) -> u32 {
        self.most.saturating_sub(self.set_aside).saturating_sub(self.in_use)
    }

    /// Connections that a study may take.
    pub fn available(&self) -> u32 {
        self.free().saturating_sub(self.reserve())
    }

    /// `max_connections of the server is 100: 3 are set aside for superusers, 10 are in use, 20 are always
    /// left to others`.
    fn account(&self) -> String {
        let set_aside = match self.set_aside {
            0 => String::new(),
            number => format!("{number} set aside for superusers, "),
        };
        let Self { name, most, in_use, .. } = self;
        format!("{name} is {most}: {set_aside}{in_use} in use, {} always left to others", self.reserve())
    }
}

/// Connections that a study holds at once: the treatments of a block are all connected together and
/// take turns in slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Of the sessions of all treatments.
    pub sessions: u32,
    /// Connections that control and check the treatments' sessions.
    pub control: u32,
    /// Connections that load, probe, and hold the objects made for the study.
    pub study: u32,
}

impl Need {
    /// What a study needs, given the sessions of each treatment.
    pub fn of(sessions: impl IntoIterator<Item = u32>) -> Self {
        let none = Self { sessions: 0, control: 0, study: BESIDE_TREATMENTS };
        sessions.into_iter().fold(none, |need, sessions| Self {
            sessions: need.sessions.saturating_add(sessions),
            control: need.control.saturating_add(BESIDE_SESSIONS),
            ..need
        })
    }

    /// All of them.
    pub fn total(&self) -> u32 {
        self.sessions.saturating_add(self.control).saturating_add(self.study)
    }

    /// Those that a block opens; the study's are open before it.
    #[must_use]
    pub fn of_block(self) -> Self {
        Self { study: 0, ..self }
    }

    /// A line for a study's plan.
    pub fn line(&self, limits: &[Limit]) -> String {
        let accounts: Vec<String> = limits.iter().map(Limit::account).collect();
        let free = limits.iter().map(Limit::free).min().unwrap_or(0);
        let available = limits.iter().map(Limit::available).min().unwrap_or(0);
        format!(
            "Connections to your server: {} needed at once ({}), {free} free, of which {available} may be taken \
             ({})",
            self.total(),
            self.purposes(),
            accounts.join("; ")
        )
    }

    /// Refuses a study that would take connections left to others.
    ///
    /// # Errors
    /// Which limit is too low, in numbers, and what to do.
    pub fn expect_free(&self, limits: &[Limit]) -> Result<(), String> {
        let needed = self.total();
        let tightest = limits.iter().min_by_key(|limit| limit.available());
        let Some(limit) = tightest.filter(|limit| limit.available() < needed) else { return Ok(()) };
        Err(format!(
            "the study needs {needed} connections to your server at once ({}), and {} may be taken ({}): give \
             fewer sessions or treatments, or raise that limit",
            self.purposes(),
            limit.available(),
            limit.account()
        ))
    }

    fn purposes(&self) -> String {
        let others = self.control.saturating_add(self.study);
        format!("{} of the sessions of all treatments, {others} that control, load and check", self.sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(most: u32, set_aside: u32, in_use: u32) -> Limit {
        Limit { name: "max_connections of the server".into(), most, set_aside, in_use }
    }

    #[test]
    fn a_fifth_and_at_least_ten_are_never_taken() {
        let reserves = [0, 1, 10, 50, 51, 100, 101, u32::MAX].map(|most| limit(most, 0, 0).reserve());
        assert_eq!(reserves, [10, 10, 10, 10, 11, 20, 21, 858_993_459]);
        assert_eq!((limit(100, 3, 10).free(), limit(100, 3, 10).available()), (87, 67));
        assert_eq!((limit(20, 3, 15).free(), limit(20, 3, 15).available()), (2, 0));
        assert_eq!(limit(5, 3, 9).free(), 0);
    }

    #[test]
    fn all_treatments_of_a_block_are_there_at_once() {
        let need = Need::of([1, 1, 2, 4, 8, 16, 32]);
        assert_eq!((need.sessions, need.total(), need.of_block().total()), (64, 80, 78));
        assert_eq!(Need::of([u32::MAX, 5]).total(), u32::MAX);
    }

    #[test]
    fn the_tightest_limit_decides_and_is_named_with_its_numbers() {
        let need = Need::of([1, 1, 2, 4, 8, 16, 32]);
        assert_eq!(need.expect_free(&[limit(113, 0, 10)]), Ok(()));
        assert!(need.expect_free(&[limit(112, 0, 10)]).is_err());
        let role = Limit { name: "CONNECTION LIMIT of role 'bench'".into(), ..limit(40, 0, 1) };
        let error = need.expect_free(&[limit(1000, 3, 10), role.clone()]).unwrap_err();
        assert_eq!(
            error,
            "the study needs 80 connections to your server at once (64 of the sessions of all treatments, 16 that \
             control, load and check), and 29 may be taken (CONNECTION LIMIT of role 'bench' is 40: 1 in use, 10 \
             always left to others): give fewer sessions or treatments, or raise that limit"
        );
        assert_eq!(need.of_block().expect_free(&[limit(110, 0, 10)]), Ok(()));
        assert!(need.expect_free(&[limit(110, 0, 10)]).is_err());
        let line = need.line(&[limit(1000, 3, 10), role]);
        assert!(
            line.contains("80 needed at once") && line.contains("39 free, of which 29 may be taken"),
            "{line}"
        );
        assert!(line.contains("is 1000: 3 set aside for superusers, 10 in use, 200 always left"), "{line}");
        assert_eq!(need.expect_free(&[]), Ok(()));
    }
}
