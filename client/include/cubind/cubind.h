/* cubind's C ABI: ask the node's daemon for a layer's kernels, load them, launch them.
 *
 * A process prepares its layers once (one request to the daemon, which compiles each kernel at most once for the whole
 * node), loads them into a CUDA context, and from then on launches without leaving the process: no lock, no allocation,
 * no system call of ours, usable while a stream is captured into a CUDA graph. libcuda is opened at run time by the
 * first function that needs it, so preparing and prewarming work on a machine without a driver.
 *
 * Conventions
 *  1. C11. Handles are opaque pointers. A function named cubind_X_close takes NULL and then does nothing; no other
 *     function takes a NULL handle.
 *  2. Every struct starts with struct_size: set it to sizeof the struct before the call, for structs that are filled in
 *     too. Fields that a newer header adds at the end are zero for older callers, and zero means the default. A larger
 *     struct than this library knows is accepted if what it does not know is zero. In an array, struct_size of the
 *     first element is the stride.
 *  3. A function that can fail returns cubind_status and takes `cubind_error*` last (may be NULL): code and one line
 *     that names the field, the value and the rule. On failure no output is written except the error.
 *  4. What an output parameter receives is the caller's, to be closed with the function its comment names. Strings and
 *     bytes that a function returns by pointer belong to the handle and live as long as it does.
 *  5. Strings are UTF-8, end with NUL, and are copied if they are needed after the call. Sizes are bytes, strides are
 *     elements, times are milliseconds. Device pointers and CUDA handles are passed as they are (CUdeviceptr as
 *     `void*`, CUstream or cudaStream_t as cubind_stream).
 *  6. Threads: a client may be used by any number of threads, which take turns. Layers and loaded layers do not change
 *     after they are made: any number of threads may read and launch them, each launch with a workspace of its own.
 *     Closing a handle needs that nobody uses it.
 *  7. Fork: in a forked child a client reconnects by itself at its next request, and prepared layers stay usable.
 *     CUDA does not survive fork: launching a loaded layer of the parent is CUBIND_NOT_SUPPORTED there, closing it is
 *     allowed. Do not fork inside a progress callback.
 *  8. Nothing is written to standard output or error, no signal is raised or blocked, no exception leaves.
 *
 * Needs a driver of R525 (CUDA 12.0) or later for loading and launching. */
#ifndef CUBIND_CUBIND_H_
#define CUBIND_CUBIND_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CUBIND_API __attribute__((visibility("default")))
#else
#define CUBIND_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------------------------------ */

typedef int32_t cubind_status;
enum {
  CUBIND_OK = 0,
  CUBIND_INVALID_ARGUMENT = 1,   /* a value breaks a rule */
  CUBIND_NOT_SUPPORTED = 2,      /* well formed, but nothing here can do it */
  CUBIND_NOT_FOUND = 3,          /* no such kernel */
  CUBIND_CORRUPTION = 4,         /* bytes that fail their check */
  CUBIND_COMPILE_FAILED = 5,     /* the compiler refused the source */
  CUBIND_RESOURCE_EXHAUSTED = 6, /* the daemon's queue is full, or memory ran out */
  CUBIND_TIMED_OUT = 7,          /* a compile passed its own limit */
  CUBIND_CANCELLED = 8,          /* the progress callback said so */
  CUBIND_UNAVAILABLE = 9,        /* not now: no daemon, no driver, no toolchain */
  CUBIND_PERMISSION_DENIED = 10, /* the daemon or its socket does not let this user */
  CUBIND_INTERNAL = 11,          /* a bug, or a CUDA call that failed */
  CUBIND_PENDING = 12            /* the deadline passed, or hit-only found a miss: the work goes on, ask again */
};

typedef struct cubind_error {
  uint32_t struct_size;
  cubind_status code;
  int32_t cuda_result; /* the CUresult if a CUDA call failed, else 0 */
  uint32_t reserved;
  char message[496]; /* one line, cut if longer */
} cubind_error;

