//! The kernel's header: names, parameters, workgroup, LDS buffers.

use crate::ir::{Param, ParamKind, Scalar, Type, Uniformity, ValueInfo};
use crate::text::is_symbol;

use super::{Rule, Verifier};

/// The scalars that may be passed by value.
const ARGUMENT_SCALARS: [Scalar; 3] = [Scalar::I32, Scalar::I64, Scalar::F32];

impl Verifier<'_> {
    pub(super) fn header(&mut self) {
        let kernel = self.kernel;
        self.check_name(&kernel.name);
        self.check_distinct(
            "parameters",
            kernel.params.iter().map(|param| param.name.as_str()).collect(),
        );
        self.check_distinct(
            "LDS buffers",
            kernel.lds.iter().map(|buffer| buffer.name.as_str()).collect(),
        );
        self.workgroup_size();
        self.max_vgprs();
        self.lds();
    }

    fn workgroup_size(&mut self) {
        let (size, wave) = (self.kernel.workgroup_size, self.kernel.target.wave_width());
        let most = self.kernel.target.limits().workgroup_work_items;
        let fits = (wave..=most).contains(&size) && size.is_multiple_of(wave);
        self.demand(
            fits,
            Rule::WorkgroupSize,
            format_args!("{size} work-items"),
            format_args!(
                "a multiple of {wave}, the wave width of {}, up to {most}",
                self.kernel.target
            ),
        );
    }

    fn max_vgprs(&mut self) {
        let Some(budget) = self.kernel.max_vgprs else { return };
        let all = u32::from(self.kernel.target.limits().addressable_vgprs);
        self.demand(
            (1..=all).contains(&budget),
            Rule::Registers,
            format_args!("a budget of {budget} VGPRs"),
            format_args!("1 to {all} on {}", self.kernel.target),
        );
    }

    fn lds(&mut self) {
        let kernel = self.kernel;
        let mut end = 0u64;
        for buffer in &kernel.lds {
            self.check_power_of_two(buffer.align_bytes, &format!("LDS buffer {}", buffer.name));
            end = end.next_multiple_of(u64::from(buffer.align_bytes.max(1)))
                + u64::from(buffer.size_bytes);
        }
        let limit = kernel.target.limits().lds_bytes_per_workgroup;
        if end > u64::from(limit) {
            let parts: Vec<_> = kernel
                .lds
                .iter()
                .map(|buffer| format!("{} {}", buffer.name, buffer.size_bytes))
                .collect();
            self.refuse(
                Rule::Lds,
                format!("{end} bytes of LDS ({})", parts.join(", ")),
                format!("at most {limit} bytes a workgroup on {}", kernel.target),
            );
        }
    }

    pub(super) fn param(&mut self, index: usize, param: &Param) {
        let ty = match param.kind {
            ParamKind::Buffer { elem, align_bytes, .. } => {
                self.demand(
                    elem != Scalar::I1,
                    Rule::Param,
                    "a buffer of i1",
                    "elements that memory can hold",
                );
                self.check_power_of_two(align_bytes, "the buffer");
                self.origins.insert(param.value, index);
                Type::Pointer
            }
            ParamKind::Scalar(scalar) => {
                let allowed = ARGUMENT_SCALARS.contains(&scalar);
                self.demand(
                    allowed,
                    Rule::Param,
                    format_args!("{} by value", scalar.name()),
                    "i32, i64 or f32",
                );
                Type::Scalar(scalar)
            }
        };
        let expected = ValueInfo { ty, uniformity: Uniformity::Uniform };
        let got = self.info(param.value);
        self.demand(
            got == expected,
            Rule::Param,
            format_args!("{} {:?}", got.ty, got.uniformity),
            format_args!("{ty} Uniform"),
        );
    }

    fn check_power_of_two(&mut self, align_bytes: u32, whose: &str) {
        self.demand(
            align_bytes.is_power_of_two(),
            Rule::Alignment,
            format_args!("{align_bytes} bytes for {whose}"),
            "a power of two",
        );
    }

    pub(super) fn check_name(&mut self, name: &str) {
        let shown: String = name.chars().take(60).collect();
        self.demand(
            is_symbol(name),
            Rule::Name,
            format_args!("{shown:?}"),
            "a letter or _, then letters, digits, _ . $, at most 200 bytes",
        );
    }

    fn check_distinct(&mut self, what: &str, mut names: Vec<&str>) {
        names.iter().for_each(|name| self.check_name(name));
        names.sort_unstable();
        for pair in names.windows(2) {
            self.demand(
                pair[0] != pair[1],
                Rule::Name,
                format_args!("two {what} named {}", pair[0]),
                "distinct names",
            );
        }
    }
}
