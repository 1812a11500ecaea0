/* weights.h as a C11 program uses it: sizes, the three ways to pack, and what a wrong argument gets. The layouts
 * themselves are tests/unit/weights' business. Exit code 0 if all holds. */
#include "cubind/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { N = 16, K = 64, GROUP = 32, GROUPS = K / GROUP };

static uint8_t q_of(int row, int column) {
  return (uint8_t)((7 * row + 5 * column + row * column) % 16);
}

struct buffers {
  uint32_t weights[N * K / 8];
  uint16_t scales[N * GROUPS];
  uint8_t zeros[N * GROUPS];
};

static cubind_packed_buffers view(struct buffers* buffers, int zeros) {
  cubind_packed_buffers out = {.struct_size = sizeof out,
                               .weights = buffers->weights,
                               .weight_bytes = sizeof buffers->weights,
                               .scales = buffers->scales,
                               .scale_bytes = sizeof buffers->scales};
  if (zeros) {
    out.zeros = buffers->zeros;
    out.zero_bytes = sizeof buffers->zeros;
  }
  memset(buffers, 0xa5, sizeof *buffers);
  return out;
}

static void check_sizes(void) {
  cubind_gemm gemm = {.struct_size = sizeof gemm};
  cubind_packed_layout layout = {.struct_size = sizeof layout};
  EXPECT(cubind_gemm_from_name("w4a16-bf16-g32-zp", &gemm, NULL) == CUBIND_OK);
  EXPECT(cubind_packed_sizes(&gemm, 1001, 1440, &layout, NULL) == CUBIND_OK);
  EXPECT(layout.struct_size == sizeof layout);
  EXPECT(layout.n_padded == 1008 && layout.k_padded == 1472 && layout.k_groups == 45 && layout.weight_layout == 1);
  EXPECT(layout.weight_bytes == 1008 * 1472 / 2 && layout.scale_bytes == 1008 * 45 * 2);
  EXPECT(layout.zero_bytes == 1008 * 45);

  EXPECT_ERROR(cubind_packed_sizes(&gemm, 1001, 1450, &layout, &error), CUBIND_INVALID_ARGUMENT, "1450");
  EXPECT_ERROR(cubind_packed_sizes(NULL, 16, 64, &layout, &error), CUBIND_INVALID_ARGUMENT, "gemm");
  EXPECT_ERROR(cubind_packed_sizes(&gemm, 16, 64, NULL, &error), CUBIND_INVALID_ARGUMENT, "out");
  gemm.weight = CUBIND_DTYPE_INT8;
  EXPECT_ERROR(cubind_packed_sizes(&gemm, 16, 64, &layout, &error), CUBIND_NOT_SUPPORTED, "int8");
}

