use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};

/// Names resolved by the operating system, on a thread of [`blocking`]'s pool.
///
/// [`Client`](crate::Client) uses it unless told otherwise. It is public because the SDK's container
/// credentials provider needs one too when its endpoint is a host name:
/// `EcsCredentialsProvider::builder().dns(SharedDnsResolver::new(SystemDns::new()))`.
///
/// Addresses come in the operating system's order, each once. Nothing is cached. Dropping the future leaves the
/// operating system's call to finish on its thread; its answer is thrown away.
///
/// ```
/// use aws_async_io::SystemDns;
/// use aws_smithy_runtime_api::client::dns::ResolveDns;
///
/// let addresses = async_io::block_on(SystemDns::new().resolve_dns("localhost"))?;
/// assert!(addresses.iter().all(|address| address.is_loopback()));
/// # Ok::<(), aws_smithy_runtime_api::client::dns::ResolveDnsError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SystemDns;

impl SystemDns {
    /// The one there is; it holds nothing.
    pub const fn new() -> Self {
        Self
    }
}

impl ResolveDns for SystemDns {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        let name = name.to_owned();
        DnsFuture::new(async move {
            blocking::unblock(move || resolve(&name)).await.map_err(ResolveDnsError::new)
        })
    }
}

fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for address in (name, 0).to_socket_addrs()? {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    Ok(addresses)
}
