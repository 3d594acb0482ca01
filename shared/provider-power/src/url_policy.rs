//! Where requests may go. A URL comes from a custom resource, so it is checked like any input, and again after DNS.

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// The allow-list and its limits.
///
/// With no rule, every public or private address may be called, except loopback. With rules, only what they name.
/// Link-local and metadata addresses are refused whatever the rules say.
#[derive(Debug, Clone, Default)]
pub struct UrlPolicy {
    rules: Vec<HostRule>,
    allow_http: bool,
}

/// One entry of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRule {
    /// Exactly this name.
    Name(String),
    /// Any name that ends so, with its dot: `.rack.example`.
    Suffix(String),
    /// Any address in it, also of a name.
    Network(IpNet),
}

/// Why a URL is not called. None of it repeats the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    #[error("it is not a URL")]
    NotAUrl,
    #[error("its scheme is not https; http has to be allowed")]
    Scheme,
    #[error("it carries a user or password; give them as auth")]
    UserInfo,
    #[error("the host {0} is not on the allow-list")]
    NotListed(String),
    #[error("the host {0} is link-local, a metadata service or another address that is never called")]
    Forbidden(String),
    #[error("the host {0} is this machine itself, which has to be on the allow-list")]
    Loopback(String),
}

/// Metadata services that are not link-local: Azure's wire server, Alibaba's, AWS over IPv6.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

const METADATA_NAMES: [&str; 3] = ["metadata.google.internal", "metadata", "instance-data"];

impl HostRule {
    /// `10.0.0.0/8`, `10.1.2.3`, `*.rack.example` or `bmc.rack.example`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(network) = text.parse::<IpNet>() {
            return Some(HostRule::Network(network));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(HostRule::Network(IpNet::from(address)));
        }
        let lower = text.to_ascii_lowercase();
        let (name, suffix) = match lower.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (lower.as_str(), false),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
        let fits = !name.is_empty() && name.chars().all(plain);
        fits.then(|| if suffix { HostRule::Suffix(format!(".{name}")) } else { HostRule::Name(name.to_owned()) })
    }
}

impl UrlPolicy {
    pub fn new(rules: Vec<HostRule>, allow_http: bool) -> Self {
        UrlPolicy { rules, allow_http }
    }

    /// Parses a URL and says whether it may be called as far as that can be known without DNS.
    pub fn check(&self, text: &str) -> Result<Url, UrlRefused> {
        let url = Url::parse(text).map_err(|_| UrlRefused::NotAUrl)?;
        self.check_url(&url)?;
        Ok(url)
    }

    pub fn check_url(&self, url: &Url) -> Result<(), UrlRefused> {
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            _ => return Err(UrlRefused::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefused::UserInfo);
        }
        match url.host() {
            None => Err(UrlRefused::NotAUrl),
            Some(Host::Ipv4(address)) => self.check_address(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check_address(&address.to_string(), address.into()),
            Some(Host::Domain(name)) => self.check_name(name),
        }
    }

    /// A name before DNS. One that only a network rule can allow is decided after it.
    fn check_name(&self, name: &str) -> Result<(), UrlRefused> {
        let lower = name.trim_end_matches('.').to_ascii_lowercase();
        if METADATA_NAMES.contains(&lower.as_str()) {
            return Err(UrlRefused::Forbidden(name.to_owned()));
        }
        let by_network = self.rules.iter().any(|rule| matches!(rule, HostRule::Network(_)));
        if self.rules.is_empty() || by_network || self.lists_name(&lower) {
            return Ok(());
        }
        Err(UrlRefused::NotListed(name.to_owned()))
    }

    /// An address, and the host it was found for. To be asked for every address that DNS returns.
    pub fn check_address(&self, host: &str, address: IpAddr) -> Result<(), UrlRefused> {
        let address = canonical(address);
        if is_forbidden(address) {
            return Err(UrlRefused::Forbidden(host.to_owned()));
        }
        let by_network = |rule: &HostRule| matches!(rule, HostRule::Network(network) if network.contains(&address));
        if self.rules.iter().any(by_network) {
            return Ok(());
        }
        if address.is_loopback() {
            // A listed name is not enough: whoever answers for the name would choose what is called here.
            return Err(UrlRefused::Loopback(host.to_owned()));
        }
        if self.rules.is_empty() || self.lists_name(&host.trim_end_matches('.').to_ascii_lowercase()) {
            return Ok(());
        }
        Err(UrlRefused::NotListed(host.to_owned()))
    }

