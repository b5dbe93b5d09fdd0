use super::*;

use ac_ffmpeg::codec::video::frame::VideoFrameMut;

fn header(from: Codec, to: Codec) -> Header {
    Header { session: 1, from, to }
}

/// By the published formulas and not by tables of libavcodec.
fn linear_of_mulaw(byte: u8) -> i32 {
    let byte = !byte;
    let magnitude = (((i32::from(byte & 15) << 3) + 0x84) << ((byte >> 4) & 7)) - 0x84;
    if byte & 0x80 != 0 { -magnitude } else { magnitude }
}

fn linear_of_alaw(byte: u8) -> i32 {
    let byte = byte ^ 0x55;
    let (segment, step) = ((byte >> 4) & 7, i32::from(byte & 15));
    let magnitude = match segment {
        0 => (step << 4) + 8,
        _ => ((step << 4) + 0x108) << (segment - 1),
    };
    if byte & 0x80 == 0 { -magnitude } else { magnitude }
}

#[test]
fn every_sound_of_one_law_comes_out_as_the_nearest_of_the_other() {
    let frame: Vec<u8> = (0..=255).collect();
    let (mut transcoder, mut coded) = (Transcoder::default(), Vec::new());
    transcoder.run(&header(Codec::Pcmu, Codec::Pcma), &frame, &mut coded).unwrap();
    assert_eq!(coded.len(), frame.len());
    for (from, to) in frame.iter().zip(&coded) {
        let (from, to) = (linear_of_mulaw(*from), linear_of_alaw(*to));
        // Half a step of A-law where the sound lies, and a half of the smallest.
        assert!((from - to).abs() <= from.abs() / 32 + 16, "{from} became {to}");
    }
    let again = coded.clone();
    transcoder.run(&header(Codec::Pcma, Codec::Pcmu), &again, &mut coded).unwrap();
    for (from, to) in frame.iter().zip(&coded) {
        let (from, to) = (linear_of_mulaw(*from), linear_of_mulaw(*to));
        assert!((from - to).abs() <= from.abs() / 16 + 32, "{from} came back as {to}");
    }
}

#[test]
fn a_frame_of_any_length_comes_out_as_long_as_it_was() {
    let (mut transcoder, mut coded) = (Transcoder::default(), Vec::new());
    for length in [1, 80, 160, 240, 480, 8000] {
        let frame = vec![0x91; length];
        transcoder.run(&header(Codec::Pcmu, Codec::Pcmu), &frame, &mut coded).unwrap();
        assert_eq!(coded, frame, "there is no loss within one law");
    }
}

/// Frames of a bright square that moves to the right.
fn pictures(width: usize, height: usize, count: i64) -> Vec<Vec<u8>> {
    let mut encoder = VideoEncoder::builder("h263")
        .unwrap()
        .pixel_format(get_pixel_format("yuv420p"))
        .width(width)
        .height(height)
        .time_base(TimeBase::new(1, PER_SECOND))
        .bit_rate(BITS)
        .build()
        .unwrap();
    let mut frames = Vec::new();
    for number in 0..count {
        let mut picture = VideoFrameMut::black(get_pixel_format("yuv420p"), width, height);
        {
            let mut planes = picture.planes_mut();
            for row in 20..60 {
                let line = planes[0].line_mut(row).unwrap();
                line[10 + number as usize * 4..][..40].fill(220);
            }
        }
        let time = Timestamp::new(number, TimeBase::new(1, PER_SECOND));
        encoder.push(picture.with_pts(time).freeze()).unwrap();
        while let Some(packet) = encoder.take().unwrap() {
            frames.push(packet.data().to_vec());
        }
    }
    frames
}

/// A row of the last picture.
fn bright(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut decoder = VideoDecoder::new("h263").unwrap();
    let mut line = Vec::new();
    for frame in frames {
        let mut packet = PacketMut::new(frame.len());
        packet.data_mut().copy_from_slice(frame);
        decoder.push(packet.freeze()).unwrap();
        while let Some(picture) = decoder.take().unwrap() {
            line = picture.planes()[0].line(40).unwrap()[..picture.width()].to_vec();
        }
    }
    line
}

#[test]
fn a_moving_picture_is_the_same_after_it_was_coded_anew() {
    let frames = pictures(SIZE[0], SIZE[1], 8);
    assert_eq!(frames.len(), 8);
    let (mut transcoder, mut coded) = (Transcoder::default(), Vec::new());
    let mut anew = Vec::new();
    for frame in &frames {
        transcoder.run(&header(Codec::H263, Codec::H263), frame, &mut coded).unwrap();
        assert!(!coded.is_empty(), "a picture comes out for each that goes in");
        anew.push(coded.clone());
    }
    let (first, second) = (bright(&frames), bright(&anew));
    assert!(first[50] > 150 && first[100] < 80, "the square is where it was drawn");
    let difference: i32 =
        first.iter().zip(&second).map(|(a, b)| (i32::from(*a) - i32::from(*b)).abs()).sum();
    assert!(difference / (SIZE[0] as i32) < 8, "{difference}");
}

#[test]
fn what_is_no_picture_is_an_error_or_nothing_and_the_session_goes_on() {
    let frames = pictures(SIZE[0], SIZE[1], 4);
    let of = header(Codec::H263, Codec::H263);
    let (mut transcoder, mut coded) = (Transcoder::default(), Vec::new());
    silence_libavcodec();
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..200 {
        let mut frame = frames[random.usize(..frames.len())].clone();
        for _ in 0..random.usize(1..20) {
            let at = random.usize(..frame.len());
            frame[at] = random.u8(..);
        }
        frame.truncate(random.usize(1..=frame.len()));
        let _ = transcoder.run(&of, &frame, &mut coded);
    }
    assert_eq!(transcoder.sessions(), 1);
    let larger = pictures(176, 144, 1);
    let error = transcoder.run(&of, &larger[0], &mut coded).unwrap_err();
    assert!(matches!(error, TranscodeError::Size(176, 144)), "{error}");
    transcoder.run(&of, &frames[0], &mut coded).unwrap();
    assert!(!coded.is_empty());
}

#[test]
fn a_session_ends_by_an_empty_frame_and_many_do_not_pile_up() {
    let (mut transcoder, mut coded) = (Transcoder::default(), Vec::new());
    for session in 0..SESSIONS as u64 + 20 {
        let of = Header { session, from: Codec::Pcmu, to: Codec::Pcma };
        transcoder.run(&of, &[0; 160], &mut coded).unwrap();
    }
    assert_eq!(transcoder.sessions(), SESSIONS);
    let of = Header { session: SESSIONS as u64, from: Codec::Pcmu, to: Codec::Pcma };
    transcoder.run(&of, &[], &mut coded).unwrap();
    assert_eq!(transcoder.sessions(), SESSIONS - 1);
}
