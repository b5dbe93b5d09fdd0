//! The command line of `narrows mcapi`.

use crate::base::offered::{offered, platforms};
use crate::formats::functions::cost::Cost;
use clap::Args;
use clap::builder::StringValueParser;
use narrows_sim::cpu::cluster::Mechanism;
use std::path::PathBuf;

/// What `mcapi` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cc -shared -fPIC -DNARROWS_SIMULATED $(pkg-config --cflags narrows) \\
      examples/mcapi/pingpong.c -o pingpong.so
  narrows mcapi --on nios2-dual 0=./pingpong.so,ping 1=./pingpong.so,pong
  narrows mcapi --on generic-amp 0=./one.so 1=./other.so --json
  narrows mcapi --on bmm-clusters 0=./pingpong.so,ping 2=./pingpong.so,pong
  narrows mcapi --on nios2-quad --cost paint_line=80us --cost edges_of=120us \\
      0=./pipeline.so,paint 1=./pipeline.so,edges 2=./pipeline.so,collect

Each program is a shared object whose main is called on the core, on a stack of
8 MiB, with what follows its file as arguments. It has its own copy of the file,
and so of its variables. Calls of MCAPI, clock_gettime, nanosleep and usleep
take time of the chip. What it computes by itself takes what --cost says, and
without it none (docs/MCAPI.md).")]
pub struct Mcapi {
    /// A core of the chip, and the program that runs there, with its arguments
    #[arg(value_name = "CORE=FILE[,ARGUMENT]…", required = true, value_parser = place)]
    pub programs: Vec<Placed>,
    /// The simulated chip: the name of a platform, or its file
    #[arg(long, value_name = "PLATFORM", hide_possible_values = true,
          value_parser = offered(platforms(), StringValueParser::new()))]
    pub on: String,
    /// On a chip of clusters, what moves data between them; without it, one after the other
    #[arg(long, value_name = "MECHANISM", value_parser = mechanism)]
    pub mechanism: Option<Mechanism>,
    /// What each call of a function of the programs takes of its core, such as smooth=1.2ms; the
    /// programs are compiled with -finstrument-functions
    #[arg(long, value_name = "FUNCTION=TIME", value_parser = taken)]
    pub cost: Vec<Taken>,
}

/// What each call of a function takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The function's name in C.
    pub function: String,
    /// The same for every call.
    pub cost: Cost,
}

/// A program on a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The core, by its place in the chip.
    pub core: usize,
    /// The shared object.
    pub file: PathBuf,
    /// What its main is given behind its name.
    pub arguments: Vec<String>,
}

fn mechanism(text: &str) -> Result<Mechanism, String> {
    let named = Mechanism::ALL.into_iter().find(|one| one.name() == text);
    named.ok_or_else(|| "dma or bmm is wanted".to_owned())
}

fn taken(text: &str) -> Result<Taken, String> {
    let wrong = || "a function and a time are wanted, such as smooth=1.2ms".to_owned();
    let (function, cost) = text.split_once('=').ok_or_else(wrong)?;
    let cost: Cost = cost.parse().map_err(|_| wrong())?;
    if function.is_empty() {
        return Err(wrong());
    }
    match cost.of(0) == cost.of(1 << 20) {
        true => Ok(Taken { function: function.to_owned(), cost }),
        false => Err("a call of a function has no bytes: a time without /B is wanted".to_owned()),
    }
}

fn place(text: &str) -> Result<Placed, String> {
    let wrong = || "a core and a program are wanted, such as 0=./ping.so".to_owned();
    let (core, program) = text.split_once('=').ok_or_else(wrong)?;
    let core = core.parse().map_err(|_| wrong())?;
    let mut words = program.split(',');
    let file = words.next().filter(|file| !file.is_empty()).ok_or_else(wrong)?;
    Ok(Placed { core, file: file.into(), arguments: words.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_takes_a_time() {
        let cost = "1.2 ms".parse().expect("it is one");
        assert_eq!(taken("smooth=1.2ms"), Ok(Taken { function: "smooth".to_owned(), cost }));
        for wrong in ["", "smooth", "smooth=", "=1ms", "smooth=-1ms", "smooth=1", "smooth=2 ns/B"] {
            assert!(taken(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_has_a_core_a_file_and_arguments() {
        let placed = |core, file: &str, arguments: &[&str]| Placed {
            core,
            file: file.into(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        };
        assert_eq!(place("0=./a.so"), Ok(placed(0, "./a.so", &[])));
        assert_eq!(place("12=a.so,x,,y=1"), Ok(placed(12, "a.so", &["x", "", "y=1"])));
        for wrong in ["", "0", "a.so", "=a.so", "0=", "-1=a.so", "0=,x"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
