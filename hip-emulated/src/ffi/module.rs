//! Modules, functions and launches.

use std::ffi::{c_char, c_int, c_void};

use codeobj::KernelMetadata;
use hip_abi::{
    Code, FunctionAttribute, LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE,
    LAUNCH_PARAM_END,
};

use super::memory::execute;
use super::{bytes, exports, number, put, put_if, text};
use crate::failure::{Done, Failure, fail};
use crate::launch::{Launch, check_packed, pack};
use crate::runtime::with;
use crate::streams::Work;

/// Most bytes that an image in memory may span.
const MAX_IMAGE_BYTES: u64 = 1 << 30;

/// The bytes of a code object in memory, whose size only its headers tell: ELF64, little-endian.
///
/// # Safety
/// `image` is null or points to a whole code object.
unsafe fn image(image: *const c_void) -> Done<Vec<u8>> {
    const HEADER_BYTES: usize = 64;
    const MAGIC: &[u8] = b"\x7fELF";
    let start = image.cast::<u8>();
    // SAFETY: even the smallest object has a magic.
    let magic = unsafe { bytes(start, MAGIC.len(), "the code object") }?;
    if magic != MAGIC {
        let words = format!(
            "the image begins with {magic:02x?}, not with the ELF magic; bundles are not taken apart"
        );
        return fail(Code::InvalidImage, words);
    }
    // SAFETY: an ELF object has its header.
    let header = unsafe { bytes(start, HEADER_BYTES, "the code object's header") }?;
    let (table, each) = (word(&header, 32, 8), word(&header, 54, 2));
    let table_end = table.saturating_add(each.saturating_mul(word(&header, 56, 2)));
    if table_end > MAX_IMAGE_BYTES || each < 56 {
        return fail(Code::InvalidImage, "its program headers lie where no code object has them");
    }
    let size = usize::try_from(table_end).unwrap_or(HEADER_BYTES).max(HEADER_BYTES);
    // SAFETY: a whole object has its program headers.
    let headers = unsafe { bytes(start, size, "the code object's program headers") }?;
    let first = usize::try_from(table).unwrap_or(size).min(size);
    let entries = headers[first..].chunks_exact(usize::try_from(each).unwrap_or(56));
    let ends = entries.map(|entry| word(entry, 8, 8).saturating_add(word(entry, 32, 8)));
    let end = ends.max().unwrap_or(0).max(table_end).max(HEADER_BYTES as u64);
    if end > MAX_IMAGE_BYTES {
        let words = format!("its segments end at byte {end}, the limit is {MAX_IMAGE_BYTES}");
        return fail(Code::InvalidImage, words);
    }
    let size = usize::try_from(end).unwrap_or(size);
    // SAFETY: a whole object has all its segments.
    unsafe { bytes(start, size, "the code object, as long as its headers say,") }
}

