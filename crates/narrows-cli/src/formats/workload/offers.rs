//! What the other core has to offer for the flows of a workload: of the library, of shared
//! libraries, and at a cost.

use super::{Work, Workload};
use crate::base::failure::{Failure, Kind};
use crate::base::table::listed;
use crate::formats::functions::cost;
use crate::formats::functions::foreign::{Foreign, Named};
use crate::formats::functions::{self, Entry, Refusal};
use narrows_sim::chip::Core;
use narrows_sim::time::Cost;
use std::sync::Arc;
use std::time::Duration;

/// What answers requests.
#[derive(Clone)]
pub enum Body {
    /// A function that every node offers.
    Library(&'static Entry),
    /// A function of a shared library.
    Foreign(Arc<Foreign>),
}

/// A function as the other core offers it to flows.
#[derive(Clone)]
pub struct Offer {
    /// Its name on the link.
    pub name: String,
    /// What answers.
    pub body: Body,
    /// What a request takes of the core of a chip that it runs on, if the workload says that.
    pub cost: Option<cost::Cost>,
}

/// The offer to each flow of a workload.
#[derive(Clone, Default)]
pub struct Offers {
    each: Vec<Offer>,
}

impl Body {
    /// Answers a whole request.
    ///
    /// # Errors
    /// The function cannot answer it.
    pub fn answer(&self, request: &[u8], response: &mut [u8]) -> Result<usize, Refusal> {
        match self {
            Body::Library(entry) => (entry.answer)(request, response),
            Body::Foreign(foreign) => foreign.answer(request, response),
        }
    }

    /// What it means that this many responses are not what this makes of their requests.
    pub fn differs(&self, responses: u64) -> Failure {
        match self {
            Body::Library(entry) => {
                let text = format!(
                    "{responses} responses are not what {} makes of their requests here: report this \
                     defect",
                    entry.name
                );
                Failure::new(Kind::Internal, text)
            }
            Body::Foreign(foreign) => {
                let Named { file, function } = foreign.named();
                let text = format!(
                    "{responses} responses are not what {function} of {} makes of their requests \
                     here: have it make the same response of the same request, whatever it was \
                     called with before",
                    file.display()
                );
                Failure::new(Kind::Input, text)
            }
        }
    }

    /// The function's own name.
    pub fn name(&self) -> &str {
        match self {
            Body::Library(entry) => entry.name,
            Body::Foreign(foreign) => &foreign.named().function,
        }
    }

    /// How long a core works on a request that says that itself.
    pub fn work(&self, request: &[u8]) -> Option<Duration> {
        match self {
            Body::Library(entry) => entry.work?(request),
            Body::Foreign(_) => None,
        }
    }
}

impl Offer {
    /// A function of a shared library; `number` tells its name on the link from those of others.
    pub(crate) fn foreign(number: usize, foreign: Arc<Foreign>) -> Offer {
        Offer { name: own(number), body: Body::Foreign(foreign), cost: None }
    }
}

/// The name on the link of something that the library does not have.
fn own(number: usize) -> String {
    format!("workload.{number}")
}

impl Offers {
    /// To the flows of a workload on a chip of that name, or on this machine. There functions take
    /// the time that they take, so no cost is asked for.
    ///
    /// # Errors
    /// [`Kind::Input`] for a shared library that cannot be loaded.
    pub fn new(workload: &Workload, chip: Option<&str>) -> Result<Offers, Failure> {
        let (mut each, mut further) = (Vec::<Offer>::new(), 0);
        for (at, flow) in workload.flows.iter().enumerate() {
            let cost = chip.and_then(|chip| flow.cost.on(chip));
            let alike = workload.flows.iter().take(at).position(|other| {
                let same = match flow.work.entry() {
                    None => other.work == flow.work,
                    entry => other.work.entry() == entry,
                };
                same && chip.and_then(|chip| other.cost.on(chip)) == cost
            });
            if let Some(same) = alike.and_then(|at| each.get(at)) {
                each.push(same.clone());
                continue;
            }
            let body = match (&flow.work, flow.work.entry().and_then(functions::find)) {
                (Work::Foreign(named), _) => Body::Foreign(Arc::new(named.load()?)),
                (_, Some(entry)) => Body::Library(entry),
                (_, None) => {
                    let text = format!("flow {} has no function: report this defect", flow.name);
                    return Err(Failure::new(Kind::Internal, text));
                }
            };
            let name = match (&body, cost) {
                (Body::Library(entry), None) => entry.name.to_owned(),
                _ => {
                    further += 1;
                    own(further - 1)
                }
            };
            each.push(Offer { name, body, cost });
        }
        Ok(Offers { each })
    }

    /// Which functions take no time of a core of a chip, since nobody says how much; as a sentence.
    pub fn untimed(&self, core: &Core) -> Option<String> {
        let mut free: Vec<&str> = Vec::new();
        for Offer { name, body, cost } in &self.each {
            let told = match body {
                Body::Library(entry) => entry.work.is_some(),
                Body::Foreign(_) => false,
            };
            let takes = told || cost.is_some() || core.function(name) != Cost::NONE;
            if !takes && !free.contains(&body.name()) {
                free.push(body.name());
            }
        }
        let take = if free.len() == 1 { "takes" } else { "take" };
        (!free.is_empty()).then(|| {
            format!(
                "{} {take} no time of the core {} except to read requests and write responses: say \
                 in the workload what a flow's function takes, such as cost = \"300 us + 2 ns/B\"",
                listed(&free),
                core.name
            )
        })
    }

    /// To a flow, by its place.
    pub fn get(&self, flow: usize) -> Option<&Offer> {
        self.each.get(flow)
    }

    /// The functions of shared libraries among [`Offers::further`], in the same order.
    pub fn foreign(&self) -> Vec<Named> {
        let named = |offer: Offer| match offer.body {
            Body::Foreign(foreign) => Some(foreign.named().clone()),
            Body::Library(_) => None,
        };
        self.further().into_iter().filter_map(named).collect()
    }

    /// Those that the library does not have, each once.
    pub fn further(&self) -> Vec<Offer> {
        let mut all: Vec<Offer> = Vec::new();
        for offer in &self.each {
            let known = functions::find(&offer.name).is_some();
            if !known && all.iter().all(|other| other.name != offer.name) {
                all.push(offer.clone());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::workload::parse;
    use std::path::Path;

    #[test]
    fn what_is_alike_is_offered_once() {
        let echo = |name: &str, cost: &str| {
            format!("[[flow]]\nname='{name}'\nfunction='echo'\nrequest=8\n{cost}\n")
        };
        let (one, other) = ("cost='1 ms'", "cost={ davinci='2 ms' }");
        let text = echo("a", one) + &echo("b", "") + &echo("c", one) + &echo("d", other);
        let workload = parse(Path::new("x.toml"), &text).unwrap();
        let names = |chip| {
            let offers = Offers::new(&workload, chip).unwrap();
            let each = (0..4).map(|flow| offers.get(flow).unwrap().name.clone());
            (each.collect::<Vec<_>>(), offers.further().len())
        };
        let own = ["workload.0", "workload.1"];
        assert_eq!(
            names(Some("davinci")),
            ([own[0], "echo", own[0], own[1]].map(String::from).into(), 2)
        );
        assert_eq!(
            names(Some("other")),
            ([own[0], "echo", own[0], "echo"].map(String::from).into(), 1)
        );
        assert_eq!(names(None), (["echo"; 4].map(String::from).into(), 0));
    }
}
