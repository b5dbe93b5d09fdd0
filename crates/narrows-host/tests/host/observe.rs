//! Looking at nodes: what is seen of them is what they do, and what lies is not believed.

use std::path::Path;
use std::time::Duration;

use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Channel, Function, Message, Select};
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::strategy::{Placement, Strategy};
use narrows_host::observe::{
    Counts, FlowEnd, FlowStage, Link, LinkState, ObserveError, Observer, PageError, Pulse, Seen,
    Status, domains,
};
use narrows_host::{Carrier, Node, Options};

const SOON: Option<Duration> = Some(PATIENCE);

fn node(directory: &Path, name: &str) -> Node {
    let mut node = Options::new(name).directory(directory).background(false).node().unwrap();
    node.open(1).unwrap();
    node
}

/// Links two nodes of this thread.
fn link(a: &mut Node, b: &mut Node, name_of_b: &str) -> LinkId {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        if let Some(link) = a.try_hunt(&name(name_of_b)).unwrap()
            && b.links().next().is_some()
        {
            return link;
        }
        [&mut *a, &mut *b].into_iter().for_each(|node| {
            node.poll();
        });
        assert!(std::time::Instant::now() < deadline, "no link");
    }
}

fn observer(directory: &Path) -> Observer {
    Observer::new("default", Some(directory)).unwrap()
}

fn of<'a>(seen: &'a [Seen], name: &str) -> &'a Status {
    let found = seen.iter().find(|seen| seen.name.as_str() == name).expect(name);
    assert_eq!(found.pulse, Pulse::Alive);
    found.status.as_ref().unwrap()
}

fn only(status: &Status) -> &Link {
    assert_eq!(status.links.len(), 1, "{status:?}");
    &status.links[0]
}

fn counts(status: &Status) -> Counts {
    only(status).counts.expect("its memory is seen")
}

/// Lets a node wait, so that it gives what it has held back for a batch.
fn rest(node: &mut Node) {
    for _ in 0..3 {
        node.poll();
        node.wait_any(Some(Duration::from_millis(1)));
    }
}

fn receive(node: &mut Node) -> bool {
    let Some(message) = node.try_receive(1, &Select::default()).unwrap() else { return false };
    node.release(message);
    true
}

#[test]
fn counts_are_those_of_the_messages_that_were_sent() {
    let directory = tempfile::tempdir().unwrap();
    let (mut a, mut b) = (node(directory.path(), "a"), node(directory.path(), "b"));
    let link = link(&mut a, &mut b, "b");
    let to = Address { link, port: 1 };
    let mut observer = observer(directory.path());
    let mut sent = 0;
    let slots = Layout::standard(narrows_host::LINE).unwrap().slots();
    // Over the ring, once around and more.
    for step in [0, 1, 7, 56, 200, slots - 1, slots, 1] {
        let before = observer.look();
        for _ in 0..step {
            a.send(1, to, b"hello", SOON).unwrap();
        }
        sent += step;
        let seen = observer.look();
        let (of_a, of_b) = (counts(of(&seen, "a")), counts(of(&seen, "b")));
        assert_eq!(of_a.sent - counts(of(&before, "a")).sent, step);
        assert_eq!((of_a.sent, of_a.received, of_b.sent), (sent, 0, 0));
        assert_eq!((of_b.received, of_b.waiting), (sent - step, Some(step)));
        assert_eq!((of_a.waiting, of_a.credit), (Some(0), Some(slots - step)));
        while receive(&mut b) {}
        // Credit that is held back for a batch is given before it waits.
        rest(&mut b);
        let seen = observer.look();
        let (of_a, of_b) = (counts(of(&seen, "a")), counts(of(&seen, "b")));
        assert_eq!((of_b.received, of_b.waiting, of_a.credit), (sent, Some(0), Some(slots)));
    }
    let seen = observer.look();
    let (of_a, of_b) = (of(&seen, "a"), of(&seen, "b"));
    assert_eq!((only(of_a).peer, only(of_b).peer), (name("b"), name("a")));
    assert_eq!((of_a.process, of_b.process), (std::process::id(), std::process::id()));
    assert_eq!(only(of_a).incarnation, of_b.incarnation);
}

