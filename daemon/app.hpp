// The daemon put together: what is made in which order, and how it ends. One thread runs the loop (sockets, service);
// a few disk threads do what may block; NVRTC runs in processes of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "codegen/nvrtc/toolchain.hpp"
#include "daemon/compile_pool.hpp"
#include "daemon/config.hpp"
#include "daemon/executor.hpp"
#include "daemon/kernel_service.hpp"

namespace cubind {

class App {
 public:
  // What tests put in the place of the real thing.
  struct Substitutes {
    std::function<std::unique_ptr<CompilePool>(Executor&)> pool;
    std::optional<std::vector<Toolchain>> toolchains;
    KernelService::Builder builder;
  };

  // Takes the socket, opens the store, finds the toolchains, begins to listen. The error says why it cannot start.
  // `read_again` gives the config anew for a reload; without it there is none.
  static Result<std::unique_ptr<App>> create(const Config& config, Substitutes substitutes = {},
                                             std::function<Result<Config>()> read_again = {});
  virtual ~App() = default;

  // Serves until stop(), then finishes what is in flight within the config's shutdown_grace.
  virtual void run() = 0;

  virtual void stop() = 0;  // thread-safe

  // SIGTERM and SIGINT stop, a second one ends the process at once; SIGHUP reads the config again. Call before run().
  virtual void handle_signals() = 0;
};

}  // namespace cubind
