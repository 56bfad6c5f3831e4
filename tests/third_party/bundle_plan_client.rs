//! An engine in Rust that prefills with a plan of two kernels: one call, with a workspace of its own. Compiled as
//! bundle_client.rs. Usage: client FOLDER N_CHUNKS BATCH SCALE; reads FOLDER/NAME.in, writes FOLDER/NAME.out.

#[allow(dead_code, reason = "the module has every kernel of the bundle")]
mod bundle {
    include!(env!("BUNDLE_MODULE"));
}
include!(env!("BUNDLE_EXCHANGE"));
use bundle::Failed::Refused as Was;
use bundle::Refused;
use bundle::{plan, scan, tile};

fn main() {
    let values: Vec<String> = std::env::args().collect();
    let (folder, n_chunks, batch) = (&values[1], values[2].parse().unwrap(), values[3].parse().unwrap());
    let scale = values[4].parse().unwrap();
    let bindings = [
        Binding::load(tile::CODE_OBJECT, tile::KERNEL),
        Binding::load(scan::CODE_OBJECT, scan::KERNEL),
    ];
    let names = ["chunks", "q", "k", "beta", "g", "sequences", "v", "h0", "o", "ht"];
    let mut tensors = names.map(|name| upload(folder, name)).to_vec();
    let workspace_bytes = plan::workspace_bytes(n_chunks);
    tensors.push(upload_bytes("workspace", &vec![0xff; workspace_bytes as usize]));
    let at = |name: &str| tensors.iter().find(|tensor| tensor.name == name).unwrap().device;
    let arguments = plan::Arguments {
        chunks: at("chunks"),
        q: at("q"),
        k: at("k"),
        beta: at("beta"),
        g: at("g"),
        sequences: at("sequences"),
        v: at("v"),
        scale,
        h0: at("h0"),
        o: at("o"),
        ht: at("ht"),
        workspace: at("workspace"),
        workspace_bytes,
    };
    let [first, second] = &bindings;
    let launch = |n_chunks, batch, arguments| plan::launch([first, second], n_chunks, batch, &arguments);
    let small = plan::Arguments { workspace_bytes: workspace_bytes - 1, ..arguments };
    let refused = Refused::Workspace { got: workspace_bytes - 1, needed: workspace_bytes };
    assert_eq!(launch(n_chunks, batch, small), Err(Was(refused)));
    let null = plan::Arguments { workspace: 0, ..arguments };
    assert_eq!(launch(n_chunks, batch, null), Err(Was(Refused::Null { argument: "workspace" })));
    let null = plan::Arguments { ht: 0, ..arguments };
    assert_eq!(launch(n_chunks, batch, null), Err(Was(Refused::Null { argument: "ht" })));
    assert!(matches!(launch(n_chunks, 0, arguments), Err(Was(Refused::Count { of: "batch", .. }))));
    assert!(matches!(launch(u32::MAX, batch, arguments), Err(Was(Refused::Count { of: "n_chunks", .. }))));
    launch(n_chunks, batch, arguments).unwrap();
    synchronize();
    tensors.iter().for_each(|tensor| download(folder, tensor));
    bindings.into_iter().for_each(Binding::unload);
}
