//! Routes that are written down, those that are computed, and those that are refused.

use super::{Chip, Net, Route, SHIPPED};

fn quatro67(more: &str) -> Result<Chip, String> {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "quatro67").unwrap();
    Chip::parse("q.toml", &format!("{text}\n{more}")).map_err(|mistake| mistake.to_string())
}

fn route(at: &str, to: &str, over: &str) -> String {
    format!("[[route]]\nat = {at}\nto = {to}\nover = {over}\n")
}

#[test]
fn what_is_not_written_down_is_the_shortest_way() {
    let net = Net::line(4);
    assert_eq!(net.way(0, 3), Some(vec![1, 2, 3]));
    assert_eq!((net.away(0, 3), net.away(0, 4), net.away(2, 0)), (Some(3), None, Some(2)));
    let ring = Net::ring(4);
    assert_eq!(ring.way(0, 3), Some(vec![3]));
    assert_eq!((ring.away(0, 2), ring.away(0, 3)), (Some(2), None));
    assert_eq!((ring.neighbours(0), ring.neighbours(3)), (vec![1, 3], vec![2, 0]));
    assert_eq!((Net::ring(2), Net::line(1).links.len()), (Net::line(2), 0));
    let apart = Net { nodes: 3, links: vec![[0, 1]], routes: Vec::new() };
    assert_eq!(apart.way(0, 2), None, "no way leads there");
}

#[test]
fn a_route_goes_before_the_shortest_way() {
    let text = route("\"dsp0\"", "[\"dsp2\", \"dsp3\"]", "[\"dsp1\"]");
    let chip = quatro67(&text).unwrap();
    assert_eq!(chip.ports.routes, [Route { at: 0, to: vec![2, 3], over: vec![1] }]);
    let net = chip.net();
    assert_eq!((net.way(0, 2), net.way(0, 1)), (Some(vec![1, 2]), Some(vec![1])));
    assert_eq!(net.way(2, 0), Some(vec![0]), "the way back is another");
    // The first neighbour counts where all links are up.
    let both = quatro67(&route("\"dsp0\"", "[\"dsp2\"]", "[\"dsp3\", \"dsp1\"]")).unwrap().net();
    assert_eq!(both.way(0, 2), Some(vec![3, 2]));
    assert_eq!(both.table(0).choose(3, None, |link| link != 2), Some(0), "dsp1, if dsp3 is down");
    assert_eq!(quatro67("").unwrap().ports.routes, []);
}

#[test]
fn routes_that_cannot_be_are_refused_with_key_and_reason() {
    let [zero, one, two] = ["\"dsp0\"", "\"dsp1\"", "\"dsp2\""];
    let list = |core: &str| format!("[{core}]");
    let plain = |at: &str, to: &str, over: &str| route(at, &list(to), &list(over));
    let cases = [
        (plain("\"dsp9\"", two, one), "route.at is dsp9; expected the name of a core: dsp0, "),
        (plain(zero, "\"dsp9\"", one), "route.to is dsp9; expected the name of a core: dsp0, "),
        (plain(zero, two, "\"dsp9\""), "route.over is dsp9; expected the name of a core: dsp0, "),
        (
            plain(zero, two, zero),
            "route.over is [\"dsp0\"]; expected neighbours of dsp0, which has",
        ),
        (
            plain(zero, zero, one),
            "route.to is [\"dsp0\"]; expected others than dsp0: what is for it",
        ),
        (route(zero, "[]", &list(one)), "route.to is []; expected a list of names of cores"),
        (route(zero, &list(two), one), "route.over is dsp1; expected a list of names of cores"),
        (format!("[[route]]\nat = {zero}\n"), "route.to is missing; expected whom the route is"),
        (plain(zero, two, one) + "by = 1\n", "unknown key route.by; expected at, to or over"),
        (
            plain(zero, two, one) + &plain(zero, two, "\"dsp3\""),
            "route.to is [\"dsp2\"]; expected cores that no other route at dsp0 is for",
        ),
        (
            plain(zero, two, one) + &plain(one, two, zero),
            "route.over: by these routes what dsp0 sends to dsp2 goes to dsp1, dsp0 and never arr",
        ),
        (
            plain(zero, two, one) + &plain(one, two, "\"dsp3\"") + &plain("\"dsp3\"", two, zero),
            "route.over: by these routes what dsp0 sends to dsp2 goes to dsp1, dsp3, dsp0 and nev",
        ),
    ];
    for (text, expected) in cases {
        let said = quatro67(&text).unwrap_err();
        let (place, sentence) = said.split_once(": ").unwrap();
        assert!(sentence.starts_with(expected), "{text}\nfound    {said}\nexpected {expected}");
        assert!(place.starts_with("q.toml:"), "{said}");
    }
}

#[test]
fn a_core_without_a_link_is_no_neighbour() {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "quatro67").unwrap();
    let cut = text.find("[[port]]\nname = \"fifo02\"").unwrap();
    let end = cut + text[cut..].find("[[port]]\nname = \"fifo03\"").unwrap();
    let more = route("\"dsp0\"", "[\"dsp3\"]", "[\"dsp2\"]");
    let text = format!("{}{}\n{more}", &text[..cut], &text[end..]);
    let said = Chip::parse("q.toml", &text).unwrap_err().to_string();
    assert!(said.contains("route.over is [\"dsp2\"]; expected neighbours of dsp0"), "{said}");
    assert!(said.ends_with("which has links with dsp1, dsp3"), "{said}");
}
