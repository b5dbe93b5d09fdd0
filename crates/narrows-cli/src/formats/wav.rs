//! Speech from and to WAV files: 8 kHz, 16 bit, mono, PCM.

use crate::base::failure::{Failure, Kind};
use crate::base::output;
use crate::base::output::without_code;
use crate::base::shipped;
use hound::{Error, SampleFormat, WavReader, WavSpec, WavWriter};
use std::io::{BufReader, Cursor};
use std::path::Path;

/// Samples in a second.
pub const RATE: u32 = 8000;

const SPEECH: WavSpec = WavSpec {
    channels: 1,
    sample_rate: RATE,
    bits_per_sample: 16,
    sample_format: SampleFormat::Int,
};

/// The most samples that an input may have: ten minutes.
const LONGEST: u32 = RATE * 600;

/// Reads the samples of a WAV file.
///
/// # Errors
/// [`Kind::Input`], with the command that converts a file of another kind.
pub fn read(path: &Path) -> Result<Vec<i16>, Failure> {
    let shown = path.display();
    let file = shipped::open(path).map_err(|error| {
        let cause = without_code(&error);
        fail(format!("cannot read {shown}: {cause}: name a WAV file that is there"))
    })?;
    let reader = WavReader::new(BufReader::new(file)).map_err(|error| match error {
        Error::IoError(error) if error.raw_os_error().is_some() => {
            let cause = without_code(&error);
            fail(format!("cannot read {shown}: {cause}: name a WAV file"))
        }
        Error::IoError(_) => wanted(path, "it is not a WAV file, or is cut short"),
        Error::Unsupported => wanted(path, "its coding is not PCM"),
        _ => wanted(path, "it is not a WAV file"),
    })?;
    let spec = reader.spec();
    if spec != SPEECH {
        return Err(wanted(path, &format!("it has {}", describe(spec))));
    }
    if reader.duration() > LONGEST {
        return Err(fail(format!(
            "{shown} lasts more than 10 minutes; shorten it with: sox {shown} short.wav trim 0 600"
        )));
    }
    let samples: Result<Vec<i16>, Error> = reader.into_samples().collect();
    let samples = samples.map_err(|_| wanted(path, "it ends before its header says so"))?;
    if samples.is_empty() {
        return Err(fail(format!("{shown} holds no samples; record some speech first")));
    }
    Ok(samples)
}

/// Writes samples as a WAV file that appears whole or not at all.
///
/// # Errors
/// [`Kind::Output`] if it cannot be written.
pub fn write(path: &Path, samples: &[i16]) -> Result<(), Failure> {
    let mut bytes = Cursor::new(Vec::new());
    let written = WavWriter::new(&mut bytes, SPEECH).and_then(|mut writer| {
        for sample in samples {
            writer.write_sample(*sample)?;
        }
        writer.finalize()
    });
    written.map_err(|error| {
        let sentence = format!("cannot write {}: {error}: use a shorter run", path.display());
        Failure::new(Kind::Output, sentence)
    })?;
    output::write_file(path, &bytes.into_inner())
}

fn describe(spec: WavSpec) -> String {
    let channels = match spec.channels {
        1 => "1 channel".to_owned(),
        more => format!("{more} channels"),
    };
    let format = match spec.sample_format {
        SampleFormat::Int => "integer",
        SampleFormat::Float => "floating-point",
    };
    let (rate, bits) = (spec.sample_rate, spec.bits_per_sample);
    format!("{channels}, {rate} Hz and {bits}-bit {format} samples")
}

fn wanted(path: &Path, found: &str) -> Failure {
    let shown = path.display();
    fail(format!(
        "{shown} does not fit: {found}; wanted is a WAV file with 1 channel, 8000 Hz and 16-bit \
         integer samples; convert it with: sox {shown} -r 8000 -c 1 -b 16 -e signed-integer \
         speech.wav"
    ))
}

fn fail(sentence: String) -> Failure {
    Failure::new(Kind::Input, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(spec: WavSpec) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let mut writer = WavWriter::create(place.path().join("a.wav"), spec).unwrap();
        for _ in 0..spec.channels {
            writer.write_sample(1i16).unwrap();
        }
        writer.finalize().unwrap();
        place
    }

    #[test]
    fn samples_go_there_and_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.wav");
        let samples = [0, 1, -1, i16::MAX, i16::MIN];
        write(&path, &samples).unwrap();
        assert_eq!(read(&path).unwrap(), samples);
    }

    #[test]
    fn another_kind_is_described_and_converted() {
        for (spec, found) in [
            (WavSpec { sample_rate: 44_100, ..SPEECH }, "1 channel, 44100 Hz and 16-bit integer"),
            (WavSpec { channels: 2, ..SPEECH }, "2 channels, 8000 Hz"),
            (WavSpec { bits_per_sample: 8, ..SPEECH }, "8-bit integer"),
        ] {
            let place = written(spec);
            let failure = read(&place.path().join("a.wav")).unwrap_err();
            let text = failure.to_string();
            assert_eq!(failure.kind, Kind::Input);
            assert!(text.contains(found) && text.contains("sox "), "{text}");
        }
    }

    #[test]
    fn what_is_no_wav_is_said_so() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.wav");
        for contents in [&b""[..], b"RIFF", b"no audio in here, only a longer piece of text ...."] {
            std::fs::write(&path, contents).unwrap();
            let text = read(&path).unwrap_err().to_string();
            assert!(text.contains("it is not a WAV file"), "{text}");
        }
        write(&path, &[1, 2, 3]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert!(read(&path).is_err());
        write(&path, &[]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("no samples"));
        assert!(read(place.path()).is_err());
        let text = read(&place.path().join("none.wav")).unwrap_err().to_string();
        assert!(text.contains("no such file"), "{text}");
    }
}
