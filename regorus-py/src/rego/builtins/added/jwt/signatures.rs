//! The algorithms of RFC 7518 section 3 and RFC 8037, by name.

use ed25519_dalek::Verifier;
use hmac::{Hmac, Mac};
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use rsa::{Pkcs1v15Sign, Pss};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::keys::Material;

#[derive(Clone, Copy, PartialEq)]
pub enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5
    Rs(Hash),
    /// RSASSA-PSS
    Ps(Hash),
    Es(Hash),
    Hs(Hash),
    EdDsa,
}

/// Why a signature does not hold.
pub enum Unverified {
    /// The key is of another kind than the algorithm's.
    WrongKey(&'static str),
    Signature,
}

impl Algorithm {
    pub fn named(name: &str) -> Option<Self> {
        let hash = |digits: &str| match digits {
            "256" => Some(Hash::Sha256),
            "384" => Some(Hash::Sha384),
            "512" => Some(Hash::Sha512),
            _ => None,
        };
        if name == "EdDSA" {
            return Some(Self::EdDsa);
        }
        let (kind, digits) = name.split_at_checked(2)?;
        Some(match kind {
            "RS" => Self::Rs(hash(digits)?),
            "PS" => Self::Ps(hash(digits)?),
            "ES" => Self::Es(hash(digits)?),
            "HS" => Self::Hs(hash(digits)?),
            _ => return None,
        })
    }

    pub fn verify(self, key: &Material, signed: &[u8], signature: &[u8]) -> Result<(), Unverified> {
        let holds = match (self, key) {
            (Self::Rs(hash), Material::Rsa(key)) => key.verify(pkcs1(hash), &hash.digest(signed), signature).is_ok(),
            (Self::Ps(hash), Material::Rsa(key)) => key.verify(pss(hash), &hash.digest(signed), signature).is_ok(),
            (Self::Es(hash), Material::P256(key)) => scalars::<32>(signature)
                .and_then(|bytes| p256::ecdsa::Signature::from_slice(&bytes).ok())
                .is_some_and(|scalars| key.verify_prehash(&hash.digest(signed), &scalars).is_ok()),
            (Self::Es(hash), Material::P384(key)) => scalars::<48>(signature)
                .and_then(|bytes| p384::ecdsa::Signature::from_slice(&bytes).ok())
                .is_some_and(|scalars| key.verify_prehash(&hash.digest(signed), &scalars).is_ok()),
            (Self::Es(hash), Material::P521(key)) => scalars::<66>(signature)
                .and_then(|bytes| p521::ecdsa::Signature::from_slice(&bytes).ok())
                .is_some_and(|scalars| key.verify_prehash(&hash.digest(signed), &scalars).is_ok()),
            (Self::EdDsa, Material::Ed25519(key)) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(signed, &signature).is_ok()),
            (Self::Hs(hash), Material::Secret(secret)) => hash.code_holds(secret, signed, signature),
            (Self::Hs(_), _) => return Err(Unverified::WrongKey("incorrect symmetric key type")),
            _ => return Err(Unverified::WrongKey("incorrect public key type")),
        };
        if holds { Ok(()) } else { Err(Unverified::Signature) }
    }
}

pub fn pkcs1(hash: Hash) -> Pkcs1v15Sign {
    match hash {
        Hash::Sha256 => Pkcs1v15Sign::new::<Sha256>(),
        Hash::Sha384 => Pkcs1v15Sign::new::<Sha384>(),
        Hash::Sha512 => Pkcs1v15Sign::new::<Sha512>(),
    }
}

/// With a salt as long as the hash, which RFC 7518 section 3.5 demands.
pub fn pss(hash: Hash) -> Pss {
    match hash {
        Hash::Sha256 => Pss::new::<Sha256>(),
        Hash::Sha384 => Pss::new::<Sha384>(),
        Hash::Sha512 => Pss::new::<Sha512>(),
    }
}

impl Hash {
    pub fn digest(self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(text).to_vec(),
            Self::Sha384 => Sha384::digest(text).to_vec(),
            Self::Sha512 => Sha512::digest(text).to_vec(),
        }
    }

    pub fn code(self, secret: &[u8], text: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => code::<Hmac<Sha256>>(secret, text),
            Self::Sha384 => code::<Hmac<Sha384>>(secret, text),
            Self::Sha512 => code::<Hmac<Sha512>>(secret, text),
        }
    }

    fn code_holds(self, secret: &[u8], text: &[u8], signature: &[u8]) -> bool {
        bool::from(subtle::ConstantTimeEq::ct_eq(self.code(secret, text).as_slice(), signature))
    }
}

fn code<M: Mac + hmac::digest::KeyInit>(secret: &[u8], text: &[u8]) -> Vec<u8> {
    match <M as Mac>::new_from_slice(secret) {
        Ok(mut mac) => {
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        }
        Err(_) => Vec::new(),
    }
}

/// Both halves as numbers of `SIZE` bytes, whatever zeros stand before them.
fn scalars<const SIZE: usize>(signature: &[u8]) -> Option<Vec<u8>> {
    let (r, s) = signature.split_at(signature.len() / 2);
    let mut both = Vec::with_capacity(2 * SIZE);
    for half in [r, s] {
        let digits = &half[half.iter().position(|byte| *byte != 0).unwrap_or(half.len())..];
        both.resize(both.len() + SIZE.checked_sub(digits.len())?, 0);
        both.extend_from_slice(digits);
    }
    Some(both)
}
