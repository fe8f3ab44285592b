//! Where the changes to an image go: an overlay that is thrown away, or a file that stays between boots.

use std::path::Path;

use super::error::BootError;
use super::image::Image;
use super::qemu::QemuTree;
use super::request::Overlay;
use super::{absolute, utf8};

/// Name of the throw-away overlay.
const SYSTEM: &str = "system.qcow2";

/// Makes or checks the overlay over `image`; its path as QEMU, running in `dir`, gets it.
///
/// # Errors
/// When a new one is in the way of an old one, or an old one belongs to another image.
pub fn file(tree: &QemuTree, overlay: &Overlay, image: &Image, dir: &Path) -> Result<String, BootError> {
    match overlay {
        Overlay::ThrowAway => {
            create_over(tree, image, &dir.join(SYSTEM))?;
            Ok(SYSTEM.to_owned())
        }
        Overlay::Create(path) => {
            if path.exists() {
                return Err(BootError::Options(format!(
                    "--keep-overlay {}: the file exists\nhint: --overlay goes on with it, or remove it",
                    path.display()
                )));
            }
            let path = absolute(path)?;
            create_over(tree, image, &path)?;
            Ok(utf8(&path)?.to_owned())
        }
        Overlay::Continue(path) => {
            let path = path
                .canonicalize()
                .map_err(BootError::file("open the overlay", path))?;
            let path_text = utf8(&path)?;
            let info = tree.qemu_img(&["info", "--output=json", path_text])?;
            belongs_to(&info, image)
                .map_err(|reason| BootError::Options(format!("--overlay {path_text}: {reason}")))?;
            Ok(path_text.to_owned())
        }
    }
}

fn create_over(tree: &QemuTree, image: &Image, path: &Path) -> Result<(), BootError> {
    let (backing, format) = (utf8(&image.path)?, image.format.name());
    tree.qemu_img(&[
        "create",
        "-q",
        "-f",
        "qcow2",
        "-b",
        backing,
        "-F",
        format,
        utf8(path)?,
    ])
    .map(drop)
}

/// Checks, in the JSON of `qemu-img info`, that an overlay lies over `image`.
fn belongs_to(info: &str, image: &Image) -> Result<(), String> {
    let info: serde_json::Value = serde_json::from_str(info).map_err(|error| error.to_string())?;
    match info["backing-filename"].as_str() {
        None => Err("it is no overlay of an image".to_owned()),
        Some(backing) if Path::new(backing) == image.path => Ok(()),
        Some(backing) => Err(format!(
            "it belongs to {backing}, not to {}",
            image.path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::disk::ImageFormat;

    fn image() -> Image {
        Image {
            path: "/images/dtn.raw".into(),
            format: ImageFormat::Raw,
        }
    }

    #[test]
    fn an_overlay_goes_on_only_over_its_own_image() {
        assert_eq!(
            belongs_to(r#"{"backing-filename": "/images/dtn.raw"}"#, &image()),
            Ok(())
        );
        let other = belongs_to(r#"{"backing-filename": "/images/lean.raw"}"#, &image()).unwrap_err();
        assert_eq!(other, "it belongs to /images/lean.raw, not to /images/dtn.raw");
        assert_eq!(
            belongs_to("{}", &image()).unwrap_err(),
            "it is no overlay of an image"
        );
    }

    #[test]
    fn a_new_overlay_does_not_replace_an_old_one() {
        let old = tempfile::NamedTempFile::new().unwrap();
        let overlay = Overlay::Create(old.path().to_owned());
        let tree = QemuTree::new(Path::new("/none"));
        let error = file(&tree, &overlay, &image(), Path::new("/none"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("the file exists\nhint: --overlay goes on with it"),
            "{error}"
        );
    }
}
