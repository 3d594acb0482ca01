//! Where events go. Every sink has the same answers, whichever way it reaches a function.

mod address;
mod aws_credentials;
mod http;
mod in_process;
mod lambda;
mod web;

use async_trait::async_trait;
use core::time::Duration;
use host::Function;
use model::Answer;
use std::{collections::BTreeMap, sync::Arc};

use crate::event::Letter;

pub use address::{Address, AddressProblem};
pub use aws_credentials::AwsSettings;
pub use http::{EntraSettings, HttpSettings, HttpSink};
pub use in_process::InProcess;
pub use lambda::{Invocation, LambdaSettings, LambdaSink, signed};
pub use web::Web;

/// A way to one or more functions.
#[async_trait]
pub trait Sink: Send + Sync {
    async fn deliver(&self, function: &'static str, letter: &Letter) -> Told;

    /// The largest event that gets through.
    fn most_bytes(&self) -> usize {
        usize::MAX
    }
}

/// What was heard of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Answered(Answer),
    /// It was taken, by somebody who passes it on: what the function answers is not heard here.
    Accepted,
    /// Nobody was reached, or nobody who knows what an answer is.
    Unheard {
        why: String,
        retry_after: Option<Duration>,
    },
}

/// Which function is reached how. Functions without a sink are not told of anything.
#[derive(Clone, Default)]
pub struct Sinks(BTreeMap<&'static str, Arc<dyn Sink>>);

/// Every function that can be told of something.
pub const FUNCTIONS: [&str; 5] = ["on-pending-pod", "on-nodeclaim", "on-workspace", "on-idle-timer", "on-delete"];

impl Sinks {
    /// Functions of this process.
    pub fn in_process(functions: Vec<Function>, settings: &host::Settings) -> Self {
        let names: Vec<&'static str> = functions.iter().map(Function::name).collect();
        let sink: Arc<dyn Sink> = Arc::new(InProcess::new(functions, settings));
        Sinks(names.into_iter().map(|name| (name, sink.clone())).collect())
    }

    pub fn add(&mut self, function: &'static str, sink: Arc<dyn Sink>) {
        self.0.insert(function, sink);
    }

    pub fn of(&self, function: &str) -> Option<&Arc<dyn Sink>> {
        self.0.get(function)
    }

    pub fn functions(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}

impl Told {
    pub(crate) fn unheard(why: impl Into<String>) -> Self {
        Told::Unheard { why: why.into(), retry_after: None }
    }
}
