//! Which addresses belong to the public internet.
//!
//! Everything that is not known to be public is not. An IPv6 address that stands for an IPv4 one is judged as that one too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        // This network, loopback, and everything from multicast on.
        0 | 127 | 224..=255 => true,
        10 => true,
        // Shared by carriers.
        100 => (64..128).contains(&b),
        169 => b == 254,
        172 => (16..32).contains(&b),
        // Protocol assignments, documentation, the old 6to4 relay, private, AS112.
        192 => {
            b == 168
                || (b == 0 && (c == 0 || c == 2))
                || (b == 88 && c == 99)
                || (b == 31 && c == 196)
                || (b == 52 && c == 193)
                || (b == 175 && c == 48)
        }
        // Benchmarks and documentation.
        198 => b == 18 || b == 19 || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let [a, b, ..] = segments;
    let last = || v4(segments[6], segments[7]);
    // Mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96), compatible (::/96, with :: and ::1).
    if segments[..4] == [0; 4] && matches!(segments[4..6], [0 | 0xffff, 0] | [0, 0xffff]) {
        return segments[4..6] != [0, 0] && is_public_v4(last());
    }
    // NAT64, well known; the locally assigned 64:ff9b:1::/48 is never public.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(last());
    }
    // 6to4 carries its IPv4 address in the prefix.
    if a == 0x2002 {
        return is_public_v4(v4(b, segments[2]));
    }
    // An ISATAP interface carries one at its end, below any prefix.
    if matches!(segments[4], 0 | 0x200) && segments[5] == 0x5efe && !is_public_v4(last()) {
        return false;
    }
    // Only global unicast is public, without protocol assignments (Teredo, ORCHID, benchmarks) and documentation.
    let is_unicast = (0x2000..0x4000).contains(&a);
    let is_assignment = a == 0x2001 && b < 0x200;
    let is_documentation = (a == 0x2001 && b == 0xdb8) || (a == 0x3fff && b < 0x1000);
    is_unicast && !is_assignment && !is_documentation
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_public_internet_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(public(text), "{text}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::808:808",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2a00:1450::5efe:10.0.0.1",
            "2a00:1450::200:5efe:127.0.0.1",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(text), "{text}");
        }
    }
}
