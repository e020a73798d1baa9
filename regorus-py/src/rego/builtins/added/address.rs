//! Addresses and networks, read and written as Go's `net` does.
//!
//! Go keeps an IPv4 address as the IPv6 address that maps it (RFC 4291 section 2.5.5.2), and so are both here:
//! `::ffff:10.0.0.0/104` is `10.0.0.0/8`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const BITS: u32 = 128;
/// `::ffff:0:0/96`
const MAPPED_PREFIX_BITS: u32 = 96;
const MAPPED: u128 = 0xffff << 32;

/// Addresses that agree in their first `prefix_bits` of 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub first: u128,
    pub prefix_bits: u32,
}

pub fn address(text: &str) -> Option<u128> {
    Some(match text.parse::<IpAddr>().ok()? {
        IpAddr::V4(four) => four.to_ipv6_mapped().to_bits(),
        IpAddr::V6(six) => six.to_bits(),
    })
}

pub fn is_mapped(address: u128) -> bool {
    address >> 32 == 0xffff
}

/// `10.0.0.1`, `fe80::1`
pub fn written(address: u128) -> String {
    match is_mapped(address).then(|| u32::try_from(address & u128::from(u32::MAX)).ok()).flatten() {
        Some(four) => Ipv4Addr::from_bits(four).to_string(),
        None => Ipv6Addr::from_bits(address).to_string(),
    }
}

fn mask(prefix_bits: u32) -> u128 {
    u128::MAX.checked_shl(BITS - prefix_bits).unwrap_or(0)
}

impl Network {
    /// `10.0.0.0/8`; bits of the address beyond the prefix are dropped.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("invalid CIDR address: {text}");
        let (before, after) = text.split_once('/').ok_or_else(invalid)?;
        let length = if before.contains(':') { BITS } else { BITS - MAPPED_PREFIX_BITS };
        let is_number = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit());
        let bits = after.parse::<u32>().ok().filter(|bits| is_number && *bits <= length).ok_or_else(invalid)?;
        let prefix_bits = BITS - length + bits;
        Ok(Self { first: address(before).ok_or_else(invalid)? & mask(prefix_bits), prefix_bits })
    }

    pub fn last(self) -> u128 {
        self.first | !mask(self.prefix_bits)
    }

    /// A network of IPv6 holds no address of IPv4, not even `::/0`.
    pub fn contains(self, address: u128) -> bool {
        address & mask(self.prefix_bits) == self.first && self.is_four() == is_mapped(address)
    }

    /// Whether all addresses of the other one are in this one. IPv6 networks go by their prefixes, so that `::/80`
    /// holds itself although its last address is one that maps an IPv4 address.
    pub fn holds(self, other: Self) -> bool {
        if self.is_four() || other.is_four() {
            return self.contains(other.first) && self.contains(other.last());
        }
        self.prefix_bits <= other.prefix_bits && other.first & mask(self.prefix_bits) == self.first
    }

    pub fn is_four(self) -> bool {
        is_mapped(self.first) && self.prefix_bits >= MAPPED_PREFIX_BITS
    }

    /// The largest network that begins with `first` and does not go beyond `last`.
    pub fn largest(first: u128, last: u128) -> Self {
        let mut prefix_bits = BITS;
        while prefix_bits > 0 {
            let wider = Self { first, prefix_bits: prefix_bits - 1 };
            if first & mask(prefix_bits - 1) != first || wider.last() > last {
                break;
            }
            prefix_bits -= 1;
        }
        Self { first, prefix_bits }
    }

    /// The network of an address in the classes of RFC 791; none for multicast and reserved ones.
    pub fn prefix_bits_of_class(address: u128) -> Option<u32> {
        let bits = match (address & !MAPPED) >> 24 {
            0..=127 => 8,
            128..=191 => 16,
            192..=223 => 24,
            _ => return None,
        };
        Some(MAPPED_PREFIX_BITS + bits)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.is_four() { self.prefix_bits - MAPPED_PREFIX_BITS } else { self.prefix_bits };
        write!(formatter, "{}/{bits}", written(self.first))
    }
}
