//! Result codes, each with what usually caused it and what to do about it.

use std::ffi::CStr;

/// Defines the codes: number, name, cause, remedy.
macro_rules! codes {
    ($($number:literal $variant:ident $name:literal: $cause:literal; $remedy:literal.)*) => {
        /// What a function of HIP returns (`hipError_t`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "cause() says what each means")]
        pub enum Code { $($variant,)* }

        impl Code {
            /// Every code of HIP 5 to 7.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The number.
            pub const fn number(self) -> u32 {
                match self { $(Code::$variant => $number,)* }
            }

            /// The code of a number, if HIP has it.
            pub const fn from_number(number: u32) -> Option<Code> {
                match number { $($number => Some(Code::$variant),)* _ => None }
            }

            /// The constant's name.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The constant's name for C.
            pub const fn name_c(self) -> &'static CStr {
                match self {
                    $(Code::$variant => match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => c"",
                    },)*
                }
            }

            /// What usually caused it.
            pub const fn cause(self) -> &'static str {
                match self { $(Code::$variant => $cause,)* }
            }

            /// What usually caused it, for C.
            pub const fn cause_c(self) -> &'static CStr {
                match self {
                    $(Code::$variant => match CStr::from_bytes_with_nul(concat!($cause, "\0").as_bytes()) {
                        Ok(cause) => cause,
                        Err(_) => c"",
                    },)*
                }
            }

            /// What to do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Code::$variant => $remedy,)* }
            }
        }
    };
}

