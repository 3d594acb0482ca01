//! A signing secret: its type has no way to show it.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use std::fmt;

/// Secrets are written with padding by some tools and without by others.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Reads `whsec_` and base64. An error never repeats the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let encoded = text.strip_prefix("whsec_").ok_or("does not begin with whsec_")?;
        let bytes = BASE64.decode(encoded).map_err(|_| "is not base64 after whsec_")?;
        if bytes.is_empty() { Err("is empty after whsec_") } else { Ok(Secret(bytes)) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