/// A little-endian number of a header.
fn word(bytes: &[u8], offset: usize, size: usize) -> u64 {
    let field = bytes.get(offset..offset + size).unwrap_or_default();
    field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The bytes of a file, which could be anything.
fn file(path: &str) -> Done<Vec<u8>> {
    let no = |code, words: String| Failure::new(code, format!("{path}: {words}"));
    let about = std::fs::metadata(path).map_err(|e| no(Code::FileNotFound, e.to_string()))?;
    if !about.is_file() {
        return Err(no(Code::InvalidImage, "no regular file".to_owned()));
    }
    if about.len() > MAX_IMAGE_BYTES {
        let words = format!("{} bytes, the limit is {MAX_IMAGE_BYTES}", about.len());
        return Err(no(Code::InvalidImage, words));
    }
    std::fs::read(path).map_err(|e| no(Code::FileNotFound, e.to_string()))
}

fn load(bytes: &[u8]) -> Done<usize> {
    with(|runtime| {
        runtime.refuse_in_capture("loading a module", Code::StreamCaptureUnsupported)?;
        runtime.load(bytes)
    })
}

/// The arguments of a launch, from the caller's list of pointers or from its packed buffer.
///
/// # Safety
/// `params` is null or has a pointer for each explicit argument, each valid for as many bytes as the metadata says; `extra`
/// is null or a list as `hipModuleLaunchKernel` describes it.
unsafe fn arguments(
    metadata: &KernelMetadata,
    params: *const *const u8,
    extra: *const usize,
) -> Done<Vec<u8>> {
    match (params.is_null(), extra.is_null()) {
        (false, false) => fail(Code::InvalidValue, "both kernelParams and extra are given"),
        // SAFETY: as this function's contract says.
        (true, false) => unsafe { packed(metadata, extra) },
        (true, true) if metadata.explicit_args().next().is_none() => Ok(Vec::new()),
        (true, true) => {
            let n = metadata.explicit_args().count();
            let words =
                format!("kernel '{}' takes {n} arguments, the launch gives none", metadata.name);
            fail(Code::InvalidValue, words)
        }
        (false, true) => pack(metadata, |index, size| {
            let place = format!("argument {index} in kernelParams");
            // SAFETY: the list has a pointer for each explicit argument, valid for as many bytes as that has.
            unsafe {
                let argument = number(params.wrapping_add(index).cast(), &place)?;
                bytes(argument as *const u8, size, &place)
            }
        }),
    }
}

/// The packed buffer of `extra`.
///
/// # Safety
/// As [`arguments`], `extra` not null.
unsafe fn packed(metadata: &KernelMetadata, extra: *const usize) -> Done<Vec<u8>> {
    /// More entries than there are kinds of, so that a list without an end is not followed.
    const MAX_ENTRIES: usize = 4;
    let (mut buffer, mut size) = (0, 0);
    for entry in 0..MAX_ENTRIES {
        // SAFETY: within the list, whose end was not seen yet.
        let key = unsafe { number(extra.wrapping_add(2 * entry), "a key in extra") }?;
        if key == LAUNCH_PARAM_END {
            break;
        }
        // SAFETY: every key but the end is followed by a value.
        let value = unsafe { number(extra.wrapping_add(2 * entry + 1), "a value in extra") }?;
        match key {
            LAUNCH_PARAM_BUFFER_POINTER => buffer = value,
            LAUNCH_PARAM_BUFFER_SIZE if value != 0 => {
                // SAFETY: not null, so the address of a size.
                size = unsafe { number(value as *const usize, "the size in extra") }?;
            }
            _ => {
                let words = format!("extra has the key {key}, known are 1, 2 and 3");
                return fail(Code::InvalidValue, words);
            }
        }
    }
    check_packed(metadata, size)?;
    // SAFETY: null, or valid for the size that the list says.
    unsafe { bytes(buffer as *const u8, size, "the buffer of arguments in extra") }
}

/// How large a launch is.
struct Size {
    workgroups: [u32; 3],
    workgroup_size: [u32; 3],
    dynamic_lds_bytes: u32,
}

/// Launches, now or when the graph that is being captured runs.
///
/// # Safety
/// As [`arguments`].
unsafe fn launch(
    function: usize,
    size: Size,
    stream: usize,
    params: *const *const u8,
    extra: *const usize,
) -> Done<()> {
    let metadata = with(|runtime| Ok(runtime.function(function)?.kernel.metadata.clone()))?;
    // SAFETY: as this function's contract says.
    let kernarg = unsafe { arguments(&metadata, params, extra) }?;
    let Size { workgroups, workgroup_size, dynamic_lds_bytes } = size;
    let launch = Launch { function, workgroups, workgroup_size, dynamic_lds_bytes, kernarg };
    let work = with(|runtime| {
        runtime.check(&launch)?;
        runtime.submit(stream, Work::Launch(launch))
    })?;
    // SAFETY: a launch touches no memory of the host.
    work.map_or(Ok(()), |work| unsafe { execute(work) })
}

/// Start of `HIP_LAUNCH_CONFIG`; attributes follow, which ask for nothing that the emulator lacks.
#[repr(C)]
struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: usize,
}

