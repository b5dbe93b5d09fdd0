//! Programs in C that run on cores of a simulated chip.
#![allow(unsafe_code)]

use super::counted::{self, Counted};
use super::flags::{Placed, Taken};
use crate::base::failure::{Failure, Kind};
use crate::rig::mcapi::home;
use libloading::Library;
use narrows::platform::Platform;
use narrows_capi::mcapi::ffi::Functions;
use narrows_sim::cpu::Cpu;
use narrows_sim::time::Time;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;

/// What programs find their functions in, as `mcapi_simulated.h` has it.
#[repr(C)]
struct Table {
    functions: Functions,
    now: extern "C" fn() -> u64,
    sleep: extern "C" fn(u64),
    enter: extern "C" fn(*mut c_void),
}

static TABLE: Table = Table { functions: home::FUNCTIONS, now, sleep, enter };

/// The variable of a program that says where the table is.
const NAME: &str = "narrows_simulated";

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int;

/// A program that was loaded.
pub(super) struct Program {
    arguments: Vec<CString>,
    main: Main,
    /// Its functions that take time.
    pub counted: Vec<Counted>,
    /// What `main` is in.
    _library: Library,
}

impl Program {
    /// Loads a program, a copy of its file in this directory, which nobody else has loaded. Of what
    /// calls of functions take, it looks for those that it has.
    ///
    /// # Errors
    /// [`Kind::Input`].
    pub fn load(
        placed: &Placed,
        taken: &[Taken],
        directory: &Path,
        number: usize,
    ) -> Result<Program, Failure> {
        let file = placed.file.display();
        let refused = |why: &dyn std::fmt::Display| {
            Failure::new(Kind::Input, format!("cannot load the program {file}: {why}"))
        };
        let words = [placed.file.to_string_lossy().into_owned()];
        let words = words.iter().chain(&placed.arguments).map(|word| CString::new(word.as_str()));
        let arguments = words.collect::<Result<_, _>>().map_err(|error| refused(&error))?;
        let copy = directory.join(format!("{number}.so"));
        std::fs::copy(&placed.file, &copy).map_err(|error| refused(&error))?;
        // SAFETY: what a program does when it is loaded is its own affair, as when it is started.
        let library = unsafe { Library::new(&copy) }.map_err(|error| refused(&error))?;
        let other = "compile it with -shared -fPIC -DNARROWS_SIMULATED";
        // SAFETY: `mcapi_simulated.h` declares it so.
        let table = unsafe { library.get::<*mut *const Table>(NAME.as_bytes()) };
        let table =
            *table.map_err(|_| refused(&format!("it is none for the simulator: {other}")))?;
        // SAFETY: that is what every program's `main` can be called as.
        let main = unsafe { library.get::<Main>(b"main") };
        let main = *main.map_err(|_| refused(&"it has no main"))?;
        // SAFETY: the variable is there as long as the library is, and nothing of it runs yet.
        unsafe { table.write(&raw const TABLE) };
        let counted = match taken {
            [] => Vec::new(),
            taken => {
                let bytes = std::fs::read(&copy).map_err(|error| refused(&error))?;
                let known = (NAME, table.addr());
                counted::find(&bytes, known, taken).map_err(|error| refused(&error))?
            }
        };
        Ok(Program { arguments, main, counted, _library: library })
    }

    /// Runs it on a core: what it returns.
    pub fn run(&self, cpu: &Cpu, shares: bool) -> c_int {
        let mut words: Vec<*mut c_char> =
            self.arguments.iter().map(|word| word.as_ptr().cast_mut()).collect();
        let count = words.len() as c_int;
        words.push(std::ptr::null_mut());
        // SAFETY: arguments as C has them, which outlive the call.
        home::within(cpu, shares, || unsafe { (self.main)(count, words.as_mut_ptr()) })
    }
}

/// As `narrows_simulated`'s.
extern "C" fn now() -> u64 {
    home::cpu().map_or(0, |cpu| cpu.now().0)
}

/// As `narrows_simulated`'s.
extern "C" fn sleep(nanos: u64) {
    if let Some(cpu) = home::cpu() {
        cpu.pause(Time::nanos(nanos));
    }
}

/// As `narrows_simulated`'s.
extern "C" fn enter(function: *mut c_void) {
    if let (Some(time), Some(cpu)) = (counted::enter(function.addr()), home::cpu()) {
        cpu.compute(time);
    }
}

/// Runs something in which programs print: to standard error if `aside`, and all of it before what
/// is printed behind it.
///
/// # Errors
/// [`Kind::Output`].
pub(super) fn printing<T>(aside: bool, work: impl FnOnce() -> T) -> Result<T, Failure> {
    let refused = |error: rustix::io::Errno| {
        Failure::new(Kind::Output, format!("cannot print what programs print: {error}"))
    };
    let own = if aside {
        let own = rustix::io::dup(rustix::stdio::stdout()).map_err(refused)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(refused)?;
        Some(own)
    } else {
        None
    };
    let done = work();
    flush();
    if let Some(own) = own {
        rustix::stdio::dup2_stdout(own).map_err(refused)?;
    }
    Ok(done)
}

/// Has C write what it keeps of standard output.
fn flush() {
    unsafe extern "C" {
        fn fflush(stream: *mut c_void) -> c_int;
    }
    // SAFETY: null is every stream that C has.
    unsafe { fflush(std::ptr::null_mut()) };
}