#[test]
fn blocks_are_lent_until_the_peer_gives_them_back_and_held_until_they_are_sent() {
    let directory = tempfile::tempdir().unwrap();
    let (mut a, mut b) = (node(directory.path(), "a"), node(directory.path(), "b"));
    let link = link(&mut a, &mut b, "b");
    let to = Address { link, port: 1 };
    let mut observer = observer(directory.path());
    let mut lent_and_held = || {
        let seen = observer.look();
        let own = counts(of(&seen, "a")).own.unwrap();
        (own.lent, own.held)
    };
    assert_eq!(lent_and_held(), (0, 0));
    // More in all than there are blocks: they come back and are lent again.
    for _ in 0..40 {
        for count in 1..=9 {
            a.send(1, to, &[7; 1000], SOON).unwrap();
            assert_eq!(lent_and_held(), (count, 0));
        }
        let first = b.try_receive(1, &Select::default()).unwrap().unwrap();
        while receive(&mut b) {}
        rest(&mut b);
        assert_eq!(lent_and_held(), (1, 0), "the application of b has one");
        b.release(first);
        rest(&mut b);
        assert_eq!(lent_and_held(), (0, 0), "though a has not looked");
    }
    let flow = a.begin_flow_to(to, Strategy::default()).unwrap();
    while !a.flow(flow).is_ready().unwrap() {
        b.poll();
        a.poll();
    }
    let mut held = a.flow(flow).reserve(500).unwrap();
    assert_eq!(lent_and_held(), (0, 1));
    a.flow(flow).send(1, Message::new(&mut held), SOON).unwrap();
    assert_eq!(lent_and_held(), (1, 0));
}

#[test]
fn flows_have_their_strategies_and_lose_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_path_buf();
    let mut a = node(&path, "a");
    let (done, over) = std::sync::mpsc::channel::<()>();
    let served = std::thread::spawn(move || {
        let mut b = node(&path, "b");
        let mut run =
            |_: &dyn narrows::endpoint::Source, _: &mut dyn narrows::endpoint::Sink| Ok(());
        while over.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            b.try_serve(&mut [Function { name: name("echo"), run: &mut run }]);
            b.wait_any(Some(Duration::from_millis(1)));
        }
    });
    let link = a.hunt(&name("b"), SOON).unwrap();
    let mut observer = observer(directory.path());
    let [one, two] = ["copy/spin/external", "in_place/poll=5ms/internal"];
    let strategy = |text: &str| text.parse::<Strategy>().unwrap();
    let mut flows = || -> Vec<(FlowEnd, FlowStage, Strategy)> {
        let seen = observer.look();
        of(&seen, "a").flows.iter().map(|flow| (flow.to, flow.stage, flow.strategy)).collect()
    };
    assert_eq!(flows(), []);
    let calls = a.open_flow(link, &name("echo"), strategy(one), 64, SOON).unwrap();
    let messages = a.open_flow_to(Address { link, port: 1 }, strategy(two), SOON).unwrap();
    let (function, port) = (FlowEnd::Function(name("echo")), FlowEnd::Port(1));
    let running = FlowStage::Running;
    let expected = [(function, running, strategy(one)), (port, running, strategy(two))];
    assert_eq!(flows(), expected);
    a.flow(calls).switch(strategy(two), SOON).unwrap();
    assert_eq!(flows(), [(function, running, strategy(two)), (port, running, strategy(two))]);
    a.flow(messages).close().unwrap();
    a.poll();
    assert_eq!(flows(), [(function, running, strategy(two))]);
    // What ends with its peer is there until it is closed.
    done.send(()).unwrap();
    served.join().unwrap();
    while a.link(link).check().is_ok() {
        a.poll();
    }
    a.poll();
    assert_eq!(flows(), [(function, FlowStage::Gone, strategy(two))]);
    let seen = Observer::new("default", Some(directory.path())).unwrap().look();
    assert_eq!(only(of(&seen, "a")).state, LinkState::Closed);
    a.link(link).close();
    let seen = Observer::new("default", Some(directory.path())).unwrap().look();
    assert!(of(&seen, "a").links.is_empty() && of(&seen, "a").flows.is_empty(), "{seen:?}");
}

