//! Effect of each treatment on the slices after it, adjusted for round and treatment: least squares of round +
//! treatment + predecessor in one block, with outliers pulled in to a multiple of their scale until the fit is stable.
//!
//! Sources: Jones and Kenward, *Design and Analysis of Cross-Over Trials*; Montgomery, *Design and Analysis of
//! Experiments*, ch. 10 (least squares), with rounds taken out by the deviations from their means; Golub, Van Loan,
//! *Matrix Computations*, 4.2 (Cholesky); Huber, *Robust Statistics* (1981), 7.8. Without this, single interrupted
//! slices would decide, and since a slice can be stopped but not sped up, means over few blocks would be skewed.

/// A slice that counts, in the order of execution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderedSlice {
    /// Its round in the block.
    pub round: u32,
    /// Its treatment, by index.
    pub treatment: usize,
    /// The treatment of the slice before it in the block; `None` of the first.
    pub predecessor: Option<usize>,
    /// ln of rows per second; finite.
    pub log_rate: f64,
}

/// A residual beyond this many standard deviations of its treatment, estimated by the median, is pulled in to it.
const MOST_SDS: f64 = 2.5;

/// Most fits until the pulled values are stable.
const FITS: usize = 12;

/// Fits from whose residuals standard deviations are estimated.
const SCALED_FITS: usize = 3;

/// Values that move by less than this share of a standard deviation are stable.
const STAYS: f64 = 0.02;

/// Standard deviation of a normal distribution over its median absolute deviation.
const SD_OF_MAD: f64 = 1.4826;

/// For each treatment, by index, the effect on ln(rate) of being after it, less the mean effect of being after one of
/// the others that were predecessors in this block, adjusted for round and treatment. Slices without a predecessor are
/// left out. The slices are in the order of execution.
///
/// Degenerate cases: `None` for a treatment that no slice came after, and for all if round, treatment and predecessor
/// cannot be separated, or fewer than two were predecessors.
pub fn contrasts(slices: &[OrderedSlice], treatments: usize) -> Vec<Option<f64>> {
    let unknown = vec![None; treatments];
    let Some(design) = Design::new(slices, treatments) else { return unknown };
    let counted: Vec<&OrderedSlice> = slices.iter().filter(|slice| slice.predecessor.is_some()).collect();
    let effects = robust(&design, &counted, treatments);
    let known = effects.iter().flatten().count();
    if known < 2 {
        return unknown;
    }
    let sum: f64 = effects.iter().flatten().sum();
    let contrast = |effect: f64| effect - (sum - effect) / (known - 1) as f64;
    effects.into_iter().map(|effect| effect.map(contrast)).collect()
}

/// The effects of predecessors, by Huber's method.
fn robust(design: &Design, slices: &[&OrderedSlice], treatments: usize) -> Vec<Option<f64>> {
    let values: Vec<f64> = slices.iter().map(|slice| slice.log_rate).collect();
    let mut pulled = values.clone();
    let mut fit = design.fit(&pulled);
    let mut sds = Vec::new();
    for number in 1..FITS {
        if number <= SCALED_FITS {
            let residuals = values.iter().zip(&fit.values).map(|(value, fitted)| value - fitted);
            sds = scales(design, slices, residuals, treatments);
        }
        let mut is_settled = true;
        for (at, slice) in slices.iter().enumerate() {
            let Some(sd) = sds.get(slice.treatment) else { continue };
            let limit = MOST_SDS * sd;
            let value = fit.values[at] + (values[at] - fit.values[at]).clamp(-limit, limit);
            is_settled &= (value - pulled[at]).abs() <= STAYS * sd;
            pulled[at] = value;
        }
        if is_settled {
            break;
        }
        fit = design.fit(&pulled);
    }
    design.after(&fit)
}