    fn lists_name(&self, lower: &str) -> bool {
        self.rules.iter().any(|rule| match rule {
            HostRule::Name(name) => name == lower,
            HostRule::Suffix(suffix) => lower.ends_with(suffix.as_str()),
            HostRule::Network(_) => false,
        })
    }
}

/// An IPv4 address in IPv6 clothes is the same address.
fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => {
            let segments = six.segments();
            // 64:ff9b::/96 is how NAT64 writes it.
            if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
                let [.., a, b, c, d] = six.octets();
                return IpAddr::V4(Ipv4Addr::new(a, b, c, d));
            }
            six.to_canonical()
        }
        four => four,
    }
}

fn is_forbidden(address: IpAddr) -> bool {
    let by_kind = match address {
        IpAddr::V4(four) => four.is_link_local() || four.is_broadcast() || four.octets()[0] == 0,
        IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    by_kind || address.is_unspecified() || address.is_multicast() || METADATA.contains(&address)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn policy(rules: &[&str]) -> UrlPolicy {
        UrlPolicy::new(rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect(), true)
    }

    #[test]
    fn urls_are_refused_by_scheme_user_host_and_address() {
        let cases: [(&[&str], &str, bool); 24] = [
            (&[], "https://bmc.rack.example/redfish/v1", true),
            (&[], "https://10.1.2.3/on", true),
            (&[], "ftp://bmc.rack.example/", false),
            (&[], "file:///etc/passwd", false),
            (&[], "not a url", false),
            (&[], "https://user:password@bmc.rack.example/", false),
            (&[], "https://169.254.169.254/latest/meta-data", false),
            (&[], "https://[fe80::1]/", false),
            (&[], "https://[::ffff:169.254.169.254]/", false),
            (&[], "https://[64:ff9b::a9fe:a9fe]/", false),
            (&[], "http://2852039166/", false),
            (&[], "http://0xa9.0xfe.0xa9.0xfe/", false),
            (&[], "http://0.0.0.0/", false),
            (&[], "http://127.0.0.1/", false),
            (&[], "http://[::1]/", false),
            (&[], "http://168.63.129.16/", false),
            (&[], "http://metadata.google.internal/", false),
            (&["169.254.0.0/16"], "http://169.254.169.254/", false),
            (&["127.0.0.0/8"], "http://127.0.0.1:8000/", true),
            (&["10.0.0.0/8"], "http://10.9.9.9/", true),
            (&["10.0.0.0/8"], "http://11.0.0.1/", false),
            (&["*.rack.example"], "http://a.rack.example/", true),
            (&["*.rack.example"], "http://rack.example.evil.test/", false),
            (&["bmc.example"], "http://BMC.example./", true),
        ];
        for (rules, url, allowed) in cases {
            assert_eq!(policy(rules).check(url).is_ok(), allowed, "{rules:?} {url}");
        }
        assert_eq!(UrlPolicy::default().check("http://bmc.example/"), Err(UrlRefused::Scheme));
    }

    #[test]
    fn what_dns_answers_is_checked_too() {
        let cases: [(&[&str], &str, bool); 6] = [
            (&[], "10.0.0.5", true),
            (&[], "169.254.169.254", false),
            (&[], "127.0.0.1", false),
            (&["bmc.example"], "127.0.0.1", false),
            (&["bmc.example"], "192.168.1.1", true),
            (&["10.0.0.0/8"], "192.168.1.1", false),
        ];
        for (rules, address, allowed) in cases {
            let checked = policy(rules).check_address("bmc.example", address.parse().unwrap());
            assert_eq!(checked.is_ok(), allowed, "{rules:?} {address}");
        }
    }
}
