//! Routes of a file between processors of this machine.

use std::path::Path;

use super::*;

fn read(shape: Shape, text: &str) -> Result<Net, String> {
    shaped(shape, Some((Path::new("routes.toml"), text))).map_err(|failure| failure.to_string())
}

fn route(at: &str, to: &str, over: &str) -> String {
    format!("[[route]]\nat = \"{at}\"\nto = [\"{to}\"]\nover = [\"{over}\"]\n")
}

#[test]
fn routes_that_cannot_be_are_refused_with_key_and_reason() {
    let round = route("p1", "p3", "p2") + &route("p2", "p3", "p1");
    for (text, said) in [
        (route("p9", "p3", "p2"), "routes.toml:2:6: route.at is p9; expected the name of a proce"),
        (route("p1", "p9", "p2"), "routes.toml:3:7: route.to is p9; expected the name of a proces"),
        (
            route("p1", "p4", "p3"),
            "routes.toml:4:8: route.over is [\"p3\"]; expected neighbours of p1",
        ),
        (route("p1", "p1", "p2"), "routes.toml:3:6: route.to is [\"p1\"]; expected others than p1"),
        (round, "routes.toml:4:8: route.over: by these routes what p1 sends to p3 goes to p2, p1"),
        ("[[path]]\n".into(), "routes.toml:1:3: unknown key path; expected route"),
    ] {
        let refused = read(Shape::Line, &text).unwrap_err();
        assert!(refused.starts_with(said), "{text}\nfound    {refused}\nexpected {said}");
    }
    assert!(read(Shape::Ring, &route("p1", "p3", "p4")).is_ok());
    assert!(read(Shape::Line, &route("p1", "p3", "p4")).is_err(), "it is no neighbour in a line");
}

#[test]
fn a_route_that_is_written_down_is_taken() {
    const CYCLES: u64 = 10;
    for carrier in Carrier::ALL {
        let passed = |text: &str| {
            let net = net::Net::open(&read(Shape::Ring, text).unwrap(), carrier).unwrap();
            for _ in 0..CYCLES {
                assert!(net.cycle(2, 24).unwrap() > 0.0);
            }
            net.passed()
        };
        // There and back by the first of two ways that are as long.
        assert_eq!(passed(""), [0, 2 * CYCLES, 0, 0], "{carrier:?}");
        let there = route("p1", "p3", "p4");
        assert_eq!(passed(&there), [0, CYCLES, 0, CYCLES], "{carrier:?}");
        let back = there + &route("p3", "p1", "p4");
        assert_eq!(passed(&back), [0, 0, 0, 2 * CYCLES], "{carrier:?}");
    }
}

#[test]
fn a_message_holds_both_threads() {
    let net = net::Net::open(&Net::line(2), Carrier::Memory).unwrap();
    let held = net.held(1, 64).unwrap();
    assert!(held.sender > 0.0 && held.receiver > 0.0, "{held:?}");
}
