//! Reading a body: never more than its limit, never longer than its time, never more than our share of memory.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header::EXPECT};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// How much of a body that is too large is read and thrown away, so that its sender gets to read the answer
/// instead of a connection reset.
const DISCARD_BYTES: usize = 32 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLarge,
    TooSlow,
    /// Other requests hold all the memory that bodies may have.
    Busy,
    /// The client went away or sent no HTTP.
    Broken,
}

/// Bytes that bodies may hold together; a permit gives them back.
#[derive(Debug, Clone)]
pub struct BodyBudget(Arc<Semaphore>);

impl BodyBudget {
    pub fn new(bytes: usize) -> Self {
        BodyBudget(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.0.clone().try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }
}

pub async fn read_body(
    mut body: Incoming,
    headers: &HeaderMap,
    limit: usize,
    budget: &BodyBudget,
    deadline: Instant,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Unread> {
    if body.size_hint().lower() > limit as u64 {
        // Whoever asks first (`Expect: 100-continue`) is told now and sends nothing.
        if !headers.contains_key(EXPECT) {
            discard(&mut body).await;
        }
        return Err(Unread::TooLarge);
    }
    let reading = async {
        let mut text = BytesMut::new();
        let mut held: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
            if text.len() + data.len() > limit {
                drop(text);
                discard(&mut body).await;
                return Err(Unread::TooLarge);
            }
            let permit = budget.take(data.len()).ok_or(Unread::Busy)?;
            match &mut held {
                Some(held) => held.merge(permit),
                None => held = Some(permit),
            }
            text.extend_from_slice(&data);
        }
        Ok((text.freeze(), held))
    };
    tokio::time::timeout_at(deadline, reading).await.unwrap_or(Err(Unread::TooSlow))
}

async fn discard(body: &mut Incoming) {
    let reading = async {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > DISCARD_BYTES {
                break;
            }
        }
    };
    // Whether it ends, runs out of time or breaks: the answer is the same.
    drop(tokio::time::timeout(DISCARD_TIME, reading).await);
}
