//! What resources exist and how they are described, defaulted, validated and printed: pure functions over JSON.

pub mod age;
pub mod columns;
pub mod crd;
pub mod decode;
pub mod defaults;
pub mod discovery;
pub mod errors;
pub mod events;
pub mod go_time;
pub mod json_path;
pub mod kinds;
pub mod look;
pub mod names;
pub mod openapi;
pub mod protobuf;
pub mod quantity;
pub mod table;
pub mod validate;
