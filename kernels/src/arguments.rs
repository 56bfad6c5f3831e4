//! A spec's signature, declared in a kernel.

use std::collections::BTreeMap;

use dsl::ir::{Access, Scalar};
use dsl::{Expr, KernelBuilder, View};
use specs::signature::Signature;
use specs::{ArgumentKind, BufferArgument, Element, Extent, ScalarType};

/// A kernel's arguments by name.
pub struct Arguments<'k> {
    views: BTreeMap<&'static str, View<'k>>,
    scalars: BTreeMap<&'static str, Expr<'k>>,
}

impl<'k> Arguments<'k> {
    /// Declares every argument, in ABI order.
    #[track_caller]
    pub fn declare(k: &'k KernelBuilder, signature: &Signature) -> Arguments<'k> {
        let mut arguments = Arguments { views: BTreeMap::new(), scalars: BTreeMap::new() };
        for argument in &signature.arguments {
            match &argument.kind {
                ArgumentKind::Buffer(buffer) => {
                    let view = arguments.declare_buffer(k, argument.name, buffer);
                    arguments.views.insert(argument.name, view);
                }
                ArgumentKind::Scalar(scalar) => {
                    let scalar = match scalar {
                        ScalarType::F32 => Scalar::F32,
                        ScalarType::I32 => Scalar::I32,
                    };
                    arguments.scalars.insert(argument.name, k.scalar(argument.name, scalar));
                }
            }
        }
        arguments
    }

    /// The tensor of that name, which the spec's signature must have.
    pub fn view(&self, name: &str) -> &View<'k> {
        self.views.get(name).expect("a family asks only for tensors of its own signature")
    }

    /// Rows of a length that the launch chooses have it in a scalar of the axis' name, which comes before them.
    #[track_caller]
    fn declare_buffer(
        &self,
        k: &'k KernelBuilder,
        name: &str,
        buffer: &BufferArgument,
    ) -> View<'k> {
        let (elem, access) = (scalar(buffer.element), access(buffer.access));
        if let [_, row] = buffer.shape.as_slice()
            && row.extent == Extent::TableEntries
        {
            return k.strided(
                name,
                elem,
                access,
                &[(None, Some(self.scalar(row.symbol))), (None, None)],
            );
        }
        let dims: Vec<_> = buffer.shape.iter().map(|axis| axis.extent.fixed()).collect();
        k.buffer(name, elem, access, &dims)
    }

    /// The scalar of that name, which the spec's signature must have.
    pub fn scalar(&self, name: &str) -> Expr<'k> {
        *self.scalars.get(name).expect("a family asks only for scalars of its own signature")
    }
}

fn scalar(element: Element) -> Scalar {
    match element {
        Element::F32 => Scalar::F32,
        Element::Bf16 => Scalar::Bf16,
        Element::F16 => Scalar::F16,
        Element::I32 => Scalar::I32,
    }
}

fn access(access: specs::Access) -> Access {
    match access {
        specs::Access::ReadOnly => Access::ReadOnly,
        specs::Access::WriteOnly => Access::WriteOnly,
        specs::Access::ReadWrite => Access::ReadWrite,
    }
}
