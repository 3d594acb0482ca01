//! The one way to the API server: every call has a time limit, and an error that says what we were doing.

use core::time::Duration;
use kube::{Api, api::ListParams};
use serde::de::DeserializeOwned;
use std::{fmt, future::Future};

use crate::{
    Cluster, ClusterError,
    error::{Effect, Kind},
    rights::Right,
};

/// Longer than a healthy API server takes for anything that we ask, shorter than a function may run.
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(20);

/// Objects in a page of a list: a page of the largest nodes stays under 10 MiB.
const PAGE: u32 = 500;

/// What is asked: for the message, and for the right that may be missing.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub right: Right<'a>,
    /// As in `reading NodeClaim`.
    pub doing: &'static str,
    pub object: &'a str,
}

impl<'a> Asking<'a> {
    pub fn new(right: Right<'a>, doing: &'static str, object: &'a str) -> Self {
        Asking { right, doing, object }
    }

    pub fn error(self, kind: Kind) -> ClusterError {
        let Asking { doing, object, .. } = self;
        ClusterError { doing: format!("{doing} {object}").trim_end().to_owned(), kind }
    }

    /// An answer that no API server gives.
    pub fn nonsense(self, why: String) -> ClusterError {
        self.error(Kind::Unavailable { why })
    }
}

impl Cluster {
    pub(crate) async fn look<T>(
        &self,
        asking: Asking<'_>,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ClusterError> {
        limited(asking, Effect::Reads, call).await
    }

    /// The same, where what is not there is an answer too.
    pub(crate) async fn look_for<T>(
        &self,
        asking: Asking<'_>,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<Option<T>, ClusterError> {
        match self.look(asking, call).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn change<T>(
        &self,
        asking: Asking<'_>,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ClusterError> {
        limited(asking, Effect::Writes, call).await
    }

    /// All pages of one consistent list.
    pub(crate) async fn list<K: Clone + fmt::Debug + DeserializeOwned>(
        &self,
        asking: Asking<'_>,
        api: &Api<K>,
        which: ListParams,
    ) -> Result<Vec<K>, ClusterError> {
        let mut which = which.limit(PAGE);
        let mut all = Vec::new();
        loop {
            let page = self.look(asking, api.list(&which)).await?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => which = which.continue_token(&token),
                None => return Ok(all),
            }
        }
    }
}

/// A client of ours has limits of its own; one that was handed to us may have none.
async fn limited<T>(
    asking: Asking<'_>,
    effect: Effect,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(LONGEST_CALL, call).await {
        Ok(answer) => answer.map_err(|error| asking.error(Kind::of(&error, asking.right, effect))),
        Err(_) => Err(asking.error(Kind::lost(effect, format!("nothing within {LONGEST_CALL:?}")))),
    }
}
