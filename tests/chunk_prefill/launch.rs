//! Both kernels of a case on the emulator.

use dsl::ir::{Kernel, ParamKind};
use emit::llvm::Options;
use oracle::prefill::Problem;
use oracle::{GateInput, Stored};
use runtime::{Arg, Buffer, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};
use specs::{ChunkSpec, Dtype, Target};

use super::Case;

/// What the kernels made.
pub struct Run {
    /// Stage tensors by name, pairs added up, chunk by chunk and head by head in the order of the float64 reference.
    pub tiles: Vec<(String, Vec<f64>)>,
    pub o: Stored,
    pub state: Vec<f64>,
    /// Of every launch, in order.
    pub stats: Vec<emulator::Stats>,
}

/// First token, rows, sequence and index of every chunk; first chunk and number of chunks of every sequence.
fn tables(ends: &[i64], chunk: i64) -> (Vec<i32>, Vec<i32>) {
    let (mut chunks, mut sequences) = (Vec::new(), Vec::new());
    for (sequence, span) in ends.windows(2).enumerate() {
        let first = chunks.len() / 4;
        for (index, token) in (span[0]..span[1]).step_by(chunk as usize).enumerate() {
            let rows = (span[1] - token).min(chunk);
            chunks.extend([token as i32, rows as i32, sequence as i32, index as i32]);
        }
        sequences.extend([first as i32, (chunks.len() / 4 - first) as i32]);
    }
    (chunks, sequences)
}

/// A device with named buffers.
struct Bench {
    device: EmulatedDevice,
    buffers: Vec<(String, Buffer)>,
}

impl Bench {
    fn add(&mut self, name: &str, bytes: Option<&[u8]>, size_bytes: u64) {
        let access = BufferAccess::ReadWrite;
        let request = BufferRequest { label: "a tensor", size_bytes, access, fill: Fill::POISON };
        let buffer = self.device.allocate(request).expect("memory");
        if let Some(bytes) = bytes {
            self.device.write(&buffer, 0, bytes).expect("a fitting write");
        }
        self.buffers.push((name.to_owned(), buffer));
    }

    fn find(&self, name: &str) -> &Buffer {
        &self.buffers.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1
    }

    fn launch(&mut self, kernel: &Kernel, grid: [u32; 3], scale: f32) -> emulator::Stats {
        let artefacts = emit::llvm::compile(kernel, &Options::default()).expect("it compiles");
        let module = self.device.load(&artefacts.code_object).expect("it loads");
        let args: Vec<Arg> = kernel
            .params
            .iter()
            .map(|param| match param.kind {
                ParamKind::Buffer { .. } => Arg::Buffer(self.find(&param.name).whole()),
                ParamKind::Scalar(_) => Arg::F32(scale),
            })
            .collect();
        let dims = LaunchDims { grid, workgroup: [kernel.workgroup_size, 1, 1] };
        let function = module.kernel(&kernel.name).expect("the kernel is there");
        let report = self.device.launch(&function, dims, &args).expect("it runs");
        let emulated = report.emulated.expect("emulated");
        assert_eq!(emulated.findings, [], "{}", kernel.name);
        emulated.stats
    }

    fn stored(&mut self, name: &'static str, dtype: Dtype) -> Stored {
        let whole = self.find(name).whole();
        let bytes = self.device.read(&whole).expect("it is there");
        Stored::from_le_bytes(name, dtype, &bytes).expect("whole elements")
    }
}

/// A device with the problem's tensors, and its chunks and sequences.
fn prepare(case: &Case, problem: &Problem) -> (Bench, Vec<i32>, Vec<i32>) {
    let chunk = i64::from(case.chunk);
    let (table, sequences) = tables(problem.cu_seqlens.as_ref().expect("packed"), chunk);
    let device = EmulatedDevice::new(Target::Gfx950, emulator::Options::default());
    let mut bench = Bench { device, buffers: Vec::new() };
    let ints = |values: &[i32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let f32s = |values: &[f32]| Stored::F32(values.to_vec()).to_le_bytes();
    let gates = match &problem.gate {
        GateInput::LogDecay(g) => vec![("g", f32s(g))],
        GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. } => vec![
            ("g_raw", raw.g_raw.to_le_bytes()),
            ("a_log", f32s(&raw.a_log)),
            ("dt_bias", f32s(&raw.dt_bias)),
        ],
    };
    let state = problem.initial_state.as_ref().expect("an initial state");
    let given = [
        ("chunks", ints(&table)),
        ("sequences", ints(&sequences)),
        ("q", problem.q.to_le_bytes()),
        ("k", problem.k.to_le_bytes()),
        ("v", problem.v.to_le_bytes()),
        ("beta", problem.beta.stored().to_le_bytes()),
        ("h0", f32s(state)),
    ];
    for (name, bytes) in given.into_iter().chain(gates) {
        bench.add(name, Some(&bytes), bytes.len() as u64);
    }
    bench.add("o", None, problem.shape.v_len() as u64 * 2);
    bench.add("ht", None, state.len() as u64 * 4);
    (bench, table, sequences)
}

