/* A client that does everything wrong. Every call must come back with HIP's code for it: never a crash, never a hang.
 * Usage: hostile OBJECT [quiet]; prints how many calls were refused. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void *handle;
int hipInit(unsigned), hipGetDeviceCount(int *), hipSetDevice(int), hipDeviceReset(void), hipDeviceSynchronize(void);
int hipDeviceGetName(char *, int, int), hipDeviceGetAttribute(int *, int, int), hipGetDevicePropertiesR0600(void *, int);
int hipMalloc(void *, size_t), hipFree(void *), hipHostMalloc(void *, size_t, unsigned), hipHostFree(void *);
int hipMemGetInfo(size_t *, size_t *), hipMemGetAddressRange(void *, size_t *, void *), hipPointerGetAttribute(void *, int, void *);
int hipMemcpy(void *, const void *, size_t, int), hipMemcpyAsync(void *, const void *, size_t, int, handle);
int hipMemcpyHtoD(void *, const void *, size_t), hipMemcpyDtoH(void *, const void *, size_t), hipMemcpyDtoD(void *, void *, size_t);
int hipMemset(void *, int, size_t), hipMemsetD32(void *, int, size_t), hipMemsetD16Async(void *, unsigned short, size_t, handle);
int hipModuleLoad(handle *, const char *), hipModuleLoadData(handle *, const void *), hipModuleUnload(handle);
int hipModuleGetFunction(handle *, handle, const char *), hipModuleGetGlobal(void *, size_t *, handle, const char *);
int hipFuncGetAttribute(int *, int, handle);
int hipModuleLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
int hipDrvLaunchKernelEx(const void *, handle, void **, void **);
int hipExtModuleLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, size_t, handle, void **, void **,
                             handle, handle, unsigned);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *, handle, int, size_t);
int hipStreamCreate(handle *), hipStreamCreateWithFlags(handle *, unsigned), hipStreamDestroy(handle), hipStreamSynchronize(handle);
int hipStreamQuery(handle), hipStreamWaitEvent(handle, handle, unsigned), hipStreamBeginCapture(handle, int);
int hipStreamEndCapture(handle, handle *), hipLaunchHostFunc(handle, handle, void *);
int hipEventCreate(handle *), hipEventDestroy(handle), hipEventRecord(handle, handle), hipEventSynchronize(handle);
int hipEventElapsedTime(float *, handle, handle);
int hipGraphInstantiate(handle *, handle, handle *, char *, size_t), hipGraphLaunch(handle, handle), hipGraphDestroy(handle);
int hipGraphExecDestroy(handle);
int hipGetProcAddress(const char *, void *, int, uint64_t, int *), hipGetLastError(void);
const char *hipGetErrorName(int), *hipGetErrorString(int);

enum {
  SUCCESS = 0, VALUE = 1, MEMORY = 2, CONFIGURATION = 9, POINTER = 17, DIRECTION = 21, FUNCTION = 98, DEVICE = 101, IMAGE = 200,
  FILE_NOT_FOUND = 301, HANDLE = 400, STATE = 401, NOT_FOUND = 500, ILLEGAL = 700, UNSUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900, INVALIDATED = 901, UNMATCHED = 903, UNJOINED = 904
};

static int n_refused;

static void expect(int got, int code, const char *call, int line) {
  if (got != code) {
    fprintf(stdout, "line %d: %s gives %d %s, expected %d\n", line, call, got, hipGetErrorName(got), code);
    fflush(stdout);
    _exit(1);
  }
  n_refused += code != SUCCESS;
}
#define EXPECT(call, code) expect((call), (code), #call, __LINE__)
#define RIGHT(call) EXPECT(call, SUCCESS)

#define ROWS 3
#define HUGE_SIZE ((size_t)-1)
#define WILD ((void *)0x123456789abcdef0)
static handle module, function, stream;
static struct { void *x, *pool, *slots, *y; float factor; } d = {.factor = 0.25f};
static void *params[] = {&d.x, &d.pool, &d.slots, &d.y, &d.factor};
static char *object;
static long object_size;

static int launch(handle f, handle s, void **p, void **extra) {
  return hipModuleLaunchKernel(f, ROWS, 1, 1, 64, 1, 1, 0, s, p, extra);
}

/* Places for results that can be read and not written: a constant, and the end of a page before one without memory. */
static const char constant[64] = "constant";

