//! The way in: which users and processes can block it, and with what effect. Needs root, to play
//! several users, and `unshare` of util-linux, to play processes in namespaces of their own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::process::{alone, test_of};
use crate::common::stranger::{AGAIN, INCOMPATIBLE, REFUSED, greeting, send, socket};
use crate::common::{PATIENCE, connected, link, name, need_root, next, open, pump, until};
use narrows::endpoint::{Address, LinkError};
use narrows::link::Name;
use narrows::platform::{Event, HuntError, Lost, Platform, Wait};
use narrows_host::Options;
use rustix::fd::OwnedFd;
use rustix::fs::FlockOperation;
use rustix::net::{RecvFlags, SocketAddrUnix, recv};
use rustix::process::{Resource, Rlimit, Uid, setrlimit};

const OTHER: u32 = 1234;
/// What a user is called in a user namespace that has no name for it.
const NOBODY: u32 = 65534;

const ROLE: &str = "NARROWS_TEST_DOOR";
const DIRECTORY: &str = "NARROWS_TEST_DIRECTORY";

/// Makes the calling thread another user's.
fn become_other() {
    let uid = Uid::from_raw(OTHER);
    rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A directory of which the domain has this mode, and everybody may enter.
fn directory(of_domain: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let domain = directory.path().join("default");
    fs::create_dir(&domain).unwrap();
    set_mode(directory.path(), 0o755);
    set_mode(&domain, of_domain);
    directory
}

/// This test binary once more, behind another program, to play a role.
fn play(role: &str, directory: &Path, behind: &[&str]) -> Child {
    let this = std::env::current_exe().unwrap();
    let line = behind.iter().map(|word| (*word).to_owned());
    let line: Vec<String> = line.chain([this.into_os_string().into_string().unwrap()]).collect();
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).args([
        "--exact",
        &test_of(module_path!(), "a_process"),
        "--ignored",
        "--nocapture",
    ]);
    command.env(ROLE, role).env(DIRECTORY, directory).stdout(Stdio::null());
    command.spawn().unwrap_or_else(|e| panic!("this test needs '{}': {e}", line[0]))
}

fn ends_well(mut child: Child) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return assert!(status.success(), "{status}: what it said is above");
        }
        assert!(Instant::now() < deadline, "it does not end");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[ignore = "what another process runs; does nothing by itself"]
fn a_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let directory = std::path::PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let said = |options: Options| options.open().err().expect("it is refused").to_string();
    match role.as_str() {
        "without /proc" => {
            let text = said(Options::new("b").directory(&directory));
            assert!(text.contains("/proc") && text.contains("mount"), "{text}");
        }
        "in the environment" => {
            let text = said(Options::new("b"));
            assert!(text.contains("others could replace"), "{text}");
        }
        "with small files" => {
            let b = open(&directory, "b");
            let small = Rlimit { current: Some(1000), maximum: Some(1000) };
            setrlimit(Resource::Fsize, small).unwrap();
            assert_eq!(b.hunt(&name("a")), Err(HuntError::System(libc::EFBIG)));
            let text = said(Options::new("c").directory(&directory));
            assert!(text.contains("ulimit -f"), "{text}");
        }
        "nobody" | "nobody, who lets nobodies in" => {
            let by_name = if role == "nobody" { 7 } else { NOBODY };
            assert_eq!(rustix::process::geteuid().as_raw(), NOBODY);
            let b = Options::new("b").directory(&directory).allow_uid(by_name).open().unwrap();
            until(&[&b], || directory.join("done").exists());
            // The other may have its link before this one has heard of it.
            match by_name == NOBODY {
                true => assert!(next(&b, Wait::Bell).is_ok()),
                false => assert!(b.event().is_none()),
            }
        }
        "elsewhere" => {
            let mut b = Options::new("b").directory(&directory).node().unwrap();
            b.open(1).unwrap();
            let mut text = [0; 8];
            let message = b.receive_into(1, &mut text, Some(PATIENCE)).unwrap();
            b.send(1, message.from, &text[..message.len], Some(PATIENCE)).unwrap();
            // Not before the answer was taken: what it had sent would be received all the same.
            assert!(b.receive_into(1, &mut text, Some(PATIENCE)).is_ok());
        }
        role => panic!("no role {role}"),
    }
}

