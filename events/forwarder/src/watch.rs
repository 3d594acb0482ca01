//! The watches: one task a kind of object, which turns what kube's watcher says into news, whatever happens to the connection.
//!
//! Objects are decoded into the few fields that are kept, and the rest is skipped. Where the API server can, a list comes as a
//! stream, else in small pages: never more than a few objects are in memory in their full size.

use core::time::Duration;
use futures_util::StreamExt as _;
use kube::{
    Api, Client,
    api::ApiResource,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use tokio::sync::mpsc;

use crate::{
    cache::{Change, News},
    counts,
    keep::{Row, Seen},
    rows::{Claim, Kind, Node, Pod, Pool, Workspace},
};

/// Objects in a page where lists cannot be streamed: half a megabyte of large pods.
const PAGE: u32 = 100;

/// The server ends a watch after this long; one that is silent for longer is dead.
const WATCH_SECONDS: u32 = 290;

/// How often a kind that is not served is asked for again.
const UNTIL_SERVED: Duration = Duration::from_secs(30);

/// After a watch of something that is said to be served found nothing.
const UNTIL_ASKED_AGAIN: Duration = Duration::from_secs(1);

/// How often the same complaint about a watch is repeated in the log.
const UNTIL_REPEATED: Duration = Duration::from_secs(60);

/// From this version on, the API server streams lists unless somebody switched that off.
const STREAMS_SINCE: (u32, u32) = (1, 34);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamingLists {
    Always,
    Never,
    ByVersion,
}

/// Groups and versions, the preferred one first.
struct Served {
    group: &'static str,
    kind: &'static str,
    versions: &'static [&'static str],
}

/// Watches everything for as long as somebody listens.
pub async fn watch_all(client: Client, lists: StreamingLists, news: mpsc::Sender<News>) {
    let streams = match lists {
        StreamingLists::Always => true,
        StreamingLists::Never => false,
        StreamingLists::ByVersion => streams_lists(&client).await,
    };
    tokio::join!(
        watch::<Pod>(&client, streams, &news, News::Pod),
        watch::<Node>(&client, streams, &news, News::Node),
        watch::<Claim>(&client, streams, &news, News::Claim),
        watch::<Pool>(&client, streams, &news, News::Pool),
        watch::<Workspace>(&client, streams, &news, News::Workspace),
    );
}

/// Why one stream of events is over.
enum Ended {
    NobodyListens,
    NotServed,
    /// The server does not know how to stream a list.
    CannotStream,
}

async fn watch<R: Row>(client: &Client, mut streams: bool, news: &mpsc::Sender<News>, as_news: fn(Change<R>) -> News) {
    loop {
        let Some(resource) = find(client, R::KIND).await else {
            if news.send(News::NotServed(R::KIND)).await.is_err() {
                return;
            }
            tokio::time::sleep(UNTIL_SERVED).await;
            continue;
        };
        match follow::<R>(client, &resource, streams, news, as_news).await {
            Ended::NobodyListens => return,
            // Whatever the two answers that contradict each other mean, they are not asked for without end.
            Ended::NotServed => tokio::time::sleep(UNTIL_ASKED_AGAIN).await,
            Ended::CannotStream => streams = false,
        }
    }
}

async fn follow<R: Row>(
    client: &Client,
    resource: &ApiResource,
    streams: bool,
    news: &mpsc::Sender<News>,
    as_news: fn(Change<R>) -> News,
) -> Ended {
    let api: Api<Seen<R>> = Api::all_with(client.clone(), resource);
    let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
    let config = if streams { config.streaming_lists() } else { config };
    let mut events = Box::pin(watcher(api, config).default_backoff());
    let mut complaint: Option<(String, tokio::time::Instant)> = None;
    while let Some(event) = events.next().await {
        let change = match event {
            Ok(Event::Init) => Change::Relisting,
            Ok(Event::InitApply(seen)) => Change::Listed(seen.row),
            Ok(Event::InitDone) => Change::Synced,
            Ok(Event::Apply(seen)) => Change::Changed(seen.row),
            Ok(Event::Delete(seen)) => Change::Removed(seen.row),
            Err(error) => {
                counts::watch_restarted(R::KIND);
                if news.send(News::Broken(R::KIND)).await.is_err() {
                    return Ended::NobodyListens;
                }
                match status_of(&error) {
                    Some(404) if !served(R::KIND).group.is_empty() => return Ended::NotServed,
                    Some(400 | 405 | 422) if streams => return Ended::CannotStream,
                    _ => complain::<R>(&error, &mut complaint),
                }
                continue;
            }
        };
        if news.send(as_news(change)).await.is_err() {
            return Ended::NobodyListens;
        }
    }
    Ended::NotServed
}

/// A relist after 410 and a cut connection are ordinary; what lasts is said, but not again and again.
fn complain<R: Row>(error: &watcher::Error, last: &mut Option<(String, tokio::time::Instant)>) {
    let (kind, now) = (R::KIND.as_str(), tokio::time::Instant::now());
    if status_of(error) == Some(410) {
        tracing::debug!(kind, "the watch is too old to go on; listing again");
        return;
    }
    let why = error.to_string();
    if last.as_ref().is_some_and(|(said, at)| *said == why && now < *at + UNTIL_REPEATED) {
        return;
    }
    let hint = match status_of(error) {
        Some(401) => "check the credentials of the kubeconfig or the service account",
        Some(403) => "the role needs list and watch on it in the whole cluster",
        _ => "it is tried again",
    };
    tracing::warn!(kind, why, hint, "cannot watch");
    *last = Some((why, now));
}

fn status_of(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    }
}

/// Which resource a kind is on this server; `None` if it is not served. What cannot be found out is taken for served: the
/// watch itself will say.
async fn find(client: &Client, kind: Kind) -> Option<ApiResource> {
    let Served { group, kind: name, versions } = served(kind);
    let resource = |version: &str| ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") },
        kind: name.to_owned(),
        plural: kind.as_str().to_owned(),
    };
    let preferred = versions.first()?;
    if group.is_empty() {
        return Some(resource(preferred));
    }
    for version in versions {
        match client.list_api_group_resources(&format!("{group}/{version}")).await {
            Ok(list) if list.resources.iter().any(|found| found.name == kind.as_str()) => {
                return Some(resource(version));
            }
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                tracing::debug!(kind = kind.as_str(), %error, "cannot ask which resources are served");
                return Some(resource(preferred));
            }
        }
    }
    None
}

fn served(kind: Kind) -> Served {
    let (group, kind, versions): (_, _, &[&str]) = match kind {
        Kind::Pod => ("", "Pod", &["v1"]),
        Kind::Node => ("", "Node", &["v1"]),
        Kind::Claim => ("karpenter.sh", "NodeClaim", &["v1"]),
        Kind::Pool => ("karpenter.sh", "NodePool", &["v1"]),
        Kind::Workspace => ("kaito.sh", "Workspace", &["v1beta1", "v1alpha1"]),
    };
    Served { group, kind, versions }
}

async fn streams_lists(client: &Client) -> bool {
    let Ok(version) = client.apiserver_version().await else { return false };
    // Some distributions write the minor version as in `34+`.
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or_default();
    (number(&version.major), number(&version.minor)) >= STREAMS_SINCE
}