static void places(void) {
  long page = sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE)) _exit(2);
  void *wrong[] = {(void *)constant, pages + page - 2, pages + page};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    void *to = wrong[i];
    EXPECT(hipGetDeviceCount(to), VALUE);
    EXPECT(hipDeviceGetAttribute(to, 87, 0), VALUE);
    EXPECT(hipMalloc(to, 64), VALUE);
    EXPECT(hipHostMalloc(to, 64, 0), VALUE);
    EXPECT(hipMemGetInfo(to, to), VALUE);
    EXPECT(hipModuleLoadData(to, object), VALUE);
    EXPECT(hipModuleGetFunction(to, module, "update_slots"), VALUE);
    EXPECT(hipFuncGetAttribute(to, 0, function), VALUE);
    EXPECT(hipStreamCreate(to), VALUE);
    EXPECT(hipEventCreate(to), VALUE);
    EXPECT(hipGetProcAddress("hipInit", to, 60000000, 0, NULL), VALUE);
  }
  munmap(pages, 2 * page);
}

static void nulls(void) {
  EXPECT(hipInit(7), VALUE);
  EXPECT(hipGetDeviceCount(NULL), VALUE);
  EXPECT(hipSetDevice(-1), DEVICE);
  EXPECT(hipDeviceGetName(NULL, 64, 0), VALUE);
  char name[64];
  EXPECT(hipDeviceGetName(name, -1, 0), VALUE);
  EXPECT(hipDeviceGetName(name, 0, 0), VALUE);
  EXPECT(hipDeviceGetName(WILD, 64, 0), VALUE);
  EXPECT(hipDeviceGetAttribute(NULL, 1, 0), VALUE);
  EXPECT(hipDeviceGetAttribute(WILD, 87, 0), VALUE);
  EXPECT(hipGetDevicePropertiesR0600(NULL, 0), VALUE);
  EXPECT(hipGetDevicePropertiesR0600(WILD, 0), VALUE);
  EXPECT(hipMalloc(NULL, 64), VALUE);
  EXPECT(hipMalloc(WILD, 64), VALUE);
  EXPECT(hipMemGetInfo(NULL, NULL), VALUE);
  EXPECT(hipModuleLoadData(&module, NULL), VALUE);
  EXPECT(hipModuleLoadData(&module, WILD), VALUE);
  EXPECT(hipModuleLoadData(NULL, object), VALUE);
  EXPECT(hipModuleLoad(&module, NULL), VALUE);
  EXPECT(hipModuleLoad(&module, WILD), VALUE);
  EXPECT(hipModuleLoad(&module, "/dev/zero"), IMAGE);
  EXPECT(hipModuleLoad(&module, "/"), IMAGE);
  EXPECT(hipModuleLoad(&module, ""), FILE_NOT_FOUND);
  EXPECT(hipModuleLoad(&module, "/dev/null"), IMAGE);
  EXPECT(hipStreamCreate(NULL), VALUE);
  EXPECT(hipStreamCreateWithFlags(&stream, 77), VALUE);
  EXPECT(hipEventCreate(NULL), VALUE);
  void *found;
  EXPECT(hipGetProcAddress(NULL, &found, 60000000, 0, NULL), VALUE);
  EXPECT(hipGetProcAddress("hipNoSuchThing", &found, 60000000, 0, NULL), NOT_FOUND);
  EXPECT(hipGetProcAddress("hipInit", NULL, 60000000, 0, NULL), VALUE);
  if (!hipGetErrorString(-5) || !hipGetErrorName(123456)) _exit(1);
}

