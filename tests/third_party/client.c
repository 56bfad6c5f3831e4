/* A program of HIP's module interface, as an engine in C has it: loads a code object, launches its kernel in every way
 * there is, and checks results and errors. Usage: client OBJECT TARGET; exit code 0 when everything is right. */
#define __HIP_PLATFORM_AMD__ 1
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hip/hip_runtime_api.h>

#define ROWS 3
#define WIDTH 64
#define SLOTS 4

static void stop(const char *what, int line) {
  fprintf(stderr, "line %d: %s\n", line, what);
  exit(1);
}

#define CHECK(call)                                                                                                     \
  do {                                                                                                                  \
    hipError_t error = (call);                                                                                          \
    if (error != hipSuccess) stop(hipGetErrorName(error), __LINE__);                                                    \
  } while (0)
#define EXPECT(call, code)                                                                                              \
  do {                                                                                                                  \
    hipError_t error = (call);                                                                                          \
    if (error != (code)) stop(hipGetErrorName(error), __LINE__);                                                        \
  } while (0)
#define TRUE(condition)                                                                                                 \
  do {                                                                                                                  \
    if (!(condition)) stop(#condition, __LINE__);                                                                       \
  } while (0)

static float x[ROWS * WIDTH], pool[SLOTS * WIDTH], y[ROWS * WIDTH];
static const int32_t slots[ROWS] = {2, -1, 0};

/* What the kernel does, once. */
static void reference(float factor) {
  for (int row = 0; row < ROWS; row++)
    for (int lane = 0; lane < WIDTH; lane++) {
      float *out = &y[row * WIDTH + lane];
      *out = 0;
      if (slots[row] >= 0) *out = pool[slots[row] * WIDTH + lane] += factor * x[row * WIDTH + lane];
    }
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  TRUE(file);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *bytes = malloc(size);
  TRUE(bytes && fread(bytes, 1, size, file) == (size_t)size);
  fclose(file);
  return bytes;
}

struct arguments {
  void *x, *pool, *slots, *y;
  float factor;
};

static void compare(const struct arguments *d) {
  static float got[SLOTS * WIDTH];
  CHECK(hipMemcpy(got, d->y, sizeof y, hipMemcpyDeviceToHost));
  TRUE(!memcmp(got, y, sizeof y));
  CHECK(hipMemcpy(got, d->pool, sizeof pool, hipMemcpyDefault));
  TRUE(!memcmp(got, pool, sizeof pool));
}

static void device(const char *target) {
  int count = 0, number = -1, width = 0;
  CHECK(hipInit(0));
  CHECK(hipGetDeviceCount(&count));
  TRUE(count == 1);
  CHECK(hipSetDevice(0));
  CHECK(hipGetDevice(&number));
  TRUE(number == 0);
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  TRUE(!strcmp(properties.gcnArchName, target) && strstr(properties.name, "emulated"));
  CHECK(hipDeviceGetAttribute(&width, hipDeviceAttributeWarpSize, 0));
  TRUE(width == properties.warpSize && width == (strcmp(target, "gfx950") ? 32 : 64));
  EXPECT(hipSetDevice(1), hipErrorInvalidDevice);
  TRUE(hipGetLastError() == hipErrorInvalidDevice && hipGetLastError() == hipSuccess);
}

static void launches(hipFunction_t function, struct arguments *d, hipStream_t stream) {
  void *params[] = {&d->x, &d->pool, &d->slots, &d->y, &d->factor};
  CHECK(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 0, stream, params, NULL));
  CHECK(hipStreamSynchronize(stream));
  reference(d->factor);
  compare(d);
  size_t size = 36;
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, d, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 0, NULL, NULL, extra));
  CHECK(hipDeviceSynchronize());
  reference(d->factor);
  compare(d);
  size = 32;
  EXPECT(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 0, stream, NULL, extra), hipErrorInvalidValue);
  EXPECT(hipModuleLaunchKernel(function, ROWS, 0, 1, WIDTH, 1, 1, 0, stream, params, NULL), hipErrorInvalidConfiguration);
  EXPECT(hipModuleLaunchKernel(function, ROWS, 1, 1, 32, 1, 1, 0, stream, params, NULL), hipErrorInvalidConfiguration);
  EXPECT(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 1 << 20, stream, params, NULL), hipErrorInvalidConfiguration);
  EXPECT(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 0, stream, NULL, NULL), hipErrorInvalidValue);
}

