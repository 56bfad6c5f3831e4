/* An engine in C: loads a kernel of a bundle and launches it with the generated call. Compiled with -DKERNEL=identifier.
 * Usage: client BUNDLE FOLDER BATCH SCALE; reads FOLDER/NAME.in, writes FOLDER/NAME.out. */
#define __HIP_PLATFORM_AMD__ 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wavesmith_bundle.h"

#define JOIN(a, b) a##b
#define NAME(kernel, what) JOIN(kernel, what)
#define CHECK(call)                                                            \
  do {                                                                         \
    hipError_t error = (call);                                                 \
    if (error != hipSuccess) {                                                 \
      fprintf(stderr, "line %d: %s\n", __LINE__, hipGetErrorName(error));      \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static const char *folder;
static struct tensor {
  const char *name;
  void *device;
  size_t size;
} tensors[16];
static int n_tensors;

static FILE *open_file(const char *name, const char *kind, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, kind);
  return fopen(path, mode);
}

/* The device's copy of a tensor. */
static void *tensor(const char *name) {
  FILE *file = open_file(name, "in", "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  size_t size = ftell(file);
  rewind(file);
  char *bytes = malloc(size);
  if (!bytes || fread(bytes, 1, size, file) != size) exit(2);
  fclose(file);
  struct tensor *t = &tensors[n_tensors++];
  t->name = name;
  t->size = size;
  CHECK(hipMalloc(&t->device, size));
  CHECK(hipMemcpy(t->device, bytes, size, hipMemcpyHostToDevice));
  free(bytes);
  return t->device;
}

static void save(void) {
  for (struct tensor *t = tensors; t < tensors + n_tensors; t++) {
    char *bytes = malloc(t->size);
    CHECK(hipMemcpy(bytes, t->device, t->size, hipMemcpyDeviceToHost));
    FILE *file = open_file(t->name, "out", "wb");
    if (!file || fwrite(bytes, 1, t->size, file) != t->size) exit(2);
    fclose(file);
    free(bytes);
    CHECK(hipFree(t->device));
  }
}

int main(int count, char **values) {
  if (count != 5) return 2;
  folder = values[2];
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", values[1], FILE_NAME);
  uint32_t batch = atoi(values[3]);
  float scale = atof(values[4]);
  hipModule_t module;
  hipFunction_t function;
  hipStream_t stream;
  CHECK(hipInit(0));
  CHECK(hipModuleLoad(&module, path));
  CHECK(NAME(KERNEL, _function)(module, &function));
  CHECK(hipStreamCreate(&stream));
  void *q = tensor("q"), *k = tensor("k"), *v = tensor("v"), *g = tensor("g"), *beta = tensor("beta");
  void *state = tensor("state"), *next_state = tensor("next_state"), *o = tensor("o");
  if (NAME(KERNEL, _launch)(function, stream, 0, q, k, v, g, beta, state, next_state, o, scale) != hipErrorInvalidValue) return 3;
  if (NAME(KERNEL, _launch)(function, stream, batch, q, NULL, v, g, beta, state, next_state, o, scale) != hipErrorInvalidValue) return 3;
  CHECK(NAME(KERNEL, _launch)(function, stream, batch, q, k, v, g, beta, state, next_state, o, scale));
  CHECK(hipStreamSynchronize(stream));
  save();
  CHECK(hipStreamDestroy(stream));
  CHECK(hipModuleUnload(module));
  return 0;
}
