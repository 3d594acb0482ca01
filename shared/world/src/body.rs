//! A response body: all of it at once, or a stream that a watch keeps open.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::sync::mpsc;

#[derive(Debug)]
pub enum WorldBody {
    Full(Option<Bytes>),
    /// Ends when its sender is dropped; dropping the body tells the sender.
    Stream(mpsc::Receiver<Bytes>),
}

impl From<Bytes> for WorldBody {
    fn from(bytes: Bytes) -> Self {
        WorldBody::Full(Some(bytes))
    }
}

impl Body for WorldBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            WorldBody::Full(bytes) => {
                Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(Frame::data).map(Ok))
            }
            WorldBody::Stream(chunks) => chunks.poll_recv(context).map(|chunk| chunk.map(Frame::data).map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, WorldBody::Full(bytes) if bytes.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            WorldBody::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            WorldBody::Stream(_) => SizeHint::default(),
        }
    }
}