/// Standard deviation of each treatment's residuals by their median, at least half of that of all, since few residuals
/// may be small by chance. Empty if the fit leaves none.
fn scales(
    design: &Design,
    slices: &[&OrderedSlice],
    residuals: impl Iterator<Item = f64>,
    treatments: usize,
) -> Vec<f64> {
    let left = design.degrees_of_freedom();
    if left == 0 {
        return Vec::new();
    }
    let scale = SD_OF_MAD * (slices.len() as f64 / left as f64).sqrt();
    let mut all = Vec::with_capacity(slices.len());
    let mut sizes: Vec<Vec<f64>> = vec![Vec::new(); treatments];
    for (slice, residual) in slices.iter().zip(residuals) {
        sizes[slice.treatment].push(residual.abs());
        all.push(residual.abs());
    }
    let least = middle(&mut all) / 2.0;
    sizes.into_iter().map(|mut sizes| scale * middle(&mut sizes).max(least)).collect()
}

/// The upper median; 0 without values.
fn middle(values: &mut [f64]) -> f64 {
    let at = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(at, f64::total_cmp).1 }
}

/// A pivot below this share of its column's own sum of squares is rounding.
const LEAST_PIVOT: f64 = 1e-9;

/// Index of an effect in the equations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// It does not occur.
    Absent,
    /// The reference of the others.
    Reference,
    Number(usize),
}

impl Column {
    fn number(self) -> Option<usize> {
        match self {
            Self::Number(number) => Some(number),
            Self::Absent | Self::Reference => None,
        }
    }
}

/// Design of the fit: which slice has which effects.
struct Design {
    /// For each slice its round, counted from 0 without gaps, and the columns of its treatment and predecessor.
    slices: Vec<(usize, [Option<usize>; 2])>,
    /// Slices of each round.
    rounds: Vec<f64>,
    predecessors: Vec<Column>,
    /// Number of columns.
    size: usize,
    /// Rows of the lower triangle of Cholesky's decomposition of XᵀX.
    factor: Vec<f64>,
}

/// Least squares of some values.
struct Fit {
    effects: Vec<f64>,
    /// The fitted values.
    values: Vec<f64>,
}

impl Design {
    /// From the slices that have a predecessor, in the order of execution; `None` if the effects cannot be separated.
    fn new(slices: &[OrderedSlice], treatments: usize) -> Option<Self> {
        let mut columns = [vec![Column::Absent; treatments], vec![Column::Absent; treatments]];
        let (mut size, mut rows, mut rounds) = (0, Vec::with_capacity(slices.len()), Vec::new());
        let mut last = None;
        for slice in slices {
            let Some(predecessor) = slice.predecessor else { continue };
            for (list, at) in columns.iter_mut().zip([slice.treatment, predecessor]) {
                if list[at] == Column::Absent {
                    let is_first = list.iter().all(|column| *column == Column::Absent);
                    list[at] = if is_first { Column::Reference } else { Column::Number(size) };
                    size += usize::from(!is_first);
                }
            }
            if last.replace(slice.round) != Some(slice.round) {
                rounds.push(0.0);
            }
            if let Some(count) = rounds.last_mut() {
                *count += 1.0;
            }
            let both = [columns[0][slice.treatment], columns[1][predecessor]];
            rows.push((rounds.len() - 1, both.map(Column::number)));
        }
        let [_, predecessors] = columns;
        let mut design = Self { slices: rows, rounds, predecessors, size, factor: Vec::new() };
        design.factor = decomposed(design.normal_matrix(), size)?;
        Some(design)
    }

    /// XᵀX of deviations from the rounds' means, by row.
    fn normal_matrix(&self) -> Vec<f64> {
        let mut matrix = vec![0.0; self.size * self.size];
        for round in self.slices.chunk_by(|one, next| one.0 == next.0) {
            let (mut sums, mut touched) = (vec![0.0; self.size], Vec::new());
            for (_, columns) in round {
                for column in columns.iter().flatten() {
                    for other in columns.iter().flatten() {
                        matrix[column * self.size + other] += 1.0;
                    }
                    if sums[*column] == 0.0 {
                        touched.push(*column);
                    }
                    sums[*column] += 1.0;
                }
            }
            for &column in &touched {
                for &other in &touched {
                    matrix[column * self.size + other] -= sums[column] * sums[other] / round.len() as f64;
                }
            }
        }
        matrix
    }

