//! An engine in Rust: loads a kernel of a bundle and launches it with the generated call, on a binding of its own.
//!
//! Compiled by rustc alone, with the environment variables BUNDLE_MODULE (path of the generated module) and BUNDLE_EXCHANGE
//! (of bundle_exchange.rs), and linked with the HIP library. Usage: client FOLDER BATCH SCALE; reads FOLDER/NAME.in, writes
//! FOLDER/NAME.out.

#[allow(dead_code, reason = "the module has every kernel of the bundle")]
mod bundle {
    include!(env!("BUNDLE_MODULE"));
}
include!(env!("BUNDLE_EXCHANGE"));
use bundle::gdn as kernel;

fn main() {
    let values: Vec<String> = std::env::args().collect();
    let (folder, batch, scale) = (&values[1], values[2].parse().unwrap(), values[3].parse().unwrap());
    let binding = Binding::load(kernel::CODE_OBJECT, kernel::KERNEL);
    let names = ["q", "k", "v", "g", "beta", "state", "next_state", "o"];
    let tensors = names.map(|name| upload(folder, name));
    let [q, k, v, g, beta, state, next_state, o] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i: usize| tensors[i].device);
    let arguments = kernel::Arguments { q, k, v, g, beta, state, next_state, o, scale };
    let null = kernel::Arguments { k: 0, ..arguments };
    let refused = kernel::launch(&binding, batch, &null);
    assert_eq!(refused, Err(bundle::Failed::Refused(bundle::Refused::Null { argument: "k" })));
    assert!(matches!(kernel::launch(&binding, 0, &arguments), Err(bundle::Failed::Refused(_))));
    kernel::launch(&binding, batch, &arguments).unwrap();
    synchronize();
    tensors.iter().for_each(|tensor| download(folder, tensor));
    binding.unload();
}
