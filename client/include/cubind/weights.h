/* Packing of quantized weights for cubind's kernels, on the CPU or (at the end) on a GPU: from the tensors of AWQ and
 * GPTQ checkpoints (4 bits), or from plain arrays. Conventions as in cubind.h. No function here needs a daemon or a
 * client. Those on the CPU take host memory, need no driver, keep nothing and start no threads, so calls may run side
 * by side. One core packs in the order of 10^8 weights a second.
 *
 * out[m, n] = sum over k of x[m, k] * s[n, k / group] * (q[n, k] - z[n, k / group])
 *
 * Packed (weight_layout 1, n padded to 16, k to 64): weights are tiles of 16 n by 64 k in the order in which a tensor
 * core's lanes hold them; scales and zeros have one entry for each padded n and group. What is padded has the value
 * zero.
 *
 * Fused layers (qkv, gate_up): concatenate the parts' tensors along n before packing; or, where every part's n is a
 * multiple of 16, pack the parts one after the other and concatenate the packed buffers. Tensor parallelism: slice the
 * tensors before packing. */
#ifndef CUBIND_WEIGHTS_H_
#define CUBIND_WEIGHTS_H_

#include "cubind/cubind.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cubind_packed_layout {
  uint32_t struct_size;
  uint32_t n_padded, k_padded;
  uint32_t k_groups; /* scale groups along k; 1 for per channel */
  uint32_t weight_layout;
  uint32_t reserved;
  uint64_t weight_bytes;
  uint64_t scale_bytes;
  uint64_t zero_bytes; /* 0 for symmetric weights */
} cubind_packed_layout;

/* The sizes of a layer's packed buffers. CUBIND_NOT_SUPPORTED for formats that no packing exists for (what there is:
 * int4, group or channel scales of type f16 or bf16, without or with integer zero points). */
CUBIND_API cubind_status cubind_packed_sizes(const cubind_gemm* gemm, uint32_t n, uint32_t k, cubind_packed_layout* out,
                                             cubind_error* error);

/* Where a packing goes: host memory of the caller, of exactly the sizes that cubind_packed_sizes gives, not overlapping
 * the inputs. Copied to the device as it is, aligned to 16 bytes there. Undefined after a failure. */
typedef struct cubind_packed_buffers {
  uint32_t struct_size;
  uint32_t reserved;
  void* weights;
  uint64_t weight_bytes;
  void* scales;
  uint64_t scale_bytes;
  void* zeros; /* NULL and 0 for symmetric weights */
  uint64_t zero_bytes;
} cubind_packed_buffers;

/* Tensors are dense and row-major, as the checkpoint stores them. scale_type says what `scales` holds: CUBIND_DTYPE_F16
 * or CUBIND_DTYPE_BF16. Scales are converted to the gemm's weight_scale_type: f16 to bf16 rounds to nearest even (8
 * significant bits remain); a scale that is not finite, or too large for f16, is refused. */

/* AWQ, as AutoAWQ's GEMM version writes it. n a multiple of 8. */
typedef struct cubind_awq_tensors {
  uint32_t struct_size;
  uint32_t scale_type;
  const int32_t* qweight; /* [k, n/8]; nibble i of word j is column 8j + {0, 2, 4, 6, 1, 3, 5, 7}[i] */
  const int32_t* qzeros;  /* [k_groups, n/8], packed alike; may be NULL if the gemm has no zero points */
  const uint16_t* scales; /* [k_groups, n] */
} cubind_awq_tensors;

CUBIND_API cubind_status cubind_repack_awq(const cubind_gemm* gemm, uint32_t n, uint32_t k,
                                           const cubind_awq_tensors* tensors, const cubind_packed_buffers* out,
                                           cubind_error* error);

/* GPTQ, as AutoGPTQ and GPTQModel write it. n a multiple of 8. A g_idx other than k / group (act-order, desc_act) needs
 * the k_order that cubind_act_order makes of it, without is CUBIND_NOT_SUPPORTED. If the gemm has no zero points (sym)
 * every zero point must be 8, or qzeros NULL. A stored zero point of 15 is 0, not 16: one was subtracted from words as
 * a whole (0x11111111), and is added so. */
