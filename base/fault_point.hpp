// Named places where a test makes the process die, wait or fail: CUBIND_FAULT_POINT("store.put.after_write").
// Compiled to nothing unless CUBIND_FAULT_POINTS is defined (the dev, asan and tsan builds). There the environment
// variable CUBIND_FAULT lists actions, separated by commas:
//   name=kill[@n]      raise SIGKILL at the n-th passage (default 1)
//   name=sleep:MS[@n]  sleep MS milliseconds at the n-th passage, or at every one if n is 0
//   name=fail[@n]      CUBIND_FAULT_FAILS(name) answers true at the n-th passage, or at every one if n is 0
// The variable is read once, at the first passage. Thread-safe.
#pragma once

#ifdef CUBIND_FAULT_POINTS
namespace cubind {
// True if the action there is `fail`; kills or sleeps itself.
bool fault_point(const char* name);
}  // namespace cubind
#define CUBIND_FAULT_POINT(name) static_cast<void>(::cubind::fault_point(name))
#define CUBIND_FAULT_FAILS(name) (::cubind::fault_point(name))
#else
#define CUBIND_FAULT_POINT(name) static_cast<void>(0)
#define CUBIND_FAULT_FAILS(name) (false)
#endif