static void handles(void) {
  handle wrong[] = {NULL, (handle)7, (handle)0xdeadbeef, WILD, &d, (handle)-1};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    handle w = wrong[i], out;
    int whole;
    EXPECT(hipModuleUnload(w), HANDLE);
    EXPECT(hipModuleGetFunction(&out, w, "update_slots"), HANDLE);
    EXPECT(hipModuleGetGlobal(&out, NULL, w, "x"), HANDLE);
    EXPECT(hipFuncGetAttribute(&whole, 0, w), FUNCTION);
    EXPECT(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&whole, w, 64, 0), FUNCTION);
    EXPECT(launch(w, stream, params, NULL), FUNCTION);
    EXPECT(hipEventDestroy(w), HANDLE);
    EXPECT(hipEventRecord(w, stream), HANDLE);
    EXPECT(hipEventSynchronize(w), HANDLE);
    EXPECT(hipStreamWaitEvent(stream, w, 0), HANDLE);
    EXPECT(hipGraphLaunch(w, stream), HANDLE);
    EXPECT(hipGraphInstantiate(&out, w, NULL, NULL, 0), HANDLE);
    EXPECT(hipGraphDestroy(w), HANDLE);
    EXPECT(hipGraphExecDestroy(w), HANDLE);
    EXPECT(hipStreamDestroy(w), HANDLE);
    if (w == NULL) continue; /* the null stream, and no memory to free */
    EXPECT(hipStreamSynchronize(w), HANDLE);
    EXPECT(hipStreamQuery(w), HANDLE);
    EXPECT(hipStreamBeginCapture(w, 0), HANDLE);
    EXPECT(launch(function, w, params, NULL), HANDLE);
    EXPECT(hipFree(w), POINTER);
    EXPECT(hipHostFree(w), VALUE);
  }
  handle event, other;
  RIGHT(hipEventCreate(&event));
  EXPECT(hipEventElapsedTime(NULL, event, event), HANDLE);
  RIGHT(hipEventDestroy(event));
  EXPECT(hipEventDestroy(event), HANDLE);
  EXPECT(hipEventRecord(event, NULL), HANDLE);
  RIGHT(hipStreamCreate(&other));
  RIGHT(hipStreamDestroy(other));
  EXPECT(hipStreamDestroy(other), HANDLE);
  EXPECT(hipMemcpyAsync(d.y, d.x, 64, 3, other), HANDLE);
  EXPECT(launch(function, other, params, NULL), HANDLE);
}

static void memory(void) {
  static char host[64];
  void *p, *pinned;
  size_t sizes[] = {HUGE_SIZE, HUGE_SIZE - 1, HUGE_SIZE / 2, (size_t)1 << 62, (size_t)1 << 46};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t size = sizes[i];
    EXPECT(hipMalloc(&p, size), MEMORY);
    EXPECT(hipHostMalloc(&pinned, size, 0), MEMORY);
    EXPECT(hipMemcpy(d.x, host, size, 1), VALUE);
    EXPECT(hipMemcpy(host, d.x, size, 2), VALUE);
    EXPECT(hipMemcpy(d.x, d.y, size, 3), VALUE);
    EXPECT(hipMemcpy(host, host, size, 0), VALUE);
    EXPECT(hipMemcpy(host, d.x, size, 4), VALUE);
    EXPECT(hipMemset(d.x, 0, size), VALUE);
    EXPECT(hipMemsetD32(d.x, 0, size), VALUE);
    EXPECT(hipMemsetD16Async(d.x, 0, size, stream), VALUE);
  }
  for (int kind = -1; kind < 7; kind += 6) EXPECT(hipMemcpy(host, host, 4, kind), DIRECTION);
  EXPECT(hipMemcpy(NULL, d.x, 4, 2), VALUE);
  EXPECT(hipMemcpy(d.x, NULL, 4, 1), VALUE);
  EXPECT(hipMemcpyHtoD(d.x, WILD, 64), VALUE);
  EXPECT(hipMemcpyDtoH(WILD, d.x, 64), VALUE);
  EXPECT(hipMemcpyDtoH("a constant of sixty-four bytes, which nobody may ever write to ..", d.x, 64), VALUE);
  EXPECT(hipMemcpyDtoD(WILD, d.x, 64), VALUE);
  EXPECT(hipMemcpy(host, host, 64, 3), VALUE);
  EXPECT(hipMemset(NULL, 0, 4), VALUE);
  EXPECT(hipMemset(host, 0, 4), VALUE);
  RIGHT(hipMemcpy(NULL, NULL, 0, 1));
  RIGHT(hipMalloc(&p, 0));
  RIGHT(hipFree(p));
  RIGHT(hipMalloc(&p, 256));
  EXPECT(hipFree((char *)p + 1), POINTER);
  RIGHT(hipFree(p));
  EXPECT(hipFree(p), POINTER);
  EXPECT(hipMemset(p, 0, 4), VALUE);
  EXPECT(hipMemcpy(host, p, 4, 2), VALUE);
  EXPECT(hipMemGetAddressRange(&p, NULL, p), VALUE);
  EXPECT(hipPointerGetAttribute(NULL, 2, d.x), VALUE);
  EXPECT(hipPointerGetAttribute(WILD, 2, d.x), VALUE);
  EXPECT(hipPointerGetAttribute(host, 999, d.x), UNSUPPORTED);
  RIGHT(hipHostMalloc(&pinned, 64, 0));
  RIGHT(hipHostFree(pinned));
  EXPECT(hipHostFree(pinned), VALUE);
  EXPECT(hipHostFree(host), VALUE);
}