CUBIND_API const char* cubind_version(void);                     /* "0.1.0" */
CUBIND_API const char* cubind_status_name(cubind_status status); /* "not_supported"; "unknown" for other numbers */

/* ---- client ------------------------------------------------------------------------------------------------------ */

typedef struct cubind_client cubind_client;

typedef struct cubind_client_options {
  uint32_t struct_size;
  uint32_t connect_deadline_ms; /* how long to wait for a daemon that is not there; 0 = CUBIND_UNAVAILABLE at once */
  uint32_t request_deadline_ms; /* of requests that name none; 0 = ten minutes */
  uint32_t reserved;
  const char* socket; /* NULL = $CUBIND_SOCKET, else /run/cubind/cubind.sock */
  const char* name;   /* the program's, for the daemon's log; NULL = none */
} cubind_client_options;

/* Connects and greets. `options` may be NULL (all defaults). If the daemon restarts later, requests reconnect and ask
 * again until their deadline. Close with cubind_client_close, before or after the layers that it prepared. */
CUBIND_API cubind_status cubind_client_open(const cubind_client_options* options, cubind_client** out,
                                            cubind_error* error);
CUBIND_API void cubind_client_close(cubind_client* client);

typedef struct cubind_health {
  uint32_t struct_size;
  uint32_t state; /* 0 ok, 1 degraded, 2 stopping */
  uint64_t pid;
  uint64_t uptime_ms;
  char daemon[128];  /* version and commit */
  char reasons[512]; /* why it is not ok, separated by "; " */
} cubind_health;

CUBIND_API cubind_status cubind_client_health(cubind_client* client, cubind_health* out, cubind_error* error);

/* Calls `counter` once for each of the daemon's counters, in its order. Names are stable. */
typedef void (*cubind_counter_fn)(void* context, const char* name, double value);
CUBIND_API cubind_status cubind_client_stats(cubind_client* client, cubind_counter_fn counter, void* context,
                                             cubind_error* error);

/* Declares that this process has warmed up (ready = 1), or takes that back (0). A compile that one of its requests
 * needs from then on (prepare with CUBIND_MODE_WAIT or CUBIND_MODE_HIT_ONLY) is JIT in live traffic: the daemon warns
 * of it and counts it in cubind_compiles_after_ready_total. It holds for this client also when it reconnects.
 * CUBIND_NOT_SUPPORTED if the daemon is too old to know of it. */
CUBIND_API cubind_status cubind_client_ready(cubind_client* client, int ready, cubind_error* error);

/* ---- what to compute --------------------------------------------------------------------------------------------- */

