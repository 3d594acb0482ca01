//! Ports that nobody listens on, for programs that have to be told theirs.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::atomic::{AtomicU32, Ordering},
};

/// A free port below those the kernel gives to clients: connecting in a loop to one of those could connect to itself.
pub fn free_address() -> io::Result<SocketAddr> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that are started together have neighbouring numbers: each begins far enough from the others.
    let first_of_this_process = std::process::id().wrapping_mul(64);
    for _ in 0..10_000 {
        let offset = first_of_this_process.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 20_000 + offset as u16));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err(io::Error::other("no port from 20000 to 29999 is free"))
}

#[cfg(test)]
mod tests {
    use super::free_address;

    #[test]
    fn two_free_ports_differ() {
        assert_ne!(free_address().unwrap(), free_address().unwrap());
    }
}
