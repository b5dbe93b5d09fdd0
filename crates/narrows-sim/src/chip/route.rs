//! Routes that are written down: over which neighbour a node sends what is for others. What is not
//! written down is computed, by the same table that routes messages in the stack.

use super::Chip;
use crate::file::{Mistake, Table as Keys, Value};
use narrows::link::route::{LINKS, RANGES, Range, Table};

/// The keys of a `[[route]]`.
pub const ROUTE: [&str; 3] = ["at", "to", "over"];
/// Tables of that kind in a file.
const MOST: usize = 256;

/// A route that is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node that has it.
    pub at: usize,
    /// For which nodes it is.
    pub to: Vec<usize>,
    /// Over which neighbours: the first whose link is up.
    pub over: Vec<usize>,
}

/// Nodes, the links between them, and the routes that are written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    /// How many nodes there are.
    pub nodes: usize,
    /// Which two of them each link connects.
    pub links: Vec<[usize; 2]>,
    /// Routes that go before those that are computed.
    pub routes: Vec<Route>,
}

/// The number of a node in a table: 0 is nobody's.
#[must_use]
pub fn number(node: usize) -> u8 {
    u8::try_from(node + 1).unwrap_or(u8::MAX)
}

impl Net {
    /// This number of nodes in a line.
    #[must_use]
    pub fn line(nodes: usize) -> Net {
        let links = (1..nodes).map(|node| [node - 1, node]).collect();
        Net { nodes, links, routes: Vec::new() }
    }

    /// This number of nodes in a ring.
    #[must_use]
    pub fn ring(nodes: usize) -> Net {
        let mut net = Net::line(nodes);
        if nodes > 2 {
            net.links.push([0, nodes - 1]);
        }
        net
    }

    /// The neighbours of a node, in the order of their links.
    #[must_use]
    pub fn neighbours(&self, at: usize) -> Vec<usize> {
        let others = self.links.iter().filter_map(|[one, other]| match at {
            _ if *one == at => Some(*other),
            _ if *other == at => Some(*one),
            _ => None,
        });
        others.collect()
    }

    /// The routes of a node.
    #[must_use]
    pub fn table(&self, at: usize) -> Table {
        let neighbours = self.neighbours(at);
        let numbers: Vec<u8> = neighbours.iter().map(|node| number(*node)).collect();
        let pairs: Vec<(u8, u8)> =
            self.links.iter().map(|[one, other]| (number(*one), number(*other))).collect();
        let mut table = Table::new(number(at), &numbers, &pairs);
        for route in self.routes.iter().filter(|route| route.at == at) {
            for to in &route.to {
                for over in &route.over {
                    let link = neighbours.iter().position(|node| node == over);
                    if let Some(link) = link.and_then(|link| u8::try_from(link).ok()) {
                        let (from, to) = (number(*to), number(*to));
                        // What has no place was refused when it was read.
                        let _ = table.prefer(Range { from, to, link });
                    }
                }
            }
        }
        table
    }

    /// The nodes that a message passes from one to another, the other being the last, where all
    /// links are up. `None` if no way leads there, or it goes round.
    #[must_use]
    pub fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        self.walk(from, to).ok()
    }

    /// The first node to which messages of a node travel over `hops` links.
    #[must_use]
    pub fn away(&self, from: usize, hops: usize) -> Option<usize> {
        (0..self.nodes).find(|to| self.way(from, *to).is_some_and(|way| way.len() == hops))
    }

    /// As [`Net::way`]; the nodes until it does not go on, or has come round, if it does not
    /// arrive.
    fn walk(&self, from: usize, to: usize) -> Result<Vec<usize>, Vec<usize>> {
        let mut way = Vec::new();
        let mut at = from;
        while at != to {
            let link = self.table(at).choose(number(to), None, |_| true);
            let next = link.and_then(|link| self.neighbours(at).get(link).copied());
            let Some(next) = next else { return Err(way) };
            let round = next == from || way.contains(&next);
            way.push(next);
            if round {
                return Err(way);
            }
            at = next;
        }
        Ok(way)
    }

    /// Reads routes between these nodes, called `what`, from the `[[route]]` tables of a file.
    ///
    /// # Errors
    /// A node that there is none of, a neighbour that is none, and a route that leads to its own
    /// node, nowhere or round.
    pub fn read(mut self, top: &Keys<'_>, what: &str, names: &[String]) -> Result<Net, Mistake> {
        let tables = top.tables("route", MOST, &ROUTE)?;
        for table in &tables {
            let route = self.route(table, what, names)?;
            self.routes.push(route);
        }
        for (route, table) in self.routes.iter().zip(&tables) {
            for to in &route.to {
                if let Err(way) = self.walk(route.at, *to) {
                    let [at, to] = [route.at, *to].map(|node| names[node].as_str());
                    let way: Vec<&str> = way.iter().map(|node| names[*node].as_str()).collect();
                    let sentence = format!(
                        "route.over: by these routes what {at} sends to {to} goes to {} and never \
                         arrives: name another neighbour",
                        way.join(", ")
                    );
                    return Err(table.get("over", "neighbours")?.fail(sentence));
                }
            }
        }
        Ok(self)
    }

    fn route(&self, table: &Keys<'_>, what: &str, names: &[String]) -> Result<Route, Mistake> {
        let list = |value: &Value<'_>| -> Result<Vec<usize>, Mistake> {
            let expected = format!("a list of names of {what}s");
            let all = value.array(&expected)?;
            let found: Vec<usize> =
                all.iter().map(|one| one.place(what, names)).collect::<Result<_, _>>()?;
            if found.is_empty() { Err(value.wrong(&expected)) } else { Ok(found) }
        };
        let at = table.place("at", what, names)?;
        let value = table.get("to", "whom the route is for")?;
        let to = list(&value)?;
        if to.contains(&at) {
            let expected = format!("others than {}: what is for it has arrived", names[at]);
            return Err(value.wrong(&expected));
        }
        let known = self.routes.iter().filter(|route| route.at == at);
        if known.flat_map(|route| &route.to).any(|other| to.contains(other)) {
            let expected = format!("{what}s that no other route at {} is for", names[at]);
            return Err(value.wrong(&expected));
        }
        let value = table.get("over", "the neighbours that it goes over")?;
        let over = list(&value)?;
        let neighbours = self.neighbours(at);
        let near = &neighbours[..neighbours.len().min(LINKS)];
        if over.iter().any(|node| !near.contains(node)) {
            let near: Vec<&str> = near.iter().map(|node| names[*node].as_str()).collect();
            let expected =
                format!("neighbours of {}, which has links with {}", names[at], near.join(", "));
            return Err(value.wrong(&expected));
        }
        let written = self.routes.iter().filter(|route| route.at == at);
        let written: usize = written.map(|route| route.to.len() * route.over.len()).sum();
        if written + to.len() * over.len() > RANGES {
            let expected =
                format!("at most {RANGES} pairs of to and over in all routes at a {what}");
            return Err(value.wrong(&expected));
        }
        Ok(Route { at, to, over })
    }
}

impl Chip {
    /// Its cores, its ports as the links between them, and the routes of its file.
    #[must_use]
    pub fn net(&self) -> Net {
        Net {
            nodes: self.cores.len(),
            links: self.ports.ports.iter().map(|port| port.between).collect(),
            routes: self.ports.routes.clone(),
        }
    }
}