enum {
  CUBIND_GEMM_DENSE = 0,
  CUBIND_GEMM_GROUPED_CONTIGUOUS = 1,
  CUBIND_GEMM_GROUPED_MASKED = 2,
  CUBIND_GEMM_INDEXED = 3
};
enum {
  CUBIND_DTYPE_NONE = 0,
  CUBIND_DTYPE_F32 = 1,
  CUBIND_DTYPE_F16 = 2,
  CUBIND_DTYPE_BF16 = 3,
  CUBIND_DTYPE_E5M2 = 4,
  CUBIND_DTYPE_E4M3 = 5,
  CUBIND_DTYPE_E3M2 = 6,
  CUBIND_DTYPE_E2M3 = 7,
  CUBIND_DTYPE_E2M1 = 8,
  CUBIND_DTYPE_E1M2 = 9,
  CUBIND_DTYPE_E2M2 = 10,
  CUBIND_DTYPE_E3M1 = 11,
  CUBIND_DTYPE_E1M1 = 12,
  CUBIND_DTYPE_E2M0 = 13,
  CUBIND_DTYPE_E8M0 = 14,
  CUBIND_DTYPE_E3M3 = 15,
  CUBIND_DTYPE_E4M2 = 16,
  CUBIND_DTYPE_INT1 = 33,
  CUBIND_DTYPE_INT2 = 34,
  CUBIND_DTYPE_INT3 = 35,
  CUBIND_DTYPE_INT4 = 36,
  CUBIND_DTYPE_INT5 = 37,
  CUBIND_DTYPE_INT6 = 38,
  CUBIND_DTYPE_INT7 = 39,
  CUBIND_DTYPE_INT8 = 40,
  CUBIND_DTYPE_INT32 = 64
};
enum {
  CUBIND_SCALE_NONE = 0,
  CUBIND_SCALE_TENSOR = 1,
  CUBIND_SCALE_CHANNEL = 2, /* one per output feature (weights) or token (activations) */
  CUBIND_SCALE_GROUP = 3,   /* one per group_k consecutive k of each of those */
  CUBIND_SCALE_BLOCK = 4    /* one per group_k x group_n of weights */
};
enum { CUBIND_ZERO_POINT_NONE = 0, CUBIND_ZERO_POINT_INTEGER = 1, CUBIND_ZERO_POINT_FLOATING = 2 };
enum {
  CUBIND_ACTIVATION_NONE = 0,
  CUBIND_ACTIVATION_RELU = 1,
  CUBIND_ACTIVATION_RELU2 = 2,
  CUBIND_ACTIVATION_SILU = 3,
  CUBIND_ACTIVATION_GELU = 4,
  CUBIND_ACTIVATION_SILU_MUL = 5,
  CUBIND_ACTIVATION_GELU_MUL = 6
};
enum { CUBIND_ACCUMULATE_F32 = 0, CUBIND_ACCUMULATE_F16 = 1, CUBIND_ACCUMULATE_F32_PROMOTED = 2 };
enum { CUBIND_DETERMINISM_RUN_TO_RUN = 0, CUBIND_DETERMINISM_SM_COUNT = 1, CUBIND_DETERMINISM_BATCH_INVARIANT = 2 };

/* out[m, n] = sum over k of x[m, k] * w[n, k] (+ bias[n]), w quantized. The enums above are the values of the fields.
 */
typedef struct cubind_gemm {
  uint32_t struct_size;
  uint32_t kind;
  uint32_t activation; /* type of x */
  uint32_t weight;     /* type of w */
  uint32_t output;     /* type of out and bias */
  uint32_t weight_scale;
  uint32_t weight_scale_type;
  uint32_t group_k;             /* k per weight scale for group and block, else 0 */
  uint32_t group_n;             /* n per weight scale for block, else 0 */
  uint32_t weight_global_scale; /* 0 or 1 */
  uint32_t zero_point;
  uint32_t activation_scale;
  uint32_t activation_scale_type;
  uint32_t activation_group_k;
  uint32_t bias; /* 0 or 1 */
  uint32_t epilogue;
  uint32_t accumulation;
  uint32_t promotion_k;
  uint32_t determinism;
} cubind_gemm;

/* From a short name such as "w4a16-bf16-g128", "w4a16-f16-ch-zp". Sets every field but struct_size, which the caller
 * sets. */
CUBIND_API cubind_status cubind_gemm_from_name(const char* name, cubind_gemm* out, cubind_error* error);

typedef struct cubind_layer_desc {
  uint32_t struct_size;
  uint32_t n;     /* output features, as the caller's tensors have them */
  uint32_t k;     /* input features */
  uint32_t max_m; /* tokens of the largest launch */
  const cubind_gemm* gemm;
} cubind_layer_desc;

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

typedef struct cubind_layer cubind_layer; /* a launch table and the kernels it names; no CUDA in it */

typedef struct cubind_progress {
  uint32_t struct_size;
  uint32_t total, ready, compiling, queued; /* kernels of this request */
  uint32_t elapsed_ms;
} cubind_progress;
/* Called by the thread that waits, at least once a second. Non-zero cancels the request: CUBIND_CANCELLED. */
typedef int (*cubind_progress_fn)(void* context, const cubind_progress* progress);

