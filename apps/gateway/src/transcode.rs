//! Decodes frames and codes them anew, with libavcodec.

use std::collections::HashMap;
use std::fmt;

use ac_ffmpeg::codec::audio::frame::{get_channel_layout, get_sample_format};
use ac_ffmpeg::codec::audio::{AudioDecoder, AudioEncoder};
use ac_ffmpeg::codec::video::frame::get_pixel_format;
use ac_ffmpeg::codec::video::{VideoDecoder, VideoEncoder};
use ac_ffmpeg::codec::{AudioCodecParameters, Decoder, Encoder};
use ac_ffmpeg::packet::PacketMut;
use ac_ffmpeg::time::{TimeBase, Timestamp};

use crate::frame::{Codec, Header};

/// Pictures are 128 × 96 (SQCIF), ten a second at 64 kbit/s, as in the source's gateway.
const SIZE: [usize; 2] = [128, 96];
const PER_SECOND: i32 = 10;
const BITS: u64 = 64_000;
/// Of this many pictures one needs no other, so that a receiver that lost one recovers.
const INTRA: u32 = 10;
/// Sessions that are known at once. A gateway that died ended none of its own; the one that was
/// quiet for longest makes room.
const SESSIONS: usize = 512;

/// Why a frame was not transcoded.
#[derive(Debug)]
pub enum TranscodeError {
    /// libavcodec has no such codec, or does not open it.
    Codec(ac_ffmpeg::Error),
    /// The frame is none of that codec.
    Frame(String),
    /// The picture has another size.
    Size(usize, usize),
}

impl fmt::Display for TranscodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TranscodeError::Codec(error) => write!(f, "libavcodec opens no such codec: {error}"),
            TranscodeError::Frame(error) => write!(f, "the frame cannot be transcoded: {error}"),
            TranscodeError::Size(width, height) => {
                write!(f, "a picture is {width} x {height} where 128 x 96 (SQCIF) was agreed")
            }
        }
    }
}

impl std::error::Error for TranscodeError {}

fn wrong(error: impl fmt::Display) -> TranscodeError {
    TranscodeError::Frame(error.to_string())
}

/// One session's decoder and encoder.
enum Session {
    Audio(AudioDecoder, AudioEncoder),
    Video(Box<Video>),
}

struct Video {
    decoder: VideoDecoder,
    encoder: VideoEncoder,
    pictures: i64,
}

/// Silences libavcodec, which otherwise writes a line to standard error for each bad frame.
pub fn silence_libavcodec() {
    ac_ffmpeg::set_log_callback(|_, _| {});
}

impl Session {
    fn open(header: &Header) -> Result<Session, ac_ffmpeg::Error> {
        let law = |codec| if codec == Codec::Pcma { "pcm_alaw" } else { "pcm_mulaw" };
        if header.from != Codec::H263 {
            let mono = get_channel_layout("mono");
            let parameters = AudioCodecParameters::builder(law(header.from))?
                .sample_rate(8000)
                .channel_layout(&mono)
                .build();
            let decoder = AudioDecoder::from_codec_parameters(&parameters)?.build()?;
            let encoder = AudioEncoder::builder(law(header.to))?
                .sample_rate(8000)
                .sample_format(get_sample_format("s16"))
                .channel_layout(mono)
                .build()?;
            return Ok(Session::Audio(decoder, encoder));
        }
        let decoder = VideoDecoder::new("h263")?;
        let encoder = VideoEncoder::builder("h263")?
            .pixel_format(get_pixel_format("yuv420p"))
            .width(SIZE[0])
            .height(SIZE[1])
            .time_base(TimeBase::new(1, PER_SECOND))
            .bit_rate(BITS)
            .set_option("g", INTRA)
            .build()?;
        Ok(Session::Video(Box::new(Video { decoder, encoder, pictures: 0 })))
    }

    fn run(&mut self, frame: &[u8], coded: &mut Vec<u8>) -> Result<(), TranscodeError> {
        let mut packet = PacketMut::new(frame.len());
        packet.data_mut().copy_from_slice(frame);
        let packet = packet.freeze();
        match self {
            Session::Audio(decoder, encoder) => {
                decoder.push(packet).map_err(wrong)?;
                while let Some(samples) = decoder.take().map_err(wrong)? {
                    encoder.push(samples).map_err(wrong)?;
                    while let Some(packet) = encoder.take().map_err(wrong)? {
                        coded.extend(packet.data());
                    }
                }
            }
            Session::Video(video) => video.run(packet, coded)?,
        }
        Ok(())
    }
}

impl Video {
    fn run(
        &mut self,
        packet: ac_ffmpeg::packet::Packet,
        coded: &mut Vec<u8>,
    ) -> Result<(), TranscodeError> {
        self.decoder.push(packet).map_err(wrong)?;
        while let Some(picture) = self.decoder.take().map_err(wrong)? {
            if [picture.width(), picture.height()] != SIZE {
                return Err(TranscodeError::Size(picture.width(), picture.height()));
            }
            let time = Timestamp::new(self.pictures, TimeBase::new(1, PER_SECOND));
            self.pictures += 1;
            self.encoder.push(picture.with_pts(time)).map_err(wrong)?;
            while let Some(packet) = self.encoder.take().map_err(wrong)? {
                coded.extend(packet.data());
            }
        }
        Ok(())
    }
}

/// The sessions of one process.
#[derive(Default)]
pub struct Transcoder {
    sessions: HashMap<u64, Known>,
    frames: u64,
}

struct Known {
    header: Header,
    session: Session,
    /// The number of its latest frame among those of all sessions.
    last: u64,
}

impl Transcoder {
    /// Transcodes a session's next frame; an empty one ends the session. `coded` is what came out,
    /// which is nothing for a frame that only prepares others.
    ///
    /// # Errors
    /// See [`TranscodeError`]; the session goes on with its next frame.
    pub fn run(
        &mut self,
        header: &Header,
        frame: &[u8],
        coded: &mut Vec<u8>,
    ) -> Result<(), TranscodeError> {
        coded.clear();
        if frame.is_empty() {
            self.sessions.remove(&header.session);
            return Ok(());
        }
        self.frames += 1;
        if self.sessions.get(&header.session).is_none_or(|known| known.header != *header) {
            let session = Session::open(header).map_err(TranscodeError::Codec)?;
            self.make_room();
            let known = Known { header: *header, session, last: self.frames };
            self.sessions.insert(header.session, known);
        }
        let Some(known) = self.sessions.get_mut(&header.session) else { return Ok(()) };
        known.last = self.frames;
        known.session.run(frame, coded)
    }

    /// Sessions that have not been ended.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn make_room(&mut self) {
        if self.sessions.len() < SESSIONS {
            return;
        }
        let oldest = self.sessions.iter().min_by_key(|(_, known)| known.last);
        if let Some(oldest) = oldest.map(|(session, _)| *session) {
            self.sessions.remove(&oldest);
        }
    }
}

#[cfg(test)]
#[path = "transcode_tests.rs"]
mod tests;
