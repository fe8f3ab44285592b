//! The knowledge of dtnforge: facts, profiles, plans and verdicts as data, and pure functions over them.
