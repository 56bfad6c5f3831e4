/* An engine in C: loads a kernel of a bundle and launches it with the generated call. Compiled with -DKERNEL=identifier.
 * Usage: client BUNDLE FOLDER BATCH SCALE; reads FOLDER/NAME.in, writes FOLDER/NAME.out. */
#include "bundle_exchange.h"

int main(int count, char **values) {
  if (count != 5) return 2;
  bundle = values[1];
  folder = values[2];
  uint32_t batch = atoi(values[3]);
  float scale = atof(values[4]);
  hipFunction_t function;
  hipStream_t stream;
  CHECK(hipInit(0));
  hipModule_t module = loaded(FILE_NAME);
  CHECK(NAME(KERNEL, _function)(module, &function));
  CHECK(hipStreamCreate(&stream));
  void *q = tensor("q"), *k = tensor("k"), *v = tensor("v"), *g = tensor("g"), *beta = tensor("beta");
  void *state = tensor("state"), *next_state = tensor("next_state"), *o = tensor("o");
  REFUSED(NAME(KERNEL, _launch)(function, stream, 0, q, k, v, g, beta, state, next_state, o, scale));
  REFUSED(NAME(KERNEL, _launch)(function, stream, batch, q, NULL, v, g, beta, state, next_state, o, scale));
  CHECK(NAME(KERNEL, _launch)(function, stream, batch, q, k, v, g, beta, state, next_state, o, scale));
  CHECK(hipStreamSynchronize(stream));
  save();
  CHECK(hipStreamDestroy(stream));
  CHECK(hipModuleUnload(module));
  return 0;
}
