//! Buffers, kernel arguments and the run itself, on a machine of the objects' own target.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeobj::{CodeObject, Kernel};
use emulator::{
    Access, BufferId, Dispatch, Fault, LaunchError, LoadedObject, Machine, MemoryError, Options,
    Report,
};
use isa::Target;

use crate::code_object_file;
use crate::emulate::bind::{self, Assignment, Supplied};
use crate::emulate::element::Element;
use crate::emulate::request::Request;
use crate::emulate::share::Sharing;
use crate::emulate::tensor::Tensor;
use crate::emulate::trace::Trace;
use crate::emulate::value::{self, Contents, Value};
use crate::error::CliError;

/// Elements that are written to a buffer at a time.
const CHUNK: u64 = 1 << 16;

/// Sizes of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS beyond what the kernel's descriptor asks for, in bytes.
    pub dynamic_lds_bytes: u32,
}

/// The code objects of a call, each read once.
pub struct Objects {
    files: Vec<(PathBuf, CodeObject)>,
    /// By launch: its place in `files`.
    of: Vec<usize>,
}

impl Objects {
    /// The files that they were read from.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, _)| path.as_path())
    }

    /// Reads what the launches need; `usual` is the object of those that name none.
    ///
    /// # Errors
    /// A file that is no code object, or a launch without one.
    pub fn read(requests: &[Request], usual: Option<&Path>) -> Result<Objects, CliError> {
        let mut objects = Objects { files: Vec::new(), of: Vec::new() };
        for (launch, request) in requests.iter().enumerate() {
            let path = request.object.as_deref().or(usual).ok_or_else(|| {
                let number = launch + 1;
                CliError::Usage(format!(
                    "launch {number} has no code object: give FILE.hsaco, or its own with --object"
                ))
            })?;
            let known = objects.files.iter().position(|(file, _)| file == path);
            objects.of.push(known.unwrap_or(objects.files.len()));
            if known.is_none() {
                objects.files.push((path.to_owned(), code_object_file::read(path)?.1));
            }
        }
        Ok(objects)
    }
}

/// A launch whose kernel is found.
pub struct Planned<'o> {
    /// The code object's file.
    pub file: &'o Path,
    /// The code object.
    pub object: &'o CodeObject,
    /// Its place among the objects of the call.
    place: usize,
    /// The kernel.
    pub kernel: &'o Kernel,
    /// Sizes of the launch.
    pub sizes: Sizes,
}

/// The launches of a call, with the values of their arguments and who shares which buffer.
pub struct Plan<'o> {
    /// In order.
    pub launches: Vec<Planned<'o>>,
    /// By launch: explicit arguments in order.
    pub args: Vec<Vec<Supplied>>,
    /// Buffers.
    pub sharing: Sharing,
}

impl<'o> Plan<'o> {
    /// Finds kernels, reads values and binds them.
    ///
    /// # Errors
    /// A launch that does not fit its kernel, or a value that makes no sense.
    pub fn new(requests: &[Request], objects: &'o Objects) -> Result<Plan<'o>, CliError> {
        let (mut launches, mut args) = (Vec::new(), Vec::new());
        for (launch, (request, place)) in requests.iter().zip(&objects.of).enumerate() {
            let (file, object) = &objects.files[*place];
            let (planned, bound) = plan(request, file, object, *place)
                .map_err(|error| error.in_launch(launch, requests.len()))?;
            launches.push(planned);
            args.push(bound);
        }
        let sharing = Sharing::new(&args).map_err(|error| {
            let launch = error.launch;
            CliError::Usage(error.to_string()).in_launch(launch, requests.len())
        })?;
        Ok(Plan { launches, args, sharing })
    }

    /// The target of the first object; [`Bench::new`] refuses objects for another one.
    pub fn target(&self) -> Target {
        // `request::requests` never gives an empty list.
        self.launches[0].object.target
    }
}

fn plan<'o>(
    request: &Request,
    file: &'o Path,
    object: &'o CodeObject,
    place: usize,
) -> Result<(Planned<'o>, Vec<Supplied>), CliError> {
    let kernel = object.kernel(&request.kernel)?;
    let assign = |(key, text): &(String, String)| {
        let value = value::parse(text)
            .map_err(|problem| CliError::Usage(format!("--arg {key}={text}: {problem}")))?;
        Ok(Assignment { key: key.clone(), text: text.clone(), value })
    };
    let given = request.args.iter().map(assign).collect::<Result<Vec<_>, CliError>>()?;
    let bound = bind::bind(kernel, &given)?;
    let Request { grid, block, dynamic_lds_bytes, .. } = *request;
    let sizes = Sizes { grid, block, dynamic_lds_bytes };
    Ok((Planned { file, object, place, kernel, sizes }, bound))
}

/// A machine with the code objects and buffers of a call.
pub struct Bench {
    machine: Machine,
    /// By launch.
    objects: Vec<LoadedObject>,
    /// By launch.
    kernargs: Vec<Vec<u8>>,
    buffers: Vec<Buffer>,
}

/// A buffer as its argument described it.
struct Buffer {
    name: String,
    id: BufferId,
    element: Element,
    shape: Vec<u64>,
}

