//! A strip on a terminal: one line for each logical CPU, one letter for each stretch of time.

use super::lines::{SMALL, columns, flow, wrap};
use super::{DIM, Style};
use threadwise_document::numbers::{counted, seconds};
use threadwise_document::{Strip, strip::Piece};

/// Least letters of a block on average for bars between blocks.
const LEAST: usize = 3;

/// A stretch of a line: a letter for columns from the first to the end, or the bar between two blocks.
enum Sign {
    Time(f64, f64),
    Bar,
}

/// The strip below its heading, no wider than the style: for each stretch of time the state that lasted longest.
pub fn lines(title: &str, strip: &Strip, style: Style) -> Vec<String> {
    let names: Vec<String> = strip.cpus.iter().take(SMALL).map(|cpu| format!("CPU {cpu}")).collect();
    let label = names.iter().map(|name| columns(name)).max().unwrap_or(0) + 2;
    let signs = signs(&strip.pieces, style.width.saturating_sub(label).max(8));
    let count = signs.iter().filter(|sign| matches!(sign, Sign::Time(..))).count();
    let wide: u32 = strip.pieces.iter().map(|piece| piece.2).sum();
    let each_s = strip.column_s * f64::from(wide) / count.max(1) as f64;
    let mut lines = wrap(
        &format!("{title}: a sign is the state that lasted longest in {}", seconds(each_s)),
        style.width,
    );
    for (row, name) in (0..).zip(&names) {
        let text: String = signs.iter().map(|sign| letter(strip, row, sign)).collect();
        lines.push(format!("{name:label$}{text}").trim_end().to_owned());
    }
    let mut legend: Vec<String> =
        used(strip).map(|(letter, name)| format!("{letter} {name}")).chain(bar(&signs)).collect();
    let more = strip.cpus.len().saturating_sub(SMALL);
    legend.extend((more > 0).then(|| format!("{} on the page", counted(more, "more logical CPU"))));
    lines.extend(flow(&legend, style.width).iter().map(|line| style.paint(DIM, line)));
    lines
}

fn bar(signs: &[Sign]) -> Option<String> {
    signs.iter().any(|sign| matches!(sign, Sign::Bar)).then(|| "| next block".to_owned())
}

/// States that occur.
fn used(strip: &Strip) -> impl Iterator<Item = (char, &'static str)> {
    let occurs = |state: usize| {
        strip.cells.iter().any(|cell| cell.3.iter().any(|(known, _)| usize::from(*known) == state))
    };
    strip.states.iter().enumerate().filter(move |(at, _)| occurs(*at)).map(|(_, state)| *state)
}

/// Which columns each sign of a line represents. Pieces get room by their length, at least one sign as long as there is
/// room.
fn signs(pieces: &[Piece], room: usize) -> Vec<Sign> {
    let breaks = pieces.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    let has_bars = room >= (breaks + 1) * (LEAST + 1);
    let room = if has_bars { room - breaks } else { room };
    let wide: u32 = pieces.iter().map(|piece| piece.2).sum();
    let (mut signs, mut block, mut before) = (Vec::new(), None, 0);
    for &(number, first, columns, ..) in pieces {
        if has_bars && block.is_some_and(|block| block != number) {
            signs.push(Sign::Bar);
        }
        block = Some(number);
        let place = |columns: u32| (f64::from(columns) / f64::from(wide.max(1)) * room as f64).round() as u32;
        let count = place(before + columns) - place(before);
        before += columns;
        let at =
            |sign: u32| f64::from(first) + f64::from(columns) * f64::from(sign) / f64::from(count.max(1));
        signs.extend((0..count).map(|sign| Sign::Time(at(sign), at(sign + 1))));
    }
    signs
}

/// The state that lasted longest in some columns of a row; a space if unknown.
fn letter(strip: &Strip, row: u32, sign: &Sign) -> char {
    let Sign::Time(first, end) = sign else { return '|' };
    let times = strip.time_in(row, *first, *end);
    let longest = times.iter().zip(&strip.states).filter(|(time, _)| **time > 0.0);
    longest.max_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(' ', |(_, state)| state.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { color: false, unicode: false, width: 40 };

    fn strip() -> Strip {
        Strip {
            columns: 25,
            column_s: 0.5,
            pieces: vec![(0, 0, 10, 1.0, 6.0), (1, 15, 10, 9.0, 14.0)],
            states: vec![('.', "alone"), ('1', "one core"), ('c', "neighbour")],
            cpus: vec![0, 12],
            cells: vec![
                (0, 0, 5, vec![(0, 1.0)]),
                (0, 5, 5, vec![(0, 0.4), (1, 0.6)]),
                (0, 15, 10, vec![(1, 1.0)]),
                (1, 15, 10, vec![(0, 1.0)]),
            ],
            ..Strip::default()
        }
    }

    #[test]
    fn a_line_has_the_state_of_each_stretch_and_bars_between_blocks() {
        let shown = lines("Over time", &strip(), PLAIN);
        let wanted = [
            // 40 columns, 8 of them names and 1 a bar, so that 10 s are 31 signs, 16 and 15.
            "Over time: a sign is the state that",
            "lasted longest in 323 ms",
            "CPU 0   ........11111111|111111111111111",
            "CPU 12                  |...............",
            ". alone  1 one core  | next block",
        ];
        assert_eq!(shown, wanted);
        assert!(shown.iter().all(|line| line.len() <= 40));
    }

    #[test]
    fn many_blocks_have_no_bars_and_many_rows_are_on_the_page() {
        let pieces = (0..60).map(|block| (block, block * 10, 8, 0.0, 1.0)).collect();
        let many = Strip { pieces, cpus: (0..20).collect(), cells: vec![], ..strip() };
        let shown = lines("Over time", &many, PLAIN);
        assert_eq!(shown.len(), 2 + 16 + 1);
        assert_eq!(shown[18], "4 more logical CPUs on the page");
        assert!(shown.iter().all(|line| line.len() <= 40 && !line.contains('|')));
        assert_eq!(lines("Over time", &Strip::default(), PLAIN).len(), 2);
    }
}
