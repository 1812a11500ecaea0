// How a stage's chunks get into shared memory. Both kinds have the same shape, so that the main loop is one:
//
//   begin(source, stage)   starts the copies of the source's k tile into the stage
//   end(source, stage)     completes what begin could not start without waiting
//   commit()               closes the step; called once for each step, with or without copies
//   wait()                 this thread's copies of the oldest stage are done: all but the latest stages - 2 steps
//
// A stage is visible to the block after wait() and a barrier. Waiting for the last stage that has copies leaves none in
// flight.
#pragma once

#include "codegen/device/pipeline/stage_source.cuh"
#include "codegen/device/ptx/cp_async.cuh"
#include "codegen/device/ptx/global_memory.cuh"
#include "codegen/device/ptx/shared_memory.cuh"

namespace cubind {

template <GemmConfig kConfig, bool kAsync = kConfig.async_copy>
class StageCopy;

// cp.async: copies run by themselves, one group for each step.
template <GemmConfig kConfig>
class StageCopy<kConfig, true> {
 public:
  CUBIND_DEVICE void begin(const StageSource<kConfig>& source, unsigned stage) {
    source.visit_chunks(stage, [](unsigned, unsigned place, const char* from, bool exists) {
      ptx::cp_async_cg_16(place, from, exists ? kChunkBytes : 0);
    });
  }
  CUBIND_DEVICE void end(const StageSource<kConfig>&, unsigned) {}
  CUBIND_DEVICE void commit() { ptx::cp_async_commit_group(); }
  CUBIND_DEVICE void wait() { ptx::cp_async_wait_group<kConfig.stages - 2>(); }
};

// sm_75: the chunks wait in registers while the MMAs of the stage before run.
template <GemmConfig kConfig>
class StageCopy<kConfig, false> {
 public:
  CUBIND_DEVICE void begin(const StageSource<kConfig>& source, unsigned stage) {
    source.visit_chunks(stage, [this](unsigned step, unsigned, const char* from, bool exists) {
      if (exists) {
        ptx::ld_global_nc_v4_u32(held_[step], from);
      } else {
        held_[step][0] = held_[step][1] = held_[step][2] = held_[step][3] = 0;
      }
    });
  }
  CUBIND_DEVICE void end(const StageSource<kConfig>& source, unsigned stage) {
    source.visit_chunks(
        stage, [this](unsigned step, unsigned place, const char*, bool) { ptx::st_shared_v4_u32(place, held_[step]); });
  }
  CUBIND_DEVICE void commit() {}
  CUBIND_DEVICE void wait() {}

 private:
  unsigned held_[StageSource<kConfig>::kSteps][4];
};

}  // namespace cubind
