//! Values that are chosen by name in spec files, problems and listings.

use std::fmt::Display;

/// A closed set of named values, such as the element types of a kernel.
pub trait Choice: Copy + Display + 'static {
    /// Every value, in the order of listings.
    const ALL: &'static [Self];
    /// The spelling of every value, in the same order.
    const NAMES: &'static [&'static str];

    /// The spelling of this value in spec files.
    fn name(self) -> &'static str;

    /// The value of a spelling.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// Declares an enum whose variants have names, with [`Choice`], `Display`, `Serialize` and `Deserialize` by
/// name.
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $ty:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $ty { $($(#[$doc])* $variant,)+ }

        impl $crate::choice::Choice for $ty {
            const ALL: &'static [Self] = &[$($ty::$variant),+];
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn name(self) -> &'static str {
                match self { $($ty::$variant => $name),+ }
            }
        }

        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::choice::Choice::name(*self))
            }
        }

        impl serde::Serialize for $ty {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::choice::Choice::name(*self))
            }
        }

        impl<'de> serde::Deserialize<'de> for $ty {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                <$ty as $crate::choice::Choice>::from_name(&name).ok_or_else(|| {
                    serde::de::Error::unknown_variant(&name, <$ty as $crate::choice::Choice>::NAMES)
                })
            }
        }
    };
}
pub(crate) use choice;
