//! What was seen, for a screen of 80 columns.

use super::row::{LinkRow, NodeRow, ServiceRow};
use crate::base::table::{Align, Table, counted, wrap};

/// A rate or a count with three digits: 950, 12.3k, 1.20M.
pub fn short(value: f64) -> String {
    let scaled = |value: f64, unit: &str| match value {
        _ if value < 9.995 => format!("{value:.2}{unit}"),
        _ if value < 99.95 => format!("{value:.1}{unit}"),
        _ => format!("{value:.0}{unit}"),
    };
    match value {
        _ if value < 999.5 => format!("{value:.0}"),
        _ if value < 999_500.0 => scaled(value / 1e3, "k"),
        _ if value < 999_500_000.0 => scaled(value / 1e6, "M"),
        _ => scaled(value / 1e9, "G"),
    }
}

fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// How long a node has been open: 42s, 17m, 5h, 3d.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}

/// The state of a node: a dead one is there because nobody has removed its name.
fn state(row: &NodeRow) -> &'static str {
    if row.state == "dead" { "dead, not closed" } else { row.state }
}

/// The table of nodes, and what is wrong with those that could not be read.
pub fn nodes(rows: &[NodeRow], several: bool) -> String {
    let mut table = Table::new(&[
        ("node", Align::Left),
        ("pid", Align::Right),
        ("state", Align::Left),
        ("open", Align::Right),
        ("links", Align::Right),
        ("flows", Align::Right),
        ("messages/s", Align::Right),
        ("lent", Align::Right),
        ("held", Align::Right),
    ]);
    for row in rows {
        let seen = |text: String| if row.problem.is_some() { "-".to_owned() } else { text };
        let links = match row.links_ended {
            0 => row.links.to_string(),
            ended => format!("{}+{ended}", row.links),
        };
        let name = match several {
            true => format!("{}/{}", row.domain, row.node),
            false => row.node.clone(),
        };
        table.row(vec![
            name,
            known(row.pid),
            state(row).to_owned(),
            known(row.open_seconds.map(age)),
            seen(links),
            seen(row.flows.to_string()),
            seen(short(row.messages_per_second)),
            seen(row.blocks_lent.to_string()),
            seen(row.blocks_held.to_string()),
        ]);
    }
    let mut text = table.render();
    for row in rows {
        // That a dead node publishes nothing any more is no news.
        if let (Some(problem), true) = (&row.problem, row.state != "dead") {
            text.push_str(&wrap(&format!("{}: ", row.node), problem));
        }
        if row.links_not_listed > 0 {
            let more = counted(row.links_not_listed as usize, "link", "links");
            text.push_str(&wrap(&format!("{}: ", row.node), &format!("{more} more, not listed")));
        }
    }
    if rows.iter().any(|row| row.links_ended > 0) {
        text.push_str(&wrap(
            "",
            "links 2+1: 2 are up, and 1 has ended that its application has not closed",
        ));
    }
    text
}

fn carried(row: &LinkRow) -> String {
    let both = |messages: Option<u32>, channels: Option<u32>| {
        known(
            messages.map(|messages| short(f64::from(messages) + f64::from(channels.unwrap_or(0)))),
        )
    };
    both(row.sent, row.channels_sent) + " " + &both(row.received, row.channels_received)
}

/// Each link and each flow of a node.
pub fn details(row: &NodeRow) -> String {
    let mut text = format!("\n{}", row.node);
    if let (Some(pid), Some(user)) = (row.pid, row.user) {
        text.push_str(&format!(", process {pid} of user {user}"));
    }
    text.push('\n');
    if let Some(problem) = &row.problem {
        return text + &wrap("  ", problem);
    }
    let mut table = Table::new(&[
        ("link to", Align::Left),
        ("state", Align::Left),
        ("sent", Align::Right),
        ("received", Align::Right),
        ("waiting", Align::Right),
        ("credit", Align::Right),
        ("lent", Align::Right),
        ("held", Align::Right),
        ("it", Align::Left),
        ("core", Align::Right),
    ]);
    for link in &row.each_link {
        let carried = carried(link);
        let (sent, received) = carried.split_once(' ').unwrap_or_default();
        table.row(vec![
            link.peer.clone(),
            link.state.to_owned(),
            sent.to_owned(),
            received.to_owned(),
            known(link.waiting),
            known(link.credit),
            known(link.blocks_lent),
            known(link.blocks_held),
            known(link.waits),
            known(link.core),
        ]);
    }
    if !row.each_link.is_empty() {
        text.push_str(&table.render());
    }
    let mut table = Table::new(&[
        ("flow to", Align::Left),
        ("of", Align::Left),
        ("stage", Align::Left),
        ("strategy", Align::Left),
    ]);
    for flow in &row.each_flow {
        let to = match (&flow.function, flow.port) {
            (Some(function), _) => function.clone(),
            (None, port) => format!("port {}", known(port)),
        };
        let peer = known(flow.peer.as_ref());
        table.row(vec![to, peer, flow.stage.to_owned(), flow.strategy.clone()]);
    }
    if !row.each_flow.is_empty() {
        text.push_str(&table.render());
    }
    for ServiceRow { service, text: says } in &row.each_service {
        text.push_str(&wrap("  ", &format!("offers {service}: {says}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (12.4, "12"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (9_996.0, "10.0k"),
            (123_456.0, "123k"),
            (999_600.0, "1.00M"),
            (13_400_000.0, "13.4M"),
            (4.2e9, "4.20G"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
