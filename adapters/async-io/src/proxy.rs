use std::net::IpAddr;

/// What the environment says about proxies: which are asked for, and for whom not.
///
/// This client speaks to no proxy. Going past one that is asked for would be worse than failing: it may be the
/// only way out, or the place where traffic is watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyVariables {
    /// The names of the variables set, for the two schemes.
    https: Option<&'static str>,
    http: Option<&'static str>,
    exempt: Vec<Exempt>,
}

#[derive(Clone, Debug, PartialEq)]
enum Exempt {
    Everything,
    /// A name and all names below it.
    Domain(String),
    Network(IpAddr, u8),
}

impl ProxyVariables {
    pub(crate) fn from_env() -> Self {
        Self::read(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn read(value: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| value(name).filter(|value| !value.trim().is_empty());
        let first = |names: [&'static str; 4]| names.into_iter().find(|name| value(name).is_some());
        let exempt = value("NO_PROXY").or_else(|| value("no_proxy")).unwrap_or_default();
        Self {
            https: first(["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            http: first(["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
            exempt: exempt.split([',', ' ']).filter_map(Exempt::parse).collect(),
        }
    }

    /// The variable that asks for a proxy between this program and `host`, if one does.
    pub(crate) fn asked_for(&self, https: bool, host: &str) -> Option<&'static str> {
        let variable = if https { self.https } else { self.http }?;
        let address = host.parse().ok();
        let exempt = self.exempt.iter().any(|exempt| exempt.covers(host, address));
        (!exempt).then_some(variable)
    }
}

impl Exempt {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return Some(Self::Everything);
        }
        if let Some((network, bits)) = entry.split_once('/') {
            let (network, bits) = (network.parse::<IpAddr>().ok()?, bits.parse().ok()?);
            return Some(Self::Network(network, bits));
        }
        if let Ok(address) = entry.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Some(Self::Network(address, u8::MAX));
        }
        let domain = entry.trim_start_matches("*.").trim_start_matches('.');
        // A port narrows an entry to one service of the host; the host is what is compared here.
        let domain = domain.split_once(':').map_or(domain, |(domain, _)| domain);
        (!domain.is_empty()).then(|| Self::Domain(domain.to_owned()))
    }

    fn covers(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::Everything => true,
            Self::Domain(domain) => host
                .strip_suffix(domain.as_str())
                .is_some_and(|below| below.is_empty() || below.ends_with('.')),
            Self::Network(network, bits) => match (network, address) {
                (IpAddr::V4(network), Some(IpAddr::V4(address))) => {
                    let differ = u32::from(*network) ^ u32::from(address);
                    differ.leading_zeros() >= u32::from(*bits).min(u32::BITS)
                }
                (IpAddr::V6(network), Some(IpAddr::V6(address))) => {
                    let differ = u128::from(*network) ^ u128::from(address);
                    differ.leading_zeros() >= u32::from(*bits).min(u128::BITS)
                }
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(set: &[(&str, &str)]) -> ProxyVariables {
        ProxyVariables::read(|name| {
            set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_variable_asks_for_its_scheme() {
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            let variables = variables(&[(name, "http://proxy:3128")]);
            assert_eq!(variables.asked_for(true, "sqs.amazonaws.com"), Some(name));
        }
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            let variables = variables(&[(name, "http://proxy:3128")]);
            assert_eq!(variables.asked_for(false, "169.254.169.254"), Some(name));
        }
        assert_eq!(variables(&[("HTTPS_PROXY", "http://p")]).asked_for(false, "h"), None);
        assert_eq!(variables(&[("HTTP_PROXY", "http://p")]).asked_for(true, "h"), None);
    }

    #[test]
    fn an_empty_variable_asks_for_nothing() {
        assert_eq!(variables(&[("HTTPS_PROXY", " ")]).asked_for(true, "h"), None);
        assert_eq!(variables(&[]).asked_for(true, "h"), None);
    }

    #[test]
    fn no_proxy_exempts_names_networks_and_everything() {
        let asked = |no_proxy, host| {
            variables(&[("ALL_PROXY", "socks5://p"), ("NO_PROXY", no_proxy)]).asked_for(true, host).is_some()
        };
        assert!(!asked("*", "sqs.amazonaws.com"));
        assert!(!asked("amazonaws.com", "sqs.amazonaws.com"));
        assert!(!asked(".amazonaws.com", "sqs.amazonaws.com"));
        assert!(!asked("*.amazonaws.com", "sqs.amazonaws.com"));
        assert!(!asked("localhost, AmazonAWS.com:443", "sqs.amazonaws.com"));
        assert!(asked("notamazonaws.com", "amazonaws.com"));
        assert!(asked("amazonaws.com", "notamazonaws.com"));
        assert!(!asked("10.0.0.0/8", "10.255.1.2"));
        assert!(asked("10.0.0.0/8", "11.0.0.1"));
        assert!(!asked("169.254.169.254", "169.254.169.254"));
        assert!(asked("169.254.169.254", "169.254.169.255"));
        assert!(!asked("fd00::/8,::1", "fd12::1"));
        assert!(!asked("[::1]", "::1"));
        assert!(asked("0.0.0.0/0", "::1"));
        assert!(!asked("0.0.0.0/0", "1.2.3.4"));
        assert!(asked("", "sqs.amazonaws.com"));
        assert!(asked("10.0.0.0/x", "10.0.0.1"));
    }

    #[test]
    fn lower_case_no_proxy_counts_too() {
        let variables = variables(&[("https_proxy", "http://p"), ("no_proxy", "localhost")]);
        assert_eq!(variables.asked_for(true, "localhost"), None);
    }
}
