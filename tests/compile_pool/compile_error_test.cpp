#include "codegen/nvrtc/compile_error.hpp"

#include <csignal>

#include <gtest/gtest.h>

namespace cubind {
namespace {

int exited(int code) {
  return code << 8;
}

TEST(ClassifyNvrtc, OnlyTheSourcesFaultIsACompileFailure) {
  const auto error = classify_nvrtc(6, "NVRTC_ERROR_COMPILATION", "warning: w\nkernel.cu(3): error: no\n1 error\n");
  EXPECT_EQ(to_string(error), "compile_failed: nvrtc: NVRTC_ERROR_COMPILATION: kernel.cu(3): error: no");
  EXPECT_EQ(classify_nvrtc(6, "c", "ptxas error   : Entry function 'k' uses too much shared data").code,
            ErrorCode::compile_failed);
}

TEST(ClassifyNvrtc, MemoryIsNotTheSourcesFault) {
  EXPECT_EQ(classify_nvrtc(6, "c", "ptxas fatal   : Memory allocation failure").code, ErrorCode::resource_exhausted);
  EXPECT_EQ(classify_nvrtc(6, "c", "LLVM ERROR: out of memory").code, ErrorCode::resource_exhausted);
  EXPECT_EQ(classify_nvrtc(1, "NVRTC_ERROR_OUT_OF_MEMORY", "").code, ErrorCode::resource_exhausted);
}

TEST(ClassifyNvrtc, MissingBuiltinsMakeTheToolchainUnavailable) {
  EXPECT_EQ(classify_nvrtc(7, "b", "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.").code,
            ErrorCode::unavailable);
}

TEST(ClassifyNvrtc, TheRestIsInternal) {
  for (const int code : {2, 3, 4, 5, 8, 9, 10, 11, 12, 16, 99}) {
    EXPECT_EQ(classify_nvrtc(code, "x", "").code, ErrorCode::internal) << code;
  }
  EXPECT_EQ(classify_nvrtc(6, "c", "ptxas fatal : (C7600) Internal error").code, ErrorCode::internal);
}

TEST(ClassifyExit, AKillOrAnAbortOverMemoryIsResourceExhausted) {
  EXPECT_EQ(classify_exit(SIGKILL, "").code, ErrorCode::resource_exhausted);
  EXPECT_EQ(to_string(classify_exit(SIGABRT, "x\nLLVM ERROR: out of memory\n")),
            "resource_exhausted: compile was ended by signal 6: LLVM ERROR: out of memory");
  EXPECT_EQ(classify_exit(SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'").code,
            ErrorCode::resource_exhausted);
}

TEST(ClassifyExit, OtherCrashesAreInternal) {
  EXPECT_EQ(classify_exit(SIGSEGV, "").code, ErrorCode::internal);
  EXPECT_EQ(classify_exit(SIGABRT, "assertion failed").code, ErrorCode::internal);
  EXPECT_EQ(to_string(classify_exit(exited(1), "")), "internal: compile ended with exit code 1");
}

TEST(ClassifyExit, ProcessorTimeIsTime) {
  EXPECT_EQ(classify_exit(SIGXCPU, "").code, ErrorCode::timed_out);
}

}  // namespace
}  // namespace cubind
