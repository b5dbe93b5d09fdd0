//! A node's status page, and what it names, as another process reads it.

use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;

use narrows::platform::{Platform as _, Wait, Watch};
use narrows_host::observe::Observer;
use narrows_host::{Host, Options, PeerWords};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tempfile::TempDir;

use crate::input::Input;

/// Bytes of a page's memory, and of the page in it: docs/WIRE.md.
const MEMORY: u64 = 327_680;
const PAGE: usize = 65_536;

/// A node that is honest, and one whose page is what the fuzzer makes it.
struct Scene {
    _honest: Host,
    _liar: Host,
    page: Vec<u8>,
    directory: TempDir,
}

thread_local! {
    static SCENE: Scene = Scene::new();
}

/// The first byte says whether the page begins as a true one does. Then places and what is written
/// there, or the page itself.
pub fn run(data: &[u8]) {
    SCENE.with(|scene| scene.run(&mut Input::new(data)));
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let open = |name: &str| {
            let options = Options::new(name).directory(directory.path());
            options.open().expect("a node of a new domain")
        };
        let (honest, liar) = (open("honest"), open("liar"));
        liar.hunt(&"honest".parse().expect("a name")).expect("a hunt");
        while liar.event().is_none() {
            let nothing = std::iter::empty::<Watch<'_, PeerWords>>();
            liar.wait(nothing, Wait::Timer, Some(liar.now()));
        }
        let note = directory.path().join("default/.@status@liar");
        let note = std::fs::read_link(note).expect("a note");
        let descriptor = note.to_string_lossy().rsplit('/').next().expect("three words").to_owned();
        let page = std::fs::read(format!("/proc/self/fd/{descriptor}")).expect("its own memory");
        Scene { _honest: honest, _liar: liar, page, directory }
    }

    fn run(&self, input: &mut Input<'_>) {
        let mut page = match input.byte() % 4 {
            0 => vec![0; PAGE],
            _ => self.page.get(..PAGE).expect("a page").to_vec(),
        };
        while !input.is_empty() {
            let at = usize::from(input.byte()) + usize::from(input.byte() % 8) * 256;
            for (to, from) in page.iter_mut().skip(at).zip(input.counted()) {
                *to = *from;
            }
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory = memfd_create("fuzz", flags).expect("memory");
        ftruncate(&memory, MEMORY).expect("room");
        assert_eq!(rustix::io::pwrite(&memory, &page, 0), Ok(page.len()));
        let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fcntl_add_seals(&memory, all).expect("sealed");
        let note = self.directory.path().join("default/.@status@liar");
        std::fs::remove_file(&note).expect("it was there");
        let place = format!("liar/{}/{}", std::process::id(), memory.as_raw_fd());
        symlink(place, note).expect("a note");
        let observer = Observer::new("default", Some(self.directory.path()));
        for seen in observer.expect("a domain").look() {
            let honest = seen.name.as_str() == "honest";
            assert!(!honest || seen.status.is_ok(), "an honest node is not seen: {seen:?}");
            if let Err(error) = seen.status {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}
