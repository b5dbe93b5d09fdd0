//! A function of a shared library, which somebody wrote in C.
//!
//! Its signature is that of `Code`. What it has to keep to is in `workloads/README.md`; above
//! all, the same request has the same response, since both sides of a run call it and compare.
#![allow(unsafe_code)]

use super::Refusal;
use crate::base::failure::{Failure, Kind};
use libloading::Library;
use std::ffi::c_void;
use std::fmt;
use std::path::{Path, PathBuf};

/// `size_t function(const void *request, size_t length, void *response, size_t room)`: writes the
/// response, and returns its length.
type Code = unsafe extern "C" fn(*const c_void, usize, *mut c_void, usize) -> usize;

/// Which function of which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The shared library.
    pub file: PathBuf,
    /// What C calls the function.
    pub function: String,
}

/// A function that was loaded.
#[derive(Debug)]
pub struct Foreign {
    named: Named,
    code: Code,
    /// What `code` is in.
    _library: Library,
}

/// It says that it wrote more than it had room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    returned: usize,
    room: usize,
}

impl Named {
    /// Whether C may call a function so.
    pub fn is_name(text: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = text.starts_with(|first: char| !first.is_ascii_digit());
        begins && text.len() <= 255 && text.chars().all(fits)
    }

    /// Loads the library, and finds the function in it.
    ///
    /// # Errors
    /// [`Kind::Input`]: the file is missing or no library, or has no such function.
    pub fn load(&self) -> Result<Foreign, Failure> {
        let file = self.file.display();
        let refused = |why: &dyn fmt::Display| {
            Failure::new(Kind::Input, format!("cannot load the shared library {file}: {why}"))
        };
        // A name without a directory would be looked for where the system's libraries are.
        let path = std::path::absolute(&self.file).map_err(|error| refused(&error))?;
        // SAFETY: what a library does when it is loaded is its own affair, as when a program that
        // is linked with it starts; the user names the file.
        let library = unsafe { Library::new(&path) };
        let library = library.map_err(|error| refused(&reason(&error, &path)))?;
        // SAFETY: `Code` is what workloads/README.md asks such a function to be declared as.
        let code = unsafe { library.get::<Code>(self.function.as_bytes()) };
        let code = *code.map_err(|_| {
            refused(&format!(
                "it has no function {}; 'nm -D' lists those that it has, and in C++ such a function \
                 is declared extern \"C\"",
                self.function
            ))
        })?;
        Ok(Foreign { named: self.clone(), code, _library: library })
    }
}

/// What the system says, without the file's name, which is said already.
fn reason(error: &libloading::Error, path: &Path) -> String {
    let said = error.to_string();
    let bare = said.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&said);
    let make = "make it with 'cc -shared -fPIC'";
    match path.exists() {
        true => format!("{bare}; {make}"),
        false => format!("there is no such file; {make}, or correct the path"),
    }
}

impl Foreign {
    /// Which one it is.
    pub fn named(&self) -> &Named {
        &self.named
    }

    /// Has it answer a request.
    ///
    /// # Errors
    /// It returns more than there is room for.
    pub fn call(&self, request: &[u8], response: &mut [u8]) -> Result<usize, TooMuch> {
        let (from, to) = (request.as_ptr().cast(), response.as_mut_ptr().cast());
        let room = response.len();
        // SAFETY: both slices are there for the call, as long as it is told, and nobody else has
        // the second one; the library is loaded as long as `self` is.
        let returned = unsafe { (self.code)(from, request.len(), to, room) };
        if returned > room { Err(TooMuch { returned, room }) } else { Ok(returned) }
    }

    /// As [`call`](Self::call), for the core that serves it.
    ///
    /// # Errors
    /// [`Refusal::Response`].
    pub fn answer(&self, request: &[u8], response: &mut [u8]) -> Result<usize, Refusal> {
        self.call(request, response).map_err(|_| Refusal::Response)
    }

    /// What is wrong with a function that returned more than there is room for.
    pub fn defect(&self, request: usize, much: TooMuch) -> Failure {
        let Named { file, function } = &self.named;
        let TooMuch { returned, room } = much;
        let text = format!(
            "{function} of {} returned {returned} for a request of {request} bytes, but has room for \
             {room}: have it return what it wrote, or give it more room with response",
            file.display()
        );
        Failure::new(Kind::Input, text)
    }
}
