//! What `bench susan` works on: an image, and what is to be found in it.

use std::path::Path;

use super::flags::Susan;
use crate::base::failure::{Failure, Kind};
use crate::formats::picture::{self, Picture};
use crate::rig::susan::mask::{RADIUS, Tables};
use crate::rig::susan::scene::{SEED, scene};
use crate::rig::susan::{Band, Find, Work, bands};

/// Pixels of a side where no image is named.
const SIDE: usize = 128;
/// Pixels of a side that the mask needs.
const LEAST: usize = 2 * RADIUS + 1;

/// An image, and what is to be found in it.
pub struct Job {
    pub image: Picture,
    pub finds: Vec<Find>,
    pub threshold: u8,
    pub tables: Tables,
}

impl Job {
    /// What was asked for.
    ///
    /// # Errors
    /// [`Kind::Input`]: the image cannot be read, or is smaller than the mask.
    pub fn of(args: &Susan) -> Result<Job, Failure> {
        let image = match &args.image {
            Some(path) => checked(path, picture::read(path)?)?,
            None => scene(SIDE, SIDE, SEED),
        };
        Ok(Job::new(image, args.finds(), args.threshold))
    }

    pub fn new(image: Picture, finds: Vec<Find>, threshold: u8) -> Job {
        Job { image, finds, threshold, tables: Tables::new(threshold) }
    }

    /// The image, cut among this number of CPUs.
    pub fn bands(&self, cpus: usize) -> Vec<Band> {
        bands(self.image.height, cpus, &self.finds)
    }

    /// What is found in a band's strip: its rows for each of the finds, and what it took.
    pub fn find(&self, band: &Band, strip: &Picture) -> (Vec<Vec<u8>>, Work) {
        let mut work = Work::default();
        let each = |find: &Find| find.rows(&self.tables, strip, band.keep(), &mut work);
        (self.finds.iter().map(each).collect(), work)
    }

    /// As many black pictures as there is to be found.
    pub fn planes(&self) -> Vec<Picture> {
        let Picture { width, height, .. } = self.image;
        self.finds.iter().map(|_| Picture::black(width, height)).collect()
    }

    /// What is written: a result alone as it is, several beside each other behind the image.
    pub fn shown(&self, planes: &[Picture]) -> Picture {
        if let [alone] = planes {
            return alone.clone();
        }
        let all: Vec<&Picture> = [&self.image].into_iter().chain(planes).collect();
        let Picture { width, height, .. } = self.image;
        let rows = (0..height).flat_map(|row| all.iter().map(move |one| one.row(row)));
        let pixels = rows.flatten().copied().collect();
        Picture { width: width * all.len(), height, pixels }
    }
}

fn checked(path: &Path, image: Picture) -> Result<Picture, Failure> {
    if image.width.min(image.height) >= LEAST {
        return Ok(image);
    }
    let (shown, width, height) = (path.display(), image.width, image.height);
    let text = format!(
        "{shown} has {width} by {height} pixels, and the mask alone has {LEAST} by {LEAST}: name a \
         larger image"
    );
    Err(Failure::new(Kind::Input, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_smaller_than_the_mask_is_refused_in_a_sentence() {
        let path = Path::new("dot.png");
        for (width, height) in [(1, 1), (6, 7), (7, 6), (100, 3)] {
            let said = checked(path, Picture::black(width, height)).unwrap_err().to_string();
            let expected = format!("dot.png has {width} by {height} pixels, and the mask alone");
            assert!(said.starts_with(&expected), "{said}");
        }
        assert!(checked(path, Picture::black(7, 7)).is_ok());
    }

    #[test]
    fn one_result_is_shown_alone_and_several_behind_the_image() {
        let image = scene(9, 8, 1);
        let job = Job::new(image.clone(), vec![Find::Edges, Find::Corners], 27);
        let planes: Vec<Picture> =
            job.finds.iter().map(|find| find.whole(&job.tables, &image)).collect();
        let shown = job.shown(&planes);
        assert_eq!((shown.width, shown.height), (27, 8));
        assert_eq!(shown.row(5), [image.row(5), planes[0].row(5), planes[1].row(5)].concat());
        assert_eq!(job.shown(&planes[1..]), planes[1]);
    }
}
