// A kernel of a few lines on the emulated machine, under every schedule.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/device/ptx/shared_memory.cuh"
#include "tests/emulator/machine/machine.hpp"

namespace cubind::emulator {

class MachineTest : public ::testing::TestWithParam<Schedule> {
 protected:
  // What is wrong with the body under this schedule; empty if nothing is.
  std::string fault(const LaunchShape& shape, const std::function<void()>& body) {
    Machine machine(memory, GetParam(), 1);
    try {
      machine.launch(shape, body);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  std::string fault(unsigned threads, const std::function<void()>& body, Dim3 grid = {}) {
    return fault(LaunchShape{.grid = grid, .threads = threads, .shared_bytes = 4096}, body);
  }

  static unsigned word(unsigned index) { return ptx::dynamic_shared() + index * 4; }

  GlobalMemory memory;
};

inline std::string schedule_name(const ::testing::TestParamInfo<Schedule>& info) {
  return name_of(info.param);
}

}  // namespace cubind::emulator