static void arguments(void) {
  size_t size = 36, small = 3, large = HUGE_SIZE;
  EXPECT(launch(function, stream, NULL, NULL), VALUE);
  void *none[5] = {NULL}, *wild[5] = {WILD, WILD, WILD, WILD, WILD};
  EXPECT(launch(function, stream, none, NULL), VALUE);
  EXPECT(launch(function, stream, wild, NULL), VALUE);
  EXPECT(launch(function, stream, WILD, NULL), VALUE);
  EXPECT(launch(function, stream, NULL, WILD), VALUE);
  void *endless[] = {(void *)1, &d, (void *)1, &d, (void *)1, &d, (void *)1, &d, (void *)1, &d};
  void *unknown[] = {(void *)9, &d, (void *)3};
  void *empty[] = {(void *)3};
  void *no_size[] = {(void *)1, &d, (void *)3};
  void *no_buffer[] = {(void *)2, &size, (void *)3};
  void *null_size[] = {(void *)1, &d, (void *)2, NULL, (void *)3};
  void *wild_size[] = {(void *)1, &d, (void *)2, WILD, (void *)3};
  void *wild_buffer[] = {(void *)1, WILD, (void *)2, &size, (void *)3};
  void *too_small[] = {(void *)1, &d, (void *)2, &small, (void *)3};
  void *too_large[] = {(void *)1, &d, (void *)2, &large, (void *)3};
  void *right[] = {(void *)1, &d, (void *)2, &size, (void *)3};
  void **lists[] = {endless, unknown, empty, no_size, no_buffer, null_size, wild_size, wild_buffer, too_small, too_large};
  for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) EXPECT(launch(function, stream, NULL, lists[i]), VALUE);
  EXPECT(launch(function, stream, params, right), VALUE);
  EXPECT(hipDrvLaunchKernelEx(NULL, function, params, NULL), VALUE);
  EXPECT(hipDrvLaunchKernelEx(WILD, function, params, NULL), VALUE);
  EXPECT(hipExtModuleLaunchKernel(function, 100, 1, 1, 64, 1, 1, 0, stream, params, NULL, 0, 0, 0), CONFIGURATION);
  EXPECT(hipExtModuleLaunchKernel(function, 64, 1, 1, 0, 1, 1, 0, stream, params, NULL, 0, 0, 0), CONFIGURATION);
  unsigned most = (unsigned)-1;
  EXPECT(hipModuleLaunchKernel(function, most, most, most, 64, 1, 1, 0, stream, params, NULL), CONFIGURATION);
  EXPECT(hipModuleLaunchKernel(function, 1, 1, 1, most, most, most, 0, stream, params, NULL), CONFIGURATION);
  EXPECT(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, most, stream, params, NULL), CONFIGURATION);
  EXPECT(hipModuleLaunchKernel(function, 0, 0, 0, 0, 0, 0, 0, stream, params, NULL), CONFIGURATION);
  void *saved = d.x;
  d.x = NULL;
  RIGHT(launch(function, stream, params, NULL));
  EXPECT(hipStreamSynchronize(stream), ILLEGAL);
  d.x = WILD;
  RIGHT(launch(function, stream, params, NULL));
  EXPECT(hipDeviceSynchronize(), ILLEGAL);
  d.x = saved;
  RIGHT(launch(function, stream, NULL, right));
  RIGHT(hipStreamSynchronize(stream));
}

/* Every way to cut an object short, at the end of what can be read. */
static void truncated(void) {
  long page = sysconf(_SC_PAGESIZE), room = (object_size + page - 1) / page * page;
  char *area = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(area + room, page);
  for (long size = 0; size < object_size; size += size < 128 ? 1 : 61) {
    char *start = area + room - size;
    memcpy(start, object, size);
    handle m;
    int code = hipModuleLoadData(&m, start);
    if (code == SUCCESS) RIGHT(hipModuleUnload(m)); /* only what no segment has was cut */
    else if (code != VALUE) EXPECT(code, IMAGE);
    else n_refused++;
  }
  munmap(area, room);
  uint64_t seed = 88172645463325252u;
  char *mutant = malloc(object_size);
  for (int i = 0; i < 300; i++) {
    memcpy(mutant, object, object_size);
    for (int n = 0; n < 4; n++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      mutant[seed % (n % 2 ? 512 : object_size)] = seed >> 40;
    }
    handle m;
    if (hipModuleLoadData(&m, mutant) == SUCCESS) RIGHT(hipModuleUnload(m));
    else n_refused++;
  }
  free(mutant);
}

