//! Tests of the memory layer and of what it stores, on regions on the heap.

use std::cell::Cell;
use std::rc::Rc;

use super::{Ack, Class, Descriptor, Kind, Layout, Shared};
use crate::strategy::Placement;
use crate::{link, platform, span};

mod delivery;
#[path = "../../../tests/common/heap.rs"]
mod heap;
mod layout;
mod pool;
mod ring;
mod shared;
mod strategy;
#[path = "../../../tests/common/tables.rs"]
pub(crate) mod tables;

pub(super) use heap::{Core, Heap};

type End = Shared<Core<64>>;

pub(super) fn class(placement: Placement, size: u32, count: u32) -> Class {
    Class { placement, size, count }
}

fn message(tag: u16) -> Descriptor {
    Descriptor {
        kind: Kind::Message,
        ack: Ack::Batched,
        priority: 0,
        len: 0,
        source: 0,
        target: 0,
        tag,
        block: None,
    }
}

pub(super) fn formatted(layout: &Layout) -> Heap {
    let heap = Heap::new(layout.size());
    layout.format(&heap).expect("the region has the layout's size");
    heap
}

/// Both ends of a link, and their regions for a test to look at or spoil.
struct Pair {
    a: End,
    b: End,
    of_a: Heap,
    of_b: Heap,
    bell_of_a: Rc<Cell<u32>>,
    bell_of_b: Rc<Cell<u32>>,
}

fn pair(a: &Layout, b: &Layout) -> Pair {
    let (of_a, of_b) = (formatted(a), formatted(b));
    let (bell_of_a, bell_of_b) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let end = |own: &Heap, peer: &Heap, bell: &Rc<Cell<u32>>| {
        Shared::new(&Core, own.clone(), peer.clone(), bell.clone()).expect("a link")
    };
    let (a, b) = (end(&of_a, &of_b, &bell_of_b), end(&of_b, &of_a, &bell_of_a));
    Pair { a, b, of_a, of_b, bell_of_a, bell_of_b }
}