enum { CUBIND_NO_DEVICE = -1, CUBIND_CURRENT_CONTEXT = -2 };
enum {
  CUBIND_MODE_WAIT = 0,     /* until all kernels are there or the deadline has passed (CUBIND_PENDING) */
  CUBIND_MODE_HIT_ONLY = 1, /* answers at once; a miss is CUBIND_PENDING and its compile is queued */
  CUBIND_MODE_PREFETCH = 2  /* prewarm only: queues what is missing and answers */
};

typedef struct cubind_prepare_options {
  uint32_t struct_size;
  int32_t device;       /* CUDA ordinal, CUBIND_CURRENT_CONTEXT for that context's device, or CUBIND_NO_DEVICE: then
                           arch and sm_count say what a device would. Zero is device 0. */
  const char* arch;     /* "sm_90a"; NULL = the device's. A device of compute capability 9.0 asks for sm_90a */
  uint32_t sm_count;    /* 0 = the device's. Launch tables depend on it, kernels do not */
  uint32_t mode;        /* CUBIND_MODE_* */
  uint32_t deadline_ms; /* 0 = the client's */
  uint32_t max_cuda;    /* newest CUDA (13000) whose kernels the driver takes; 0 = the driver's own, or any if there
                           is no driver */
  const char* const* excluded_toolchains; /* ids as in cubind_kernel_info whose kernels the driver refused */
  size_t excluded_count;
  cubind_progress_fn progress; /* or NULL */
  void* progress_context;
} cubind_prepare_options;

/* Asks for the launch tables and kernels of `count` layers in one request and writes `count` handles to `out`, to be
 * closed with cubind_layer_close each; all or none. Kernels that several layers share, and those of layers this client
 * prepared before, are transferred and kept once. `options` may be NULL: device 0, wait. */
CUBIND_API cubind_status cubind_layers_prepare(cubind_client* client, const cubind_layer_desc* layers, size_t count,
                                               const cubind_prepare_options* options, cubind_layer** out,
                                               cubind_error* error);
CUBIND_API void cubind_layer_close(cubind_layer* layer);

typedef struct cubind_prewarm_summary {
  uint32_t struct_size;
  uint32_t total, hits, built, joined, pending, failed; /* kernels */
  uint32_t elapsed_ms;
  double compile_ms; /* sum over built */
} cubind_prewarm_summary;

/* Has every kernel that any n, k and GPU size could use for these layers' formats up to their max_m compiled and
 * stored, without transferring one. CUBIND_PENDING if the deadline passed first (`out` is written then too). */
CUBIND_API cubind_status cubind_prewarm(cubind_client* client, const cubind_layer_desc* layers, size_t count,
                                        const cubind_prepare_options* options, cubind_prewarm_summary* out,
                                        cubind_error* error);

/* ---- what was prepared ------------------------------------------------------------------------------------------- */

typedef struct cubind_kernel_info {
  uint32_t struct_size;
  uint32_t tile_m, tile_n, tile_k;
  uint32_t threads;     /* a block */
  uint32_t smem_bytes;  /* dynamic shared memory of a block */
  uint32_t registers;   /* a thread */
  uint32_t local_bytes; /* a thread: spills and stack */
  uint32_t launch_abi, weight_layout;
  uint32_t outcome; /* 0 held already, 1 from the daemon's memory, 2 from its disk, 3 compiled for us, 4 for another */
  uint32_t reserved;
  double compile_ms; /* of the compile that made it, whenever that was */
  uint64_t cubin_bytes;
  const void* cubin; /* the layer's */
  const char* name;  /* the layer's, as the following */
  const char* key;   /* 64 hexadecimal digits */
  const char* arch;  /* the target that was compiled */
  const char* toolchain;
} cubind_kernel_info;

