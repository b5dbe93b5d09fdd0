//! Grey pictures from and to PGM and PNG files: 8 bits a pixel.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::Path;

use image::codecs::pnm::{PnmEncoder, PnmSubtype, SampleEncoding};
use image::error::ImageError;
use image::{ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageFormat};
use image::{ImageEncoder, ImageReader};

use crate::base::failure::{Failure, Kind};
use crate::base::output::{self, without_code};

/// The most pixels that a picture may have: a file of a few bytes can say that it has any number.
const MOST: u64 = 64 << 20;

/// A grey picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// All pixels, row by row: 0 is black, 255 is white.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// A black one.
    pub fn black(width: usize, height: usize) -> Picture {
        Picture { width, height, pixels: vec![0; width * height] }
    }

    /// A row; empty if there is none of that number.
    pub fn row(&self, number: usize) -> &[u8] {
        self.pixels.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }
}

/// Reads a picture.
///
/// # Errors
/// [`Kind::Input`]: it cannot be read, is of another kind, or has more pixels than fit.
pub fn read(path: &Path) -> Result<Picture, Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| {
        let cause = without_code(&error);
        refused(format!("cannot read {shown}: {cause}: name a PGM or PNG file that is there"))
    })?;
    decode(BufReader::new(file)).map_err(|why| {
        refused(format!("{shown}: {why}; name a grey PGM or PNG file with 8 bits a pixel"))
    })
}

fn refused(sentence: String) -> Failure {
    Failure::new(Kind::Input, sentence)
}

fn decode(from: impl BufRead + Seek) -> Result<Picture, String> {
    let no_picture = |error: ImageError| match error {
        ImageError::Limits(_) => "it has more pixels than are kept in memory".to_owned(),
        ImageError::IoError(error) if error.raw_os_error().is_some() => without_code(&error),
        ImageError::IoError(_) => "it is cut short".to_owned(),
        _ => "it is no PGM or PNG file, or is damaged".to_owned(),
    };
    let reader = ImageReader::new(from).with_guessed_format();
    let reader = reader.map_err(|error| without_code(&error))?;
    let decoder = reader.into_decoder().map_err(no_picture)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST {
        return Err(format!("it has {width} by {height} pixels, and at most {MOST} fit"));
    }
    // What the file has, before the decoder makes 8 bits of it or adds a colour.
    match (decoder.color_type(), decoder.original_color_type()) {
        (ColorType::L8, ExtendedColorType::L8) => {}
        (ColorType::L8, _) => return Err("its pixels have fewer than 8 bits".to_owned()),
        (ColorType::L16, _) => return Err("its pixels have 16 bits".to_owned()),
        _ => return Err("it has colours or transparency".to_owned()),
    }
    let read = DynamicImage::from_decoder(decoder).map_err(no_picture)?;
    let pixels = read.into_luma8().into_raw();
    Ok(Picture { width: width as usize, height: height as usize, pixels })
}

/// The kind of file that a name asks for.
///
/// # Errors
/// [`Kind::Usage`]: it is neither.
pub fn kind(path: &Path) -> Result<ImageFormat, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "png" => Ok(ImageFormat::Png),
        "pgm" => Ok(ImageFormat::Pnm),
        _ => {
            let shown = path.display();
            let text =
                format!("{shown}: pictures are written as PNG or PGM: end it in .png or .pgm");
            Err(Failure::new(Kind::Usage, text))
        }
    }
}

