//! A function as the host sees it: a name, the kind of event it wants, and a handler.

use futures_util::future::{BoxFuture, FutureExt as _};
use model::{Answer, Event, EventKind, OneEvent};
use std::{fmt, future::Future, sync::Arc};

use crate::parts::{Parts, PartsSource};

type Handler = Arc<dyn Fn(Event) -> BoxFuture<'static, Option<Answer>> + Send + Sync>;

/// Keeps nothing between calls; cheap to clone.
#[derive(Clone)]
pub struct Function {
    name: &'static str,
    kind: EventKind,
    handler: Handler,
}

impl Function {
    /// `name` is also its path on HTTP, its folder under Azure, and its crate.
    pub fn new<Own, Handle, Answering>(name: &'static str, handle: Handle) -> Self
    where
        Own: OneEvent + Send + 'static,
        Handle: Fn(Own) -> Answering + Send + Sync + 'static,
        Answering: Future<Output = Answer> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |event| match Own::from_event(event) {
            Some(own) => handle(own).map(Some).boxed(),
            None => async { None }.boxed(),
        });
        Function { name, kind: Own::KIND, handler }
    }

    /// The same for a function that works on a cluster and its clouds. Where those cannot be reached, its event has failed.
    pub fn on_parts<Own, Handle, Answering>(name: &'static str, parts: PartsSource, handle: Handle) -> Self
    where
        Own: OneEvent + Send + 'static,
        Handle: Fn(Arc<Parts>, Own) -> Answering + Copy + Send + Sync + 'static,
        Answering: Future<Output = Answer> + Send + 'static,
    {
        Function::new(name, move |event| {
            let parts = parts.clone();
            async move {
                match parts.get().await {
                    Ok(parts) => handle(parts, event).await,
                    Err(answer) => answer,
                }
            }
        })
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// `None` if the event is of another function's kind.
    pub(crate) fn call(&self, event: Event) -> BoxFuture<'static, Option<Answer>> {
        (self.handler)(event)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}
