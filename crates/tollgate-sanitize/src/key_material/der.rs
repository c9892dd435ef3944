//! Private keys in DER: PKCS#8, encrypted PKCS#8, PKCS#1, SEC 1 and DSA, read to their last byte.
//!
//! Invariant: every byte belongs to a field of a known key format and size. A structure with one
//! byte or one field more than its format has is no key.

use super::plain_text::reads_as_text;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const PARAMETERS: u8 = 0xa0;
const PUBLIC_KEY: u8 = 0xa1;
const PUBLIC_KEY_BITS: u8 = 0x81;

/// Object identifiers of algorithms, as DER spells them.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const DSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01];
/// X25519, X448, Ed25519 and Ed448, and the bytes of their keys.
const EDWARDS: [(&[u8], usize); 4] = [
    (&[0x2b, 0x65, 0x6e], 32),
    (&[0x2b, 0x65, 0x6f], 56),
    (&[0x2b, 0x65, 0x70], 32),
    (&[0x2b, 0x65, 0x71], 57),
];
/// PBES2, and the password-based schemes of PKCS#5 and PKCS#12 that came before it.
const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PKCS5: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05];
const PKCS12: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01];

/// Bytes of an RSA modulus, from 512 to 16,384 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 64..=2_048;
/// Bytes of a prime of DSA, from 512 to 3,072 bits.
const DSA_PRIME: std::ops::RangeInclusive<usize> = 64..=384;
/// Bytes of a private key on a curve.
const SCALAR: std::ops::RangeInclusive<usize> = 20..=66;
/// Bytes of an object identifier.
const LONGEST_OBJECT: usize = 12;
/// Bytes of what an encryption of a key needs to know, such as salts.
const LONGEST_PARAMETERS: usize = 200;
const LONGEST_SALT: usize = 64;

/// Whether the bytes are a private key and nothing else.
pub(super) fn is_private_key(bytes: &[u8]) -> bool {
    let is_known = || {
        [pkcs8, encrypted, rsa, ec, dsa]
            .iter()
            .any(|form| form(bytes).is_some())
    };
    !reads_as_text(bytes) && is_known()
}

/// The fields of a sequence, or of something like it.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of the one sequence the bytes are.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut whole = Fields(bytes);
        let body = whole.field(SEQUENCE)?;
        whole.end()?;
        Some(Fields(body))
    }

    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next field, if it has this tag. A length is spelled in as few bytes as it needs.
    fn field(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (length, rest) = match *self.0 {
            [found, length @ 0..=0x7f, ref rest @ ..] if found == tag => {
                (usize::from(length), rest)
            }
            [found, 0x81, length @ 0x80..=0xff, ref rest @ ..] if found == tag => {
                (usize::from(length), rest)
            }
            [found, 0x82, high @ 1..=0xff, low, ref rest @ ..] if found == tag => {
                (usize::from(u16::from_be_bytes([high, low])), rest)
            }
            _ => return None,
        };
        let (field, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }

    /// The next field, a number above zero without its sign, spelled in as few bytes as it needs.
    fn number(&mut self) -> Option<&'a [u8]> {
        match *self.field(INTEGER)? {
            [0, ref number @ ..] => (*number.first()? >= 0x80).then_some(number),
            ref number => (1..0x80).contains(number.first()?).then_some(number),
        }
    }

    fn version(&mut self, known: &[u8]) -> Option<()> {
        let version = self.field(INTEGER)?;
        (version.len() == 1 && known.contains(&version[0])).then_some(())
    }

    fn object(&mut self) -> Option<&'a [u8]> {
        self.field(OBJECT).filter(|it| it.len() <= LONGEST_OBJECT)
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

fn pkcs8(bytes: &[u8]) -> Option<()> {
    let mut fields = Fields::of(bytes)?;
    fields.version(&[0, 1])?;
    let mut algorithm = Fields(fields.field(SEQUENCE)?);
    let key = fields.field(OCTET_STRING)?;
    if let Some(public) = fields.field(PUBLIC_KEY_BITS) {
        (public.len() <= 67).then_some(())?;
    }
    fields.end()?;
    let object = algorithm.object()?;
    match object {
        RSA => {
            algorithm.field(NULL)?;
            rsa(key)?;
        }
        RSA_PSS => rsa(key)?,
        EC => {
            algorithm.object()?;
            ec(key)?;
        }
        DSA => {
            let mut domain = Fields(algorithm.field(SEQUENCE)?);
            dsa_domain(&mut domain)?;
            domain.end()?;
            let mut secret = Fields(key);
            secret.number().filter(|it| it.len() <= 32)?;
            secret.end()?;
        }
        _ => {
            let (_, length) = EDWARDS.iter().find(|(known, _)| *known == object)?;
            let mut secret = Fields(key);
            secret
                .field(OCTET_STRING)
                .filter(|it| it.len() == *length)?;
            secret.end()?;
        }
    }
    algorithm.end()
}