    /// Slices less parameters.
    fn degrees_of_freedom(&self) -> usize {
        self.slices.len().saturating_sub(self.size + self.rounds.len())
    }

    /// Fits one value for each slice.
    fn fit(&self, values: &[f64]) -> Fit {
        let means = self.means(values);
        let mut effects = vec![0.0; self.size];
        for ((round, columns), value) in self.slices.iter().zip(values) {
            for column in columns.iter().flatten() {
                effects[*column] += value - means[*round];
            }
        }
        self.solve(&mut effects);
        let sum = |columns: &[Option<usize>; 2]| columns.iter().flatten().map(|at| effects[*at]).sum::<f64>();
        let mut fitted: Vec<f64> = self.slices.iter().map(|(_, columns)| sum(columns)).collect();
        let shifts: Vec<f64> = self.means(&fitted).iter().zip(means).map(|(fit, mean)| mean - fit).collect();
        fitted.iter_mut().zip(&self.slices).for_each(|(value, (round, _))| *value += shifts[*round]);
        Fit { effects, values: fitted }
    }

    fn means(&self, values: &[f64]) -> Vec<f64> {
        let mut means = vec![0.0; self.rounds.len()];
        self.slices.iter().zip(values).for_each(|((round, _), value)| means[*round] += value);
        means.iter_mut().zip(&self.rounds).for_each(|(mean, count)| *mean /= count);
        means
    }

    /// Solves for a right side, in place.
    fn solve(&self, right: &mut [f64]) {
        let row = |at: usize| &self.factor[at * self.size..(at + 1) * self.size];
        for at in 0..self.size {
            let dot: f64 = row(at)[..at].iter().zip(&*right).map(|(a, b)| a * b).sum();
            right[at] = (right[at] - dot) / row(at)[at];
        }
        for at in (0..self.size).rev() {
            right[at] /= row(at)[at];
            let solved = right[at];
            right[..at].iter_mut().zip(row(at)).for_each(|(value, factor)| *value -= factor * solved);
        }
    }

    /// The effect of each predecessor that occurs, by index of the treatments, relative to one of them.
    fn after(&self, fit: &Fit) -> Vec<Option<f64>> {
        let effect = |column: &Column| match column {
            Column::Absent => None,
            Column::Reference => Some(0.0),
            Column::Number(number) => fit.effects.get(*number).copied(),
        };
        self.predecessors.iter().map(effect).collect()
    }
}