codes! {
    0 Success "hipSuccess": "no error"; "nothing to do".
    1 InvalidValue "hipErrorInvalidValue": "a null pointer, or a value out of its range"; "compare every argument of the call with the kernel's argument table and the sizes of the buffers".
    2 OutOfMemory "hipErrorOutOfMemory": "the device has less free memory than was asked for"; "free buffers, ask for fewer bytes, or see who else uses the device (rocm-smi)".
    3 NotInitialized "hipErrorNotInitialized": "a call before the runtime was initialised"; "call hipInit(0) first".
    4 Deinitialized "hipErrorDeinitialized": "the runtime is shutting down"; "make no calls from destructors that run after main".
    5 ProfilerDisabled "hipErrorProfilerDisabled": "a profiler call without a profiler"; "run under a profiler or drop the call".
    6 ProfilerNotInitialized "hipErrorProfilerNotInitialized": "a profiler call before its initialisation"; "initialise the profiler first".
    7 ProfilerAlreadyStarted "hipErrorProfilerAlreadyStarted": "the profiler was started twice"; "start it once".
    8 ProfilerAlreadyStopped "hipErrorProfilerAlreadyStopped": "the profiler was stopped twice"; "stop it once".
    9 InvalidConfiguration "hipErrorInvalidConfiguration": "a grid or workgroup that is empty or too large, or more LDS than a workgroup can have"; "compare grid, workgroup and dynamic LDS with the kernel's limits (wavesmith inspect)".
    12 InvalidPitchValue "hipErrorInvalidPitchValue": "a pitch shorter than its row"; "give the pitch in bytes, at least the width of a row".
    13 InvalidSymbol "hipErrorInvalidSymbol": "a symbol that no loaded module has"; "check its spelling against the module's symbols".
    17 InvalidDevicePointer "hipErrorInvalidDevicePointer": "an address that no allocation of the device starts with"; "pass what hipMalloc returned, once".
    21 InvalidMemcpyDirection "hipErrorInvalidMemcpyDirection": "a copy whose direction contradicts its addresses"; "use hipMemcpyDefault or the direction that the addresses have".
    35 InsufficientDriver "hipErrorInsufficientDriver": "the kernel driver is older than the runtime needs"; "update the amdgpu driver or install the matching ROCm".
    52 MissingConfiguration "hipErrorMissingConfiguration": "a launch without a preceding configuration"; "use hipModuleLaunchKernel".
    53 PriorLaunchFailure "hipErrorPriorLaunchFailure": "an earlier launch failed"; "synchronise after each launch to find which".
    98 InvalidDeviceFunction "hipErrorInvalidDeviceFunction": "a function handle of no loaded module"; "get it again with hipModuleGetFunction; its module may have been unloaded".
    100 NoDevice "hipErrorNoDevice": "no AMD GPU that this runtime can use"; "check /dev/kfd, group membership (render, video), ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES".
    101 InvalidDevice "hipErrorInvalidDevice": "a device number that does not exist; from hipInit, no usable device"; "ask hipGetDeviceCount; with no device at all check /dev/kfd and group membership (render, video)".
    200 InvalidImage "hipErrorInvalidImage": "bytes that are no code object which this runtime reads"; "wavesmith inspect says what is wrong; a newer code-object version than the runtime's is refused with this code too".
    201 InvalidContext "hipErrorInvalidContext": "a context that was destroyed or never made"; "set the device with hipSetDevice".
    202 ContextAlreadyCurrent "hipErrorContextAlreadyCurrent": "the context is current already"; "do not set it again".
    205 MapFailed "hipErrorMapFailed": "memory could not be mapped"; "check the limits on locked memory (ulimit -l)".
    206 UnmapFailed "hipErrorUnmapFailed": "memory could not be unmapped"; "unmap only what was mapped".
    207 ArrayIsMapped "hipErrorArrayIsMapped": "the array is mapped"; "unmap it first".
    208 AlreadyMapped "hipErrorAlreadyMapped": "mapped already"; "map it once".
    209 NoBinaryForGpu "hipErrorNoBinaryForGpu": "the code object is for another processor, or for other settings of XNACK or SRAM-ECC"; "build for the device's target id (wavesmith doctor prints it)".
    210 AlreadyAcquired "hipErrorAlreadyAcquired": "the resource is acquired already"; "release it first".
    211 NotMapped "hipErrorNotMapped": "not mapped"; "map it first".
    212 NotMappedAsArray "hipErrorNotMappedAsArray": "not mapped as an array"; "map it as one".
    213 NotMappedAsPointer "hipErrorNotMappedAsPointer": "not mapped as a pointer"; "map it as one".
    214 EccNotCorrectable "hipErrorECCNotCorrectable": "a memory error that ECC could not correct"; "the hardware is faulty or overheated: see the kernel log".
    215 UnsupportedLimit "hipErrorUnsupportedLimit": "a limit that this device does not have"; "do not set it".
    216 ContextAlreadyInUse "hipErrorContextAlreadyInUse": "another thread uses the context"; "share it or wait".
    217 PeerAccessUnsupported "hipErrorPeerAccessUnsupported": "the devices cannot read each other's memory"; "copy through the host".
    218 InvalidKernelFile "hipErrorInvalidKernelFile": "a kernel file that could not be compiled"; "give a code object".
    219 InvalidGraphicsContext "hipErrorInvalidGraphicsContext": "a graphics context that does not exist"; "make it first".
    300 InvalidSource "hipErrorInvalidSource": "source that could not be compiled"; "give a code object".
    301 FileNotFound "hipErrorFileNotFound": "a file that does not exist"; "check the path".
    302 SharedObjectSymbolNotFound "hipErrorSharedObjectSymbolNotFound": "a code object with an undefined symbol"; "link it with --no-undefined".
    303 SharedObjectInitFailed "hipErrorSharedObjectInitFailed": "the loader refused the code object: too new, damaged or for another processor"; "wavesmith inspect says which".
    304 OperatingSystem "hipErrorOperatingSystem": "the operating system refused"; "see the kernel log (dmesg)".
    400 InvalidHandle "hipErrorInvalidHandle": "a module, function, stream, event or graph that was destroyed or never made"; "keep handles alive as long as they are used".
    401 IllegalState "hipErrorIllegalState": "the object is not in a state that allows the call"; "finish what is under way on it first".
    500 NotFound "hipErrorNotFound": "the module has no kernel or symbol of that name"; "wavesmith inspect lists the names; C++ names are mangled".
    600 NotReady "hipErrorNotReady": "work on the stream or event is not done"; "not an error: ask again or synchronise".
    700 IllegalAddress "hipErrorIllegalAddress": "a kernel accessed memory that is not allocated"; "run it with the same sizes on the emulator: wavesmith emulate names the instruction and the nearest buffer".
    701 LaunchOutOfResources "hipErrorLaunchOutOfResources": "the launch needs more registers, LDS or scratch than there is"; "use smaller workgroups or less LDS; wavesmith inspect shows what the kernel needs".
    702 LaunchTimeOut "hipErrorLaunchTimeOut": "a kernel ran longer than allowed"; "look for a loop or barrier that never ends: wavesmith emulate shows where its waves stand".
    704 PeerAccessAlreadyEnabled "hipErrorPeerAccessAlreadyEnabled": "peer access is enabled already"; "enable it once".
    705 PeerAccessNotEnabled "hipErrorPeerAccessNotEnabled": "peer access was never enabled"; "enable it first".
    708 SetOnActiveProcess "hipErrorSetOnActiveProcess": "a setting that must come before the first device call"; "make it first".
    709 ContextIsDestroyed "hipErrorContextIsDestroyed": "the context is destroyed"; "set the device again".
    710 Assert "hipErrorAssert": "an assertion in the kernel failed"; "read the kernel's message".
    712 HostMemoryAlreadyRegistered "hipErrorHostMemoryAlreadyRegistered": "host memory was registered twice"; "register it once".
    713 HostMemoryNotRegistered "hipErrorHostMemoryNotRegistered": "host memory that was never registered"; "register it first".
    719 LaunchFailure "hipErrorLaunchFailure": "the kernel failed while it ran"; "run it with the same arguments on the emulator: wavesmith emulate says where and why".
    720 CooperativeLaunchTooLarge "hipErrorCooperativeLaunchTooLarge": "more workgroups than fit the device at once"; "launch fewer".
    801 NotSupported "hipErrorNotSupported": "this runtime does not have the function"; "use another function or a newer runtime".
    900 StreamCaptureUnsupported "hipErrorStreamCaptureUnsupported": "a call that may not be made while a stream is captured, such as an allocation or a wait"; "allocate and synchronise before the capture".
    901 StreamCaptureInvalidated "hipErrorStreamCaptureInvalidated": "the capture was spoilt by an earlier call"; "end it and begin again without that call".
    902 StreamCaptureMerge "hipErrorStreamCaptureMerge": "two captures would be merged"; "capture one at a time".
    903 StreamCaptureUnmatched "hipErrorStreamCaptureUnmatched": "the capture was begun on another stream"; "end it on the stream it was begun on".
    904 StreamCaptureUnjoined "hipErrorStreamCaptureUnjoined": "a stream that was forked off was not joined again"; "wait for its event on the first stream".
    905 StreamCaptureIsolation "hipErrorStreamCaptureIsolation": "a dependency on work outside the capture"; "record the event inside the capture".
    906 StreamCaptureImplicit "hipErrorStreamCaptureImplicit": "work on the legacy stream while a stream is captured"; "use a stream of your own".
    907 CapturedEvent "hipErrorCapturedEvent": "an event that a captured stream recorded last"; "wait for it on a stream, not on the host".
    908 StreamCaptureWrongThread "hipErrorStreamCaptureWrongThread": "the capture was begun by another thread"; "end it where it was begun".
    910 GraphExecUpdateFailure "hipErrorGraphExecUpdateFailure": "a graph whose shape changed cannot be updated"; "instantiate it again".
    911 InvalidChannelDescriptor "hipErrorInvalidChannelDescriptor": "a channel descriptor out of range"; "correct it".
    912 InvalidTexture "hipErrorInvalidTexture": "a texture that does not exist"; "make it first".
    999 Unknown "hipErrorUnknown": "something that the runtime does not tell"; "set AMD_LOG_LEVEL=4 and read its log".
    1052 RuntimeMemory "hipErrorRuntimeMemory": "a memory call of the HSA runtime failed"; "set AMD_LOG_LEVEL=4 and read its log".
    1053 RuntimeOther "hipErrorRuntimeOther": "a call of the HSA runtime failed"; "set AMD_LOG_LEVEL=4 and read its log".
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}; {}", self.name(), self.number(), self.cause(), self.remedy())
    }
}