fn encrypted(bytes: &[u8]) -> Option<()> {
    let mut fields = Fields::of(bytes)?;
    let mut algorithm = Fields(fields.field(SEQUENCE)?);
    let object = algorithm.object()?;
    let is_known = object == PBES2 || object.starts_with(PKCS5) || object.starts_with(PKCS12);
    let parameters = algorithm.field(SEQUENCE)?;
    let is_short = parameters.len() <= LONGEST_PARAMETERS;
    let key = fields.field(OCTET_STRING)?;
    fields.end()?;
    algorithm.end()?;
    let is_whole = key.len() >= 32 && key.len().is_multiple_of(8) && !reads_as_text(key);
    (is_known && is_short && is_whole && are_parameters(parameters, 4)).then_some(())
}

/// Whether these are salts, counts and names of algorithms.
fn are_parameters(bytes: &[u8], depth: u8) -> bool {
    let mut fields = Fields(bytes);
    while let Some(tag) = fields.peek() {
        let Some(field) = fields.field(tag) else {
            return false;
        };
        let is_parameter = match tag {
            SEQUENCE => depth > 0 && are_parameters(field, depth - 1),
            OBJECT => field.len() <= LONGEST_OBJECT,
            OCTET_STRING => field.len() <= LONGEST_SALT && !reads_as_text(field),
            INTEGER => field.len() <= 5,
            NULL => field.is_empty(),
            _ => false,
        };
        if !is_parameter {
            return false;
        }
    }
    true
}

/// Modulus, exponents, primes and what is computed from them; the modulus is the primes' product.
fn rsa(bytes: &[u8]) -> Option<()> {
    let mut fields = Fields::of(bytes)?;
    fields.version(&[0])?;
    let modulus = fields.number().filter(|it| MODULUS.contains(&it.len()))?;
    fields.number().filter(|it| it.len() <= 8)?;
    fields.number().filter(|it| it.len() <= modulus.len())?;
    let (one, other) = (fields.number()?, fields.number()?);
    let longest = one.len().max(other.len());
    for _ in 0..3 {
        fields.number().filter(|it| it.len() <= longest)?;
    }
    fields.end()?;
    (product(one, other) == modulus).then_some(())
}

/// The product of two numbers, without leading zeros.
pub(super) fn product(one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = vec![0_u8; one.len() + other.len()];
    for (place, digit) in one.iter().rev().enumerate() {
        let mut carry = 0_u32;
        for (step, times) in other.iter().rev().chain([&0]).enumerate() {
            let at = out.len() - 1 - place - step;
            let sum = u32::from(out[at]) + u32::from(*digit) * u32::from(*times) + carry;
            out[at] = (sum & 0xff) as u8;
            carry = sum >> 8;
            if at == 0 {
                break;
            }
        }
    }
    let zeros = out.iter().take_while(|digit| **digit == 0).count();
    out.split_off(zeros)
}

fn ec(bytes: &[u8]) -> Option<()> {
    let mut fields = Fields::of(bytes)?;
    fields.version(&[1])?;
    let scalar = fields.field(OCTET_STRING)?;
    SCALAR.contains(&scalar.len()).then_some(())?;
    if let Some(parameters) = fields.field(PARAMETERS) {
        let mut curve = Fields(parameters);
        curve.object()?;
        curve.end()?;
    }
    if let Some(public) = fields.field(PUBLIC_KEY) {
        let mut point = Fields(public);
        let bits = point.field(BIT_STRING)?;
        point.end()?;
        is_point(bits.strip_prefix(&[0])?, scalar.len()).then_some(())?;
    }
    fields.end()
}

/// Whether the bytes are a point on a curve whose numbers have `width` bytes.
pub(super) fn is_point(bytes: &[u8], width: usize) -> bool {
    match bytes.first() {
        Some(4) => bytes.len() == 1 + 2 * width,
        Some(2 | 3) => bytes.len() == 1 + width,
        _ => false,
    }
}

fn dsa(bytes: &[u8]) -> Option<()> {
    let mut fields = Fields::of(bytes)?;
    fields.version(&[0])?;
    let prime = dsa_domain(&mut fields)?;
    fields.number().filter(|it| it.len() <= prime)?;
    fields.number().filter(|it| it.len() <= 32)?;
    fields.end()
}

/// Prime, subgroup and generator; how long the prime is.
fn dsa_domain(fields: &mut Fields<'_>) -> Option<usize> {
    let prime = fields.number().filter(|it| DSA_PRIME.contains(&it.len()))?;
    fields.number().filter(|it| (20..=32).contains(&it.len()))?;
    fields.number().filter(|it| it.len() <= prime.len())?;
    Some(prime.len())
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn numbers_are_multiplied() {
        assert_eq!(
            product(&[0xff, 0xff], &[0xff, 0xff]),
            [0xff, 0xfe, 0x00, 0x01]
        );
        assert_eq!(product(&[3], &[5]), [15]);
        assert_eq!(product(&[1, 0], &[1, 0, 0]), [1, 0, 0, 0]);
    }
}
