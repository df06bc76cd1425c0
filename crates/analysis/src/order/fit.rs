//! Least squares of round + treatment + predecessor in one block.
//!
//! Sources: Montgomery, *Design and Analysis of Experiments*, ch. 10 (least squares), with rounds taken out by the
//! deviations from their means; Golub, Van Loan, *Matrix Computations*, 4.2 (Cholesky).

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

/// A pivot below this share of its column's own sum of squares is rounding.
const LEAST_PIVOT: f64 = 1e-9;

/// Where an effect stands in the equations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// It does not occur.
    Absent,
    /// The others are relative to it.
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

/// What is fitted: which slice has which effects.
pub struct Design {
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
pub struct Fit {
    effects: Vec<f64>,
    /// The fitted values.
    pub values: Vec<f64>,
}

impl Design {
    /// Of the slices that have a predecessor, in the order of execution; `None` where the effects cannot be told apart.
    pub fn new(slices: &[OrderedSlice], treatments: usize) -> Option<Self> {
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

    /// XᵀX of deviations from the rounds' means, in rows.
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
    pub fn degrees_of_freedom(&self) -> usize {
        self.slices.len().saturating_sub(self.size + self.rounds.len())
    }

    /// Fits one value for each slice.
    pub fn fit(&self, values: &[f64]) -> Fit {
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

    /// Solves for a right side, in its place.
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
    pub fn after(&self, fit: &Fit) -> Vec<Option<f64>> {
        let effect = |column: &Column| match column {
            Column::Absent => None,
            Column::Reference => Some(0.0),
            Column::Number(number) => fit.effects.get(*number).copied(),
        };
        self.predecessors.iter().map(effect).collect()
    }
}

/// Cholesky's decomposition of a matrix in rows; `None` where a column is a combination of others.
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
