//! Functions of this process: a plain call.

use async_trait::async_trait;
use host::{Deliverer, Function, Settings, in_process};

use super::{Sink, Told};
use crate::event::Letter;

pub struct InProcess {
    deliverer: Deliverer,
}

impl InProcess {
    pub fn new(functions: Vec<Function>, settings: &Settings) -> Self {
        InProcess { deliverer: Deliverer::new(functions, settings) }
    }
}

#[async_trait]
impl Sink for InProcess {
    async fn deliver(&self, function: &'static str, letter: &Letter) -> Told {
        Told::Answered(in_process::call(&self.deliverer, function, letter.text.as_bytes()).await)
    }
}
