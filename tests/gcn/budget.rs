//! What does not fit is refused by name: registers over the author's budget, LDS over the limit, operations without
//! instructions.

use codeobj::CodeObject;
use dsl::ir::{Kernel, LdsBuffer};
use dsl::{KernelBuilder, Scalar};
use emit::gcn::{self, Cause, Options};
use isa::Target;

/// Loads sixteen numbers before it adds any of them.
fn sum_of_sixteen(target: Target, budget: Option<u32>) -> Kernel {
    let k = KernelBuilder::new("sum", target, target.wave_width());
    if let Some(budget) = budget {
        k.max_vgprs(budget);
    }
    let x = k.input("x", Scalar::F32, &[Some(64), Some(16)]);
    let y = k.output("y", Scalar::F32, &[Some(64)]);
    let row = x.at(k.lane_id()).load_run(0, 16);
    let product = row.iter().rev().fold(k.f32(1.0), |product, number| product * *number);
    let sum = row.iter().fold(product, |sum, number| sum + *number);
    y.store(k.lane_id(), sum);
    k.finish().unwrap()
}

fn compiled(kernel: &Kernel) -> Result<u32, Cause> {
    let options = Options { check: true, ..Options::default() };
    let artefacts = gcn::compile(kernel, &options).map_err(|error| error.cause)?;
    let object = CodeObject::parse(&artefacts.code_object).unwrap();
    Ok(object.kernel(&kernel.name).unwrap().metadata.vgpr_count)
}

#[test]
fn a_kernel_fits_in_what_it_needs_and_what_does_not_fit_in_less_is_named() {
    for target in Target::ALL {
        let needed = compiled(&sum_of_sixteen(target, None)).unwrap();
        let fits = compiled(&sum_of_sixteen(target, Some(needed))).unwrap();
        assert!(fits <= needed, "{target}");
        let error = compiled(&sum_of_sixteen(target, Some(12))).unwrap_err();
        let Cause::Budget { needed, budget, value, phase } = &error else { panic!("{error}") };
        assert!(*needed > 16 && *budget == 12, "{target}: {error}");
        let number = value.strip_prefix('%').map(str::parse::<u32>);
        assert!(matches!(number, Some(Ok(_))) || value == "a temporary", "{target}: {error}");
        assert!(error.to_string().contains(&format!("where {value} is made")), "{error}");
        assert!(phase.contains("budget.rs:"), "{target}: {error}");
        assert!(error.to_string().contains("the budget max_vgprs is 12"), "{target}: {error}");
    }
}

#[test]
fn a_budget_is_text_and_has_limits() {
    let kernel = sum_of_sixteen(Target::Gfx950, Some(40));
    let text = dsl::print(&kernel);
    assert!(text.contains("\nmax_vgprs 40\n"), "{text}");
    assert_eq!(dsl::parse(&text).unwrap(), kernel);
    for budget in [0, 257] {
        let mut kernel = kernel.clone();
        kernel.max_vgprs = Some(budget);
        let errors = dsl::verify(&kernel).unwrap_err();
        assert_eq!(errors[0].rule, dsl::verify::Rule::Registers);
        assert!(errors[0].to_string().contains(&format!("a budget of {budget} VGPRs")));
    }
}

#[cfg(feature = "llvm")]
#[test]
fn llvm_compiles_a_kernel_with_a_budget_as_one_without() {
    let code = |budget| {
        let kernel = sum_of_sixteen(Target::Gfx1100, budget);
        emit::llvm::compile(&kernel, &emit::llvm::Options::default()).unwrap().code_object
    };
    assert_eq!(code(Some(8)), code(None));
}

#[test]
fn lds_over_the_limit_names_the_buffer_that_ends_there() {
    let mut kernel = sum_of_sixteen(Target::Gfx1100, None);
    let buffer =
        |name: &str, size_bytes| LdsBuffer { name: name.to_owned(), size_bytes, align_bytes: 16 };
    kernel.lds = vec![buffer("small", 4096), buffer("large", 65_536)];
    let error = compiled(&kernel).unwrap_err();
    let expected = Cause::Lds {
        got: 69_632,
        buffer: "large".to_owned(),
        limit: 65_536,
        target: Target::Gfx1100,
    };
    assert_eq!(error, expected);
}

/// An operation without instructions is named, with the line that asked for it, the target and a remedy.
#[test]
fn an_operation_that_there_are_no_instructions_for_is_named() {
    let target = Target::Gfx1100;
    let k = KernelBuilder::new("sine", target, target.wave_width());
    let y = k.output("y", Scalar::F32, &[Some(64)]);
    let angle = k.f32(0.25);
    let sine = k.intrinsic("llvm.amdgcn.sin.f32", dsl::ir::Type::F32, &[angle]);
    y.store(k.lane_id(), sine);
    let error = compiled(&k.finish().unwrap()).unwrap_err();
    let Cause::Unsupported { operation, phase, target: named, remedy } = &error else {
        panic!("{error}")
    };
    assert_eq!((operation.as_str(), *named), ("intrinsic llvm.amdgcn.sin.f32", target));
    assert!(phase.contains("budget.rs:") && remedy.contains("LLVM back end"), "{error}");
    let words = error.to_string();
    assert!(words.contains("has no instructions on gfx1100"), "{words}");
}
