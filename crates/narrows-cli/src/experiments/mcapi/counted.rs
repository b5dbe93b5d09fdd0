//! Functions of programs whose calls are counted, and take what the command line says.
//!
//! A program that is compiled with `-finstrument-functions` tells where each of its functions
//! begins. Its file says which function that is.

use super::flags::Taken;
use narrows_sim::time::Time;
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A function of a program.
pub(super) struct Counted {
    pub function: String,
    /// What a call takes.
    pub time: Time,
    calls: Rc<Cell<u64>>,
    /// Where it is; a compiler may make several of one.
    places: Vec<usize>,
}

impl Counted {
    pub fn calls(&self) -> u64 {
        self.calls.get()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALL.with_borrow_mut(|all| all.retain(|place, _| !self.places.contains(place)));
    }
}

/// What a call takes, and how many there were.
type Entry = (Time, Rc<Cell<u64>>);

thread_local! {
    /// Those of the programs that this thread runs, by their address.
    static ALL: RefCell<HashMap<usize, Entry>> = RefCell::default();
}

/// Finds functions in a program's file. The program is loaded, and what has a name that is known
/// is at a known address.
///
/// # Errors
/// The file has no symbols that can be read.
pub(super) fn find(
    bytes: &[u8],
    (known, loaded): (&str, usize),
    taken: &[Taken],
) -> object::Result<Vec<Counted>> {
    let file = object::File::parse(bytes)?;
    let symbols = || file.symbols().chain(file.dynamic_symbols());
    let address = |symbol: &object::Symbol<'_, '_>| symbol.address() as usize;
    let known = symbols().find(|symbol| symbol.name() == Ok(known));
    // The code that loaded it found that variable.
    let moved = loaded.wrapping_sub(known.as_ref().map_or(0, address));
    let mut all = Vec::new();
    for Taken { function, cost } in taken {
        // A compiler that changes a function's arguments adds a suffix to its name.
        let is_it = |symbol: &object::Symbol<'_, '_>| {
            let name = symbol.name().unwrap_or_default().split('.').next();
            symbol.kind() == SymbolKind::Text && name == Some(function)
        };
        let places = symbols().filter(is_it).map(|symbol| moved.wrapping_add(address(&symbol)));
        let places: Vec<usize> = places.collect();
        if !places.is_empty() {
            let (time, calls) = (Time::from(cost.of(0)), Rc::<Cell<u64>>::default());
            let those = places.iter().map(|place| (*place, (time, Rc::clone(&calls))));
            ALL.with_borrow_mut(|all| all.extend(those));
            all.push(Counted { function: function.clone(), time, calls, places });
        }
    }
    Ok(all)
}

/// A function at this address begins: what that takes, if it is one of those.
pub(super) fn enter(function: usize) -> Option<Time> {
    ALL.with_borrow(|all| {
        let (time, calls) = all.get(&function)?;
        calls.set(calls.get() + 1);
        Some(*time)
    })
}