static void *callback_saw;
static void callback(void *argument) {
  handle event;
  callback_saw = argument;
  RIGHT(hipEventCreate(&event));
  RIGHT(hipEventDestroy(event));
}

static void captures(void) {
  handle origin, fork, event, graph, executable, late;
  void *p;
  RIGHT(hipStreamCreate(&origin));
  RIGHT(hipStreamCreate(&fork));
  RIGHT(hipEventCreate(&event));
  EXPECT(hipStreamBeginCapture(NULL, 0), CAPTURE_UNSUPPORTED);
  EXPECT(hipStreamBeginCapture(origin, 9), VALUE);
  EXPECT(hipStreamEndCapture(origin, &graph), STATE);
  RIGHT(hipStreamBeginCapture(origin, 0));
  EXPECT(hipStreamBeginCapture(origin, 0), STATE);
  EXPECT(launch(function, origin, NULL, NULL), VALUE);
  EXPECT(hipModuleLoadData(&late, object), CAPTURE_UNSUPPORTED);
  EXPECT(launch(function, origin, params, NULL), INVALIDATED);
  EXPECT(hipStreamEndCapture(origin, &graph), INVALIDATED);
  /* A fork that is never joined, ended on the wrong stream. */
  RIGHT(hipStreamBeginCapture(origin, 2));
  RIGHT(hipEventRecord(event, origin));
  RIGHT(hipStreamWaitEvent(fork, event, 0));
  RIGHT(launch(function, fork, params, NULL));
  EXPECT(hipStreamEndCapture(fork, &graph), UNMATCHED);
  EXPECT(hipStreamEndCapture(origin, &graph), UNJOINED);
  RIGHT(launch(function, fork, params, NULL));
  /* The captured stream goes: the one that joined works on. */
  RIGHT(hipStreamBeginCapture(origin, 2));
  RIGHT(hipEventRecord(event, origin));
  RIGHT(hipStreamWaitEvent(fork, event, 0));
  RIGHT(hipStreamDestroy(origin));
  RIGHT(launch(function, fork, params, NULL));
  RIGHT(hipStreamSynchronize(fork));
  EXPECT(hipStreamEndCapture(origin, &graph), HANDLE);
  /* The one that joined goes: the capture is lost, its stream is not. */
  RIGHT(hipStreamCreate(&origin));
  RIGHT(hipStreamBeginCapture(origin, 2));
  RIGHT(hipEventRecord(event, origin));
  RIGHT(hipStreamWaitEvent(fork, event, 0));
  RIGHT(hipStreamDestroy(fork));
  EXPECT(hipStreamEndCapture(origin, &graph), INVALIDATED);
  RIGHT(launch(function, origin, params, NULL));
  /* A graph whose memory and module are gone. */
  RIGHT(hipMalloc(&p, 64));
  RIGHT(hipStreamBeginCapture(origin, 2));
  RIGHT(hipMemcpyAsync(p, d.x, 64, 3, origin));
  RIGHT(hipLaunchHostFunc(origin, callback, &d));
  RIGHT(hipStreamEndCapture(origin, &graph));
  RIGHT(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
  RIGHT(hipGraphDestroy(graph));
  EXPECT(hipGraphDestroy(graph), HANDLE);
  RIGHT(hipGraphLaunch(executable, origin));
  if (callback_saw != &d) _exit(1);
  RIGHT(hipFree(p));
  EXPECT(hipGraphLaunch(executable, origin), VALUE);
  RIGHT(hipGraphExecDestroy(executable));
  handle m, f;
  RIGHT(hipModuleLoadData(&m, object));
  RIGHT(hipModuleGetFunction(&f, m, "update_slots"));
  RIGHT(hipStreamBeginCapture(origin, 2));
  RIGHT(launch(f, origin, params, NULL));
  RIGHT(hipStreamEndCapture(origin, &graph));
  RIGHT(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
  RIGHT(hipModuleUnload(m));
  EXPECT(hipGraphLaunch(executable, origin), FUNCTION);
  EXPECT(launch(f, origin, params, NULL), FUNCTION);
  EXPECT(hipModuleGetFunction(&f, m, "update_slots"), HANDLE);
  EXPECT(hipLaunchHostFunc(origin, NULL, NULL), VALUE);
  EXPECT(hipLaunchHostFunc(origin, WILD, NULL), VALUE);
  EXPECT(hipLaunchHostFunc(origin, object, NULL), VALUE);
  RIGHT(hipStreamDestroy(origin));
  RIGHT(hipGraphDestroy(graph));
  RIGHT(hipGraphExecDestroy(executable));
  RIGHT(hipEventDestroy(event));
}

/* Unloading gives memory back, or a program that loads anew would run out of it. */
static void unloads(void) {
  size_t before, after, total;
  RIGHT(hipMemGetInfo(&before, &total));
  for (int i = 0; i < 500; i++) {
    handle m;
    RIGHT(hipModuleLoadData(&m, object));
    RIGHT(hipMemGetInfo(&after, &total));
    if (after >= before) _exit(1);
    void *p;
    RIGHT(hipMalloc(&p, 100 + i));
    if ((uintptr_t)p % 256) _exit(1);
    RIGHT(hipFree(p));
    RIGHT(hipModuleUnload(m));
  }
  RIGHT(hipMemGetInfo(&after, &total));
  if (after != before) _exit(1);
}

static void *busy(void *unused) {
  for (int i = 0; i < 40; i++) {
    handle s, m, f, e;
    void *p;
    hipStreamCreate(&s);
    hipEventCreate(&e);
    if (hipModuleLoadData(&m, object) || hipModuleGetFunction(&f, m, "update_slots") || hipMalloc(&p, 4096)) _exit(1);
    hipMemset(p, i, 4096);
    if (launch(f, s, params, NULL) || hipEventRecord(e, s) || hipStreamSynchronize(s)) _exit(1);
    hipFree(p), hipFree(p), hipModuleUnload(m), launch(f, s, params, NULL);
    hipStreamDestroy(s), hipEventDestroy(e), hipEventSynchronize(e);
  }
  return unused;
}

static void threads(void) {
  pthread_t all[8];
  for (int i = 0; i < 8; i++) pthread_create(&all[i], NULL, busy, NULL);
  for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
}

static void resets(void) {
  handle old_stream = stream, old_function = function, fresh;
  RIGHT(hipDeviceReset());
  for (int i = 0; i < 64; i++) RIGHT(hipStreamCreate(&fresh));
  EXPECT(hipStreamSynchronize(old_stream), HANDLE);
  EXPECT(launch(old_function, NULL, params, NULL), FUNCTION);
  EXPECT(hipFree(d.x), POINTER);
}

int main(int count, char **values) {
  if (count < 2) return 2;
  FILE *file = fopen(values[1], "rb");
  if (!file) return 2;
  fseek(file, 0, SEEK_END);
  object_size = ftell(file);
  rewind(file);
  object = malloc(object_size);
  if (fread(object, 1, object_size, file) != (size_t)object_size) return 2;
  fclose(file);
  nulls();
  static int32_t slots[ROWS] = {2, -1, 0};
  RIGHT(hipModuleLoadData(&module, object));
  EXPECT(hipModuleGetFunction(&function, module, NULL), VALUE);
  EXPECT(hipModuleGetFunction(&function, module, WILD), VALUE);
  EXPECT(hipModuleGetFunction(&function, module, "\xff\xfe"), VALUE);
  RIGHT(hipModuleGetFunction(&function, module, "update_slots"));
  RIGHT(hipStreamCreate(&stream));
  RIGHT(hipMalloc(&d.x, 768));
  RIGHT(hipMalloc(&d.pool, 1024));
  RIGHT(hipMalloc(&d.slots, 12));
  RIGHT(hipMalloc(&d.y, 768));
  RIGHT(hipMemset(d.x, 0, 768));
  RIGHT(hipMemset(d.pool, 0, 1024));
  RIGHT(hipMemcpyHtoD(d.slots, slots, 12));
  places();
  handles();
  memory();
  arguments();
  truncated();
  captures();
  unloads();
  threads();
  resets();
  printf("%d refused\n", n_refused);
  return 0;
}
