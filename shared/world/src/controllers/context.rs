//! What every controller is given: the objects, a view of them, time, chance, timers and the event recorder.

use jiff::Timestamp;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

use super::{
    events::Recorder,
    kinds::Kind,
    options::ControllersOptions,
    timers::{Alarm, Timers, later},
    view::{Noticed, Place, View},
};
use crate::{
    api::{
        objects::{Deletion, Objects, Propagation},
        store::{ObjectKey, Stored},
    },
    chance::Chance,
    clock::Clock,
};

pub(super) struct Context {
    pub(super) objects: Objects,
    pub(super) clock: Clock,
    pub(super) chance: Chance,
    pub(super) options: ControllersOptions,
    pub(super) view: View,
    pub(super) timers: Timers,
    pub(super) recorder: Recorder,
}

impl Context {
    pub(super) fn new(objects: Objects, clock: Clock, chance: Chance, options: ControllersOptions) -> Self {
        let (view, timers, recorder) = (View::default(), Timers::default(), Recorder::default());
        Context { objects, clock, chance, options, view, timers, recorder }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The present second, as objects carry it.
    pub(super) fn stamp(&self) -> String {
        self.objects.now()
    }

    /// Brings the view up to date and says what changed, in the order it happened.
    pub(super) fn pull(&mut self) -> Vec<Noticed> {
        self.view.pull(&self.objects.store)
    }

    pub(super) fn ring_in(&mut self, span: Duration, alarm: Alarm) {
        let at = later(self.now(), span);
        self.timers.set(at, alarm);
    }

    /// The object as it is now, not as the view last saw it.
    pub(super) fn fresh(&self, kind: Kind, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.objects.store.get(self.view.resource(kind), key)
    }

    /// Whether the store has lost it, whatever the view still shows.
    pub(super) fn is_gone(&self, place: &Place) -> bool {
        self.view.resource_at(place).is_none_or(|resource| self.objects.store.get(resource, &place.key).is_none())
    }

    /// Makes an object. `None` where its name is taken, which every controller takes as "already there".
    pub(super) fn create(&mut self, kind: Kind, mut value: Value) -> Option<Arc<Stored>> {
        value["apiVersion"] = kind.api_version().into();
        value["kind"] = kind.name().into();
        if kind.has_generation() {
            value["metadata"]["generation"] = 1.into();
        }
        if let Some(admission) = &self.options.admission {
            admission(self.view.resource(kind), &mut value);
        }
        self.objects.prepare(&mut value);
        self.objects.create(self.view.resource(kind), value, false).ok()
    }

    /// Changes an object, if it still exists. True if that made a difference.
    pub(super) fn update(&self, kind: Kind, key: &ObjectKey, change: impl FnOnce(&mut Value)) -> bool {
        let resource = self.view.resource(kind);
        let result = self.objects.update(resource, &key.0, &key.1, false, |value| {
            change(value);
            Ok(())
        });
        result.is_ok_and(|written| written.changed)
    }

    /// Begins a deletion with the object's own grace period. An object that is gone already is as good.
    pub(super) fn delete(&self, kind: Kind, key: &ObjectKey, propagation: Propagation) {
        let deletion = Deletion { propagation, ..Deletion::default() };
        _ = self.objects.delete(self.view.resource(kind), &key.0, &key.1, &deletion);
    }

    /// Deletes exactly this pod at once, as kubelets and the pod collector do.
    pub(super) fn delete_now(&self, pod: &ObjectKey, uid: &str) {
        let deletion = Deletion { uid: Some(uid.to_owned()), grace: Some(0), ..Deletion::default() };
        _ = self.objects.delete(self.view.resource(Kind::Pod), &pod.0, &pod.1, &deletion);
    }
}
