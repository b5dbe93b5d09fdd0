//! A peer that is killed: every node that was linked with it hears of it.

use std::process::{Child, Command};

use crate::common::process::test_of;
use crate::common::{connected, name, next, no_words, open, until};
use narrows::platform::{Event, Lost, Platform, Wait};

const DIRECTORY: &str = "NARROWS_TEST_VICTIM";

/// A node in a process of its own.
struct Victim(Child);

impl Victim {
    fn start(directory: &std::path::Path) -> Victim {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.args([
            "--exact",
            &test_of(module_path!(), "a_node_that_waits_to_be_killed"),
            "--ignored",
        ]);
        Victim(command.env(DIRECTORY, directory).spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "what a victim runs; does nothing by itself"]
fn a_node_that_waits_to_be_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let victim = open(directory.as_ref(), "victim");
    let end = victim.now() + crate::common::PATIENCE;
    let mut links = Vec::new();
    while victim.now() < end {
        victim.wait(no_words(), Wait::Bell, Some(end));
        links.extend(victim.event());
    }
}

#[test]
fn a_killed_peer_is_reported_whatever_the_wait_and_its_name_is_free_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let mut incarnations = Vec::new();
    for how in [Wait::Spin, Wait::Bell, Wait::Timer] {
        a.hunt(&name("victim")).unwrap();
        let mut victim = Victim::start(directory.path());
        let link = connected(next(&a, Wait::Bell));
        incarnations.push(link.incarnation);
        victim.kill();
        match next(&a, how) {
            Ok(Event::Lost { key, reason }) => {
                assert_eq!((key, reason), (link.key, Lost::Died));
            }
            _ => panic!("something else"),
        }
        let socket = directory.path().join("default/victim");
        until(&[&a], || !socket.exists());
    }
    incarnations.sort_unstable();
    incarnations.dedup();
    assert_eq!(incarnations.len(), 3, "each life is another");
}