/// Cholesky's decomposition of a matrix in rows; `None` if a column is a combination of others.
fn decomposed(mut matrix: Vec<f64>, size: usize) -> Option<Vec<f64>> {
    for row in 0..size {
        let (done, rest) = matrix.split_at_mut(row * size);
        let rest = &mut rest[..size];
        let diagonal = rest[row];
        for column in 0..row {
            let other = &done[column * size..(column + 1) * size];
            let dot: f64 = rest[..column].iter().zip(other).map(|(a, b)| a * b).sum();
            rest[column] = (rest[column] - dot) / other[column];
        }
        let pivot = diagonal - rest[..row].iter().map(|a| a * a).sum::<f64>();
        if pivot <= LEAST_PIVOT * diagonal.max(1.0) {
            return None;
        }
        rest[row] = pivot.sqrt();
    }
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::plan::order::rounds;

    /// Slices of a block of a plan with effects of treatments, of predecessors and of rounds, without noise.
    fn block(treatments: usize, number: u32, after: impl Fn(usize) -> f64) -> Vec<OrderedSlice> {
        let mut predecessor = None;
        let mut all = Vec::new();
        for (round, order) in rounds(4, treatments, number, 2).iter().enumerate() {
            for &treatment in order {
                let carried = predecessor.map_or(0.0, &after);
                let log_rate = 10.0 + 0.3 * treatment as f64 + (round as f64).sin() + carried;
                all.push(OrderedSlice { round: round as u32, treatment, predecessor, log_rate });
                predecessor = Some(treatment);
            }
        }
        all
    }

    #[test]
    fn what_was_put_in_comes_out() {
        for (treatments, number) in [(3, 20), (4, 20), (9, 20), (12, 22), (40, 20)] {
            let found =
                contrasts(&block(treatments, number, |at| if at == 1 { -0.02 } else { 0.0 }), treatments);
            let others = 0.02 / (treatments - 1) as f64;
            for (at, contrast) in found.into_iter().enumerate() {
                let expected = if at == 1 { -0.02 } else { others };
                assert!((contrast.unwrap() - expected).abs() < 1e-9, "{treatments}, {at}: {contrast:?}");
            }
        }
    }

    #[test]
    fn slices_that_are_missing_do_not_matter() {
        let mut slices = block(5, 20, |at| 0.01 * at as f64);
        let full = contrasts(&slices, 5);
        slices.retain(|slice| (slice.round, slice.treatment) != (3, 2) && slice.round != 7);
        for (one, other) in full.iter().zip(contrasts(&slices, 5)) {
            assert!((one.unwrap() - other.unwrap()).abs() < 1e-9);
        }
        // A treatment without a run: the others' predecessors are as before, it has none.
        slices.retain(|slice| slice.treatment != 4 && slice.predecessor != Some(4));
        let found = contrasts(&slices, 5);
        assert_eq!(found[4], None);
        assert!((found[0].unwrap() - (0.0 - 0.02)).abs() < 1e-9, "less the mean of 1, 2 and 3 hundredths");
    }

    #[test]
    fn a_slice_that_was_stopped_decides_little() {
        let mut slices = block(6, 20, |at| if at == 2 { -0.02 } else { 0.0 });
        // Noise of ±1%, of which every 40th slice is stopped for a while.
        for (at, slice) in slices.iter_mut().enumerate() {
            slice.log_rate += [0.01, -0.01, 0.004, -0.004][at * 7 % 4];
            slice.log_rate += if at % 40 == 17 { 0.3f64.ln() } else { 0.0 };
        }
        let found = contrasts(&slices, 6);
        assert!((found[2].unwrap() + 0.02).abs() < 0.006, "{found:?}");
        let design = Design::new(&slices, 6).unwrap();
        let values: Vec<f64> = slices.iter().skip(1).map(|slice| slice.log_rate).collect();
        let plain = design.after(&design.fit(&values));
        let mean = plain.iter().flatten().sum::<f64>() / 6.0;
        let off = plain.iter().flatten().map(|effect| (effect - mean).abs()).fold(0.0, f64::max);
        assert!(off > 0.03, "by plain least squares they decide: {plain:?}");
    }

    #[test]
    fn a_large_carry_over_is_no_outlier() {
        for treatments in [3, 9] {
            let mut slices = block(treatments, 20, |at| if at == 2 { -0.7 } else { 0.0 });
            for (at, slice) in slices.iter_mut().enumerate() {
                slice.log_rate += [0.01, -0.01, 0.004, -0.004][at * 7 % 4];
            }
            let found = contrasts(&slices, treatments)[2].unwrap();
            assert!((found + 0.7).abs() < 0.01, "{treatments}: {found}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_unknown() {
        // Of two treatments both slices of a round come after the same one.
        assert_eq!(contrasts(&block(2, 20, |_| 0.0), 2), [None, None]);
        // Five slices with a predecessor, six parameters.
        assert_eq!(contrasts(&block(3, 2, |_| 0.0), 3), [None, None, None]);
        assert_eq!(contrasts(&[], 3), [None, None, None]);
        // Always in the same order each treatment has one predecessor.
        let mut fixed = block(3, 20, |_| 0.0);
        for (at, slice) in fixed.iter_mut().enumerate() {
            (slice.treatment, slice.predecessor) = (at % 3, at.checked_sub(1).map(|before| before % 3));
        }
        assert_eq!(contrasts(&fixed, 3), [None, None, None]);
    }
}
