//! The catalog files, built into the program.

/// Each file of `catalog/`, by name.
pub(super) const FILES: &[(&str, &str)] = &[
    ("stock.toml", include_str!("../../catalog/stock.toml")),
    (
        "dtn-25g-nvme.toml",
        include_str!("../../catalog/dtn-25g-nvme.toml"),
    ),
    (
        "dtn-100g-nvme.toml",
        include_str!("../../catalog/dtn-100g-nvme.toml"),
    ),
    (
        "dtn-100g-netstore.toml",
        include_str!("../../catalog/dtn-100g-netstore.toml"),
    ),
    ("dtn-vm.toml", include_str!("../../catalog/dtn-vm.toml")),
];
