//! A program in Rust beside one in C++: each uses a service of the other's.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use narrows_host::Options;
use narrows_services::{Error, FromBytes, Immutable, IntoBytes, KnownLayout, Node, Typed};

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

/// Serves and calls until all was as it should be.
pub struct Beside(Option<JoinHandle<Result<(), Error>>>);

/// Starts it in the directory of a program's nodes.
pub fn run(directory: &Path) -> Beside {
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

impl Drop for Beside {
    fn drop(&mut self) {
        let ended = self.0.take().expect("it is dropped once").join();
        // What the program says comes first if both have failed.
        if !thread::panicking() {
            ended.expect("it found no fault").expect("its calls work");
        }
    }
}
