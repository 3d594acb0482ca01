//! The custom resources we define or serve. Reading is lenient; the schemas are strict.

mod node_claim;

pub use node_claim::{NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassReference, Requests, RequirementWithMinimum};
