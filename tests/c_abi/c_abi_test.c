/* The C ABI as a C11 program uses it: open, prepare two layers, look at them, load, launch, prewarm, and what every
 * function says to a wrong argument. Runs on the recording libcuda. Exit code 0 if all holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubind/cubind.h"
#include "tests/c_abi/scripted_daemon_for_c.h"

static int failures = 0;

#define EXPECT(condition)                                                       \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

/* The call fails with this status, and the message contains the text. */
#define EXPECT_ERROR(call, status, text)                                                                            \
  do {                                                                                                              \
    cubind_error error = {.struct_size = sizeof error};                                                             \
    cubind_status got = (call);                                                                                     \
    if (got != (status) || error.code != (status) || strstr(error.message, (text)) == NULL) {                       \
      fprintf(stderr, "%s:%d: %s: %s \"%s\"\n", __FILE__, __LINE__, #call, cubind_status_name(got), error.message); \
      ++failures;                                                                                                   \
    }                                                                                                               \
  } while (0)

/* Any address will do: the recording libcuda does not look. */
static void* device_memory(size_t offset) {
  return (void*)(uintptr_t)(0x7f0000000000u + offset);
}

struct progress_seen {
  int calls;
};
static int on_progress(void* context, const cubind_progress* progress) {
  ++((struct progress_seen*)context)->calls;
  return progress->total == 0xffffffffu; /* goes on */
}

static void on_counter(void* context, const char* name, double value) {
  (void)name;
  (void)value;
  ++*(int*)context;
}

static void look_at(const cubind_layer* layer) {
  size_t i;
  uint32_t next = 1;
  EXPECT(cubind_layer_kernel_count(layer) == 2);
  EXPECT(cubind_layer_row_count(layer) == 2);
  for (i = 0; i < cubind_layer_row_count(layer); ++i) {
    cubind_launch_row row = {.struct_size = sizeof row};
    EXPECT(cubind_layer_row(layer, i, &row, NULL) == CUBIND_OK);
    EXPECT(row.m_first == next && row.m_last >= row.m_first && row.kernel < 2 && row.splits >= 1);
    EXPECT(row.struct_size == sizeof row);
    next = row.m_last + 1;
  }
  EXPECT(next == 513);
  for (i = 0; i < cubind_layer_kernel_count(layer); ++i) {
    cubind_kernel_info info = {.struct_size = sizeof info};
    EXPECT(cubind_layer_kernel(layer, i, &info, NULL) == CUBIND_OK);
    EXPECT(strlen(info.key) == 64 && strlen(info.name) > 0 && strcmp(info.arch, "sm_90") == 0);
    EXPECT(info.cubin_bytes > 4 && memcmp(info.cubin,
                                          "\x7f"
                                          "ELF",
                                          4) == 0);
    EXPECT(info.threads == 128 && info.tile_n == 64);
  }
  EXPECT(cubind_layer_workspace_bytes(layer, 1) == 0);
  EXPECT(cubind_layer_workspace_bytes(layer, 512) > 0);
  EXPECT(cubind_layer_workspace_bytes(layer, 0) == cubind_layer_workspace_bytes(layer, 512));
  EXPECT(cubind_layer_workspace_bytes(layer, 513) == 0);
  {
    cubind_launch_row row = {.struct_size = sizeof row};
    cubind_kernel_info info = {.struct_size = 4};
    EXPECT_ERROR(cubind_layer_row(layer, 2, &row, &error), CUBIND_INVALID_ARGUMENT, "index \"2\"");
    EXPECT_ERROR(cubind_layer_kernel(layer, 0, &info, &error), CUBIND_INVALID_ARGUMENT, "out.struct_size \"4\"");
    EXPECT_ERROR(cubind_layer_kernel(layer, 0, NULL, &error), CUBIND_INVALID_ARGUMENT, "out is null");
  }
}

static void launch(const cubind_loaded_layer* loaded, size_t workspace_bytes) {
  cubind_launch_args args = {.struct_size = sizeof args};
  args.m = 512;
  args.ldx = 4096;
  args.ldo = 6144;
  args.x = device_memory(0x10000);
  args.weights = device_memory(0x20000);
  args.scales = device_memory(0x30000);
  args.out = device_memory(0x40000);
  args.workspace = device_memory(0x50000);
  args.workspace_bytes = workspace_bytes;
  EXPECT(cubind_workspace_init(args.workspace, workspace_bytes, NULL, NULL) == CUBIND_OK);
  EXPECT(cubind_layer_launch(loaded, &args, NULL) == CUBIND_OK);
  args.zeros = device_memory(0x60000);
  EXPECT_ERROR(cubind_layer_launch(loaded, &args, &error), CUBIND_INVALID_ARGUMENT, "zeros");
  args.zeros = NULL;
  args.m = 513;
  EXPECT_ERROR(cubind_layer_launch(loaded, &args, &error), CUBIND_INVALID_ARGUMENT, "m \"513\"");
  EXPECT_ERROR(cubind_layer_launch(loaded, NULL, &error), CUBIND_INVALID_ARGUMENT, "args is null");
}

int main(void) {
  const char* socket = getenv("CUBIND_SOCKET");
  scripted_daemon* daemon = NULL;
  cubind_client* client = NULL;
  cubind_layer* layers[2] = {NULL, NULL};
  cubind_loaded_layer* loaded = NULL;
  cubind_gemm gemm = {.struct_size = sizeof gemm};
  cubind_layer_desc descs[2];
  cubind_client_options options = {.struct_size = sizeof options};
  cubind_prepare_options prepare = {.struct_size = sizeof prepare};
  cubind_prepare_options prewarm = {.struct_size = sizeof prewarm};
  cubind_prewarm_summary summary = {.struct_size = sizeof summary};
  cubind_health health = {.struct_size = sizeof health};
  struct progress_seen seen = {0};
  int counters = 0;

  EXPECT(strlen(cubind_version()) > 0);
  EXPECT(strcmp(cubind_status_name(CUBIND_NOT_SUPPORTED), "not_supported") == 0);
  EXPECT(strcmp(cubind_status_name(99), "unknown") == 0);

  options.socket = "/nonexistent/cubind.sock";
  EXPECT_ERROR(cubind_client_open(&options, &client, &error), CUBIND_UNAVAILABLE, "/nonexistent/cubind.sock");
  EXPECT(client == NULL);
  EXPECT_ERROR(cubind_client_open(NULL, NULL, &error), CUBIND_INVALID_ARGUMENT, "out is null");

  if (socket == NULL) {
    daemon = scripted_daemon_start();
    socket = scripted_daemon_socket(daemon);
  }
  options.socket = socket;
  options.name = "c_abi_test";
  EXPECT(cubind_client_open(&options, &client, NULL) == CUBIND_OK);
  if (client == NULL) return 1;
  EXPECT(cubind_client_health(client, &health, NULL) == CUBIND_OK && strlen(health.daemon) > 0);
  EXPECT(cubind_client_stats(client, on_counter, &counters, NULL) == CUBIND_OK && counters > 0);
  EXPECT(cubind_client_ready(client, 1, NULL) == CUBIND_OK && cubind_client_ready(client, 0, NULL) == CUBIND_OK);
  EXPECT_ERROR(cubind_client_ready(NULL, 1, &error), CUBIND_INVALID_ARGUMENT, "client is null");

  EXPECT(cubind_gemm_from_name("w4a16-bf16-g128", &gemm, NULL) == CUBIND_OK);
  EXPECT(gemm.group_k == 128 && gemm.activation == CUBIND_DTYPE_BF16 && gemm.weight == CUBIND_DTYPE_INT4);
  EXPECT_ERROR(cubind_gemm_from_name("nonsense", &gemm, &error), CUBIND_INVALID_ARGUMENT, "nonsense");

  memset(descs, 0, sizeof descs);
  descs[0].struct_size = sizeof descs[0];
  descs[0].n = 6144;
  descs[0].k = 4096;
  descs[0].max_m = 512;
  descs[0].gemm = &gemm;
  descs[1] = descs[0];
  descs[1].n = 4096;
  prepare.progress = on_progress;
  prepare.progress_context = &seen;
  EXPECT(cubind_layers_prepare(client, descs, 2, &prepare, layers, NULL) == CUBIND_OK);
  if (layers[0] == NULL || layers[1] == NULL) return 1;
  look_at(layers[0]);

  /* A struct of a newer header: zero where this library knows nothing is fine, anything else is not. */
  {
    struct {
      cubind_prepare_options known;
      uint64_t newer;
    } longer;
    cubind_layer* other = NULL;
    memset(&longer, 0, sizeof longer);
    longer.known.struct_size = sizeof longer;
    EXPECT(cubind_layers_prepare(client, descs, 1, &longer.known, &other, NULL) == CUBIND_OK);
    cubind_layer_close(other);
    other = NULL;
    longer.newer = 1;
    EXPECT_ERROR(cubind_layers_prepare(client, descs, 1, &longer.known, &other, &error), CUBIND_INVALID_ARGUMENT,
                 "options sets a field");
    EXPECT(other == NULL);
  }
  {
    cubind_layer* other = NULL;
    cubind_layer_desc bad = descs[0];
    cubind_gemm bad_gemm = gemm;
    cubind_prepare_options bad_options = prepare;
    bad.k = 4100;
    EXPECT_ERROR(cubind_layers_prepare(client, &bad, 1, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "\"4100\"");
    bad = descs[0];
    bad.max_m = 0;
    EXPECT_ERROR(cubind_layers_prepare(client, &bad, 1, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "max_m \"0\"");
    bad = descs[0];
    bad.struct_size = 0;
    EXPECT_ERROR(cubind_layers_prepare(client, &bad, 1, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "struct_size");
    bad = descs[0];
    bad.gemm = &bad_gemm;
    bad_gemm.group_k = 48;
    EXPECT_ERROR(cubind_layers_prepare(client, &bad, 1, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "\"48\"");
    bad_gemm = gemm;
    bad_gemm.bias = 2;
    EXPECT_ERROR(cubind_layers_prepare(client, &bad, 1, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "bias \"2\"");
    bad.gemm = NULL;
    EXPECT_ERROR(cubind_layers_prepare(client, &bad, 1, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "gemm is null");
    EXPECT_ERROR(cubind_layers_prepare(client, descs, 0, NULL, &other, &error), CUBIND_INVALID_ARGUMENT, "count \"0\"");
    bad_options.arch = "hopper";
    EXPECT_ERROR(cubind_layers_prepare(client, descs, 1, &bad_options, &other, &error), CUBIND_INVALID_ARGUMENT,
                 "\"hopper\"");
    bad_options = prepare;
    bad_options.device = CUBIND_NO_DEVICE;
    EXPECT_ERROR(cubind_layers_prepare(client, descs, 1, &bad_options, &other, &error), CUBIND_INVALID_ARGUMENT,
                 "sm_count");
    bad_options.device = 77;
    EXPECT_ERROR(cubind_layers_prepare(client, descs, 1, &bad_options, &other, &error), CUBIND_INVALID_ARGUMENT,
                 "device \"77\"");
    bad_options = prepare;
    bad_options.mode = CUBIND_MODE_PREFETCH;
    EXPECT_ERROR(cubind_layers_prepare(client, descs, 1, &bad_options, &other, &error), CUBIND_INVALID_ARGUMENT,
                 "mode \"2\"");
    EXPECT(other == NULL);
  }

  prewarm.device = CUBIND_NO_DEVICE;
  prewarm.arch = "sm_80";
  EXPECT(cubind_prewarm(client, descs, 2, &prewarm, &summary, NULL) == CUBIND_OK);
  EXPECT(summary.total == 2 && summary.hits + summary.built + summary.joined == 2);

  EXPECT(cubind_layer_load(layers[0], 0, &loaded, NULL) == CUBIND_OK);
  if (loaded == NULL) return 1;
  launch(loaded, cubind_layer_workspace_bytes(layers[0], 0));
  EXPECT_ERROR(cubind_layer_load(layers[0], 77, &loaded, &error), CUBIND_INVALID_ARGUMENT, "device \"77\"");
  EXPECT_ERROR(cubind_layer_load(layers[0], CUBIND_CURRENT_CONTEXT, &loaded, &error), CUBIND_INVALID_ARGUMENT,
               "no CUDA context");
  {
    cubind_error failed = {.struct_size = sizeof failed};
    EXPECT(cubind_layer_load(layers[0], 77, &loaded, &failed) == CUBIND_INVALID_ARGUMENT);
    EXPECT(failed.cuda_result == 101); /* CUDA_ERROR_INVALID_DEVICE */
    EXPECT(cubind_layer_load(layers[0], CUBIND_CURRENT_CONTEXT, &loaded, &failed) == CUBIND_INVALID_ARGUMENT);
    EXPECT(failed.cuda_result == 0);
  }
  {
    /* A shorter error of an older caller gets as much of the message as it holds, ended by NUL. */
    cubind_error brief;
    memset(&brief, 'x', sizeof brief);
    brief.struct_size = offsetof(cubind_error, message) + 8;
    EXPECT(cubind_client_open(NULL, NULL, &brief) == CUBIND_INVALID_ARGUMENT);
    EXPECT(strcmp(brief.message, "out is ") == 0 && brief.message[8] == 'x');
  }

  /* In any order, and nothing twice. */
  cubind_layer_close(layers[0]);
  cubind_client_close(client);
  cubind_loaded_layer_close(loaded);
  cubind_layer_close(layers[1]);
  cubind_layer_close(NULL);
  cubind_client_close(NULL);
  cubind_loaded_layer_close(NULL);
  if (daemon != NULL) scripted_daemon_stop(daemon);
  if (failures == 0) puts("the C ABI holds");
  return failures == 0 ? 0 : 1;
}