static void graph(hipFunction_t function, struct arguments *d, hipStream_t stream) {
  void *params[] = {&d->x, &d->pool, &d->slots, &d->y, &d->factor};
  hipGraph_t graph;
  hipGraphExec_t executable;
  size_t nodes = 0;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemsetAsync(d->y, 0xff, sizeof y, stream));
  CHECK(hipMemcpyAsync(d->x, x, sizeof x, hipMemcpyHostToDevice, stream));
  CHECK(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 0, stream, params, NULL));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphGetNodes(graph, NULL, &nodes));
  TRUE(nodes == 3);
  CHECK(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
  compare(d);
  for (int time = 0; time < 3; time++) {
    CHECK(hipGraphLaunch(executable, stream));
    reference(d->factor);
  }
  CHECK(hipStreamSynchronize(stream));
  compare(d);
  void *late = NULL;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  EXPECT(hipMalloc(&late, 64), hipErrorStreamCaptureUnsupported);
  EXPECT(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
  CHECK(hipGraphExecDestroy(executable));
  EXPECT(hipGraphLaunch(executable, stream), hipErrorInvalidHandle);
}

static void faults(hipFunction_t function, struct arguments *d, hipStream_t stream) {
  struct arguments wrong = *d;
  wrong.x = (char *)d->x + (1 << 24);
  void *params[] = {&wrong.x, &wrong.pool, &wrong.slots, &wrong.y, &wrong.factor};
  CHECK(hipModuleLaunchKernel(function, ROWS, 1, 1, WIDTH, 1, 1, 0, stream, params, NULL));
  EXPECT(hipStreamSynchronize(stream), hipErrorIllegalAddress);
  CHECK(hipStreamSynchronize(stream));
  EXPECT(hipMemcpy(d->y, y, sizeof y + 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT(hipFree((char *)d->y + 4), hipErrorInvalidDevicePointer);
  EXPECT(hipMalloc(&wrong.x, (size_t)1 << 60), hipErrorOutOfMemory);
}

int main(int count, char **values) {
  if (count != 3) return 2;
  device(values[2]);
  for (int i = 0; i < ROWS * WIDTH; i++) x[i] = 0.125f * i - 3;
  for (int i = 0; i < SLOTS * WIDTH; i++) pool[i] = 0.5f * i;
  char *object = read_file(values[1]);
  hipModule_t module;
  hipFunction_t function;
  hipStream_t stream;
  struct arguments d = {.factor = 0.25f};
  CHECK(hipModuleLoadData(&module, object));
  free(object);
  EXPECT(hipModuleGetFunction(&function, module, "update_slot"), hipErrorNotFound);
  CHECK(hipModuleGetFunction(&function, module, "update_slots"));
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMalloc(&d.x, sizeof x));
  CHECK(hipMalloc(&d.pool, sizeof pool));
  CHECK(hipMalloc(&d.slots, sizeof slots));
  CHECK(hipMalloc(&d.y, sizeof y));
  CHECK(hipMemcpy(d.x, x, sizeof x, hipMemcpyHostToDevice));
  CHECK(hipMemcpyHtoD(d.pool, pool, sizeof pool));
  CHECK(hipMemcpyAsync(d.slots, slots, sizeof slots, hipMemcpyDefault, stream));
  launches(function, &d, stream);
  graph(function, &d, stream);
  faults(function, &d, stream);
  CHECK(hipModuleUnload(module));
  EXPECT(hipModuleUnload(module), hipErrorInvalidHandle);
  EXPECT(hipModuleLaunchKernel(function, 1, 1, 1, WIDTH, 1, 1, 0, stream, NULL, NULL), hipErrorInvalidDeviceFunction);
  EXPECT(hipModuleLoad(&module, "no/such/file"), hipErrorFileNotFound);
  EXPECT(hipModuleLoadData(&module, "this is no code object at all, whatever else it may be, and long enough for a header"), hipErrorInvalidImage);
  CHECK(hipStreamDestroy(stream));
  EXPECT(hipStreamSynchronize(stream), hipErrorInvalidHandle);
  CHECK(hipFree(d.x));
  EXPECT(hipFree(d.x), hipErrorInvalidDevicePointer);
  CHECK(hipFree(d.pool));
  CHECK(hipFree(d.slots));
  CHECK(hipFree(d.y));
  puts("right");
  return 0;
}
