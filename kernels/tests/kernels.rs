//! Every kernel of the library, and the corners of its families: arguments, geometry, accesses, refusals.

use dsl::ir::{Access, Base, Block, Kernel, Op, ParamKind, Scalar, Stmt, Type, Value};
use dsl::text::{parse, print};
use specs::registry::LIBRARY;
use specs::{Activation, ConvStepSpec, DecodeStepSpec, Dtype, Family, Gate, HeadMap};
use specs::{Reduction, Spec, StateContract, StateLayout, Target};
use wavesmith_kernels::{KernelError, build};

/// A decode step whose sizes all differ, with a tail of columns.
fn decode() -> DecodeStepSpec {
    DecodeStepSpec {
        family: Family::Kda,
        target: Target::Gfx1100,
        gate: Gate::Softplus,
        key_heads: 2,
        value_heads: 6,
        head_k: 96,
        head_v: 76,
        dtype: Dtype::Bf16,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        state_contract: StateContract::Separate,
        reduction: Reduction::LaneTree { k_lanes: 8 },
        waves: 2,
        wave_width: 32,
    }
}

fn conv() -> ConvStepSpec {
    ConvStepSpec {
        target: Target::Gfx950,
        channels: 300,
        width: 4,
        dtype: Dtype::Bf16,
        bias: true,
        activation: Activation::Silu,
        waves: 4,
        wave_width: 64,
    }
}

#[track_caller]
fn built(spec: impl Into<Spec>) -> Kernel {
    build(&spec.into()).unwrap_or_else(|error| panic!("{error}"))
}

/// Every statement of a kernel, nested ones too.
fn statements(kernel: &Kernel) -> Vec<&Stmt> {
    fn walk<'k>(block: &'k Block, found: &mut Vec<&'k Stmt>) {
        for stmt in &block.stmts {
            found.push(stmt);
            stmt.op.blocks().into_iter().for_each(|block| walk(block, found));
        }
    }
    let mut found = Vec::new();
    walk(&kernel.body, &mut found);
    found
}

/// Types and promised alignments of all loads (`Access::ReadOnly`) or stores of one argument.
fn accesses(kernel: &Kernel, argument: &str, access: Access) -> Vec<String> {
    let param = kernel.params.iter().find(|param| param.name == argument).expect("the argument");
    let mut pointers = vec![param.value];
    let mut found = Vec::new();
    let of = |pointers: &[Value], base: Base| matches!(base, Base::Global(pointer) if pointers.contains(&pointer));
    for stmt in statements(kernel) {
        match &stmt.op {
            Op::PtrAdd(pointer, _) if pointers.contains(pointer) => pointers.push(stmt.results[0]),
            Op::Load(address) if access == Access::ReadOnly && of(&pointers, address.base) => {
                found.push(shown(kernel.info(stmt.results[0]).ty, address.align_bytes));
            }
            Op::Store(address, value)
                if access == Access::WriteOnly && of(&pointers, address.base) =>
            {
                found.push(shown(kernel.info(*value).ty, address.align_bytes));
            }
            _ => {}
        }
    }
    found
}

/// An access in words. (As a tuple of a type and a number, rustc 1.95 optimises the pair to a wrong
/// number at opt-level 3, which is seen here alone.)
fn shown(ty: Type, align_bytes: u32) -> String {
    format!("{ty} align {align_bytes}")
}

fn count(kernel: &Kernel, is: impl Fn(&Op) -> bool) -> usize {
    statements(kernel).into_iter().filter(|stmt| is(&stmt.op)).count()
}

#[test]
fn the_whole_library_is_built_and_survives_the_text_form() {
    for entry in LIBRARY {
        let spec = entry.spec().expect("a legal file");
        let kernel = built(spec);
        assert_eq!(kernel.name, spec.name());
        assert_eq!(kernel.target, spec.target());
        assert_eq!(kernel.workgroup_size, spec.workgroup_size());
        let text = print(&kernel);
        assert_eq!(parse(&text).expect("canonical text"), kernel, "{}", entry.file);
        assert_eq!(print(&built(spec)), text, "{} is built differently each time", entry.file);
    }
}