/* Rows cover m from 1 to max_m without gaps, ascending. */
typedef struct cubind_launch_row {
  uint32_t struct_size;
  uint32_t m_first, m_last;
  uint32_t kernel; /* index for cubind_layer_kernel */
  uint32_t splits; /* blocks along k; more than 1 needs a workspace */
  uint32_t k_tiles_per_split;
} cubind_launch_row;

CUBIND_API size_t cubind_layer_kernel_count(const cubind_layer* layer);
CUBIND_API cubind_status cubind_layer_kernel(const cubind_layer* layer, size_t index, cubind_kernel_info* out,
                                             cubind_error* error);
CUBIND_API size_t cubind_layer_row_count(const cubind_layer* layer);
CUBIND_API cubind_status cubind_layer_row(const cubind_layer* layer, size_t index, cubind_launch_row* out,
                                          cubind_error* error);

/* Bytes of workspace that a launch with this m needs; m = 0: the most that any m of the layer needs. 0 also if m is
 * above max_m. */
CUBIND_API size_t cubind_layer_workspace_bytes(const cubind_layer* layer, uint32_t m);

/* ---- load and launch --------------------------------------------------------------------------------------------- */

typedef struct cubind_loaded_layer cubind_loaded_layer; /* a layer's kernels in one CUDA context */
typedef struct CUstream_st* cubind_stream;              /* CUstream, cudaStream_t */

/* Loads the layer's kernels into the current context (CUBIND_CURRENT_CONTEXT), or into the primary context of a device,
 * which is then retained until the handle is closed. The load happens now, not at the first launch. A kernel is loaded
 * once for all layers that share it. Keeps what it needs of `layer`, which may be closed. CUBIND_NOT_SUPPORTED if the
 * driver is older than R525 or the kernels are for another architecture; CUBIND_UNAVAILABLE without driver or device.
 * Close with cubind_loaded_layer_close, after every graph that a launch was captured into is gone. */
CUBIND_API cubind_status cubind_layer_load(const cubind_layer* layer, int32_t device, cubind_loaded_layer** out,
                                           cubind_error* error);
CUBIND_API void cubind_loaded_layer_close(cubind_loaded_layer* layer);

/* One launch. Pointers are device memory of the loaded layer's context. Packed weights, scales and zeros have
 * weight_layout 1: tiles of 16 n by 64 k, padded with zero weights. */
typedef struct cubind_launch_args {
  uint32_t struct_size;
  uint32_t m;             /* 1 to max_m */
  uint32_t ldx, ldo;      /* row strides of x and out; ldx a multiple of 8 */
  const void* x;          /* [m, k], aligned to 16 bytes */
  const void* weights;    /* packed, aligned to 16 bytes */
  const void* scales;     /* packed, aligned to 16 bytes */
  const void* zeros;      /* packed, aligned to 16 bytes; NULL exactly if the layer has no zero points */
  const void* bias;       /* [n]; NULL exactly if the layer has no bias */
  void* out;              /* [m, n] */
  void* workspace;        /* aligned to 256 bytes; may be NULL if none is needed */
  size_t workspace_bytes; /* at least cubind_layer_workspace_bytes(layer, m) */
  cubind_stream stream;   /* of the same context; NULL = the default stream */
} cubind_launch_args;

/* Enqueues the launch on args->stream and returns. Validates what it can without asking the driver. The workspace must
 * have been initialised once (below) and must not be used by another launch that may run at the same time. */
CUBIND_API cubind_status cubind_layer_launch(const cubind_loaded_layer* layer, const cubind_launch_args* args,
                                             cubind_error* error);

/* Makes fresh memory a workspace: zeroes its counters on the stream, in the current context. Launches leave them zero,
 * so once is enough; needed again if a launch failed half-way or something else wrote there. */
CUBIND_API cubind_status cubind_workspace_init(void* workspace, size_t bytes, cubind_stream stream,
                                               cubind_error* error);

#ifdef __cplusplus
}
#endif

#endif /* CUBIND_CUBIND_H_ */
