//! `narrows voip` where it cannot call, and the C codec of its plugin beside the one of workloads.

use crate::common::{narrows, text};
use narrows_cli::formats::functions::foreign::{Foreign, Named};
use narrows_cli::formats::functions::g711::{self, Law};
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;

/// The codec of the plugin, as functions of a library.
fn compiled(directory: &Path) -> impl Fn(&str) -> Foreign {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/linphone-dsp/g711.c");
    let file = directory.join("libg711.so");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"])
        .args(["-shared", "-fPIC", "-o"])
        .args([&file, &source])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", text(&output.stderr));
    move |function| {
        Named { file: file.clone(), function: function.to_owned() }.load().expect("a function")
    }
}

#[test]
fn the_codec_of_the_plugin_is_that_of_workloads() {
    let place = tempfile::tempdir().unwrap();
    let function = compiled(place.path());
    let samples: Vec<u8> = (i16::MIN..=i16::MAX).flat_map(i16::to_le_bytes).collect();
    let codes: Vec<u8> = (0..=u8::MAX).collect();
    for (law, name) in [(Law::A, "a"), (Law::Mu, "mu")] {
        let encode = function(&format!("g711_encode_{name}"));
        let (mut found, mut expected) =
            ([vec![0; 65536], vec![0; 512]], [vec![0; 65536], vec![0; 512]]);
        assert_eq!(encode.answer(&samples, &mut found[0]), Ok(65536));
        assert_eq!(g711::encode(law, &samples, &mut expected[0]), Ok(65536));
        let decode = function(&format!("g711_decode_{name}"));
        assert_eq!(decode.answer(&codes, &mut found[1]), Ok(512));
        assert_eq!(g711::decode(law, &codes, &mut expected[1]), Ok(512));
        assert!(found == expected, "{name}");
        // Half a sample, and too little room.
        assert!(encode.answer(&samples[..3], &mut found[0]).is_err());
        assert!(encode.answer(&samples[..4], &mut found[0][..1]).is_err());
        assert!(decode.answer(&codes[..2], &mut found[1][..3]).is_err());
    }
}

#[track_caller]
fn refused(arguments: &[&str], code: i32, part: &str) {
    let arguments: Vec<&str> = ["voip"].iter().chain(arguments).copied().collect();
    let output = narrows(&arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(part), "{said}");
}

#[test]
fn what_prevents_a_call_is_said() {
    refused(&["--play", "no.wav"], 4, "cannot read no.wav");
    let taken = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&["--port", &port], 7, &format!("UDP port {port} cannot be had"));
    // Either the packages or the plugin are missing there.
    refused(&["--plugin", "/nowhere"], 4, "ci/setup telephone");
}

#[test]
fn packages_that_are_missing_are_named() {
    let nothing = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["voip"])
        .current_dir(nothing.path())
        .env("PATH", nothing.path())
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for package in ["linphone-cli", "tshark", "wireshark-common", "ci/setup telephone"] {
        assert!(said.contains(package), "{said}");
    }
}
