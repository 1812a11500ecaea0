#include "bench/service/daemon_under_test.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubind::bench {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {
constexpr milliseconds kStartPatience{20'000};
constexpr milliseconds kStopPatience{30'000};
}  // namespace

Result<DaemonUnderTest> DaemonUnderTest::prepare(const Programs& programs, const std::string& name) {
  DaemonUnderTest daemon;
  daemon.programs_ = programs;
  daemon.folder_ = programs.scratch + "/" + name;
  daemon.socket_ = daemon.folder_ + "/s";
  daemon.toolchain_ = daemon.folder_ + "/toolchain/libnvrtc.so";
  std::error_code error;
  fs::create_directories(daemon.folder_ + "/toolchain", error);
  if (!error) fs::copy_file(programs.counter, daemon.toolchain_, fs::copy_options::overwrite_existing, error);
  // The counter looks for the NVRTC that it needs beside itself first; its name depends on the machine that built it.
  for (const char* needed : {"libnvrtc.so.12", "libnvrtc.so.13"}) {
    if (error || programs.nvrtc.empty()) break;
    const auto link = daemon.folder_ + "/toolchain/" + needed;
    if (!fs::is_symlink(link)) fs::create_symlink(programs.nvrtc, link, error);
  }
  if (error) {
    return Error{ErrorCode::internal, "folder \"" + daemon.folder_ + "\" cannot be made: " + error.message()};
  }
  return daemon;
}

Status DaemonUnderTest::launch(const Options& options) {
  std::vector<std::string> command = {programs_.daemon,
                                      "--socket",
                                      socket_,
                                      "--store",
                                      store_root(),
                                      "--allow-any-filesystem",
                                      "true",
                                      "--worker",
                                      programs_.worker,
                                      "--toolchain-path",
                                      toolchain_,
                                      "--workers",
                                      std::to_string(options.workers),
                                      "--log-level",
                                      "info"};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  ChildProcess::Options how;
  how.stderr_file = log_file();
  if (!options.fault.empty()) how.environment.push_back("CUBIND_FAULT=" + options.fault);
  CUBIND_TRY(process_, ChildProcess::start(command, how));
  return {};
}

Status DaemonUnderTest::start(const Options& options) {
  CUBIND_CHECK(launch(options));
  auto client = connect("bench");
  if (client.ok()) return {};
  return Error{ErrorCode::unavailable,
               "the daemon does not answer, see \"" + log_file() + "\": " + client.error().message};
}

void DaemonUnderTest::kill() {
  process_.signal(SIGKILL);
  process_.wait(kStopPatience);
}

std::uint64_t DaemonUnderTest::resident_bytes() const {
  std::ifstream file("/proc/" + std::to_string(process_.pid()) + "/statm");
  std::uint64_t total = 0, pages = 0;
  file >> total >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t DaemonUnderTest::peak_resident_bytes() const {
  std::ifstream file("/proc/" + std::to_string(process_.pid()) + "/status");
  for (std::string name; file >> name;) {
    std::uint64_t kilobytes = 0;
    if (name == "VmHWM:" && file >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

std::uint64_t DaemonUnderTest::open_descriptors() const {
  std::error_code gone;
  std::uint64_t count = 0;
  for (fs::directory_iterator entry("/proc/" + std::to_string(process_.pid()) + "/fd", gone), end;
       !gone && entry != end; entry.increment(gone)) {
    ++count;
  }
  return count;
}

Status DaemonUnderTest::stop() {
  process_.signal(SIGTERM);
  const int status = process_.wait(kStopPatience);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{ErrorCode::internal,
               "the daemon ended with wait status \"" + std::to_string(status) + "\", see \"" + log_file() + "\""};
}

Result<int> DaemonUnderTest::wait_for_end(milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (process_.running()) {
    if (std::chrono::steady_clock::now() >= give_up) {
      return Error{ErrorCode::timed_out, "the daemon did not end, see \"" + log_file() + "\""};
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return process_.wait(patience);
}

Result<std::unique_ptr<Client>> DaemonUnderTest::connect(const std::string& client_name) const {
  ClientOptions options;
  options.socket_path = socket_;
  options.name = client_name;
  options.connect_deadline = kStartPatience;
  return Client::open(options);
}

std::uint64_t DaemonUnderTest::compiles() const {
  std::error_code none;
  const auto size = fs::file_size(toolchain_ + ".count", none);
  return none ? 0 : size;
}

std::chrono::system_clock::time_point DaemonUnderTest::last_compile_ended() const {
  struct stat status {};
  if (::stat((toolchain_ + ".ended").c_str(), &status) != 0) return {};
  return std::chrono::system_clock::time_point(std::chrono::seconds(status.st_mtim.tv_sec) +
                                               std::chrono::nanoseconds(status.st_mtim.tv_nsec));
}

}  // namespace cubind::bench
