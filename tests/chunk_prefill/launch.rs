//! Both kernels of a case on the emulator.

use std::collections::BTreeMap;
use std::sync::Mutex;

use dsl::ir::{Kernel, ParamKind};
use emit::llvm::Options;
use oracle::prefill::Problem;
use oracle::{GateInput, Stored};
use runtime::{Arg, Buffer, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};
use specs::chunk::TokenLayout;
use specs::{ChunkSpec, Dtype, KernelKind, StatusWord};
use wavesmith::backend::Backend;
use wavesmith::mutation::Proof;

use crate::case::Case;

/// What the kernels made.
pub struct Run {
    /// Stage tensors by name, pairs added up, chunk by chunk and head by head in the order of the float64 reference.
    pub tiles: Vec<(String, Vec<f64>)>,
    pub o: Stored,
    pub state: Vec<f64>,
    /// What checked kernels reported.
    pub status: StatusWord,
    /// Of every launch, in order.
    pub stats: Vec<emulator::Stats>,
}

/// First token, rows, sequence and batch of every chunk; first chunk and number of chunks of every sequence.
fn tables(ends: &[i64], chunk: i64) -> (Vec<i32>, Vec<i32>) {
    let (mut chunks, mut sequences) = (Vec::new(), Vec::new());
    for (sequence, span) in ends.windows(2).enumerate() {
        let first = chunks.len() / 4;
        for token in (span[0]..span[1]).step_by(chunk as usize) {
            let rows = (span[1] - token).min(chunk);
            chunks.extend([token as i32, rows as i32, sequence as i32, 0]);
        }
        sequences.extend([first as i32, (chunks.len() / 4 - first) as i32]);
    }
    (chunks, sequences)
}

/// The code object of a kernel; target and variant's name stand for all of its spec, so each is compiled once.
fn object(kernel: &Kernel) -> Vec<u8> {
    static OBJECTS: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let known = || OBJECTS.lock().expect("no panic with the lock held");
    let name = format!("{} {}", kernel.target, kernel.name);
    if let Some(object) = known().get(&name) {
        return object.clone();
    }
    let artefacts = emit::llvm::compile(kernel, &Options::default()).expect("it compiles");
    known().insert(name, artefacts.code_object.clone());
    artefacts.code_object
}

/// More than any launch here takes; what loops for ever ends there.
const INSTRUCTION_LIMIT: u64 = 20_000_000;

/// A device with named buffers.
struct Bench {
    device: EmulatedDevice,
    buffers: Vec<(String, Buffer)>,
    tokens: i32,
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
        let report = self.execute(kernel, &object(kernel), grid, scale).expect("it runs");
        assert_eq!(report.findings, [], "{}", kernel.name);
        report.stats
    }

    /// A launch of this code object in place of the kernel's own.
    fn execute(
        &mut self,
        kernel: &Kernel,
        object: &[u8],
        grid: [u32; 3],
        scale: f32,
    ) -> Result<emulator::Report, String> {
        let module = self.device.load(object).map_err(|error| error.to_string())?;
        let args: Vec<Arg> = kernel
            .params
            .iter()
            .map(|param| match param.kind {
                ParamKind::Buffer { .. } => Arg::Buffer(self.find(&param.name).whole()),
                ParamKind::Scalar(dsl::Scalar::I32) => Arg::I32(self.tokens),
                ParamKind::Scalar(_) => Arg::F32(scale),
            })
            .collect();
        let dims = LaunchDims { grid, workgroup: [kernel.workgroup_size, 1, 1] };
        let function = module.kernel(&kernel.name).map_err(|error| error.to_string())?;
        let report = self.device.launch(&function, dims, &args).map_err(|e| e.to_string())?;
        report.emulated.ok_or_else(|| "no emulator".to_owned())
    }

    fn bytes(&mut self, name: &str) -> Vec<u8> {
        let whole = self.find(name).whole();
        self.device.read(&whole).expect("it is there")
    }

    fn stored(&mut self, name: &'static str, dtype: Dtype) -> Stored {
        let bytes = self.bytes(name);
        Stored::from_le_bytes(name, dtype, &bytes).expect("whole elements")
    }
}