#[test]
fn arguments_are_those_of_the_signature() {
    for entry in LIBRARY {
        let spec = entry.spec().expect("a legal file");
        let kernel = built(spec);
        let names: Vec<_> = kernel.params.iter().map(|param| param.name.as_str()).collect();
        let expected: Vec<_> =
            spec.signature().arguments.iter().map(|argument| argument.name).collect();
        assert_eq!(names, expected, "{}", entry.file);
        for (param, argument) in kernel.params.iter().zip(&spec.signature().arguments) {
            match (param.kind, argument.buffer()) {
                (ParamKind::Buffer { elem, align_bytes, .. }, Some(buffer)) => {
                    assert_eq!(u64::from(elem.size_bytes()), buffer.element.size_bytes());
                    assert_eq!(align_bytes, specs::signature::BUFFER_ALIGN_BYTES);
                }
                (ParamKind::Scalar(Scalar::F32 | Scalar::I32), None) => {}
                other => panic!("{}: {other:?}", param.name),
            }
        }
    }
}

#[test]
fn the_state_is_read_and_written_once_in_128_bit_accesses() {
    for layout in [StateLayout::KFirst, StateLayout::VFirst] {
        for k_lanes in [2, 4, 8] {
            let reduction = Reduction::LaneTree { k_lanes };
            let spec = DecodeStepSpec { state_layout: layout, reduction, head_k: 64, ..decode() };
            let kernel = built(spec);
            let vectors = spec.state_registers_per_lane().expect("registers") as usize / 4;
            let wide = vec!["f32x4 align 16"; vectors];
            assert_eq!(accesses(&kernel, "state", Access::ReadOnly), wide);
            assert_eq!(accesses(&kernel, "next_state", Access::WriteOnly), wide);
        }
    }
}

#[test]
fn activations_are_read_as_wide_as_they_lie() {
    let wide = |kernel: &Kernel, argument| accesses(kernel, argument, Access::ReadOnly);
    // 96 / 8 = 12 channels a lane, from multiples of 24 bytes on.
    let kernel = built(decode());
    let b64 = "bf16x4 align 8";
    assert_eq!(wide(&kernel, "q"), [b64; 3]);
    assert_eq!(wide(&kernel, "dt_bias"), ["f32x4 align 16"; 3]);
    // 128 / 8 = 16 channels a lane.
    let kernel = built(DecodeStepSpec { head_k: 128, ..decode() });
    assert_eq!(wide(&kernel, "k"), ["bf16x8 align 16"; 2]);
    assert_eq!(accesses(&kernel, "o", Access::WriteOnly), [b64]);
}

#[test]
fn sums_over_lanes_are_butterflies() {
    for k_lanes in [2, 8] {
        let kernel = built(DecodeStepSpec {
            reduction: Reduction::LaneTree { k_lanes },
            head_k: 64,
            ..decode()
        });
        let masks: Vec<_> = statements(&kernel)
            .into_iter()
            .filter_map(|stmt| match stmt.op {
                Op::LaneXor { mask, .. } => Some(mask),
                _ => None,
            })
            .collect();
        let ascending: Vec<u32> = (0..k_lanes.ilog2()).map(|step| 1 << step).collect();
        let four = |masks: &[u32]| masks.iter().flat_map(|mask| [*mask; 4]).collect::<Vec<_>>();
        assert_eq!(masks, [four(&ascending), four(&ascending), ascending].concat());
    }
}

#[test]
fn only_tails_are_masked() {
    let conditionals = |head_v| {
        count(&built(DecodeStepSpec { head_v, ..decode() }), |op| matches!(op, Op::If { .. }))
    };
    // 32 columns a workgroup: loads, stores, and the lane that stores o; or only that lane.
    assert_eq!((conditionals(76), conditionals(64)), (3, 1));
    let conv = |channels| {
        count(&built(ConvStepSpec { channels, ..conv() }), |op| matches!(op, Op::If { .. }))
    };
    assert_eq!((conv(300), conv(512)), (1, 0));
}

