// Reads `bytes` once and does nothing with them: bulk copies into a ring of shared memory, issued by one thread of each block. The
// fastest way to read that was found on an H200, where plain loads were never faster. bytes: a multiple of kChunk.
// Compiled by reader.py with kChunk and kStages defined.
extern "C" __global__ void read_bulk(const char* source, unsigned long long bytes) {
  extern __shared__ __align__(128) char ring[];
  __shared__ __align__(8) unsigned long long full[kStages];
  if (threadIdx.x != 0) return;
  for (int stage = 0; stage < kStages; ++stage) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(&full[stage])));
  }
  asm volatile("fence.mbarrier_init.release.cluster;");
  const unsigned long long chunks = bytes / kChunk;
  unsigned long long next = blockIdx.x;
  auto issue = [&](int stage) {
    const unsigned barrier = (unsigned)__cvta_generic_to_shared(&full[stage]);
    const unsigned target = (unsigned)__cvta_generic_to_shared(ring + stage * kChunk);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(kChunk));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
                 "l"(source + next * kChunk), "n"(kChunk), "r"(barrier)
                 : "memory");
    next += gridDim.x;
  };
  for (int stage = 0; stage < kStages && next < chunks; ++stage) issue(stage);
  int stage = 0;
  unsigned parity = 0;
  for (unsigned long long chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const unsigned barrier = (unsigned)__cvta_generic_to_shared(&full[stage]);
    unsigned done = 0;
    while (!done) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(barrier), "r"(parity)
                   : "memory");
    }
    if (next < chunks) issue(stage);
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
}
