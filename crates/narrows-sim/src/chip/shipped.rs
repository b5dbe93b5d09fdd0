//! The platform files that come with the program.

/// Each one's name and text.
pub const SHIPPED: [(&str, &str); 12] = [
    ("am62p", include_str!("../../platforms/am62p.toml")),
    ("am64x", include_str!("../../platforms/am64x.toml")),
    ("bmm-clusters", include_str!("../../platforms/bmm-clusters.toml")),
    ("bmm-clusters-16", include_str!("../../platforms/bmm-clusters-16.toml")),
    ("davinci", include_str!("../../platforms/davinci.toml")),
    ("generic-amp", include_str!("../../platforms/generic-amp.toml")),
    ("imxrt1170", include_str!("../../platforms/imxrt1170.toml")),
    ("nios2-dual", include_str!("../../platforms/nios2-dual.toml")),
    ("nios2-quad", include_str!("../../platforms/nios2-quad.toml")),
    ("pci44", include_str!("../../platforms/pci44.toml")),
    ("quatro67", include_str!("../../platforms/quatro67.toml")),
    ("stm32h747", include_str!("../../platforms/stm32h747.toml")),
];

/// The text of the one of this name.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
