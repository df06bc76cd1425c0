//! How long a list would take, given how long each item does: list scheduling on identical machines
//! (Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969), in the order of
//! the list and largest first, and a list that is cut into parts beforehand.

/// One queue: whoever is free first takes the next item. 0 without items.
pub fn queue(durations: &[f64], jobs: u32) -> f64 {
    let mut free_at = vec![0.0_f64; jobs.max(1) as usize];
    for duration in durations {
        let next = free_at.iter_mut().min_by(|one, other| one.total_cmp(other));
        next.into_iter().for_each(|time| *time += duration);
    }
    longest(free_at.into_iter())
}

/// The same with the longest item first.
pub fn queue_largest_first(durations: &[f64], jobs: u32) -> f64 {
    let mut sorted = durations.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    queue(&sorted, jobs)
}

/// Contiguous parts of equal numbers of items, one a job; where that cannot be, the first have one more.
pub fn parts(durations: &[f64], jobs: u32) -> f64 {
    let jobs = jobs.max(1) as usize;
    let (each, longer) = (durations.len() / jobs, durations.len() % jobs);
    let start = |part: usize| part * each + part.min(longer);
    longest((0..jobs).map(|part| durations[start(part)..start(part + 1)].iter().sum()))
}

fn longest(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_worked_by_hand() {
        let times = [1.0, 2.0, 3.0, 4.0, 6.0];
        // Given: 1+3 at 4 takes the 6; 2+4. Largest: 6+2 | 4+3+1. Parts: 1+2+3 | 4+6.
        assert_eq!([queue(&times, 2), queue_largest_first(&times, 2), parts(&times, 2)], [10.0, 8.0, 10.0]);
        assert_eq!([queue(&times, 1), queue_largest_first(&times, 1), parts(&times, 1)], [16.0; 3]);
        // Parts of 2, 2 and 1 items.
        assert_eq!([queue(&times, 3), queue_largest_first(&times, 3), parts(&times, 3)], [8.0, 6.0, 7.0]);
    }

    #[test]
    fn more_jobs_than_items_are_as_long_as_the_longest() {
        let times = [5.0, 1.0];
        assert_eq!([queue(&times, 9), queue_largest_first(&times, 9), parts(&times, 9)], [5.0; 3]);
        assert_eq!([queue(&[], 2), queue_largest_first(&[], 0), parts(&[], 2)], [0.0; 3]);
    }
}
