//! A page as HTML. Everything that is not a template is escaped, so a name with markup in it is
//! shown as it is.

use super::chart::{Cell, Chart, Data, Kind};
use super::{Page, Section};
use crate::base::checks::Level;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

const SCRIPT: &str = include_str!("assets/page.js");
const STYLE: &str = include_str!("assets/page.css");
/// Nothing is fetched and no other script runs, whatever a page has in it.
const POLICY: &str = include_str!("assets/policy.txt");
/// Characters of a cell that is text and not a name.
const LONG: usize = 40;

/// The page. `command` is the command line, `made` by what and when it was made.
pub fn render(page: &Page, command: &str, made: &str) -> String {
    let Page { title, place, headline, why, findings, first, sections, notes, .. } = page;
    let first = first.as_ref().filter(|chart| !chart.is_empty());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY.trim_end());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) ": " (headline) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.over { b { (title) } " · " (place) }
                    h1 { (headline) }
                    @if !why.is_empty() { p.why { (why) } }
                }
                main {
                    div.first {
                        @if !findings.is_empty() {
                            section.card aria-label="Findings" {
                                dl.findings {
                                    @for (about, says) in findings {
                                        div { dt { (about) } dd { (says) } }
                                    }
                                }
                            }
                        }
                        @if let Some(chart) = first { (figure(chart, 0)) }
                    }
                    (spoils(page))
                    @for (at, one) in sections.iter().enumerate() { (section(one, at + 1)) }
                    @if !notes.is_empty() {
                        h2 { "To know when reading this" }
                        ul.notes { @for note in notes { li { (note) } } }
                    }
                }
                footer {
                    p { code { (command) } }
                    p { (made) ". This page needs no network: script, style and data are in it." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn spoils(page: &Page) -> Markup {
    let bad = page.spoils.iter().filter(|one| one.level == Level::Bad).count();
    html! {
        @if !page.spoils.is_empty() {
            h2 { "What spoils measurements on this machine" }
            section.card.spoils {
                (match bad {
                    0 => "Nothing makes the figures useless; know this when reading them:".to_owned(),
                    1 => "One thing makes figures untrustworthy; know the others:".to_owned(),
                    _ => format!("{bad} things make figures untrustworthy; know the others:"),
                })
                ul {
                    @for one in &page.spoils {
                        li.bad[one.level == Level::Bad] {
                            b { (one.check) } ": " (one.found) ". " (capital(&one.effect)) "."
                        }
                    }
                }
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

fn section(section: &Section, at: usize) -> Markup {
    html! {
        section {
            h2 { (section.heading) }
            @if !section.words.is_empty() { p { (section.words) } }
            div.charts {
                @for (number, chart) in section.charts.iter().enumerate() {
                    (figure(chart, at * 100 + number))
                }
            }
        }
    }
}

/// What the script is told of a chart.
#[derive(Serialize)]
struct Told<'a> {
    title: &'a str,
    #[serde(flatten)]
    kind: &'a Kind,
}

fn figure(chart: &Chart, number: usize) -> Markup {
    let Chart { title, says, kind, data } = chart;
    let told = kind.as_ref().map(|kind| Told { title, kind });
    // Of texts and numbers: nothing in it can fail.
    let told = told.map(|told| serde_json::to_string(&told).unwrap_or_default());
    let file = format!("{}.csv", file_name(title));
    let link = format!("data:text/csv;charset=utf-8,{}", percent(&data.csv()));
    let id = format!("title-{number}");
    html! {
        figure.card data-chart=[told] aria-labelledby=(id) {
            figcaption {
                h3 #(id) { (title) }
                @if !says.is_empty() { p { (says) } }
            }
            @if kind.is_some() {
                div.plot {}
                details.data {
                    summary { "The data as a table" }
                    (table(title, data))
                }
            } @else {
                (table(title, data))
            }
            div.data { a download=(file) href=(link) { "The data as CSV" } }
        }
    }
}

fn table(title: &str, data: &Data) -> Markup {
    let figures = |column: usize| {
        let mut cells = data.rows.iter().filter_map(|row| row.get(column));
        cells.any(|cell| matches!(cell, Cell::Figure(_)))
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(title) {
            table {
                thead {
                    tr {
                        @for (at, name) in data.columns.iter().enumerate() {
                            th.number[figures(at)] scope="col" data-name=(name) { (name) }
                        }
                    }
                }
                tbody {
                    @for row in &data.rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @match cell {
                                    Cell::Figure(exact) => {
                                        td.number data-value=(exact) { (cell.shown()) }
                                    }
                                    Cell::Text(text) if at == 0 => {
                                        th scope="row" { (text) }
                                    }
                                    Cell::Text(text) => {
                                        td.long[text.chars().count() > LONG] { (text) }
                                    }
                                    Cell::Empty => td {},
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A title as the name of a file.
fn file_name(title: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = title.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(60).collect()
}

/// A text within a link.
fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~,/".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