typedef struct cubind_gptq_tensors {
  uint32_t struct_size;
  uint32_t scale_type;
  const int32_t* qweight; /* [k/8, n]; nibble i of word j is row 8j + i */
  const int32_t* qzeros;  /* [k_groups, n/8]; nibble i of word j is column 8j + i, minus one unless v2 */
  const uint16_t* scales; /* [k_groups, n] */
  const int32_t* g_idx;   /* [k], or NULL if the checkpoint has none */
  uint32_t v2;            /* 1 for checkpoint_format gptq_v2, else 0 */
  uint32_t reserved;
  const int32_t* k_order; /* [k], of act-order, else NULL */
} cubind_gptq_tensors;

/* Act-order: kernels want the k of a scale group side by side, so they are packed in the order of their groups. Writes
 * to k_order [k] which k of the checkpoint is packed at each place; x must have its columns in that order, too:
 * x_packed[m][i] = x[m][k_order[i]] (or the layer before writes them so). The identity for a g_idx of k / group.
 * CUBIND_INVALID_ARGUMENT if g_idx names a group that does not exist or gives one more k than its size. */
CUBIND_API cubind_status cubind_act_order(const cubind_gemm* gemm, uint32_t n, uint32_t k, const int32_t* g_idx,
                                          int32_t* k_order, cubind_error* error);

CUBIND_API cubind_status cubind_repack_gptq(const cubind_gemm* gemm, uint32_t n, uint32_t k,
                                            const cubind_gptq_tensors* tensors, const cubind_packed_buffers* out,
                                            cubind_error* error);

/* Plain arrays, any n. */
typedef struct cubind_plain_weights {
  uint32_t struct_size;
  uint32_t scale_type;
  const uint8_t* q;       /* [n, k], 0 to 15; the value is q - 8 if the gemm has no zero points */
  const uint16_t* scales; /* [n, k_groups] */
  const uint8_t* zeros;   /* [n, k_groups], 0 to 15; NULL exactly if the gemm has no zero points */
} cubind_plain_weights;

CUBIND_API cubind_status cubind_pack_weights(const cubind_gemm* gemm, uint32_t n, uint32_t k,
                                             const cubind_plain_weights* weights, const cubind_packed_buffers* out,
                                             cubind_error* error);

/* ---- on the GPU -------------------------------------------------------------------------------------------------- */

typedef struct cubind_repacker cubind_repacker; /* the repack kernel in one CUDA context */

/* Into the current context (CUBIND_CURRENT_CONTEXT), or the primary context of a device, which is then retained until
 * the handle is closed. The driver compiles the kernel (some milliseconds, kept in its cache). Any number of threads
 * may use one. Close with cubind_repacker_close, which takes NULL. */
CUBIND_API cubind_status cubind_repacker_open(int32_t device, cubind_repacker** out, cubind_error* error);
CUBIND_API void cubind_repacker_close(cubind_repacker* repacker);

enum { CUBIND_SOURCE_AWQ = 0, CUBIND_SOURCE_GPTQ = 1, CUBIND_SOURCE_GPTQ_V2 = 2 };

/* As cubind_awq_tensors and cubind_gptq_tensors, in device memory of the repacker's context. g_idx becomes k_order on
 * the CPU (cubind_act_order). */
typedef struct cubind_device_tensors {
  uint32_t struct_size;
  uint32_t source; /* CUBIND_SOURCE_* */
  uint32_t scale_type;
  uint32_t reserved;
  const int32_t* qweight;
  const int32_t* qzeros; /* may be NULL if the gemm has no zero points */
  const uint16_t* scales;
  const int32_t* k_order; /* or NULL */
  uint32_t* fault;      /* one word, zero before: not zero after if a number breaks a rule for which the CPU's functions
                           return CUBIND_INVALID_ARGUMENT: 1 a scale, 2 a symmetric layer's zero point; what was packed
                           is then undefined */
  cubind_stream stream; /* of the same context; NULL = the default stream */
} cubind_device_tensors;

/* Enqueues the repack and returns. `out` has device memory, each buffer aligned to 16 bytes. The same bytes as
 * cubind_repack_awq and cubind_repack_gptq write. */
CUBIND_API cubind_status cubind_repack_on_device(const cubind_repacker* repacker, const cubind_gemm* gemm, uint32_t n,
                                                 uint32_t k, const cubind_device_tensors* tensors,
                                                 const cubind_packed_buffers* out, cubind_error* error);

#ifdef __cplusplus
}
#endif

#endif /* CUBIND_WEIGHTS_H_ */
