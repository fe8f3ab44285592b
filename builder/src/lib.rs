//! `dtnforge`: from a spec to an image.
