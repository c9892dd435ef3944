//! What a schema costs before a value is known: its work for one path through a value.
//!
//! Expanded along references. A cycle through the value is counted once and multiplied by the
//! depth that a value may have. A cycle that stays at one value is refused: a validator has to
//! try all ways through it.

use tollgate_core::depth::MAX_DEPTH;

use super::{
    SchemaError,
    graph::{Graph, Id, Node},
};

/// The most work for one path through a value.
pub(super) const MAX_COST: u64 = 4_000_000;
/// The longest chain of subschemas that apply to the same value.
const MAX_CHAIN: usize = 64;
/// The longest chain of subschemas at all, each applied by the one before it.
const MAX_PATH: usize = 2048;
/// What is not evaluated elsewhere is found by evaluating it there, for each member.
const MEMBERS: u64 = 4;

/// What is known of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// Steps for one path through a value, or for each value if the schema is plain.
    pub(super) steps: u64,
    /// Whether `steps` times the number of values bounds the work, and the recursion is short.
    pub(super) plain: bool,
}

/// Steps by the kind of value, as the members of an object and the items of an array are
/// never those of the same value.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    alone: u64,
    object: u64,
    array: u64,
}

impl Steps {
    fn most(self) -> u64 {
        self.object.max(self.array).max(self.alone)
    }
}

struct Walk<'a> {
    graph: &'a Graph,
    steps: Vec<State>,
    cyclic: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Unknown,
    Open,
    Known(Steps),
}

/// The cost of a schema, or why it has none that is bounded.
pub(super) fn of(graph: &Graph) -> Result<Cost, SchemaError> {
    let chain = longest_chain(graph)?;
    let mut walk = Walk {
        graph,
        steps: vec![State::Unknown; graph.nodes.len()],
        cyclic: false,
    };
    let once = walk.steps(0, 0)?.most();
    let depth = if walk.cyclic { MAX_DEPTH as u64 } else { 1 };
    let steps = once.saturating_mul(depth);
    if steps > MAX_COST {
        return Err(SchemaError::TooExpensive);
    }
    let is_special = |node: &Node| !node.unevaluated.is_empty() || node.unique || node.reads_text;
    let special = graph.nodes.iter().any(is_special);
    Ok(Cost {
        steps,
        plain: !walk.cyclic && !special && chain <= 8,
    })
}

/// The longest chain at one value; a cycle there has no end.
fn longest_chain(graph: &Graph) -> Result<usize, SchemaError> {
    // 0 is unknown, `usize::MAX` is open, everything else is the length plus one.
    let mut lengths = vec![0_usize; graph.nodes.len()];
    let mut longest = 0;
    for id in 0..graph.nodes.len() {
        longest = longest.max(chain(graph, id, &mut lengths, 0)?);
    }
    Ok(longest)
}

fn chain(graph: &Graph, id: Id, lengths: &mut [usize], depth: usize) -> Result<usize, SchemaError> {
    match lengths[id] {
        0 => {}
        usize::MAX => return Err(SchemaError::Circular),
        known => return Ok(known - 1),
    }
    if depth > MAX_CHAIN {
        return Err(SchemaError::TooExpensive);
    }
    lengths[id] = usize::MAX;
    let mut longest = 0;
    for next in &graph.nodes[id].in_place {
        longest = longest.max(chain(graph, *next, lengths, depth + 1)? + 1);
    }
    lengths[id] = longest + 1;
    if longest > MAX_CHAIN {
        return Err(SchemaError::TooExpensive);
    }
    Ok(longest)
}

impl Walk<'_> {
    fn steps(&mut self, id: Id, depth: usize) -> Result<Steps, SchemaError> {
        match self.steps[id] {
            State::Known(steps) => return Ok(steps),
            State::Open => {
                self.cyclic = true;
                return Ok(Steps {
                    alone: 1,
                    object: 1,
                    array: 1,
                });
            }
            State::Unknown => {}
        }
        if depth > MAX_PATH {
            return Err(SchemaError::TooExpensive);
        }
        self.steps[id] = State::Open;
        let steps = self.expand(&self.graph.nodes[id], depth + 1)?;
        self.steps[id] = State::Known(steps);
        Ok(steps)
    }

    fn sum(&mut self, ids: &[Id], depth: usize) -> Result<u64, SchemaError> {
        let mut sum = 0_u64;
        for id in ids {
            sum = sum.saturating_add(self.steps(*id, depth)?.most());
        }
        Ok(sum)
    }

    fn expand(&mut self, node: &Node, depth: usize) -> Result<Steps, SchemaError> {
        let mut steps = Steps {
            alone: node.weight,
            object: node.weight,
            array: node.weight,
        };
        let again = if node.unevaluated.is_empty() {
            1
        } else {
            MEMBERS
        };
        for id in &node.in_place {
            let inner = self.steps(*id, depth)?;
            let add =
                |to: &mut u64, steps: u64| *to = to.saturating_add(steps.saturating_mul(again));
            add(&mut steps.alone, inner.alone);
            add(&mut steps.object, inner.object);
            add(&mut steps.array, inner.array);
        }
        let unevaluated = self.sum(&node.unevaluated, depth)?;
        let patterns = self.sum(&node.patterns, depth)?;
        let mut member = self.sum(&node.additional, depth)?;
        for id in node.named.values() {
            member = member.max(self.steps(*id, depth)?.most());
        }
        for id in &node.names {
            member = member.saturating_add(self.steps(*id, depth)?.alone);
        }
        let mut item = self.sum(&node.rest, depth)?;
        for id in &node.prefix {
            item = item.max(self.steps(*id, depth)?.most());
        }
        let contains = self.sum(&node.contains, depth)?;
        for more in [member, patterns, unevaluated] {
            steps.object = steps.object.saturating_add(more);
        }
        for more in [item, contains, unevaluated] {
            steps.array = steps.array.saturating_add(more);
        }
        Ok(steps)
    }
}
