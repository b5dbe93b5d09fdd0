//! The machine that a measurement was made on, as `/proc` and `/sys` tell it.

use narrows_host::Carrier;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What every report says about the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model, or "unknown".
    pub cpu: String,
    /// Cores that are online.
    pub cores: usize,
    /// The kernel's release, or "unknown".
    pub kernel: String,
    /// Whether a hypervisor was noticed.
    pub virtualised: bool,
    /// What carried links between processes: `memory` or `stream`; none on a simulated chip.
    pub carrier: Option<String>,
    /// The platform that was simulated; none where this machine itself was measured.
    pub platform: Option<String>,
    /// Whether times are virtual.
    pub r#virtual: bool,
}

impl Machine {
    /// Looks at the machine below `root`.
    pub fn look(root: &Root) -> Machine {
        let unknown = || "unknown".to_owned();
        Machine {
            cpu: root.cpu_model().unwrap_or_else(unknown),
            cores: root.online().len(),
            kernel: root.text("proc/sys/kernel/osrelease").unwrap_or_else(unknown),
            virtualised: root.hypervisor().is_some(),
            // A name that is none is the node's to refuse.
            carrier: Some(Carrier::of_environment().unwrap_or_default().name().to_owned()),
            platform: None,
            r#virtual: false,
        }
    }

    /// Whether links were carried by frames and not by memory.
    fn framed(&self) -> bool {
        self.carrier.as_ref().is_some_and(|carrier| carrier != Carrier::Memory.name())
    }

    /// Where it was measured, for a heading, if that is not memory of this machine.
    pub fn elsewhere(&self) -> Option<String> {
        if self.framed() {
            return Some("over frames (a Unix stream socket)".to_owned());
        }
        self.platform.as_ref().map(|name| format!("on {name} (simulated)"))
    }

    /// One line for the end of a table.
    pub fn line(&self) -> String {
        if let Some(name) = &self.platform {
            return format!("{name}, simulated: {}", self.cpu);
        }
        let how = if self.virtualised { "virtualised" } else { "not virtualised" };
        let by = if self.framed() { ", links over frames" } else { "" };
        format!("{}, {} cores, Linux {}, {how}{by}", self.cpu, self.cores, self.kernel)
    }
}

/// Where `/proc` and `/sys` are: the file system's root, or a tree made for a test.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
}

impl Default for Root {
    fn default() -> Root {
        Root::at(Path::new("/"))
    }
}

impl Root {
    /// A tree that has `proc` and `sys` below `path`.
    pub fn at(path: &Path) -> Root {
        Root { path: path.to_owned() }
    }

    /// A file's text without white space around it; `None` if it cannot be read.
    pub fn text(&self, file: &str) -> Option<String> {
        let bytes = std::fs::read(self.path.join(file)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ', '\n', '\t']).to_owned())
    }

    /// A file that holds one number.
    pub fn number<T: std::str::FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    /// The entries of a directory, sorted; empty if it cannot be read.
    pub fn list(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path.join(directory)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }

    /// The value of a `key : value` line; the first such line counts.
    pub fn value(&self, file: &str, key: &str) -> Option<String> {
        self.text(file)?.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        })
    }

    /// The processor's model.
    pub fn cpu_model(&self) -> Option<String> {
        self.value("proc/cpuinfo", "model name")
            .or_else(|| self.value("proc/cpuinfo", "Model"))
            .or_else(|| self.value("proc/cpuinfo", "Hardware"))
            .or_else(|| self.text("proc/device-tree/model"))
            .filter(|model| !model.is_empty())
    }

    /// Whether the processor has this flag.
    pub fn cpu_flag(&self, flag: &str) -> bool {
        self.value("proc/cpuinfo", "flags")
            .is_some_and(|flags| flags.split_whitespace().any(|one| one == flag))
    }

    /// The cores that are online; at least one.
    pub fn online(&self) -> Vec<usize> {
        let listed = self.text("sys/devices/system/cpu/online").map(|text| cores(&text));
        let counted = || {
            let count = self.text("proc/cpuinfo").map_or(0, |text| {
                text.lines().filter(|line| line.starts_with("processor")).count()
            });
            (0..count.max(1)).collect()
        };
        listed.filter(|cores| !cores.is_empty()).unwrap_or_else(counted)
    }

    /// What says that this machine is virtual, if anything does.
    pub fn hypervisor(&self) -> Option<String> {
        if let Some(kind) = self.text("sys/hypervisor/type").filter(|kind| !kind.is_empty()) {
            return Some(kind);
        }
        if let Some(kind) = self.text("proc/device-tree/hypervisor/compatible") {
            return Some(kind);
        }
        let vendor = self.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
        let product = self.text("sys/class/dmi/id/product_name").unwrap_or_default();
        let names = ["QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Bochs", "Virtual Machine"];
        let named = names.iter().find(|name| vendor.contains(*name) || product.contains(*name));
        match named {
            Some(name) => Some((*name).to_owned()),
            None => self.cpu_flag("hypervisor").then(|| "a hypervisor".to_owned()),
        }
    }
}

/// The numbers of a list such as `0-3,8`. Parts that are not numbers are left out.
pub fn cores(list: &str) -> Vec<usize> {
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            all.extend((first..=last).take(1 << 16));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores() {
        assert_eq!(cores("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(cores(""), [0usize; 0]);
        assert_eq!(cores("x,2\n"), [2]);
    }

    #[test]
    fn an_empty_tree_is_survived() {
        let place = tempfile::tempdir().unwrap();
        let machine = Machine::look(&Root::at(place.path()));
        assert_eq!(machine.cpu, "unknown");
        assert_eq!(machine.kernel, "unknown");
        assert_eq!((machine.cores, machine.virtualised), (1, false));
    }
}