/* Plain arrays, an AWQ and a GPTQ checkpoint of the same weights give the same bytes. */
static void check_the_three_ways_agree(void) {
  static uint8_t q[N * K];
  static uint16_t plain_scales[N * GROUPS], scales[GROUPS * N];
  static uint8_t zeros[N * GROUPS];
  static uint32_t awq[K * N / 8], awq_zeros[GROUPS * N / 8], gptq[K / 8 * N], gptq_zeros[GROUPS * N / 8];
  static const int awq_column[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  static int32_t g_idx[K];
  struct buffers from_plain, from_awq, from_gptq;
  cubind_packed_buffers out;
  cubind_gemm gemm = {.struct_size = sizeof gemm};
  cubind_plain_weights plain = {.struct_size = sizeof plain, .scale_type = CUBIND_DTYPE_F16};
  cubind_awq_tensors awq_tensors = {.struct_size = sizeof awq_tensors, .scale_type = CUBIND_DTYPE_F16};
  cubind_gptq_tensors gptq_tensors = {.struct_size = sizeof gptq_tensors, .scale_type = CUBIND_DTYPE_F16, .v2 = 1};
  int row, column, group, i;

  EXPECT(cubind_gemm_from_name("w4a16-f16-g32-zp", &gemm, NULL) == CUBIND_OK);
  for (row = 0; row < N; ++row) {
    for (column = 0; column < K; ++column) {
      q[row * K + column] = q_of(row, column);
      gptq[column / 8 * N + row] |= (uint32_t)q_of(row, column) << 4 * (column % 8);
    }
    for (group = 0; group < GROUPS; ++group) {
      plain_scales[row * GROUPS + group] = scales[group * N + row] = (uint16_t)(0x2000 + 16 * row + group);
      zeros[row * GROUPS + group] = (uint8_t)((row + 3 * group) % 16);
      gptq_zeros[group * N / 8 + row / 8] |= (uint32_t)((row + 3 * group) % 16) << 4 * (row % 8);
    }
  }
  for (i = 0; i < K * N / 8; ++i) {
    for (row = 0; row < 8; ++row) {
      awq[i] |= (uint32_t)q_of(i % (N / 8) * 8 + awq_column[row], i / (N / 8)) << 4 * row;
    }
  }
  for (i = 0; i < GROUPS * N / 8; ++i) {
    for (row = 0; row < 8; ++row) {
      awq_zeros[i] |= (uint32_t)((i % (N / 8) * 8 + awq_column[row] + 3 * (i / (N / 8))) % 16) << 4 * row;
    }
  }
  for (i = 0; i < K; ++i) g_idx[i] = i / GROUP;

  plain.q = q;
  plain.scales = plain_scales;
  plain.zeros = zeros;
  out = view(&from_plain, 1);
  EXPECT(cubind_pack_weights(&gemm, N, K, &plain, &out, NULL) == CUBIND_OK);
  /* Lane 0, step 0: rows 0 and 8, columns 0, 1 and 8, 9. */
  EXPECT((from_plain.weights[0] & 15) == q_of(0, 0) && (from_plain.weights[0] >> 16 & 15) == q_of(0, 1));
  EXPECT((from_plain.weights[0] >> 4 & 15) == q_of(8, 0) && (from_plain.weights[0] >> 24 & 15) == q_of(0, 9));

  awq_tensors.qweight = (const int32_t*)awq;
  awq_tensors.qzeros = (const int32_t*)awq_zeros;
  awq_tensors.scales = scales;
  out = view(&from_awq, 1);
  EXPECT(cubind_repack_awq(&gemm, N, K, &awq_tensors, &out, NULL) == CUBIND_OK);
  EXPECT(memcmp(&from_awq, &from_plain, sizeof from_awq) == 0);

  gptq_tensors.qweight = (const int32_t*)gptq;
  gptq_tensors.qzeros = (const int32_t*)gptq_zeros;
  gptq_tensors.scales = scales;
  gptq_tensors.g_idx = g_idx;
  out = view(&from_gptq, 1);
  EXPECT(cubind_repack_gptq(&gemm, N, K, &gptq_tensors, &out, NULL) == CUBIND_OK);
  EXPECT(memcmp(&from_gptq, &from_plain, sizeof from_gptq) == 0);

  g_idx[1] = 1;
  EXPECT_ERROR(cubind_repack_gptq(&gemm, N, K, &gptq_tensors, &out, &error), CUBIND_NOT_SUPPORTED, "act-order");
  gptq_tensors.v2 = 2;
  EXPECT_ERROR(cubind_repack_gptq(&gemm, N, K, &gptq_tensors, &out, &error), CUBIND_INVALID_ARGUMENT, "v2");
  awq_tensors.qzeros = NULL;
  EXPECT_ERROR(cubind_repack_awq(&gemm, N, K, &awq_tensors, &out, &error), CUBIND_INVALID_ARGUMENT, "qzeros");
  awq_tensors.scale_type = CUBIND_DTYPE_F32;
  EXPECT_ERROR(cubind_repack_awq(&gemm, N, K, &awq_tensors, &out, &error), CUBIND_INVALID_ARGUMENT, "qzeros");
  plain.scale_type = CUBIND_DTYPE_F32;
  EXPECT_ERROR(cubind_pack_weights(&gemm, N, K, &plain, &out, &error), CUBIND_NOT_SUPPORTED, "scale_type");
  plain.scale_type = CUBIND_DTYPE_F16;
  plain.q = NULL;
  EXPECT_ERROR(cubind_pack_weights(&gemm, N, K, &plain, &out, &error), CUBIND_INVALID_ARGUMENT, "q has");
  plain.q = q;
  out.scale_bytes -= 2;
  EXPECT_ERROR(cubind_pack_weights(&gemm, N, K, &plain, &out, &error), CUBIND_INVALID_ARGUMENT, "scales buffer");
  out.weights = NULL;
  EXPECT_ERROR(cubind_pack_weights(&gemm, N, K, &plain, &out, &error), CUBIND_INVALID_ARGUMENT, "out.weights");
  out.struct_size = 4;
  EXPECT_ERROR(cubind_pack_weights(&gemm, N, K, &plain, &out, &error), CUBIND_INVALID_ARGUMENT, "struct_size");
}

int main(void) {
  check_sizes();
  check_the_three_ways_agree();
  if (failures == 0) printf("weights: all holds\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
