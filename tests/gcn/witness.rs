//! Against LLVM: the same results, and its assembler's bytes for our text.

use codeobj::CodeObject;
use emit::llvm::{self, Options};
use emulator::Numerics;
use wavesmith::pipeline;

use super::library::{case, code_objects, outputs};
use super::{compiled, library_jobs, whole_library};

#[test]
fn both_back_ends_give_equal_bits_in_every_mode_of_numerics() {
    for (name, job) in library_jobs() {
        let by_llvm = |spec: &specs::Spec| pipeline::compile(spec).unwrap().code_object;
        let objects = [code_objects(&job), job.specs().iter().map(by_llvm).collect()];
        let (problem, case) = case(&job);
        // Only matrix operations and dot products depend on the mode; one mode shows everything else.
        let modes = Numerics::of_target(job.target());
        let modes = if matches!(job.lead(), specs::Spec::Chunk(_)) { modes } else { &modes[..1] };
        for numerics in modes {
            let run = |objects: &Vec<Vec<u8>>| outputs(&job, objects, (&problem, &case), *numerics);
            let [gcn, llvm] = [run(&objects[0]), run(&objects[1])];
            assert!(gcn == llvm, "{name}: {numerics}: the back ends differ");
        }
    }
}

#[test]
fn the_assembler_gives_the_same_code_and_descriptor() {
    for (name, spec) in whole_library() {
        let kernel = kernels::build(&spec).unwrap();
        let ours = compiled(&kernel);
        let theirs = llvm::assemble(kernel.target, &ours.assembly, &Options::default())
            .unwrap_or_else(|cause| panic!("{name}: {cause}"));
        let [ours, theirs] = [&ours.code_object, &theirs].map(|bytes| {
            let object = CodeObject::parse(bytes).unwrap();
            let kernel = object.kernel(&kernel.name).unwrap().clone();
            let segment = object
                .segments
                .iter()
                .find(|segment| segment.contains(kernel.entry_address, kernel.code_size))
                .unwrap();
            let start = (kernel.entry_address - segment.address) as usize;
            let code = segment.bytes[start..start + kernel.code_size as usize].to_vec();
            (code, codeobj::KernelDescriptor { entry_byte_offset: 0, ..kernel.descriptor })
        });
        assert!(ours.0 == theirs.0, "{name}: the code differs");
        assert_eq!(ours.1, theirs.1, "{name}");
    }
}
