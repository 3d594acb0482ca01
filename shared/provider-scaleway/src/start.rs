//! The steps from nothing to a server that is powered on, in the one order that leaves nothing behind.

use bytes::Bytes;
use http::Method;
use provider::ProviderError;
use serde_json::json;

use crate::Scaleway;
use crate::api::{Call, instance, is_overtaken};
use crate::class::PublicIp;
use crate::errors::Asked;
use crate::names::is_uuid;
use crate::plan::{Plan, unknown_type};
use crate::tags::tags_of;
use crate::wire::{Ip, Server};

impl Scaleway {
    /// Makes the server, stopped. Everything that can be found out before is found out before.
    pub(crate) async fn create(&self, plan: &Plan<'_>) -> Result<Server, ProviderError> {
        if !plan.is_bundled() && !self.api.products(&plan.zone).await?.contains_key(&plan.offering.instance_type) {
            return Err(unknown_type(plan));
        }
        let image = self.image(plan).await?;
        let settings = self.api.settings();
        let project = plan.class.project.as_deref().unwrap_or(&settings.project);
        let address = match plan.class.public_ip {
            PublicIp::Flexible => Some(self.address(plan, project).await?),
            PublicIp::Dynamic | PublicIp::None => None,
        };
        let body = plan.create_body(&image, project, settings.home(), address.as_deref());
        let doing = format!("creating server {} in {}", plan.name(), plan.zone);
        let path = format!("{}/servers", instance(&plan.zone));
        let call = Call { offering: Some(&plan.offering), ..Call::json(doing, Method::POST, path, &body) };
        let server: Server = self.api.ask(&call, "server").await?;
        Ok(Server { zone: plan.zone.clone(), ..server })
    }

    /// The ID of the image in the zone of the plan. Labels are resolved each time: what they mean changes.
    async fn image(&self, plan: &Plan<'_>) -> Result<String, ProviderError> {
        let label = &plan.class.image;
        if is_uuid(label) {
            return Ok(label.clone());
        }
        let images = self.api.images(&plan.zone, label).await?;
        let invalid = |why: String| ProviderError::InvalidRequest { doing: format!("planning {}", plan.name()), why };
        if images.is_empty() {
            return Err(invalid(format!("there is no image {label} in {}: see the marketplace's labels", plan.zone)));
        }
        let wanted = &plan.offering.instance_type;
        let fits = |types: &[String]| types.is_empty() || types.contains(wanted);
        let image = images.into_iter().find(|image| fits(&image.compatible_commercial_types));
        image.map(|image| image.id).ok_or_else(|| invalid(format!("the image {label} does not run on {wanted}")))
    }

    /// The flexible address of the key, made if there is none.
    async fn address(&self, plan: &Plan<'_>, project: &str) -> Result<String, ProviderError> {
        let existing = self.api.ips(&plan.zone, &plan.tag).await?;
        if let Some(ip) = existing.into_iter().find(|ip| ip.server.is_none() && !self.is_foreign(&ip.tags)) {
            return Ok(ip.id);
        }
        let tags = tags_of(&plan.request.key, self.api.settings().home());
        let body = json!({"type": "routed_ipv4", "project": project, "tags": tags});
        let doing = format!("creating an address for {}", plan.name());
        let path = format!("{}/ips", instance(&plan.zone));
        let call = Call { offering: Some(&plan.offering), ..Call::json(doing, Method::POST, path, &body) };
        let ip: Ip = self.api.ask(&call, "ip").await?;
        Ok(ip.id)
    }

    /// User data, tags, network: all of it before poweron, for cloud-init runs at the first boot only. Each step may be
    /// repeated. `false` if the server is gone: another machine found it to be one too many.
    pub(crate) async fn prepare(&self, plan: &Plan<'_>, server: &Server) -> Result<bool, ProviderError> {
        let path = format!("{}/servers/{}", instance(&server.zone), server.id);
        let user_data = Call {
            doing: format!("writing the user data of server {}", server.id),
            method: Method::PATCH,
            path: format!("{path}/user_data/cloud-init"),
            content_type: "text/plain",
            body: Bytes::from(plan.user_data(&server.zone, &server.id)),
            offering: None,
        };
        if !self.api.change(&user_data).await? {
            return Ok(false);
        }
        let key = &plan.request.key;
        for (slot, volume) in &server.volumes {
            let is_local = matches!(volume.volume_type.as_str(), "l_ssd" | "scratch");
            if slot == "0" || is_local {
                // It was made with the server a moment ago, so nobody else's tags are lost.
                if !self.tag_volume(key, &server.zone, &volume.id, &volume.tags, is_local).await? {
                    return Ok(false);
                }
            }
        }
        if let Some(network) = &plan.class.private_network
            && !server.private_nics.iter().any(|nic| nic.private_network_id == *network)
        {
            let body = json!({"private_network_id": network, "tags": tags_of(key, self.api.settings().home())});
            let doing = format!("attaching server {} to its private network", server.id);
            self.api.run(&Call::json(doing, Method::POST, format!("{path}/private_nics"), &body)).await?;
        }
        Ok(true)
    }

    /// `false` if somebody was faster: the server is already on its way somewhere.
    pub(crate) async fn power_on(&self, plan: &Plan<'_>, server: &Server) -> Result<bool, ProviderError> {
        let doing = format!("powering on server {}", server.id);
        match self.api.act(server, "poweron").await {
            Ok(()) => Ok(true),
            Err(failure) if is_overtaken(&failure) => Ok(false),
            Err(failure) => {
                Err(failure.into_error(Asked { doing: &doing, changes: true, offering: Some(&plan.offering) }))
            }
        }
    }
}
