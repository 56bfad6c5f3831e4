//! The code objects themselves, by our reader and a foreign one.

use codeobj::CodeObject;
use goblin::elf::Elf;

use super::{compiled, whole_library};

#[test]
fn every_code_object_is_read_back_with_the_same_facts() {
    for (name, spec) in whole_library() {
        let kernel = kernels::build(&spec).unwrap();
        let artefacts = compiled(&kernel);
        let object = CodeObject::parse(&artefacts.code_object).unwrap();
        let read = object.kernel(&kernel.name).unwrap();
        assert_eq!(read.metadata.args.len(), kernel.params.len(), "{name}");
        assert_eq!(read.metadata.reqd_workgroup_size, Some([kernel.workgroup_size, 1, 1]));
        assert_eq!(read.descriptor.wave_width, kernel.target.wave_width(), "{name}");
        assert_eq!((read.metadata.vgpr_spill_count, read.metadata.sgpr_spill_count), (0, 0));
        let elf = Elf::parse(&artefacts.code_object).unwrap();
        let names: Vec<_> =
            elf.dynsyms.iter().filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name)).collect();
        assert_eq!(names, ["", &kernel.name, &format!("{}.kd", kernel.name)], "{name}");
    }
}

#[test]
fn the_same_kernel_gives_the_same_bytes() {
    let (_, spec) = whole_library().swap_remove(0);
    let kernel = kernels::build(&spec).unwrap();
    let [first, second] = [0, 1].map(|_| compiled(&kernel));
    assert_eq!(first.code_object, second.code_object);
    assert_eq!(first.assembly, second.assembly);
}
