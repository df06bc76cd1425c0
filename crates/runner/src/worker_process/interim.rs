//! Actions while a worker measures.

use std::time::Duration;

/// An action during a wait, at times that it sets itself.
pub struct Interim<'a> {
    due: Option<Duration>,
    act: &'a mut dyn FnMut() -> Option<Duration>,
}

impl<'a> Interim<'a> {
    /// Calls `act` so long after the wait's begin, and again as long after its end as it returns each time;
    /// `None` ends it.
    pub fn new(first: Duration, act: &'a mut dyn FnMut() -> Option<Duration>) -> Self {
        Self { due: Some(first), act }
    }

    /// Acts if it is due; `None` if there is nothing more to do, else the time until the next action. Late
    /// actions are not made up for.
    pub(super) fn next(&mut self, waited: Duration) -> Option<Duration> {
        match self.due? {
            due if due <= waited => {
                let pause = (self.act)();
                self.due = pause.map(|pause| waited + pause);
                pause
            }
            due => Some(due - waited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_acts_when_due_and_no_more_when_it_says_so() {
        let ms = Duration::from_millis;
        let mut pauses = vec![None, Some(ms(20))];
        let mut act = || pauses.pop().flatten();
        let mut interim = Interim::new(ms(10), &mut act);
        assert_eq!(interim.next(ms(4)), Some(ms(6)));
        assert_eq!(interim.next(ms(15)), Some(ms(20)));
        assert_eq!(interim.next(ms(20)), Some(ms(15)));
        assert_eq!(interim.next(ms(40)), None);
        assert_eq!(interim.next(ms(90)), None);
        assert!(pauses.is_empty());
    }
}
