# Every outside library, its minimum version and where it is met. All are Debian 12 packages (scripts/setup.sh).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)            # base/sha256
find_package(spdlog 1.10 REQUIRED)            # base/log
find_package(CapnProto 0.9 REQUIRED)          # protocol/codec
find_package(RocksDB 7.8 CONFIG REQUIRED)     # cache/rocks_*
find_package(Boost 1.81 REQUIRED)             # Asio: daemon/{app,server,session,compile_pool}; headers only
find_package(nlohmann_json 3.11 REQUIRED)     # client/model, client/cli
find_package(CLI11 2.1 REQUIRED)              # daemon/config, client/cli
find_package(tomlplusplus 3.0 REQUIRED)       # daemon/config
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core>=1.0)  # daemon/metrics_page
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)  # daemon/systemd_notify
if(CUBIND_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 QUIET)
  find_package(Boost 1.81 REQUIRED COMPONENTS context)  # tests/emulator: a fiber per CUDA thread
endif()
