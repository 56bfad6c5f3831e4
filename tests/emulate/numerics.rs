//! Modes of numerics on the command line.

use isa::Target;

use super::{document, ends_with, fixture, launch};

#[test]
fn the_mode_of_numerics_is_stated_and_names_bounds() {
    let modes = [
        (Target::Gfx950, "cdna3-fdpa", "cdna3_fdpa", "v_mfma_f32_32x32x16_f16"),
        (Target::Gfx1100, "rdna3-candidate", "rdna3_candidate", "v_wmma_f32_16x16x16_f16"),
    ];
    for (target, mode, bound, mnemonic) in modes {
        let object = fixture("gemm", target);
        let values =
            ["a=zeros:f16:4096", "b=zeros:f16:4096", "c=nan:f32:16384", "n=i32:128", "k=i32:32"];
        let call = |mode| launch([&object, "gemm", "1", "256"], &values, &["--numerics", mode]);
        let told = document(&call(mode), 0);
        assert_eq!(told["numerics"], mode);
        assert_eq!(told["launches"][0]["fidelity"]["approximate"][mnemonic]["bound"], bound);
        assert_eq!(told["launches"][0]["fidelity"]["approximate"][mnemonic]["executed"], true);
        let told = document(&call("fma-sequential"), 0);
        assert_eq!(
            told["launches"][0]["fidelity"]["approximate"][mnemonic]["bound"],
            "sequential_fma"
        );
        ends_with(&call(mode), 0, &[&format!("numerics {mode}")]);
        let other = if mode == "cdna3-fdpa" { "rdna3-candidate" } else { "cdna3-fdpa" };
        ends_with(&call(other), 2, &[other, &target.to_string(), mode]);
    }
}
