// wgmma.mma_async (sm_90a): a warp group (four warps, the first one's number divisible by 4) computes d += a * b of 64
// x n x 16, asynchronously; 16-bit operands, f32 sums. Warp w of the group holds rows 16 w to 16 w + 15, in the
// fragments of mma.sync (ptx/mma.cuh): `a` the four registers of m16n8k16, d[4 i + j] register j of columns 8 i to 8 i
// + 7. b lies in shared memory, K-major, where a descriptor says (wgmma_descriptor.cuh). n is twice the number of
// accumulators.
//
// Order, for each warp group:
//   wgmma_fence                 after its threads wrote a or d, before the wgmma that uses them (not between wgmmas on
//                               the same d)
//   wgmma_m64k16_*              any number
//   wgmma_commit_group          closes the group
//   wgmma_wait_group<kPending>  at most kPending latest groups are running
// From a wgmma to the wait for its group nobody writes its b, and its threads neither read d nor write d or a: a and d
// are registers in use. So they must be arrays that live until then, of which each element is known at compile time
// (loops unrolled), or ptxas serializes. wgmma_hold keeps the compiler from moving accesses to an array across it.
#pragma once

#include "codegen/device/prelude.cuh"

namespace cubind::ptx {

CUBIND_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
CUBIND_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <unsigned kPending>
CUBIND_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Right before wgmma_fence for what was written, right after wgmma_wait_group for what may be used again.
template <unsigned kCount>
CUBIND_DEVICE void wgmma_hold(float (&registers)[kCount]) {
  CUBIND_UNROLL
  for (unsigned i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <unsigned kCount>
CUBIND_DEVICE void wgmma_hold(unsigned (&registers)[kCount]) {
  CUBIND_UNROLL
  for (unsigned i = 0; i < kCount; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

// Operand lists: the accumulators are operands 0 to n / 2 - 1, then a, b and whether d counts (or is zero).
#define CUBIND_D4 "%0, %1, %2, %3"
#define CUBIND_D8 CUBIND_D4 ", %4, %5, %6, %7"
#define CUBIND_D12 CUBIND_D8 ", %8, %9, %10, %11"
#define CUBIND_D16 CUBIND_D12 ", %12, %13, %14, %15"
#define CUBIND_D24 CUBIND_D16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define CUBIND_D32 CUBIND_D24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define CUBIND_D48 CUBIND_D32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define CUBIND_D64 CUBIND_D48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define CUBIND_D96                                                                   \
  CUBIND_D64                                                                         \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define CUBIND_D128                                                                              \
  CUBIND_D96                                                                                     \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define CUBIND_O4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define CUBIND_O8(i) CUBIND_O4(i), CUBIND_O4(i + 4)
#define CUBIND_O16(i) CUBIND_O8(i), CUBIND_O8(i + 8)
#define CUBIND_O32(i) CUBIND_O16(i), CUBIND_O16(i + 16)
#define CUBIND_WGMMA(N, TYPE, D, A, B, SCALE, ...)                                                  \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, " SCALE                                        \
               ", 0;\n\t"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE " {" D "}, " A ", " B \
               ", p, 1, 1, 0;\n\t}"                                                                 \
               : __VA_ARGS__                                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<unsigned>(accumulate)))
// For every n: one statement, chosen by the number of accumulators.
#define CUBIND_WGMMA_ALL(TYPE)                                                                                        \
  if constexpr (kCount == 4)                                                                                          \
    CUBIND_WGMMA("8", TYPE, CUBIND_D4, "{%4, %5, %6, %7}", "%8", "%9", CUBIND_O4(0));                                 \
  else if constexpr (kCount == 8)                                                                                     \
    CUBIND_WGMMA("16", TYPE, CUBIND_D8, "{%8, %9, %10, %11}", "%12", "%13", CUBIND_O8(0));                            \
  else if constexpr (kCount == 12)                                                                                    \
    CUBIND_WGMMA("24", TYPE, CUBIND_D12, "{%12, %13, %14, %15}", "%16", "%17", CUBIND_O8(0), CUBIND_O4(8));           \
  else if constexpr (kCount == 16)                                                                                    \
    CUBIND_WGMMA("32", TYPE, CUBIND_D16, "{%16, %17, %18, %19}", "%20", "%21", CUBIND_O16(0));                        \
  else if constexpr (kCount == 24)                                                                                    \
    CUBIND_WGMMA("48", TYPE, CUBIND_D24, "{%24, %25, %26, %27}", "%28", "%29", CUBIND_O16(0), CUBIND_O8(16));         \
  else if constexpr (kCount == 32)                                                                                    \
    CUBIND_WGMMA("64", TYPE, CUBIND_D32, "{%32, %33, %34, %35}", "%36", "%37", CUBIND_O32(0));                        \
  else if constexpr (kCount == 48)                                                                                    \
    CUBIND_WGMMA("96", TYPE, CUBIND_D48, "{%48, %49, %50, %51}", "%52", "%53", CUBIND_O32(0), CUBIND_O16(32));        \
  else if constexpr (kCount == 64)                                                                                    \
    CUBIND_WGMMA("128", TYPE, CUBIND_D64, "{%64, %65, %66, %67}", "%68", "%69", CUBIND_O32(0), CUBIND_O32(32));       \
  else if constexpr (kCount == 96)                                                                                    \
    CUBIND_WGMMA("192", TYPE, CUBIND_D96, "{%96, %97, %98, %99}", "%100", "%101", CUBIND_O32(0), CUBIND_O32(32),      \
                 CUBIND_O32(64));                                                                                     \
  else if constexpr (kCount == 128)                                                                                   \
    CUBIND_WGMMA("256", TYPE, CUBIND_D128, "{%128, %129, %130, %131}", "%132", "%133", CUBIND_O32(0), CUBIND_O32(32), \
                 CUBIND_O32(64), CUBIND_O32(96));

constexpr bool wgmma_has(unsigned accumulators) {
  const unsigned n = 2 * accumulators;
  return n == 8 || n == 16 || n == 24 || n == 32 || n == 48 || n == 64 || n == 96 || n == 128 || n == 192 || n == 256;
}

// accumulate: false for d = a * b.
template <unsigned kCount>
CUBIND_DEVICE void wgmma_m64k16_f16(float (&d)[kCount], const unsigned (&a)[4], u64 b, bool accumulate = true) {
  static_assert(wgmma_has(kCount));
  CUBIND_WGMMA_ALL("f16")
}
template <unsigned kCount>
CUBIND_DEVICE void wgmma_m64k16_bf16(float (&d)[kCount], const unsigned (&a)[4], u64 b, bool accumulate = true) {
  static_assert(wgmma_has(kCount));
  CUBIND_WGMMA_ALL("bf16")
}

#undef CUBIND_WGMMA_ALL
#undef CUBIND_WGMMA
#undef CUBIND_O32
#undef CUBIND_O16
#undef CUBIND_O8
#undef CUBIND_O4
#undef CUBIND_D128
#undef CUBIND_D96
#undef CUBIND_D64
#undef CUBIND_D48
#undef CUBIND_D32
#undef CUBIND_D24
#undef CUBIND_D16
#undef CUBIND_D12
#undef CUBIND_D8
#undef CUBIND_D4

}  // namespace cubind::ptx