#[test]
fn the_serial_order_keeps_no_state() {
    for layout in [StateLayout::KFirst, StateLayout::VFirst] {
        let spec = DecodeStepSpec {
            reduction: Reduction::Serial,
            head_k: 7,
            head_v: 5,
            state_layout: layout,
            ..decode()
        };
        let kernel = built(spec);
        assert_eq!(count(&kernel, |op| matches!(op, Op::For { step: 1, .. })), 2);
        assert_eq!(count(&kernel, |op| matches!(op, Op::LaneXor { .. })), 0);
        assert_eq!(accesses(&kernel, "state", Access::ReadOnly), ["f32 align 4"; 2]);
    }
}

#[test]
fn sentinel_rows_touch_only_the_output() {
    for reduction in [Reduction::LaneTree { k_lanes: 4 }, Reduction::Serial] {
        let contract = StateContract::PoolInPlace { sentinel: -7 };
        let kernel = built(DecodeStepSpec { state_contract: contract, reduction, ..decode() });
        assert!(print(&kernel).contains("const -7\n"));
        let otherwise = kernel.body.stmts.iter().find_map(|stmt| match &stmt.op {
            Op::If { otherwise, .. } => Some(otherwise),
            _ => None,
        });
        let dead =
            Kernel { body: otherwise.expect("the sentinel's arm").clone(), ..kernel.clone() };
        let stores = count(&dead, |op| matches!(op, Op::Store(..)));
        assert_eq!((stores, count(&dead, |op| matches!(op, Op::Load(_)))), (1, 0));
        assert_eq!(accesses(&dead, "o", Access::WriteOnly).len(), 1);
    }
}

#[test]
fn the_history_is_copied_as_bits() {
    for (dtype, bits, float) in
        [(Dtype::Bf16, Scalar::I16, Scalar::Bf16), (Dtype::F32, Scalar::I32, Scalar::F32)]
    {
        let kernel = built(ConvStepSpec { dtype, width: 6, ..conv() });
        for argument in ["history", "x"] {
            let loads = accesses(&kernel, argument, Access::ReadOnly);
            assert!(
                loads.iter().all(|load| load.starts_with(bits.name())),
                "{argument}: {loads:?}"
            );
        }
        let stores = accesses(&kernel, "next_history", Access::WriteOnly);
        assert!(stores.iter().all(|store| store.starts_with(bits.name())), "{stores:?}");
        let y = &accesses(&kernel, "y", Access::WriteOnly)[0];
        assert!(y.starts_with(float.name()), "{y}");
    }
}

#[test]
fn every_width_and_dtype_of_the_convolution_is_built() {
    for width in 1..=16 {
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
            for bias in [false, true] {
                let kernel = built(ConvStepSpec { width, dtype, bias, ..conv() });
                let products = count(&kernel, |op| matches!(op, Op::Fma(..)));
                assert_eq!(products, (width - 1 + u32::from(bias)) as usize);
            }
        }
    }
}

#[test]
fn every_choice_of_the_decode_step_is_built() {
    let gates = [Gate::LogDecay, Gate::Softplus, Gate::BoundedSigmoid { lower_bound_nats: -5.0 }];
    let contracts = [StateContract::Separate, StateContract::PoolInPlace { sentinel: -1 }];
    for (target, wave_width) in [(Target::Gfx950, 64), (Target::Gfx1100, 32)] {
        for family in [Family::Gdn, Family::Kda] {
            for gate in gates.into_iter().filter(|gate| {
                family == Family::Kda || !matches!(gate, Gate::BoundedSigmoid { .. })
            }) {
                for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
                    for state_contract in contracts {
                        for head_map in [HeadMap::Grouped, HeadMap::Tiled] {
                            let target = DecodeStepSpec { target, wave_width, ..decode() };
                            built(DecodeStepSpec {
                                family,
                                gate,
                                state_layout,
                                state_contract,
                                head_map,
                                ..target
                            });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn illegal_specs_are_refused_with_their_rules() {
    let spec = DecodeStepSpec { head_v: 2048, value_heads: 7, ..decode() };
    let error = build(&spec.into()).expect_err("two rules are broken");
    let KernelError::Refused { violations, .. } = &error else { panic!("{error}") };
    assert!(violations.len() >= 2);
    assert!(error.to_string().contains("2048"), "{error}");
}