#[test]
fn whoever_swaps_names_while_a_node_opens_has_no_other_file_opened_to_all() {
    let _alone = alone();
    need_root();
    let secrets = tempfile::tempdir().unwrap();
    let secret = secrets.path().join("secret");
    fs::write(&secret, "mine").unwrap();
    set_mode(&secret, 0o600);
    for of_domain in [0o777, 0o1777] {
        let directory = directory(of_domain);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for name in ["a", ".a"] {
                let (domain, secret) = (directory.path().join("default"), &secret);
                let stop = &stop;
                scope.spawn(move || {
                    become_other();
                    let link = domain.join(format!("swapped{name}"));
                    while !stop.load(Ordering::Relaxed) {
                        let _ = symlink(secret, &link);
                        let _ = fs::rename(&link, domain.join(name));
                        let _ = fs::remove_file(domain.join(name));
                    }
                });
            }
            let mut modes = Vec::new();
            for _ in 0..1000 {
                drop(Options::new("a").directory(directory.path()).allow_uid(OTHER).open());
                modes.push(mode(&secret));
            }
            stop.store(true, Ordering::Relaxed);
            assert!(modes.iter().all(|mode| *mode == 0o600), "{:o}", modes.iter().max().unwrap());
        });
    }
}

#[test]
fn a_directory_in_which_others_can_replace_names_is_refused_in_words() {
    need_root();
    let refused = |path: &Path| {
        let opened = Options::new("a").directory(path).open();
        opened.err().is_some_and(|e| e.to_string().contains("others could replace"))
    };
    for (mode, is_refused) in [(0o777, true), (0o770, true), (0o1777, false), (0o755, false)] {
        assert_eq!(refused(directory(mode).path()), is_refused, "domain {mode:o}");
        let above = tempfile::tempdir().unwrap();
        set_mode(above.path(), mode);
        assert_eq!(refused(above.path()), is_refused, "above the domain {mode:o}");
    }
    let theirs = directory(0o1777);
    chown(theirs.path().join("default"), Some(OTHER), None).unwrap();
    assert!(refused(theirs.path()), "another user's");
    let (real, to) = (directory(0o755), tempfile::tempdir().unwrap());
    symlink(real.path().join("default"), to.path().join("default")).unwrap();
    assert!(refused(to.path()), "a link");

    // The same of what the environment says.
    let open_to_all = tempfile::tempdir().unwrap();
    set_mode(open_to_all.path(), 0o777);
    for variable in ["NARROWS_DIR", "XDG_RUNTIME_DIR"] {
        let set = format!("{variable}={}", open_to_all.path().display());
        let clean = ["env", "-u", "NARROWS_DIR", "-u", "XDG_RUNTIME_DIR", &set];
        ends_well(play("in the environment", real.path(), &clean));
    }
}

#[test]
fn a_lock_that_another_user_takes_keeps_nobody_from_opening() {
    let _alone = alone();
    need_root();
    for of_domain in [0o1777, 0o755] {
        let directory = directory(of_domain);
        let domain = directory.path().join("default");
        let locks = thread::spawn(move || {
            become_other();
            let open = fs::File::open(&domain).unwrap();
            rustix::fs::flock(&open, FlockOperation::NonBlockingLockExclusive).unwrap();
            open
        });
        let held = locks.join().unwrap();
        Options::new("a").directory(directory.path()).open().expect("it opens");
        drop(held);
    }
}

#[test]
fn a_cleaner_of_temporary_directories_finds_a_nodes_socket_among_those_that_live() {
    let directory = tempfile::tempdir().unwrap();
    let _a = open(directory.path(), "a");
    let path = directory.path().canonicalize().unwrap().join("default/a");
    let alive = fs::read_to_string("/proc/net/unix").unwrap();
    let alive: Vec<&str> = alive.lines().filter_map(|l| l.split_whitespace().nth(7)).collect();
    assert!(alive.contains(&path.to_str().unwrap()), "{alive:?}");
}

