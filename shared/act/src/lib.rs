//! Carries out a plan, and reports what came of it.
