//! The builder binary.
fn main() {}