#[test]
fn a_node_whose_name_was_removed_takes_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let domain = directory.path().join("default");
    fs::remove_file(domain.join("a")).unwrap();
    until(&[&a], || domain.join("a").exists());
    let b = open(directory.path(), "b");
    drop(link(&b, &a, "a"));
    drop(b);
    assert!(matches!(next(&a, Wait::Bell), Ok(Event::Lost { .. })));
    fs::remove_dir_all(&domain).unwrap();
    until(&[&a], || domain.join("a").exists());
    let b = open(directory.path(), "b");
    let _linked = link(&b, &a, "a");
    drop((a, b));
    assert!(!domain.exists(), "and leaves nothing");
}

#[test]
fn without_proc_the_message_says_so() {
    need_root();
    let directory = tempfile::tempdir().unwrap();
    let without = ["unshare", "--mount", "sh", "-c", "umount -l /proc && exec \"$0\" \"$@\""];
    ends_well(play("without /proc", directory.path(), &without));
}

#[test]
fn nodes_in_namespaces_of_their_own_meet_talk_and_part() {
    need_root();
    let namespaces: [&[&str]; 5] = [
        &["--pid", "--fork"],
        &["--net"],
        &["--mount"],
        &["--user", "--map-root-user"],
        &["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--net", "--ipc"],
    ];
    for its_own in namespaces {
        let directory = tempfile::tempdir().unwrap();
        let mut a = Options::new("a").directory(directory.path()).node().unwrap();
        a.open(1).unwrap();
        let child = play("elsewhere", directory.path(), &[&["unshare"], its_own].concat());
        let link = a.hunt(&name("b"), Some(PATIENCE));
        let link = link.unwrap_or_else(|e| panic!("{e}: 'unshare {its_own:?}' must work here"));
        let to = Address { link, port: 1 };
        a.send(1, to, b"there", Some(PATIENCE)).unwrap();
        let mut text = [0; 8];
        let answer = a.receive_into(1, &mut text, Some(PATIENCE)).unwrap();
        assert_eq!(&text[..answer.len], b"there", "{its_own:?}");
        a.send(1, to, b"done", Some(PATIENCE)).unwrap();
        ends_well(child);
        while a.link(link).check().is_ok() {
            a.poll();
        }
        assert_eq!(a.link(link).check(), Err(LinkError::Gone(Lost::Closed)), "{its_own:?}");
    }
}

#[test]
fn a_region_larger_than_files_may_be_is_an_error_and_kills_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let _a = open(directory.path(), "a");
    ends_well(play("with small files", directory.path(), &["env"]));
}

#[test]
fn a_user_without_a_number_here_is_nobodys_equal_unless_demanded_by_name() {
    let _alone = alone();
    need_root();
    for (role, is_let_in) in [("nobody", false), ("nobody, who lets nobodies in", true)] {
        let directory = directory(0o1777);
        let to = ["unshare", "--user", &format!("--map-user={NOBODY}")];
        let child = play(role, directory.path(), &to);
        let path = directory.path().to_owned();
        let other = thread::spawn(move || {
            become_other();
            let a = Options::new("a").directory(&path).allow_uid(0).open().unwrap();
            a.hunt(&name("b")).map_err(|e| (name("b"), e))?;
            next(&a, Wait::Bell).map(|news| drop(connected(Ok(news))))
        });
        let met = other.join().unwrap();
        fs::write(directory.path().join("done"), "").unwrap();
        ends_well(child);
        let expected = if is_let_in { Ok(()) } else { Err((name("b"), HuntError::Forbidden)) };
        assert_eq!(met, expected, "{role}");
    }
}

/// A socket under a node's name, at which every greeting is refused.
struct Refuser {
    socket: OwnedFd,
    code: u32,
    greeted: Vec<Instant>,
}

impl Refuser {
    fn new(directory: &Path, name: &str, code: u32) -> Refuser {
        let socket = socket();
        let address = SocketAddrUnix::new(directory.join("default").join(name)).unwrap();
        rustix::net::bind(&socket, &address).unwrap();
        rustix::net::listen(&socket, 8).unwrap();
        Refuser { socket, code, greeted: Vec::new() }
    }

    fn refuse(&mut self) {
        while let Ok(one) = rustix::net::accept(&self.socket) {
            recv(&one, &mut [0; 64][..], RecvFlags::empty()).unwrap();
            let words = [REFUSED, self.code].map(u32::to_le_bytes).concat();
            send(&one, &[&greeting(0)[..8], &words].concat(), &[]);
            self.greeted.push(Instant::now());
        }
    }
}