/// Writes a picture, as PNG or PGM after the end of its name. It appears whole or not at all.
///
/// # Errors
/// [`Kind::Usage`] for another end, [`Kind::Output`] if it cannot be written.
pub fn write(path: &Path, picture: &Picture) -> Result<(), Failure> {
    let unwritten = |why: String| {
        let shown = path.display();
        Failure::new(Kind::Output, format!("cannot write {shown}: {why}: use a smaller picture"))
    };
    let size = |size: usize| u32::try_from(size).map_err(|_| unwritten("it is too large".into()));
    let (width, height) = (size(picture.width)?, size(picture.height)?);
    let mut bytes = Vec::new();
    let grey = ExtendedColorType::L8;
    let encoded = match kind(path)? {
        ImageFormat::Pnm => {
            let graymap = PnmSubtype::Graymap(SampleEncoding::Binary);
            let encoder = PnmEncoder::new(&mut bytes).with_subtype(graymap);
            encoder.write_image(&picture.pixels, width, height, grey)
        }
        _ => {
            let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
            encoder.write_image(&picture.pixels, width, height, grey)
        }
    };
    encoded.map_err(|error| unwritten(error.to_string()))?;
    output::write_file(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn said(bytes: &[u8]) -> String {
        decode(Cursor::new(bytes)).unwrap_err()
    }

    fn png(color: ExtendedColorType, pixels: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
        encoder.write_image(pixels, 2, 1, color).unwrap();
        bytes
    }

    #[test]
    fn pictures_come_back_as_they_were_written() {
        let place = tempfile::tempdir().unwrap();
        let picture = Picture { width: 5, height: 3, pixels: (0..15).map(|n| n * 17).collect() };
        for name in ["a.png", "a.pgm", "b.PNG"] {
            let path = place.path().join(name);
            write(&path, &picture).unwrap();
            assert_eq!(read(&path).unwrap(), picture, "{name}");
        }
        let text = decode(Cursor::new(b"P2\n# by hand\n2 2 255\n0 1\n2 255\n"));
        assert_eq!(text.unwrap().pixels, [0, 1, 2, 255]);
        let bytes = std::fs::read(place.path().join("a.pgm")).unwrap();
        assert!(bytes.starts_with(b"P5"), "an ordinary PGM");
    }

    #[test]
    fn pictures_of_the_wrong_kind_are_told_in_a_sentence() {
        assert_eq!(said(&png(ExtendedColorType::Rgb8, &[7; 6])), "it has colours or transparency");
        assert_eq!(said(&png(ExtendedColorType::La8, &[7; 4])), "it has colours or transparency");
        assert_eq!(said(&png(ExtendedColorType::L16, &[7; 4])), "its pixels have 16 bits");
        assert_eq!(said(b"P6 1 1 255\nabc"), "it has colours or transparency");
        assert_eq!(said(b"P5 1 1 65535\nab"), "its pixels have 16 bits");
        assert_eq!(said(b"P4 8 1\na"), "its pixels have fewer than 8 bits");
        for bytes in [&b""[..], b"P5", b"hello", b"\xff\xd8\xff\xe0 and so on", b"P5 x 1 255\n"] {
            let said = said(bytes);
            assert!(said.contains("no PGM or PNG") || said.contains("cut short"), "{said}");
        }
    }

    #[test]
    fn a_picture_that_ends_early_or_is_larger_than_memory_is_refused() {
        let whole = png(ExtendedColorType::L8, &[1, 2]);
        for len in 0..whole.len() - 12 {
            assert!(decode(Cursor::new(&whole[..len])).is_err(), "{len}");
        }
        assert!(decode(Cursor::new(b"P5 4 4 255\nabc")).is_err());
        let said = said(b"P5 1000000 1000000 255\n");
        assert!(
            said.contains("1000000 by 1000000 pixels, and at most") || said.contains("memory"),
            "{said}"
        );
    }

    #[test]
    fn a_missing_file_and_another_ending_are_told_with_their_names() {
        let said = read(Path::new("/nowhere/a.png")).unwrap_err().to_string();
        assert!(said.starts_with("cannot read /nowhere/a.png: "), "{said}");
        let said = kind(Path::new("a.jpg")).unwrap_err().to_string();
        assert_eq!(said, "a.jpg: pictures are written as PNG or PGM: end it in .png or .pgm");
        assert!(kind(Path::new("png")).is_err());
    }
}