/// A device with the problem's tensors, and its chunks and sequences.
fn prepare(case: &Case, problem: &Problem) -> (Bench, Vec<i32>, Vec<i32>) {
    let chunk = i64::from(case.chunk);
    let (table, sequences) = tables(problem.cu_seqlens.as_ref().expect("packed"), chunk);
    let options = emulator::Options {
        numerics: case.numerics,
        stats: case.counted,
        instruction_limit: INSTRUCTION_LIMIT,
        ..emulator::Options::default()
    };
    let device = EmulatedDevice::new(case.target, options);
    let tokens = problem.shape.tokens as i32;
    let mut bench = Bench { device, buffers: Vec::new(), tokens };
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
    let states = problem.sequences() * problem.shape.state_row_len();
    let given = [
        ("chunks", ints(&table)),
        ("sequences", ints(&sequences)),
        ("q", problem.q.to_le_bytes()),
        ("k", problem.k.to_le_bytes()),
        ("v", problem.v.to_le_bytes()),
        ("beta", problem.beta.stored().to_le_bytes()),
        ("h0", problem.initial_state.as_ref().map_or(Vec::new(), |state| f32s(state))),
    ];
    let mut strides = Vec::new();
    for (name, bytes) in given.into_iter().chain(gates) {
        let bytes = match rows_of(name, problem) {
            Some(rows) => rows.placed(case.layout, &bytes),
            None => bytes,
        };
        bench.add(name, Some(&bytes), bytes.len().max(16) as u64);
    }
    for name in ["q", "k", "v", "g", "beta", "o"] {
        let rows = rows_of(name, problem).expect("a tensor of rows");
        let [token, head] = rows.strides(case.layout);
        strides.extend([0, token as i32, head as i32]);
    }
    bench.add("strides", Some(&ints(&strides)), 72);
    let o = rows_of("o", problem).expect("a tensor of rows");
    bench.add("o", None, o.bytes(case.layout) as u64);
    bench.add("ht", None, states as u64 * 4);
    bench.add("status", Some(&[0; 4]), 4);
    (bench, table, sequences)
}

/// A tensor with a row a token and head.
struct TokenRows {
    tokens: usize,
    heads: usize,
    /// Elements of a row.
    width: usize,
    element_bytes: usize,
}

fn rows_of(name: &str, problem: &Problem) -> Option<TokenRows> {
    let shape = &problem.shape;
    let beta = problem.beta.stored().dtype();
    let (heads, width, dtype) = match name {
        "q" | "k" => (shape.key_heads, shape.head_k, Dtype::Bf16),
        "v" | "o" => (shape.value_heads, shape.head_v, Dtype::Bf16),
        "g" => (shape.value_heads, shape.gate_channels(), Dtype::F32),
        "g_raw" => (shape.value_heads, shape.gate_channels(), Dtype::Bf16),
        "beta" => (shape.value_heads, 1, beta),
        _ => return None,
    };
    let element_bytes = if dtype == Dtype::F32 { 4 } else { 2 };
    Some(TokenRows { tokens: shape.tokens, heads, width, element_bytes })
}

impl TokenRows {
    /// Elements from token to token and from head to head; strided rows have gaps.
    fn strides(&self, layout: TokenLayout) -> [usize; 2] {
        let gap = if self.width == 1 { 3 } else { 8 };
        match layout {
            TokenLayout::TokenMajor => [self.heads * self.width, self.width],
            TokenLayout::HeadMajor => [self.width, self.tokens * self.width],
            TokenLayout::Strided => [self.heads * (self.width + gap) + gap, self.width + gap],
        }
    }

    fn bytes(&self, layout: TokenLayout) -> usize {
        let [token, head] = self.strides(layout);
        (self.tokens * token.max(self.width) + self.heads * head) * self.element_bytes
    }

    /// Bytes of each row in token-major order, and where it lies.
    fn places(&self, layout: TokenLayout) -> impl Iterator<Item = (usize, usize, usize)> {
        let ([token, head], row, size) =
            (self.strides(layout), self.width * self.element_bytes, self.element_bytes);
        let heads = self.heads;
        (0..self.tokens * heads).map(move |index| {
            (index * row, (index / heads * token + index % heads * head) * size, row)
        })
    }

    /// Rows in token-major order put where the layout has them, NaN between.
    fn placed(&self, layout: TokenLayout, bytes: &[u8]) -> Vec<u8> {
        let mut placed = vec![0xff; self.bytes(layout)];
        for (from, to, row) in self.places(layout) {
            placed[to..to + row].copy_from_slice(&bytes[from..from + row]);
        }
        placed
    }

    /// The reverse.
    fn gathered(&self, layout: TokenLayout, bytes: &[u8]) -> Vec<u8> {
        let mut gathered = vec![0; self.tokens * self.heads * self.width * self.element_bytes];
        for (to, from, row) in self.places(layout) {
            gathered[to..to + row].copy_from_slice(&bytes[from..from + row]);
        }
        gathered
    }
}

impl Bench {
    /// Outputs, states and the status word.
    fn results(&mut self, case: &Case, problem: &Problem) -> (Stored, Vec<f64>, StatusWord) {
        let bytes = self.bytes("o");
        let rows = rows_of("o", problem).expect("a tensor of rows");
        let o = rows.gathered(case.layout, &bytes);
        let o = Stored::from_le_bytes("o", Dtype::Bf16, &o).expect("whole elements");
        let status = self.bytes("status");
        let status = u32::from_le_bytes([status[0], status[1], status[2], status[3]]);
        let status = StatusWord::from_bits(status).expect("known bits");
        (o, self.stored("ht", Dtype::F32).to_f64(), status)
    }
}