impl Bench {
    /// Loads the objects and makes the buffers and the kernel-argument segments.
    ///
    /// # Errors
    /// [`LaunchError`] when code or buffers do not fit into memory, or objects are for two targets.
    pub fn new(plan: &Plan<'_>, options: Options) -> Result<Bench, CliError> {
        let mut machine = Machine::new(plan.target(), options);
        let mut loaded: BTreeMap<usize, LoadedObject> = BTreeMap::new();
        let mut objects = Vec::new();
        for (launch, Planned { object, place, .. }) in plan.launches.iter().enumerate() {
            let known = loaded.get(place).copied().map_or_else(|| machine.load(object), Ok);
            let known = known
                .map_err(|error| CliError::from(error).in_launch(launch, plan.launches.len()))?;
            loaded.insert(*place, known);
            objects.push(known);
        }
        let buffers = make_buffers(&mut machine, plan).map_err(LaunchError::from)?;
        let mut bench = Bench { machine, objects, buffers, kernargs: Vec::new() };
        for (args, of) in plan.args.iter().zip(&plan.sharing.of) {
            let kernarg = bench.pack(args, of).map_err(LaunchError::from)?;
            bench.kernargs.push(kernarg);
        }
        Ok(bench)
    }

    /// The explicit arguments at their offsets, gaps zero; the emulator supplies the hidden ones.
    fn pack(&self, args: &[Supplied], of: &[Option<usize>]) -> Result<Vec<u8>, MemoryError> {
        let mut kernarg = Vec::new();
        for (Supplied { arg, value, .. }, buffer) in args.iter().zip(of) {
            let bytes = match (value, buffer) {
                (Value::Scalar(bytes), _) => bytes.clone(),
                (_, Some(buffer)) => {
                    self.machine.memory().address(self.buffers[*buffer].id)?.to_le_bytes().to_vec()
                }
                (_, None) => vec![0; 8],
            };
            // Metadata has its arguments in ascending order of offsets.
            kernarg.resize(arg.offset as usize, 0);
            kernarg.extend(bytes);
        }
        Ok(kernarg)
    }

    /// Whether a launch of the plan, counted from 0, could start.
    ///
    /// # Errors
    /// As [`Machine::check`].
    pub fn check(&self, launch: usize, planned: &Planned<'_>) -> Result<(), LaunchError> {
        self.machine.check(&dispatch(self.objects[launch], planned, &self.kernargs[launch]))
    }

    /// Runs a launch of the plan, counted from 0.
    ///
    /// # Errors
    /// As [`Machine::dispatch`].
    pub fn run(
        &mut self,
        launch: usize,
        planned: &Planned<'_>,
        trace: Option<&mut Trace>,
    ) -> Result<Report, Fault> {
        let dispatch = dispatch(self.objects[launch], planned, &self.kernargs[launch]);
        match trace {
            Some(trace) => self.machine.dispatch_traced(&dispatch, trace),
            None => self.machine.dispatch(&dispatch),
        }
    }

    /// The buffers as they are now, by name.
    ///
    /// # Errors
    /// [`MemoryError`] when the machine has lost one.
    pub fn buffers(&self) -> Result<BTreeMap<String, Tensor>, MemoryError> {
        let tensor = |buffer: &Buffer| {
            let bytes = self.machine.memory().read(buffer.id)?.to_vec();
            // A buffer whose bytes are in memory has extents that memory can hold.
            let shape = buffer.shape.iter().map(|extent| *extent as usize).collect();
            Ok((buffer.name.clone(), Tensor { element: buffer.element, shape, bytes }))
        };
        self.buffers.iter().map(tensor).collect()
    }
}

fn dispatch<'d>(object: LoadedObject, planned: &'d Planned<'_>, kernarg: &'d [u8]) -> Dispatch<'d> {
    Dispatch {
        object,
        kernel: &planned.kernel.name,
        workgroups: planned.sizes.grid,
        workgroup_size: planned.sizes.block,
        kernarg,
        dynamic_lds_bytes: planned.sizes.dynamic_lds_bytes,
    }
}

fn make_buffers(machine: &mut Machine, plan: &Plan<'_>) -> Result<Vec<Buffer>, MemoryError> {
    let mut buffers = Vec::new();
    for made in &plan.sharing.buffers {
        if let Value::Buffer(contents) = &plan.args[made.launch][made.arg].value {
            let id = fill(machine, &made.name, contents)?;
            let (element, shape) = (contents.element(), contents.shape());
            buffers.push(Buffer { name: made.name.clone(), id, element, shape });
        }
    }
    Ok(buffers)
}

fn fill(machine: &mut Machine, name: &str, contents: &Contents) -> Result<BufferId, MemoryError> {
    let memory = machine.memory_mut();
    let id = memory.allocate(name, contents.size_bytes(), Access::ReadWrite)?;
    let size = contents.element().size_bytes() as u64;
    let n_elements = contents.size_bytes() / size;
    let mut from = 0;
    while from < n_elements {
        let to = n_elements.min(from + CHUNK);
        memory.write(id, from * size, &contents.bytes(from, to))?;
        from = to;
    }
    Ok(id)
}
