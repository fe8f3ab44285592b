//! The readers, held against what their manual pages say.

use super::*;
