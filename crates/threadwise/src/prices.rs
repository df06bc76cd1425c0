//! Options for prices.

use clap::{Args, ValueEnum};
use threadwise_analysis::asked::{LicencePer, Prices};

/// Prices: the report then says what a unit of work costs with one thread of every core and with both.
#[derive(Debug, Clone, Args, Default)]
pub struct PriceArgs {
    /// Price of the machine per hour, in any currency
    #[arg(long, value_name = "PRICE", value_parser = crate::input::price, help_heading = "Prices")]
    pub price_hour: Option<f64>,
    /// Price of a licence per hour, in the same currency
    ///
    /// It needs --licence-per.
    #[arg(long, value_name = "PRICE", value_parser = crate::input::price, requires = "licence_per", help_heading = "Prices")]
    pub licence_hour: Option<f64>,
    /// Unit that licences are counted in
    ///
    /// It needs --licence-hour.
    #[arg(long, value_enum, value_name = "UNIT", requires = "licence_hour", help_heading = "Prices")]
    pub licence_per: Option<LicenceArg>,
}

/// Values of `--licence-per`.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum LicenceArg {
    /// Every logical CPU that the database may use
    Vcpu,
    /// Every physical core
    Core,
    /// The machine
    Machine,
}

impl PriceArgs {
    /// The given prices, completed by earlier ones; `None` if none are given.
    pub fn over(&self, before: Option<Prices>) -> Option<Prices> {
        let per = match self.licence_per {
            Some(LicenceArg::Core) => LicencePer::Core,
            Some(LicenceArg::Machine) => LicencePer::Machine,
            Some(LicenceArg::Vcpu) => LicencePer::Vcpu,
            None => before.map_or(LicencePer::Vcpu, |before| before.per),
        };
        let machine = before.map_or(0.0, |before| before.machine_per_h);
        let licence = before.map_or(0.0, |before| before.licence_per_h);
        let machine_per_h = self.price_hour.unwrap_or(machine);
        let licence_per_h = self.licence_hour.unwrap_or(licence);
        let is_given = self.price_hour.is_some() || self.licence_hour.is_some();
        is_given.then_some(Prices { machine_per_h, licence_per_h, per })
    }
}