/// Runs the fused kernel, which leaves no stage tensors.
pub fn run_fused(case: &Case, problem: &Problem) -> Run {
    let (mut bench, _, sequences) = prepare(case, problem);
    let kernel = kernels::build_chunk(&ChunkSpec::Fused(case.fused())).expect("it builds");
    let grid = [case.value_splits, case.value_heads, sequences.len() as u32 / 2];
    let stats = vec![bench.launch(&kernel, grid, problem.scale)];
    let (o, state) = (bench.stored("o", Dtype::Bf16), bench.stored("ht", Dtype::F32).to_f64());
    Run { tiles: Vec::new(), o, state, stats }
}

/// Runs the tile kernel, then the scan kernel.
pub fn run(case: &Case, problem: &Problem) -> Run {
    let (shape, chunk) = (&problem.shape, case.chunk as usize);
    let (mut bench, table, sequences) = prepare(case, problem);
    let (n_chunks, heads) = (table.len() / 4, shape.value_heads);
    let specs = [ChunkSpec::Tile(case.tile()), ChunkSpec::Scan(case.scan())];
    let [tile, scan] = specs.map(|spec| kernels::build_chunk(&spec).expect("it builds"));
    let per_chunk = |elements: usize| (n_chunks * heads * elements) as u64;
    let channels = shape.gate_channels();
    let dtype = case.accuracy.tile_dtype();
    let tensors = [
        ("a", chunk * chunk, dtype),
        ("a_low", chunk * chunk, dtype),
        ("gk", chunk * shape.head_k, dtype),
        ("gk_low", chunk * shape.head_k, dtype),
        ("gq", chunk * shape.head_k, dtype),
        ("gq_low", chunk * shape.head_k, dtype),
        ("aqk", chunk * chunk, dtype),
        ("aqk_low", chunk * chunk, dtype),
        ("kt", chunk * shape.head_k, dtype),
        ("kt_low", chunk * shape.head_k, dtype),
        ("dec", channels, Dtype::F32),
    ];
    for (name, elements, dtype) in tensors {
        let size = if dtype == Dtype::F32 { 4 } else { 2 };
        bench.add(name, None, per_chunk(elements) * size);
    }
    let of_tile = bench.launch(&tile, [n_chunks as u32, heads as u32, 1], problem.scale);
    let n_sequences = sequences.len() as u32 / 2;
    let of_scan =
        bench.launch(&scan, [case.value_splits, heads as u32, n_sequences], problem.scale);

    let highs = tensors.into_iter().filter(|(name, ..)| !name.ends_with("_low"));
    let tiles = highs.map(|(name, elements, dtype)| {
        let mut values = bench.stored(name, dtype).to_f64();
        let low = tensors.iter().find(|(low, ..)| low.strip_suffix("_low") == Some(name));
        if let Some((low, ..)) = low.filter(|_| case.accuracy.splits_tiles()) {
            let low = bench.stored(low, dtype).to_f64();
            values.iter_mut().zip(low).for_each(|(high, low)| *high += low);
        }
        (name.to_owned(), by_sequence_and_head(&values, &table, heads, elements))
    });
    Run {
        tiles: tiles.collect(),
        o: bench.stored("o", Dtype::Bf16),
        state: bench.stored("ht", Dtype::F32).to_f64(),
        stats: vec![of_tile, of_scan],
    }
}

/// [chunks, heads, elements] in the order sequence, head, chunk.
fn by_sequence_and_head(values: &[f64], table: &[i32], heads: usize, elements: usize) -> Vec<f64> {
    let mut order: Vec<(i32, usize, usize)> = Vec::new();
    for (chunk, row) in table.chunks(4).enumerate() {
        order.extend((0..heads).map(|head| (row[2], head, chunk)));
    }
    order.sort();
    let tensor = |(_, head, chunk): (i32, usize, usize)| {
        let first = (chunk * heads + head) * elements;
        values[first..first + elements].to_vec()
    };
    order.into_iter().flat_map(tensor).collect()
}