/// Runs the fused kernel, which leaves no stage tensors.
pub fn run_fused(case: &Case, problem: &Problem) -> Run {
    let (mut bench, _, sequences) = prepare(case, problem);
    let kernel = kernels::build_chunk(&ChunkSpec::Fused(case.fused())).expect("it builds");
    let grid = [case.value_splits, case.value_heads, sequences.len() as u32 / 2];
    let stats = vec![bench.launch(&kernel, grid, problem.scale)];
    let (o, state, status) = bench.results(case, problem);
    Run { tiles: Vec::new(), o, state, status, stats }
}

/// Runs the tile kernel, then the scan kernel.
pub fn run(case: &Case, problem: &Problem) -> Run {
    let shape = &problem.shape;
    let (mut bench, table, sequences) = prepare(case, problem);
    let (n_chunks, heads) = (table.len() / 4, shape.value_heads);
    let specs = [ChunkSpec::Tile(case.tile()), ChunkSpec::Scan(case.scan())];
    let [tile, scan] = specs.map(|spec| kernels::build_chunk(&spec).expect("it builds"));
    let tensors = stage_tensors(case, problem);
    bench.add_stage(&tensors, n_chunks * heads);
    let of_tile = bench.launch(&tile, [n_chunks as u32, heads as u32, 1], problem.scale);
    let n_sequences = sequences.len() as u32 / 2;
    let of_scan =
        bench.launch(&scan, [case.value_splits, heads as u32, n_sequences], problem.scale);

    let highs = tensors.into_iter().filter(|(name, ..)| !name.ends_with("_low"));
    let tiles = highs.map(|(name, elements, dtype)| {
        let mut values = bench.stored(name, dtype).to_f64();
        let low = tensors.iter().find(|(low, ..)| low.strip_suffix("_low") == Some(name));
        let is_split = match name {
            "a" => case.accuracy.splits_steps(),
            _ => case.accuracy.splits_tiles(),
        };
        if let Some((low, ..)) = low.filter(|_| is_split) {
            let low = bench.stored(low, dtype).to_f64();
            values.iter_mut().zip(low).for_each(|(high, low)| *high += low);
        }
        (name.to_owned(), by_sequence_and_head(&values, &table, heads, elements))
    });
    let tiles = tiles.collect();
    let (o, state, status) = bench.results(case, problem);
    Run { tiles, o, state, status, stats: vec![of_tile, of_scan] }
}

/// Name, elements a chunk and head, and type of every stage tensor.
fn stage_tensors(case: &Case, problem: &Problem) -> [(&'static str, usize, Dtype); 11] {
    let (shape, chunk) = (&problem.shape, case.chunk as usize);
    let channels = shape.gate_channels();
    let dtype = case.accuracy.tile_dtype();
    [
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
    ]
}

impl Bench {
    fn add_stage(&mut self, tensors: &[(&'static str, usize, Dtype)], count: usize) {
        for (name, elements, dtype) in tensors {
            let size = if *dtype == Dtype::F32 { 4 } else { 2 };
            self.add(name, None, (count * elements * size) as u64);
        }
    }
}

/// Mutation proof of one kernel: a mutant runs in the kernel's place, after what it needs.
pub fn prove(case: &Case, problem: &Problem, of: KernelKind, backend: Backend) -> Proof {
    let build = |spec| kernels::build_chunk(&spec).expect("it builds");
    let tile = build(ChunkSpec::Tile(case.tile()));
    let kernel = match of {
        KernelKind::ChunkTile => tile.clone(),
        KernelKind::ChunkScan => build(ChunkSpec::Scan(case.scan())),
        KernelKind::ChunkFused => build(ChunkSpec::Fused(case.fused())),
        other => panic!("{other} is no prefill kernel"),
    };
    let case = Case { counted: true, ..*case };
    let code_object = backend.compile(&kernel).expect("it compiles");
    let proof = wavesmith::mutation::prove(&code_object, &kernel.name, |bytes| {
        let (mut bench, table, sequences) = prepare(&case, problem);
        let (n_chunks, heads) = (table.len() as u32 / 4, case.value_heads);
        let tensors = stage_tensors(&case, problem);
        bench.add_stage(&tensors, (n_chunks * heads) as usize);
        let of_tile = [n_chunks, heads, 1];
        if of == KernelKind::ChunkScan {
            bench.launch(&tile, of_tile, problem.scale);
        }
        let of_scan = [case.value_splits, heads, sequences.len() as u32 / 2];
        let grid = if of == KernelKind::ChunkTile { of_tile } else { of_scan };
        let report = bench.execute(&kernel, bytes, grid, problem.scale)?;
        let names = tensors.iter().map(|(name, ..)| *name).chain(["o", "ht", "status"]);
        let outputs = names.flat_map(|name| bench.bytes(name)).collect();
        Ok(wavesmith::mutation::Run { reports: vec![report], outputs })
    });
    proof.expect("the kernel runs clean")
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