#[test]
fn a_node_that_says_again_is_greeted_ever_more_seldom_and_still_found() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let mut busy = Refuser::new(directory.path(), "b", AGAIN);
    a.hunt(&name("b")).unwrap();
    let end = Instant::now() + PATIENCE;
    while busy.greeted.len() < 9 {
        assert!(Instant::now() < end, "greeted {} times", busy.greeted.len());
        pump(&a);
        busy.refuse();
    }
    let rests: Vec<Duration> = busy.greeted.windows(2).map(|two| two[1] - two[0]).collect();
    let [early, late] = [&rests[..4], &rests[4..]].map(|some| some.iter().sum::<Duration>());
    assert!(late > 2 * early, "{rests:?}");
    drop(busy);
    let b = open(directory.path(), "b");
    until(&[&a, &b], || a.event().is_some());
}

#[test]
fn each_hunt_that_failed_is_told_however_many_fail_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut a = Options::new("a").directory(directory.path()).node().unwrap();
    let names = ["b", "c", "d"];
    let mut refusers = names.map(|n| Refuser::new(directory.path(), n, INCOMPATIBLE));
    for wanted in names {
        assert_eq!(a.try_hunt(&name(wanted)), Ok(None));
    }
    refusers.iter_mut().for_each(Refuser::refuse);
    let mut told = [None; 3];
    let end = Instant::now() + Duration::from_secs(5);
    while told.contains(&None) && Instant::now() < end {
        for (told, wanted) in told.iter_mut().zip(names) {
            *told = told.or(a.try_hunt(&name(wanted)).err());
        }
    }
    assert_eq!(told, [Some(LinkError::Hunt(HuntError::Incompatible)); 3]);
}

#[test]
fn a_node_of_another_version_is_greeted_once_in_each_of_its_lives() {
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    for _ in 0..2 {
        let mut old = Refuser::new(directory.path(), "b", INCOMPATIBLE);
        for _ in 0..5 {
            let hunted = a.hunt(&name("b")).map_err(|e| (name("b"), e));
            let refused = hunted.and_then(|()| {
                old.refuse();
                next(&a, Wait::Bell).map(drop)
            });
            assert_eq!(refused, Err((name("b"), HuntError::Incompatible)));
        }
        assert_eq!(old.greeted.len(), 1);
        fs::remove_file(directory.path().join("default/b")).unwrap();
    }
    let b = open(directory.path(), "b");
    let _linked = link(&a, &b, "b");
}

/// A look costs some microseconds, and the application waits for all looks of a tick.
#[test]
fn a_tick_looks_for_sixteen_names_at_most_however_many_are_hunted() {
    const NAMES: usize = 100;
    const LOOKS: usize = 16;
    let directory = tempfile::tempdir().unwrap();
    let a = open(directory.path(), "a");
    let names: Vec<Name> = (0..NAMES).map(|number| name(&format!("n{number}"))).collect();
    names.iter().for_each(|one| a.hunt(one).unwrap());
    // Nobody was there, so each is looked for again. From now on a look finds something that is no
    // node, so the hunt fails, and the turn of that tick ends with the news.
    let place = directory.path().join("default");
    let _there: Vec<UnixListener> =
        names.iter().map(|one| UnixListener::bind(place.join(one.as_str())).unwrap()).collect();
    let end = Instant::now() + PATIENCE;
    let (mut told, mut each) = (0, Vec::new());
    while told < NAMES {
        assert!(Instant::now() < end, "{told} of {NAMES} names were looked for");
        let Some(news) = a.event() else { continue };
        assert!(matches!(news, Err((_, HuntError::Incompatible))), "something else");
        // Whose hunt has failed is looked for at once if it is hunted anew. The others' go on.
        let looked = names.iter().filter(|one| a.hunt(one).is_err()).count();
        each.push(looked - told);
        for _ in told + 1..looked {
            assert!(a.event().is_some(), "each hunt that fails is told");
        }
        told = looked;
    }
    assert!(each.iter().all(|looks| *looks <= LOOKS), "{each:?}");
}
