//! A telephone: `linphonec` with a home of its own, and files instead of a sound card.

use super::statistics::Statistics;
use crate::base::failure::{Failure, Kind};
use crate::experiments::house::helper::{Helper, Start};
use crate::experiments::house::{self, House};
use crate::formats::functions::g711::Law;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a telephone is to be like.
pub(super) struct Made<'a> {
    /// What it is called by.
    pub user: &'a str,
    /// The registrar's port.
    pub registrar: u16,
    /// The codec that it offers.
    pub law: Law,
    /// What it plays.
    pub source: &'a Path,
    /// The folder of the plugin.
    pub plugin: &'a Path,
    /// The strategy of its calls to the DSP; none if it codes itself.
    pub strategy: Option<&'a str>,
    /// Where nodes meet.
    pub nodes: &'a Path,
    /// The core that it runs on, if it is to run on one.
    pub core: Option<usize>,
}

/// A telephone.
pub(super) struct Phone {
    pub helper: Helper,
    pub user: String,
    /// Where it gets RTP.
    pub rtp: u16,
    pub recording: PathBuf,
    statistics: PathBuf,
}

impl Phone {
    /// Starts it; it registers by itself.
    ///
    /// # Errors
    /// [`Kind::Internal`], [`Kind::Output`].
    pub fn start(house: &House, made: &Made<'_>) -> Result<Phone, Failure> {
        let user = made.user;
        let home = house.folder(user)?;
        // It starts nothing without this folder, in which it has a database.
        house.folder(&format!("{user}/.local/share/linphone"))?;
        let rtp = house::free_port()?;
        let text = configuration(made, house::free_port()?, rtp);
        let file = house.write(&format!("{user}.linphonerc"), &text)?;
        let statistics = house.path(&format!("{user}.statistics"));
        let preload = made.plugin.join("elsewhere.so");
        let plugins = made.plugin.join("plugins");
        let dsp = if made.strategy.is_some() { "dsp" } else { "" };
        let environment = vec![
            ("HOME", home.as_os_str()),
            ("LD_PRELOAD", preload.as_os_str()),
            ("MEDIASTREAMER_PLUGINS", plugins.as_os_str()),
            ("NARROWS_DIR", made.nodes.as_os_str()),
            ("NARROWS_DSP", OsStr::new(dsp)),
            ("NARROWS_DSP_STRATEGY", OsStr::new(made.strategy.unwrap_or_default())),
            ("NARROWS_DSP_STATISTICS", statistics.as_os_str()),
        ];
        let log = house.path(&format!("{user}.log"));
        let placed = house.placed(made.core);
        let placed = placed.iter().map(OsStr::new);
        let words = [OsStr::new("linphonec"), OsStr::new("-c"), file.as_os_str()];
        let words = placed.chain(words).collect();
        let name = format!("the telephone {user} (linphonec)");
        let helper = Helper::start(Start { name, words, environment, log })?;
        let recording = house.path(&format!("{user}.wav"));
        let mut phone = Phone { helper, user: user.to_owned(), rtp, recording, statistics };
        phone.helper.say("soundcard use files");
        phone.helper.say(&format!("play {}", line(made.source)?));
        phone.helper.say(&format!("record {}", line(&phone.recording)?));
        phone.helper.say("autoanswer enable");
        Ok(phone)
    }

    /// Calls another.
    pub fn call(&mut self, other: &str, registrar: u16) {
        self.helper.say(&format!("call sip:{other}@127.0.0.1:{registrar}"));
    }

    /// Switches it off. What its plugin has counted.
    ///
    /// # Errors
    /// [`Kind::Peer`] if the plugin has written nothing.
    pub fn switch_off(mut self, house: &House) -> Result<Statistics, Failure> {
        self.helper.say("quit");
        self.helper.leave(house)?;
        let text = std::fs::read_to_string(&self.statistics).map_err(|error| {
            let log = self.helper.log().display();
            let user = &self.user;
            let text = format!(
                "the plugin of telephone {user} has written no statistics: {error}: see {log}, which \
                 --keep keeps"
            );
            Failure::new(Kind::Peer, text)
        })?;
        Ok(Statistics::read(&text))
    }

    /// What its plugin has said, without its name.
    pub fn notes(&self) -> Vec<String> {
        let text = self.helper.text();
        let said = text.lines().filter_map(|line| Some(line.split_once("linphone-dsp: ")?.1));
        said.map(str::to_owned).collect()
    }
}

/// A path in a command of a telephone, which is a line.
fn line(path: &Path) -> Result<&str, Failure> {
    let text = std::str::from_utf8(path.as_os_str().as_bytes()).ok();
    text.filter(|text| !text.contains(['\n', '"'])).ok_or_else(|| {
        let text = format!("a telephone cannot be told the path {}: set TMPDIR", path.display());
        Failure::new(Kind::Usage, text)
    })
}

/// What makes a call without surprises: one codec, no echo canceller, no gain control. The rest is
/// as Linphone has it, its adaptive jitter buffer too.
fn configuration(made: &Made<'_>, sip: u16, rtp: u16) -> String {
    let Made { user, registrar, law, .. } = made;
    let mime = match law {
        Law::A => "PCMA",
        Law::Mu => "PCMU",
    };
    format!(
        "[sip]
sip_port={sip}
sip_tcp_port=0
sip_tls_port=0
default_proxy=0
contact=\"{user}\" <sip:{user}@127.0.0.1>

[rtp]
audio_rtp_port={rtp}

[sound]
echocancellation=0
agc=0
eq_active=0

[misc]
add_missing_audio_codecs=0
add_missing_video_codecs=0

[audio_codec_0]
mime={mime}
rate=8000
enabled=1
channels=1

[proxy_0]
reg_proxy=<sip:127.0.0.1:{registrar};transport=udp>
reg_identity=<sip:{user}@127.0.0.1:{registrar}>
reg_expires=600
reg_sendregister=1
publish=0
"
    )
}
