//! The page: the same for a server, which hands out its traces beside it, and for a file, which has
//! them in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io::Write;

use super::flags::Align;

const SCRIPT: &str = include_str!("assets/view.js");
const STYLE: &str = include_str!("assets/view.css");
/// Nothing is fetched and no other script runs, whatever a trace has in it.
const POLICY: &str = include_str!("assets/policy.txt");

/// What the browser may do on a page that a server hands out: also fetch the traces from there.
pub(super) fn served_policy() -> String {
    format!("{}; connect-src 'self'; frame-ancestors 'none'", POLICY.trim_end())
}

/// A page that fetches `count` traces from the server that handed it out.
pub(super) fn served(title: &str, align: Align, count: usize) -> String {
    render(title, align, &served_policy_in_page(), html! { meta name="traces" content=(count); })
}

/// A page that has the traces in it. Packed, for it is meant to be sent to somebody.
pub(super) fn whole(title: &str, align: Align, traces: &[Vec<u8>]) -> String {
    let traces = html! {
        @for bytes in traces {
            script type="application/octet-stream" class="trace" { (PreEscaped(packed(bytes))) }
        }
    };
    render(title, align, POLICY.trim_end(), traces)
}

/// No `meta` can say who may embed a page, only a header can.
fn served_policy_in_page() -> String {
    format!("{}; connect-src 'self'", POLICY.trim_end())
}

/// A page that leads to another.
pub(super) fn redirect(address: &str) -> String {
    html! {
        (DOCTYPE)
        meta charset="utf-8";
        meta http-equiv="refresh" content=(format!("0; url={address}"));
        title { "narrows view" }
        a href=(address) { (address) }
    }
    .into_string()
}

fn packed(bytes: &[u8]) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(6));
    // It writes to memory, which does not fail.
    let packed = packer.write_all(bytes).and_then(|()| packer.finish()).unwrap_or_default();
    STANDARD.encode(packed)
}

fn render(title: &str, align: Align, policy: &str, traces: Markup) -> String {
    let align = match align {
        Align::Event => "event",
        Align::Message => "message",
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="align" content=(align);
                title { (title) " – narrows view" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                main #view { p.wait { "Reading the trace …" } }
                noscript { "This page draws its trace by a script: allow scripts for it." }
                (traces)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}
