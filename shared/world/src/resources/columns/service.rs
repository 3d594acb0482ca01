//! A service's row.

use super::{age, labels, or_none};
use crate::resources::look::{at, items, number, text};
use jiff::Timestamp;
use serde_json::{Value, json};

pub fn cells(service: &Value, now: Timestamp) -> Vec<Value> {
    let cluster_ip = items(service, &["spec", "clusterIPs"]).first().and_then(Value::as_str);
    vec![
        json!(text(service, &["metadata", "name"])),
        json!(text(service, &["spec", "type"])),
        json!(or_none(cluster_ip.unwrap_or(text(service, &["spec", "clusterIP"])))),
        json!(external_address(service)),
        json!(or_none(&ports(service))),
        json!(age(service, now)),
        json!(labels(at(service, &["spec", "selector"]))),
    ]
}

fn external_address(service: &Value) -> String {
    let mut addresses: Vec<&str> = items(service, &["spec", "externalIPs"]).iter().filter_map(Value::as_str).collect();
    match text(service, &["spec", "type"]) {
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        "LoadBalancer" => {
            let ingress = items(service, &["status", "loadBalancer", "ingress"]).iter();
            let balancers = ingress.map(|one| match text(one, &["ip"]) {
                "" => text(one, &["hostname"]),
                ip => ip,
            });
            addresses.splice(0..0, balancers.collect::<Vec<_>>());
            if addresses.is_empty() { "<pending>".to_owned() } else { addresses.join(",") }
        }
        _ => or_none(&addresses.join(",")),
    }
}

fn ports(service: &Value) -> String {
    let port = |one: &Value| {
        let number_of = |field: &str| number(one, &[field]).unwrap_or_default();
        let protocol = text(one, &["protocol"]);
        match number_of("nodePort") {
            0 => format!("{}/{protocol}", number_of("port")),
            node_port => format!("{}:{node_port}/{protocol}", number_of("port")),
        }
    };
    items(service, &["spec", "ports"]).iter().map(port).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_the_type_of_service() {
        let cases = [
            (
                json!({"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "protocol": "TCP"}]}),
                "10.0.0.1",
                "<none>",
                "80/TCP",
            ),
            (
                json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1",
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]}),
                "10.0.0.1",
                "<pending>",
                "80:30080/TCP",
            ),
            (json!({"type": "ExternalName", "externalName": "example.com"}), "<none>", "example.com", "<none>"),
            (json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]}), "None", "<none>", "<none>"),
        ];
        for (spec, cluster, external, ports) in cases {
            let row = cells(&json!({"spec": spec}), Timestamp::UNIX_EPOCH);
            assert_eq!(json!(&row[2..5]), json!([cluster, external, ports]));
        }
    }
}
