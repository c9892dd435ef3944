//! Where cards stand: columns from left to right, a step further in each.
//!
//! Ways that lead nearer to the beginning are left aside, the longest of the others decides
//! the column, and within a column cards are sorted and moved towards what they belong to.

use std::collections::VecDeque;

use super::{Picture, To};

/// How often columns are sorted and moved.
const SWEEPS: usize = 6;
/// Between two cards of a column.
const GAP: f64 = 24.0;

/// The place of each card.
pub(super) struct Layout {
    /// The column of each card.
    pub(super) column: Vec<usize>,
    /// The upper edge of each card.
    pub(super) top: Vec<f64>,
    /// How many columns there are.
    pub(super) columns: usize,
    /// The lowest edge.
    pub(super) bottom: f64,
}

/// Places cards of these heights.
pub(super) fn place(picture: &Picture<'_>, heights: &[f64]) -> Layout {
    let ahead = forward(picture);
    let column = columns(&ahead);
    let columns = column.iter().max().map_or(0, |last| last + 1);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); columns];
    for (card, &at) in column.iter().enumerate() {
        rows[at].push(card);
    }
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); ahead.len()];
    for (from, tos) in ahead.iter().enumerate() {
        for &to in tos {
            behind[to].push(from);
        }
    }
    let mut top = vec![0.0; heights.len()];
    for row in &rows {
        stack(row, heights, &mut top);
    }
    for sweep in 0..SWEEPS {
        let (near, order): (&[Vec<usize>], Vec<usize>) = if sweep % 2 == 0 {
            (&behind, (0..columns).collect())
        } else {
            (&ahead, (0..columns).rev().collect())
        };
        for at in order {
            settle(&mut rows[at], near, heights, &mut top);
        }
    }
    let least = top.iter().copied().fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 0.0 };
    for edge in &mut top {
        *edge -= least;
    }
    let edges = top.iter().zip(heights).map(|(top, height)| top + height);
    Layout {
        bottom: edges.fold(0.0, f64::max),
        column,
        top,
        columns,
    }
}

/// The cards that lines of a card lead to.
fn leads(picture: &Picture<'_>, card: usize) -> impl Iterator<Item = usize> {
    let lines = picture.cards[card].lines.iter();
    lines.filter_map(|line| match line.to {
        To::Card(at) | To::Return(at) => Some(at),
        To::End | To::Nowhere | To::Outside => None,
    })
}

/// How many steps each card is from the first one; what nothing leads to begins anew.
fn steps(picture: &Picture<'_>) -> Vec<usize> {
    let mut steps = vec![usize::MAX; picture.cards.len()];
    let mut queue = VecDeque::new();
    for start in 0..picture.cards.len() {
        if steps[start] == usize::MAX {
            steps[start] = 0;
            queue.push_back(start);
        }
        while let Some(card) = queue.pop_front() {
            for to in leads(picture, card) {
                if steps[to] == usize::MAX {
                    steps[to] = steps[card] + 1;
                    queue.push_back(to);
                }
            }
        }
    }
    steps
}

/// The ways that lead on, without those that lead nearer to the beginning or close a circle.
fn forward(picture: &Picture<'_>) -> Vec<Vec<usize>> {
    let steps = steps(picture);
    let next = |card: usize| -> Vec<usize> {
        let next = leads(picture, card).filter(|to| steps[*to] >= steps[card]);
        let mut next: Vec<usize> = next.collect();
        next.sort_unstable();
        next.dedup();
        next
    };
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![0_u8; picture.cards.len()];
    let mut ahead: Vec<Vec<usize>> = vec![Vec::new(); picture.cards.len()];
    for start in 0..picture.cards.len() {
        if state[start] != 0 {
            continue;
        }
        state[start] = OPEN;
        let mut stack = vec![(start, next(start), 0)];
        while let Some((card, tos, at)) = stack.last_mut() {
            let Some(&to) = tos.get(*at) else {
                state[*card] = DONE;
                stack.pop();
                continue;
            };
            *at += 1;
            if state[to] != OPEN {
                ahead[*card].push(to);
            }
            if state[to] == 0 {
                state[to] = OPEN;
                let tos = next(to);
                stack.push((to, tos, 0));
            }
        }
    }
    ahead
}

/// The column of each card: one more than the last that leads to it.
fn columns(ahead: &[Vec<usize>]) -> Vec<usize> {
    let mut waits = vec![0_usize; ahead.len()];
    for to in ahead.iter().flatten() {
        waits[*to] += 1;
    }
    let mut column = vec![0; ahead.len()];
    let mut ready: Vec<usize> = (0..ahead.len()).filter(|card| waits[*card] == 0).collect();
    while let Some(card) = ready.pop() {
        for &to in &ahead[card] {
            column[to] = column[to].max(column[card] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    column
}

/// Puts the cards of a column below each other.
fn stack(row: &[usize], heights: &[f64], top: &mut [f64]) {
    let mut edge = 0.0;
    for &card in row {
        top[card] = edge;
        edge += heights[card] + GAP;
    }
}

/// Sorts a column by where its neighbours are and moves each card as near as it can come.
fn settle(row: &mut [usize], near: &[Vec<usize>], heights: &[f64], top: &mut [f64]) {
    let wish = |card: usize, top: &[f64]| -> f64 {
        let middles = near[card]
            .iter()
            .map(|&other| top[other] + heights[other] / 2.0);
        let (sum, count) = middles.fold((0.0, 0.0), |(sum, count), at| (sum + at, count + 1.0));
        if count == 0.0 {
            top[card] + heights[card] / 2.0
        } else {
            sum / count
        }
    };
    let mut wishes: Vec<(f64, usize)> = row.iter().map(|&card| (wish(card, top), card)).collect();
    wishes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut edge = f64::NEG_INFINITY;
    let mut off = 0.0;
    for (at, &(middle, card)) in wishes.iter().enumerate() {
        row[at] = card;
        let wanted = middle - heights[card] / 2.0;
        top[card] = wanted.max(edge);
        off += top[card] - wanted;
        edge = top[card] + heights[card] + GAP;
    }
    // Cards were only pushed down; on average that is taken back.
    #[expect(clippy::cast_precision_loss, reason = "a column has few cards")]
    let back = off / row.len().max(1) as f64;
    for &card in row.iter() {
        top[card] -= back;
    }
}
