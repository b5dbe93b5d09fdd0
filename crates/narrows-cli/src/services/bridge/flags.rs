//! What `bridge` can be asked for.

use clap::Args;
use narrows_host::bridge::PublicKey;
use std::path::PathBuf;

/// What `bridge` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  narrows bridge --new-key dsp.key
  narrows bridge --listen 0.0.0.0:7000 --offer dsp --key dsp.key --trust KEY
  narrows bridge --reach dsp=192.168.7.2:7000 --key gpp.key --trust KEY

The first two examples are for the machine of the node dsp, the last for that
of a program that hunts it. KEY is what --new-key printed for the other end.
Ctrl-C ends the bridge and its links.")]
pub struct BridgeFlags {
    /// Stand here for a node of another machine: its name, and where a bridge there listens
    #[arg(long, value_name = "NAME=HOST:PORT", value_parser = reached)]
    pub reach: Vec<(String, String)>,
    /// Let bridges of other machines reach a node of this one
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub offer: Vec<String>,
    /// Where they connect to
    #[arg(long, value_name = "HOST:PORT", requires = "offer")]
    pub listen: Option<String>,
    /// The domain whose nodes are linked
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub domain: String,
    /// The file with the key of this end
    #[arg(long, value_name = "FILE", requires = "trust")]
    pub key: Option<PathBuf>,
    /// The key of another end that this one links with
    #[arg(long, value_name = "KEY", requires = "key")]
    pub trust: Vec<PublicKey>,
    /// Do without keys: whoever reaches the address is let in, and whoever is on the way can read
    #[arg(long, conflicts_with = "key")]
    pub plain: bool,
    /// Make a key for this end, print what the other end has to trust, and stop
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub new_key: Option<PathBuf>,
}

fn reached(text: &str) -> Result<(String, String), String> {
    let expected = "expected a node and an address, such as dsp=192.168.7.2:7000";
    let (name, at) = text.split_once('=').ok_or(expected)?;
    Ok((name.to_owned(), at.to_owned()))
}
