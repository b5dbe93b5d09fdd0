//! Programs in Rust beside ones in C++: each uses services and topics of the other's.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use narrows_host::Options;
use narrows_services::{
    Error, FromBytes, Immutable, IntoBytes, KnownLayout, Node, Overflow, Typed,
};

#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Typed)]
#[repr(C)]
struct Line {
    ends: [Point; 2],
    color: u32,
    style: [u8; 4],
}

/// What ends when all was as it should be.
pub struct Beside(Option<JoinHandle<Result<(), Error>>>);

/// Serves and calls, in the directory of a program's nodes.
pub fn services(directory: &Path) -> Beside {
    let options = Options::new("rust").directory(directory);
    Beside(Some(thread::spawn(move || {
        let node = Node::with(options)?;
        node.serve::<Line, f32>("rust.length", |Line { ends: [a, b], color, style }| {
            assert_eq!((*color, *style), (7, [0; 4]));
            (b.x - a.x).hypot(b.y - a.y)
        })?;
        // The program calls this one first, and then serves.
        let found =
            || node.services().map(|all| all.iter().any(|it| it.service.as_str() == "cpp.scaled"));
        while !found()? {
            node.run(Some(Duration::from_millis(10)))?;
        }
        // Before the calls, behind which the program may end.
        let other = node.client::<[f32], [Point]>("cpp.scaled").map(|_| ()).unwrap_err();
        assert!(matches!(other, Error::Types { .. }), "{other}");
        let scaled = node.client::<[Point], [Point]>("cpp.scaled")?;
        for count in [1, 0, 500] {
            let all = vec![Point { x: 1.5, y: -2.0 }; count];
            assert_eq!(scaled.call(&all)?, vec![Point { x: 3.0, y: -4.0 }; count]);
        }
        Ok(())
    })))
}

/// Publishes and subscribes until all was as it should be.
pub fn topics(directory: &Path) -> Beside {
    let options = Options::new("rust").directory(directory);
    Beside(Some(thread::spawn(move || {
        let node = Node::with(options)?;
        let lines = node.publisher::<Line>("rust.lines")?;
        while lines.subscribers()? == 0 {
            node.run_once(Some(Duration::from_millis(10)))?;
        }
        for number in 0..100 {
            let mut line = lines.loan()?;
            let end = Point { x: 1.0, y: 2.0 * number as f32 };
            *line = Line { ends: [Point { x: 0.0, y: 0.0 }, end], color: number, style: [0; 4] };
            line.send()?;
        }
        drop(lines);
        let other = node.subscriber::<[f32]>("cpp.points").map(|_| ()).unwrap_err();
        let said = "it is [Point{x@0:f32,y@4:f32}8], and this program has [f32]";
        assert!(other.to_string().contains(said), "{other}");
        let points =
            node.subscribe("cpp.points").overflow(Overflow::Wait).subscriber::<[Point]>()?;
        for count in 0..20 {
            let some = points.receive(Some(Duration::from_secs(60)))?.read()?;
            assert_eq!(some, vec![Point { x: count as f32, y: -1.0 }; count]);
        }
        Ok(())
    })))
}

impl Drop for Beside {
    fn drop(&mut self) {
        let ended = self.0.take().expect("it is dropped once").join();
        // What the program says comes first if both have failed.
        if !thread::panicking() {
            ended.expect("it found no fault").expect("its calls work");
        }
    }
}
