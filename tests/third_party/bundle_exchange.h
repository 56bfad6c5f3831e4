/* What engines of the tests have in common: tensors from files and into files, and the end of the program at an error. */
#define __HIP_PLATFORM_AMD__ 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wavesmith_bundle.h"

#define JOIN(a, b) a##b
#define NAME(identifier, what) JOIN(identifier, what)
#define CHECK(call)                                                            \
  do {                                                                         \
    hipError_t error = (call);                                                 \
    if (error != hipSuccess) {                                                 \
      fprintf(stderr, "line %d: %s\n", __LINE__, hipGetErrorName(error));      \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)
#define REFUSED(call)                                                          \
  do {                                                                         \
    if ((call) != hipErrorInvalidValue) {                                      \
      fprintf(stderr, "line %d: not refused\n", __LINE__);                     \
      exit(3);                                                                 \
    }                                                                          \
  } while (0)

static const char *bundle, *folder;
static struct tensor {
  const char *name;
  void *device;
  size_t size;
} tensors[32];
static int n_tensors;

static FILE *open_file(const char *name, const char *kind, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, kind);
  return fopen(path, mode);
}

/* Memory of the device that is saved in the end. */
static void *allocated(const char *name, size_t size) {
  struct tensor *t = &tensors[n_tensors++];
  t->name = name;
  t->size = size;
  /* A tensor without elements has an address all the same. */
  CHECK(hipMalloc(&t->device, size ? size : 1));
  CHECK(hipMemset(t->device, 0xff, size));
  return t->device;
}

/* The device's copy of a tensor. */
static void *tensor(const char *name) {
  FILE *file = open_file(name, "in", "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  size_t size = ftell(file);
  rewind(file);
  char *bytes = malloc(size + 1);
  if (!bytes || fread(bytes, 1, size, file) != size) exit(2);
  fclose(file);
  void *device = allocated(name, size);
  CHECK(hipMemcpy(device, bytes, size, hipMemcpyHostToDevice));
  free(bytes);
  return device;
}

static void save(void) {
  for (struct tensor *t = tensors; t < tensors + n_tensors; t++) {
    char *bytes = malloc(t->size + 1);
    CHECK(hipMemcpy(bytes, t->device, t->size, hipMemcpyDeviceToHost));
    FILE *file = open_file(t->name, "out", "wb");
    if (!file || fwrite(bytes, 1, t->size, file) != t->size) exit(2);
    fclose(file);
    free(bytes);
    CHECK(hipFree(t->device));
  }
}

static hipModule_t loaded(const char *file) {
  char path[4096];
  hipModule_t module;
  snprintf(path, sizeof path, "%s/%s", bundle, file);
  CHECK(hipModuleLoad(&module, path));
  return module;
}
