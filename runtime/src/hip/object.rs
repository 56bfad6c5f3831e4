//! What a code object's header says, compared with the device before the driver sees it.

use codeobj::{AbiVersion, CodeObject, FeatureSetting};
use hip_abi::Version;
use isa::Target;

use crate::error::DeviceError;
use crate::hip::error::{HipError, LoadRefused};

/// First version of HIP whose loader takes a version of code objects.
pub const fn first_hip_for(version: AbiVersion) -> Version {
    match version {
        AbiVersion::V5 => hip_abi::FIRST_WITH_CODE_OBJECTS_V5,
        AbiVersion::V6 => hip_abi::FIRST_WITH_CODE_OBJECTS_V6,
    }
}

/// A device as far as code objects care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// Its number.
    pub number: i32,
    /// Its name.
    pub name: String,
    /// Its target id, such as `gfx950:sramecc+:xnack-`.
    pub target_id: String,
    /// Its target.
    pub target: Target,
    /// Setting of XNACK; `Any` where the target id is silent.
    pub xnack: FeatureSetting,
    /// Setting of SRAM-ECC; `Any` where the target id is silent.
    pub sramecc: FeatureSetting,
}

impl DeviceIdentity {
    /// A device by what HIP tells of it.
    ///
    /// # Errors
    /// [`HipError::UnknownProcessor`].
    pub fn new(number: i32, name: String, target_id: String) -> Result<DeviceIdentity, HipError> {
        let mut parts = target_id.split(':');
        let processor: Option<Target> = parts.next().and_then(|part| part.parse().ok());
        let Some(target) = processor else {
            return Err(HipError::UnknownProcessor { number, name, got: target_id });
        };
        let features: Vec<&str> = parts.collect();
        let setting = |name: &str| {
            let found = features.iter().find_map(|feature| feature.strip_prefix(name));
            match found {
                Some("+") => FeatureSetting::On,
                Some("-") => FeatureSetting::Off,
                _ => FeatureSetting::Any,
            }
        };
        let (xnack, sramecc) = (setting("xnack"), setting("sramecc"));
        Ok(DeviceIdentity { number, name, target_id, target, xnack, sramecc })
    }
}

/// Reads a code object and refuses what the device or its runtime would.
///
/// # Errors
/// What is wrong with the bytes, or [`LoadRefused`] with both values.
pub fn admit(
    bytes: &[u8],
    device: &DeviceIdentity,
    runtime: Version,
) -> Result<CodeObject, DeviceError> {
    let object = CodeObject::parse(bytes)?;
    match refusal(&object, device, runtime) {
        Some(refused) => Err(HipError::from(refused).into()),
        None => Ok(object),
    }
}

fn refusal(object: &CodeObject, device: &DeviceIdentity, runtime: Version) -> Option<LoadRefused> {
    if object.target != device.target {
        let (got, expected) = (object.target, device.target);
        return Some(LoadRefused::Target { got, expected, device: device.target_id.clone() });
    }
    let features = [
        ("xnack", object.features.xnack, device.xnack),
        ("sramecc", object.features.sramecc, device.sramecc),
    ];
    for (feature, got, expected) in features {
        let demands = matches!(got, FeatureSetting::On | FeatureSetting::Off);
        if demands && expected != FeatureSetting::Any && got != expected {
            let device = device.target_id.clone();
            return Some(LoadRefused::Feature { feature, got, expected, device });
        }
    }
    let needs = first_hip_for(object.abi_version);
    (runtime < needs).then_some(LoadRefused::Version { got: object.abi_version, needs, runtime })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(target_id: &str) -> Result<DeviceIdentity, HipError> {
        DeviceIdentity::new(0, "test".to_owned(), target_id.to_owned())
    }

    #[test]
    fn features_and_versions_are_refused_with_both_values() {
        let bytes = include_bytes!("../../tests/fixtures/update_slots_gfx950.hsaco");
        let mut object = CodeObject::parse(bytes).unwrap();
        let device = device("gfx950:sramecc+:xnack-").unwrap();
        assert_eq!(refusal(&object, &device, Version::new(7, 0)), None);
        object.features.sramecc = FeatureSetting::On;
        assert_eq!(refusal(&object, &device, Version::new(7, 0)), None);
        object.features.xnack = FeatureSetting::On;
        let words = refusal(&object, &device, Version::new(7, 0)).unwrap().to_string();
        assert!(words.contains("xnack on") && words.contains("has it off"), "{words}");
        object.features.xnack = FeatureSetting::Any;
        let words = refusal(&object, &device, Version::new(4, 5)).unwrap().to_string();
        assert!(
            words.contains("v5") && words.contains("5.2.0") && words.contains("4.5.0"),
            "{words}"
        );
    }

    #[test]
    fn target_ids_are_taken_apart() {
        let plain = device("gfx1100").unwrap();
        assert_eq!((plain.target, plain.xnack), (Target::Gfx1100, FeatureSetting::Any));
        let set = device("gfx950:sramecc+:xnack-").unwrap();
        assert_eq!((set.sramecc, set.xnack), (FeatureSetting::On, FeatureSetting::Off));
        let unknown = device("gfx942:sramecc+").unwrap_err().to_string();
        assert!(unknown.contains("gfx942:sramecc+") && unknown.contains("gfx950 and gfx1100"));
    }
}