#[test]
fn words_and_packets_of_channels_are_counted_and_so_are_links_over_a_stream() {
    let directory = tempfile::tempdir().unwrap();
    let class = |size| Class { placement: Placement::External, size, count: 16 };
    let layout = Layout::new(narrows_host::LINE, 16, &[class(64), class(4096)]).unwrap();
    let layout = layout.with_channels(3, 8).unwrap();
    for carrier in [Carrier::Memory, Carrier::Stream] {
        let open = |name: &str| {
            let options = Options::new(name).directory(directory.path()).carrier(carrier);
            options.layout(layout).background(false).node().unwrap()
        };
        let (mut a, mut b) = (open("a"), open("b"));
        let link = link(&mut a, &mut b, "b");
        for _ in 0..5 {
            a.channel(Channel { link, ring: 2 }).try_send_word(1, 8, 0).unwrap();
        }
        let mut observer = observer(directory.path());
        let seen = observer.look();
        let of_a = only(of(&seen, "a"));
        assert_eq!(of_a.framed, carrier == Carrier::Stream);
        let counts = of_a.counts.unwrap();
        assert_eq!((counts.channels_sent, counts.sent), (5, 0), "{carrier:?}");
    }
}

#[test]
fn a_node_with_more_links_than_have_places_is_seen_by_its_peers() {
    const CLIENTS: usize = 70;
    let directory = tempfile::tempdir().unwrap();
    let class = Class { placement: Placement::External, size: 64, count: 4 };
    let layout = Layout::new(narrows_host::LINE, 4, &[class]).unwrap();
    let open = |name: &str| {
        let options = Options::new(name).directory(directory.path()).layout(layout);
        options.background(false).node().unwrap()
    };
    let mut server = open("server");
    server.open(1).unwrap();
    let mut clients: Vec<Node> = (0..CLIENTS).map(|n| open(&format!("c{n}"))).collect();
    for client in &mut clients {
        client.open(1).unwrap();
        let link = loop {
            if let Some(link) = client.try_hunt(&name("server")).unwrap() {
                break link;
            }
            server.poll();
        };
        client.send(1, Address { link, port: 1 }, b"hi", SOON).unwrap();
        server.poll();
    }
    while receive(&mut server) {}
    let seen = observer(directory.path()).look();
    let links = &of(&seen, "server").links;
    assert_eq!(links.len(), CLIENTS);
    let own = links.iter().filter(|link| link.counts.unwrap().own.is_some()).count();
    assert_eq!(own, 64, "the others are counted by their peers");
    assert!(links.iter().all(|link| link.counts.unwrap().received == 1), "{links:?}");
}

#[test]
fn nothing_is_left_of_what_was_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let list = || std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(
        Observer::new("default", Some(directory.path())).err(),
        Some(ObserveError::NoDomain("default".into()))
    );
    assert_eq!(list(), 0, "looking makes nothing");
    assert_eq!(Observer::new("../x", None).err(), Some(ObserveError::Name("../x".into())));
    let a = node(directory.path(), "a");
    assert_eq!(domains(Some(directory.path())).unwrap(), [name("default")]);
    let mut observer = observer(directory.path());
    assert_eq!(observer.look().len(), 1);
    drop(a);
    assert!(observer.look().is_empty());
    assert_eq!(list(), 0, "a node's note goes with it");
    // The domain is another directory now.
    let _a = node(directory.path(), "a");
    assert_eq!(observer.look().len(), 1);
}

#[test]
fn a_node_that_publishes_nothing_is_seen_to_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let _a = node(directory.path(), "a");
    std::fs::remove_file(directory.path().join("default/.@status@a")).unwrap();
    let seen = observer(directory.path()).look();
    assert_eq!(seen[0].pulse, Pulse::Alive);
    assert_eq!(seen[0].status.as_ref().unwrap_err(), &PageError::NoPage);
}