exports! {
    fn hipModuleLoadData(module: *mut usize, data: *const c_void) {
        let handle = load(&image(data)?)?;
        put(module, handle)
    }

    fn hipModuleLoadDataEx(
        module: *mut usize,
        data: *const c_void,
        _n_options: u32,
        _options: *const c_int,
        _values: *const *const c_void,
    ) {
        let handle = load(&image(data)?)?;
        put(module, handle)
    }

    fn hipModuleLoad(module: *mut usize, path: *const c_char) {
        put(module, load(&file(&text(path)?)?)?)
    }

    fn hipModuleUnload(module: usize) { with(|runtime| runtime.unload(module)) }

    fn hipModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) {
        let name = text(name)?;
        put(function, with(|runtime| runtime.get_function(module, &name))?)
    }

    fn hipModuleGetGlobal(address: *mut u64, size: *mut usize, module: usize, name: *const c_char) {
        let name = text(name)?;
        let (at, n_bytes) = with(|runtime| runtime.global(module, &name))?;
        put_if(address, at)?;
        put_if(size, usize::try_from(n_bytes).unwrap_or(usize::MAX))
    }

    fn hipFuncGetAttribute(value: *mut c_int, attribute: c_int, function: usize) {
        use FunctionAttribute as F;
        let kernel = with(|runtime| Ok(runtime.function(function)?.kernel))?;
        let limit = with(|runtime| Ok(runtime.settings.target.limits().lds_bytes_per_workgroup))?;
        let metadata = &kernel.metadata;
        let answer = match FunctionAttribute::from_number(attribute) {
            Some(F::MaxThreadsPerBlock) => metadata.max_flat_workgroup_size,
            Some(F::SharedSizeBytes) => metadata.group_segment_fixed_size,
            Some(F::LocalSizeBytes) => metadata.private_segment_fixed_size,
            Some(F::NumRegs) => metadata.vgpr_count,
            Some(F::MaxDynamicSharedSizeBytes) => limit - metadata.group_segment_fixed_size.min(limit),
            Some(_) => 0,
            None => return fail(Code::InvalidValue, format!("function attribute {attribute} is not known")),
        };
        put(value, c_int::try_from(answer).unwrap_or(c_int::MAX))
    }

    fn hipFuncSetAttribute(_function: usize, _attribute: c_int, _value: c_int) { Ok(()) }

    fn hipModuleLaunchKernel(
        function: usize,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: usize,
        params: *const *const u8,
        extra: *const usize,
    ) {
        let size = Size {
            workgroups: [grid_x, grid_y, grid_z],
            workgroup_size: [block_x, block_y, block_z],
            dynamic_lds_bytes: shared_bytes,
        };
        launch(function, size, stream, params, extra)
    }

    fn hipModuleLaunchCooperativeKernel(
        function: usize,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: u32,
        stream: usize,
        params: *const *const u8,
    ) {
        let size = Size {
            workgroups: [grid_x, grid_y, grid_z],
            workgroup_size: [block_x, block_y, block_z],
            dynamic_lds_bytes: shared_bytes,
        };
        launch(function, size, stream, params, std::ptr::null())
    }

    fn hipExtModuleLaunchKernel(
        function: usize,
        items_x: u32,
        items_y: u32,
        items_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared_bytes: usize,
        stream: usize,
        params: *const *const u8,
        extra: *const usize,
        _start: usize,
        _stop: usize,
        _flags: u32,
    ) {
        let (items, block) = ([items_x, items_y, items_z], [block_x, block_y, block_z]);
        let whole = items.iter().zip(block).all(|(items, block)| block != 0 && items % block == 0);
        if !whole {
            let words = format!("{items:?} work-items are not whole workgroups of {block:?}");
            return fail(Code::InvalidConfiguration, words);
        }
        let size = Size {
            workgroups: std::array::from_fn(|axis| items[axis] / block[axis]),
            workgroup_size: block,
            dynamic_lds_bytes: u32::try_from(shared_bytes).unwrap_or(u32::MAX),
        };
        launch(function, size, stream, params, extra)
    }

    fn hipDrvLaunchKernelEx(
        config: *const LaunchConfig,
        function: usize,
        params: *const *const u8,
        extra: *const usize,
    ) {
        // Looked at first, so that what is read next is there.
        bytes(config.cast(), size_of::<LaunchConfig>(), "the configuration")?;
        let LaunchConfig { grid, block, shared_bytes, stream } = config.read_unaligned();
        let size =
            Size { workgroups: grid, workgroup_size: block, dynamic_lds_bytes: shared_bytes };
        launch(function, size, stream, params, extra)
    }

    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        count: *mut c_int,
        function: usize,
        block_size: c_int,
        dynamic_bytes: usize,
    ) {
        let Some(items) = u32::try_from(block_size).ok().filter(|items| *items > 0) else {
            return fail(Code::InvalidValue, format!("a workgroup of {block_size} work-items"));
        };
        let groups = with(|runtime| runtime.occupancy(function, items, dynamic_bytes as u64))?;
        put(count, c_int::try_from(groups).unwrap_or(c_int::MAX))
    }

    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid_size: *mut c_int,
        block_size: *mut c_int,
        function: usize,
        dynamic_bytes: usize,
        limit: c_int,
    ) {
        let kernel = with(|runtime| Ok(runtime.function(function)?.kernel))?;
        let most = kernel.metadata.max_flat_workgroup_size;
        let items = u32::try_from(limit).ok().filter(|limit| *limit > 0).map_or(most, |l| l.min(most));
        let groups = with(|runtime| runtime.occupancy(function, items, dynamic_bytes as u64))?;
        put(grid_size, c_int::try_from(groups).unwrap_or(c_int::MAX))?;
        put(block_size, c_int::try_from(items).unwrap_or(c_int::MAX))
    }
}
