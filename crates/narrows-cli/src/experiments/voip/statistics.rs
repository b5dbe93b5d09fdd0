//! What the plugin of a telephone has counted and stamped, as it writes it.

/// A frame that came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Whether it was to be encoded.
    pub encoded: bool,
    /// Whether the DSP coded it.
    pub by_dsp: bool,
    /// The number of the frame, or of the packet that it came in.
    pub number: u32,
    /// When it was given, sent, found coded and taken, in nanoseconds; taken is 0 if nobody did.
    pub given: u64,
    pub started: u64,
    pub finished: u64,
    pub taken: u64,
}

/// All that the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    /// How often the DSP was linked, and lost.
    pub found: u64,
    pub lost: u64,
    /// Frames that the DSP coded, that the telephone did, and that it did because the DSP was late.
    pub dsp: u64,
    pub here: u64,
    pub late: u64,
    pub frames: Vec<Frame>,
}

impl Statistics {
    /// Reads what is known; a line that is not is of a later plugin.
    pub fn read(text: &str) -> Statistics {
        let mut all = Statistics::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["found", count] => all.found = count.parse().unwrap_or(0),
                ["lost", count] => all.lost = count.parse().unwrap_or(0),
                ["function", _, "dsp", dsp, "here", here, "late", late] => {
                    all.dsp += dsp.parse().unwrap_or(0);
                    all.here += here.parse().unwrap_or(0);
                    all.late += late.parse().unwrap_or(0);
                }
                ["frame", function, by, number, times @ ..] => {
                    all.frames.extend(frame(function, by, number, times));
                }
                _ => {}
            }
        }
        all
    }

    /// The frames of one direction.
    pub fn of(&self, encoded: bool) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(move |frame| frame.encoded == encoded)
    }
}

fn frame(function: &str, by: &str, number: &str, times: &[&str]) -> Option<Frame> {
    let times: Vec<u64> = times.iter().map_while(|time| time.parse().ok()).collect();
    let [given, started, finished, taken] = *times.as_slice() else { return None };
    let number = number.parse().ok()?;
    let (encoded, by_dsp) = (function.starts_with("g711.encode"), by == "dsp");
    Some(Frame { encoded, by_dsp, number, given, started, finished, taken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_what_is_unknown_is_left() {
        let text = "dsp dsp\nstrategy interrupt\nfound 2\nlost 1\n\
                    function g711.encode.a dsp 7 here 2 late 1\n\
                    function g711.decode.a dsp 5 here 0 late 0\n\
                    frame g711.encode.a dsp 3 10 12 20 30\n\
                    frame g711.decode.a late 9 1 2 3 0\nframe g711.decode.a\nnews of tomorrow\n";
        let read = Statistics::read(text);
        assert_eq!((read.found, read.lost), (2, 1));
        assert_eq!((read.dsp, read.here, read.late), (12, 2, 1));
        let encoded = Frame {
            encoded: true,
            by_dsp: true,
            number: 3,
            given: 10,
            started: 12,
            finished: 20,
            taken: 30,
        };
        assert_eq!(read.of(true).collect::<Vec<_>>(), [&encoded]);
        assert_eq!(read.of(false).count(), 1);
        assert_eq!(Statistics::read(""), Statistics::default());
    }
}
