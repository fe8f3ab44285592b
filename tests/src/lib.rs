//! End-to-end tests of dtnforge; see `tests/README.md` for the three rungs.
