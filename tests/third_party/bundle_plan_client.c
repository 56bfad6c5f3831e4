/* An engine in C that prefills with a plan of two kernels: one call, captured into a graph, with a workspace of its own.
 * Compiled with -DPLAN=identifier, -DTILE=identifier and -DSCAN=identifier of its kernels, -DTILE_NAME and -DSCAN_NAME their files.
 * Usage: client BUNDLE FOLDER N_CHUNKS BATCH SCALE; reads FOLDER/NAME.in, writes FOLDER/NAME.out. */
#include "bundle_exchange.h"

int main(int count, char **values) {
  if (count != 6) return 2;
  bundle = values[1];
  folder = values[2];
  uint32_t n_chunks = atoi(values[3]), batch = atoi(values[4]);
  float scale = atof(values[5]);
  hipFunction_t functions[2];
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipInit(0));
  hipModule_t tile = loaded(TILE_NAME), scan = loaded(SCAN_NAME);
  CHECK(NAME(TILE, _function)(tile, &functions[0]));
  CHECK(NAME(SCAN, _function)(scan, &functions[1]));
  CHECK(hipStreamCreate(&stream));
  void *chunks = tensor("chunks"), *sequences = tensor("sequences"), *q = tensor("q"), *k = tensor("k"), *v = tensor("v");
  void *beta = tensor("beta"), *g = tensor("g"), *h0 = tensor("h0"), *o = tensor("o"), *ht = tensor("ht");
  uint64_t size = NAME(PLAN, _workspace_bytes)(n_chunks);
  char *workspace = allocated("workspace", size);
#define LAUNCH(workspace, size, n_chunks, batch, q)                                                                     \
  NAME(PLAN, _launch)(functions, stream, workspace, size, n_chunks, batch, chunks, q, k, beta, g, sequences, v, scale, h0, o, ht)
  REFUSED(LAUNCH(NULL, size, n_chunks, batch, q));
  REFUSED(LAUNCH(workspace + 16, size, n_chunks, batch, q));
  REFUSED(LAUNCH(workspace, size - 1, n_chunks, batch, q));
  REFUSED(LAUNCH(workspace, size, n_chunks, 0, q));
  REFUSED(LAUNCH(workspace, size, 0xffffffffu, batch, q));
  REFUSED(LAUNCH(workspace, size, n_chunks, batch, NULL));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(LAUNCH(workspace, size, n_chunks, batch, q));
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  save();
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipModuleUnload(tile));
  CHECK(hipModuleUnload(scan));
  return 0;
}
