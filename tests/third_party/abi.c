/* Prints numbers of HIP's interface as a public header has them: NAME VALUE, one a line. */
#define __HIP_PLATFORM_AMD__ 1
#include <stddef.h>
#include <stdio.h>

#include <hip/hip_runtime_api.h>

#define ERROR(name) printf("%s %d\n", #name, (int)name);
#define ATTRIBUTE(name) printf("%s %d\n", #name, (int)hipDeviceAttribute##name);
#define FIELD(name) printf("%s %zu\n", #name, offsetof(hipDeviceProp_t, name));

int main(void) {
  ERROR(hipSuccess) ERROR(hipErrorInvalidValue) ERROR(hipErrorOutOfMemory) ERROR(hipErrorNotInitialized)
  ERROR(hipErrorInvalidConfiguration) ERROR(hipErrorInvalidDevicePointer) ERROR(hipErrorInvalidMemcpyDirection)
  ERROR(hipErrorInsufficientDriver) ERROR(hipErrorInvalidDeviceFunction) ERROR(hipErrorNoDevice)
  ERROR(hipErrorInvalidDevice) ERROR(hipErrorInvalidImage) ERROR(hipErrorInvalidContext) ERROR(hipErrorNoBinaryForGpu)
  ERROR(hipErrorFileNotFound) ERROR(hipErrorSharedObjectSymbolNotFound) ERROR(hipErrorSharedObjectInitFailed)
  ERROR(hipErrorInvalidHandle) ERROR(hipErrorNotFound) ERROR(hipErrorNotReady) ERROR(hipErrorIllegalAddress)
  ERROR(hipErrorLaunchOutOfResources) ERROR(hipErrorLaunchFailure) ERROR(hipErrorNotSupported)
  ERROR(hipErrorStreamCaptureUnsupported) ERROR(hipErrorStreamCaptureInvalidated) ERROR(hipErrorStreamCaptureUnjoined)
  ERROR(hipErrorStreamCaptureIsolation) ERROR(hipErrorStreamCaptureImplicit) ERROR(hipErrorCapturedEvent)
  ERROR(hipErrorUnknown) ERROR(hipErrorRuntimeMemory) ERROR(hipErrorRuntimeOther)
  ATTRIBUTE(CanMapHostMemory) ATTRIBUTE(ClockRate) ATTRIBUTE(ConcurrentKernels) ATTRIBUTE(CooperativeLaunch)
  ATTRIBUTE(Integrated) ATTRIBUTE(L2CacheSize) ATTRIBUTE(ComputeCapabilityMajor) ATTRIBUTE(ManagedMemory)
  ATTRIBUTE(MaxBlockDimX) ATTRIBUTE(MaxBlockDimY) ATTRIBUTE(MaxBlockDimZ) ATTRIBUTE(MaxGridDimX)
  ATTRIBUTE(MaxGridDimY) ATTRIBUTE(MaxGridDimZ) ATTRIBUTE(MaxThreadsPerBlock) ATTRIBUTE(MaxThreadsPerMultiProcessor)
  ATTRIBUTE(MaxPitch) ATTRIBUTE(MemoryBusWidth) ATTRIBUTE(MemoryClockRate) ATTRIBUTE(ComputeCapabilityMinor)
  ATTRIBUTE(MultiprocessorCount) ATTRIBUTE(PciBusId) ATTRIBUTE(PciDeviceId) ATTRIBUTE(PciDomainID)
  ATTRIBUTE(MaxRegistersPerBlock) ATTRIBUTE(MaxSharedMemoryPerBlock) ATTRIBUTE(TotalConstantMemory)
  ATTRIBUTE(TotalGlobalMem) ATTRIBUTE(UnifiedAddressing) ATTRIBUTE(WarpSize)
  ATTRIBUTE(MaxSharedMemoryPerMultiprocessor)
  printf("size %zu\n", sizeof(hipDeviceProp_t));
  FIELD(name) FIELD(totalGlobalMem) FIELD(sharedMemPerBlock) FIELD(regsPerBlock) FIELD(warpSize) FIELD(memPitch)
  FIELD(maxThreadsPerBlock) FIELD(maxThreadsDim) FIELD(maxGridSize) FIELD(major) FIELD(minor)
  FIELD(multiProcessorCount) FIELD(maxThreadsPerMultiProcessor) FIELD(maxSharedMemoryPerMultiProcessor)
  FIELD(gcnArchName)
  return 0;
}
