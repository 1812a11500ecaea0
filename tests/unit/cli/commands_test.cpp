// Commands against a scripted daemon: what they ask for, what they print, and how they end. The real daemon is
// tests/e2e's business.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/scripted_daemon.hpp"
#include "tests/unit/cli/run_cubinctl.hpp"

namespace cubind::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Commands : public ::testing::Test {
 protected:
  // Answers every request of one kind.
  template <class Asked, class Answer>
  void serve(Answer answer) {
    daemon_.start([answer](Session& session, const Request& request) {
      const auto* asked = std::get_if<Asked>(&request);
      return asked != nullptr && answer(session, *asked);
    });
  }
  Ran run(std::vector<std::string> arguments) { return cubinctl(arguments, socket_.path()); }
  std::string folder() const { return std::filesystem::path(socket_.path()).parent_path(); }
  std::size_t files() const {
    const std::filesystem::directory_iterator entries(folder());
    return static_cast<std::size_t>(
        std::count_if(begin(entries), end(entries), [](const auto& entry) { return entry.is_regular_file(); }));
  }

  TemporarySocket socket_;
  ScriptedDaemon daemon_{socket_.path()};
};

std::vector<std::string> prewarm(std::vector<std::string> more = {}) {
  std::vector<std::string> all{"prewarm", source_path("examples/llama-3.1-8b-awq.json"), "--arch", "sm_90a"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// One kernel built, one with `code`, then the summary.
auto two_kernels(ErrorCode code, std::string message, std::vector<KernelsRequest>* seen = nullptr) {
  return [=](Session& session, const KernelsRequest& request) {
    if (seen != nullptr) seen->push_back(request);
    for (std::uint32_t i = 0; i < request.layers.size(); ++i) session.reply(TableReply{request.id, i, {}, {}});
    session.reply(ProgressReply{request.id, 2, 0, 2, 0, 500});
    auto first = made_up_kernel(request.id, 0);
    first.outcome = Outcome::built;
    first.code_bytes = 0;
    session.reply(first);
    auto second = made_up_kernel(request.id, 1);
    second.outcome = Outcome::hit_disk;
    second.code_bytes = 0;
    if (code != ErrorCode::ok) {
      second = {};
      second.id = request.id;
      second.key = made_up_key(1);
      second.code = code;
      second.message = message;
    }
    session.reply(second);
    SummaryReply summary{request.id, 2, 0, 0, 1, 0, 0, 0, 700, 650.0};
    if (code == ErrorCode::ok) summary.hits_disk = 1;
    if (code == ErrorCode::pending) summary.pending = 1;
    if (code != ErrorCode::ok && code != ErrorCode::pending) summary.failed = 1;
    return session.reply(summary);
  };
}

TEST_F(Commands, PrewarmAsksForTheWholeCatalogueWithoutCode) {
  std::vector<KernelsRequest> seen;
  serve<KernelsRequest>(two_kernels(ErrorCode::ok, "", &seen));
  const auto ran = run(prewarm({"--max-m", "512", "--tp", "2", "--json"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  daemon_.stop();
  ASSERT_EQ(seen.size(), 1u);
  const auto& request = seen[0];
  EXPECT_EQ(request.arch, (Arch{90, 'a'}));
  EXPECT_EQ(request.mode, RequestMode::wait);
  EXPECT_EQ(request.priority, Priority::prewarm);
  EXPECT_TRUE(request.whole_catalogue);
  EXPECT_FALSE(request.with_code);
  ASSERT_EQ(request.layers.size(), 4u);
  EXPECT_EQ(request.layers[3].n, 4096u);
  EXPECT_EQ(request.layers[3].k, 7168u);
  EXPECT_EQ(request.layers[3].max_m, 512u);
  EXPECT_EQ(short_name(request.layers[3].descriptor), "w4a16-bf16-g128-zp");

  const auto result = json::parse(ran.out);
  EXPECT_EQ(result["layers"].size(), 4u);
  const auto& arch = result["archs"][0];
  EXPECT_EQ(arch["arch"], "sm_90a");
  EXPECT_EQ(arch["total"], 2);
  EXPECT_EQ(arch["built"], 1);
  EXPECT_EQ(arch["kernels"][0]["outcome"], "built");
  EXPECT_EQ(arch["kernels"][0]["key"], made_up_key(0).hex());
}

TEST_F(Commands, PrewarmOptionsReachTheDaemon) {
  std::vector<KernelsRequest> seen;
  serve<KernelsRequest>(two_kernels(ErrorCode::pending, "", &seen));
  const auto ran = run(prewarm({"--no-wait", "--priority", "foreground", "--max-cuda", "12080", "--arch", "sm_80"}));
  EXPECT_EQ(ran.exit_code, 1);  // --arch twice
  const auto again = run({"prewarm", source_path("examples/llama-3.1-8b-awq.json"), "--arch", "sm_80,sm_90",
                          "--no-wait", "--priority", "foreground", "--max-cuda", "12080"});
  EXPECT_EQ(again.exit_code, 0) << again.err;  // queued is what --no-wait asks for
  EXPECT_THAT(again.out, HasSubstr("but clients on such GPUs ask for sm_90a"));
  daemon_.stop();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].arch, (Arch{80, '\0'}));
  EXPECT_EQ(seen[1].arch, (Arch{90, '\0'}));
  EXPECT_EQ(seen[0].mode, RequestMode::prefetch);
  EXPECT_EQ(seen[0].priority, Priority::foreground);
  EXPECT_EQ(seen[0].toolchain.rule, ToolchainRule::max_cuda);
  EXPECT_EQ(seen[0].toolchain.max_cuda, 12080u);
}

TEST_F(Commands, PrewarmEndsWithTheCodeOfTheKernelThatFailed) {
  serve<KernelsRequest>(two_kernels(ErrorCode::compile_failed, "error: identifier\n\"x\" is undefined"));
  const auto ran = run(prewarm());
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_THAT(ran.out, HasSubstr("1 failed"));
  EXPECT_THAT(ran.out, HasSubstr("compile_failed: error: identifier \"x\" is undefined"));
  EXPECT_THAT(ran.err, HasSubstr("cubinctl: compile_failed: 1 kernels failed on sm_90a"));
}

TEST_F(Commands, PrewarmThatIsNotReadyIsPending) {
  serve<KernelsRequest>(two_kernels(ErrorCode::pending, ""));
  const auto ran = run(prewarm({"--deadline", "5"}));
  EXPECT_EQ(ran.exit_code, 12);
  EXPECT_THAT(ran.err, HasSubstr("1 kernels are not ready"));
}

TEST_F(Commands, PrewarmPrintsPlainProgressLines) {
  serve<KernelsRequest>(two_kernels(ErrorCode::ok, ""));
  const auto ran = run(prewarm());
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, StartsWith("sm_90a: 0 of 2 kernels, 2 compiling, 0 queued, "));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("sm_90a: 2 kernels: 1 stored, 1 compiled"));
}

TEST_F(Commands, ARefusedRequestIsItsError) {
  serve<KernelsRequest>([](Session& session, const KernelsRequest& request) {
    return session.reply(ErrorReply{request.id, ErrorCode::resource_exhausted, "the queue is full"});
  });
  const auto ran = run(prewarm());
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_EQ(ran.err, "cubinctl: resource_exhausted: the queue is full\n");
  EXPECT_EQ(ran.out, "");
}

std::vector<std::string> get(std::vector<std::string> more) {
  std::vector<std::string> all{"get", "w4a16-f16-ch-zp", "--arch", "sm_80", "--config"};
  const auto can = json::parse(cubinctl({"can", "w4a16-f16-ch-zp", "--arch", "sm_80", "--json"}).out);
  all.push_back(can["kernels"][0]);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(Commands, GetWritesTheCubinUnderItsNameOnlyWhenItIsThere) {
  serve<KernelsRequest>([](Session& session, const KernelsRequest& request) {
    if (request.kernels.size() != 1 || !request.with_code) return false;
    session.reply(made_up_kernel(request.id, 3), made_up_code(3));
    return session.reply(SummaryReply{request.id, 1, 1, 0, 0, 0, 0, 0, 1, 0});
  });
  const std::string path = folder() + "/kernel.cubin";
  const auto ran = run(get({"-o", path, "--json"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out)["key"], made_up_key(3).hex());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(bytes, as_text(made_up_code(3)));
  EXPECT_EQ(files(), 1u);
  const auto text = run(get({"-o", path}));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("key                 " + made_up_key(3).hex() + "\n"));
  const auto piped = run(get({"-o", "-"}));
  EXPECT_EQ(piped.out, as_text(made_up_code(3)));
}

TEST_F(Commands, GetThatFailsLeavesNoFile) {
  serve<KernelsRequest>([](Session& session, const KernelsRequest& request) {
    KernelReply reply;
    reply.id = request.id;
    reply.key = made_up_key(3);
    reply.code = ErrorCode::not_found;
    reply.message = "key \"...\" is not stored";
    session.reply(reply);
    return session.reply(SummaryReply{request.id, 1, 0, 0, 0, 0, 0, 1, 1, 0});
  });
  const auto ran = run({"get", "--key", made_up_key(3).hex(), "-o", folder() + "/kernel.cubin"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "cubinctl: not_found: key \"...\" is not stored\n");
  EXPECT_EQ(files(), 0u);
}

// On the recording libcuda: every launch is captured, checked by its driver and takes the same time.
TEST_F(Commands, TuneMeasuresTheWholeCatalogueAndWritesATableWithProvenance) {
  std::vector<KernelsRequest> seen;
  serve<KernelsRequest>([&seen](Session& session, const KernelsRequest& request) {
    seen.push_back(request);
    for (const unsigned index : {0u, 1u}) session.reply(made_up_kernel(request.id, index), made_up_code(index));
    return session.reply(SummaryReply{request.id, 2, 2, 0, 0, 0, 0, 0, 1, 0});
  });
  const std::string path = folder() + "/table";
  const auto ran =
      run({"tune", "w4a16-bf16-g128-zp", "--shapes", "256x512,100x96,128x256", "--tokens", "64,1", "-o", path});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  daemon_.stop();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].whole_catalogue && seen[0].with_code);
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, StartsWith("cubind-tuning 1\n# arch: sm_90a\n# sm_count: 132\n# gpu: "));
  EXPECT_THAT(text, HasSubstr("\n# tokens: 1,64\n# toolchain: made-up-13.0\n"));
  // 96 is no multiple of the group, so that layer has no time. Of equals the first is kept.
  for (const char* cell : {"128 256 1 ", "128 256 64 ", "256 512 1 ", "256 512 64 "}) {
    EXPECT_THAT(text, HasSubstr(std::string("\nw4a16-bf16-g128-zp ") + cell));
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 12);
}

TEST_F(Commands, ExplainPrintsEveryIngredientOrTheSource) {
  serve<ExplainRequest>([](Session& session, const ExplainRequest& request) {
    ExplainReply reply{request.id, made_up_key(1), {{"arch", request.kernel.config}, {"nvrtc", "13.0"}}, ""};
    if (request.with_source) reply.source = "line one\nline two\n";
    return session.reply(reply);
  });
  auto arguments = get({});
  arguments[0] = "explain";
  const auto text = run(arguments);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("nvrtc  13.0"));
  arguments.push_back("--source");
  EXPECT_EQ(run(arguments).out, "line one\nline two\n");
  arguments.push_back("--json");
  const auto document = json::parse(run(arguments).out);
  EXPECT_EQ(document["ingredients"][1]["value"], "13.0");
  EXPECT_EQ(document["source"], "line one\nline two\n");
}

TEST_F(Commands, ListReadsAllPages) {
  serve<ListRequest>([](Session& session, const ListRequest& request) {
    ListReply reply;
    reply.id = request.id;
    // 300 records with keys 1, 2, ... in the first two bytes.
    const unsigned after = request.after.bytes[0] * 256u + request.after.bytes[1];
    for (unsigned i = after + 1; i <= 300 && reply.records.size() < request.limit; ++i) {
      RecordSummary record;
      record.key.bytes[0] = static_cast<std::uint8_t>(i / 256);
      record.key.bytes[1] = static_cast<std::uint8_t>(i % 256);
      record.name = "kernel" + std::to_string(i);
      record.arch = {90, '\0'};
      reply.records.push_back(record);
    }
    return session.reply(reply);
  });
  const auto ran = run({"ls", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto records = json::parse(ran.out);
  ASSERT_EQ(records.size(), 300u);
  EXPECT_EQ(records[299]["name"], "kernel300");
  const auto text = run({"ls"});
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 301);
}

TEST_F(Commands, VerifyEndsWithCorruptionIfARecordDiffers) {
  serve<VerifyRequest>([](Session& session, const VerifyRequest& request) {
    session.reply(VerifyReply{request.id, made_up_key(1), "one", true, ""});
    session.reply(ProgressReply{request.id, 2, 1, 1, 0, 600});
    session.reply(VerifyReply{request.id, made_up_key(2), "two", false, "digest differs"});
    return session.reply(SummaryReply{request.id, 2, 0, 0, 0, 0, 0, 1, 10, 0});
  });
  const auto ran = run({"verify", "--json"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.err, "cubinctl: corruption: 1 of 2 records differ\n");
  EXPECT_EQ(json::parse(ran.out)["mismatches"], 1);
}

TEST_F(Commands, PurgeReportsWhatIsGone) {
  serve<PurgeRequest>([](Session& session, const PurgeRequest& request) {
    if (!request.key.is_zero()) return session.reply(PurgeReply{request.id, 0, 0});
    return session.reply(PurgeReply{request.id, 3, 4096});
  });
  EXPECT_EQ(json::parse(run({"purge", "--all", "--json"}).out)["records"], 3);
  const auto missing = run({"purge", "--key", made_up_key(9).hex()});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr(made_up_key(9).hex()));
}

TEST_F(Commands, PurgeWithoutTheRightIsPermissionDenied) {
  serve<PurgeRequest>([](Session& session, const PurgeRequest& request) {
    return session.reply(ErrorReply{request.id, ErrorCode::permission_denied, "uid \"1000\" is no administrator"});
  });
  EXPECT_EQ(run({"purge", "--all"}).exit_code, 10);
}

TEST_F(Commands, HealthIsUnavailableUnlessOk) {
  std::atomic<HealthState> state = HealthState::ok;  // read by the scripted daemon's thread
  serve<HealthRequest>([&state](Session& session, const HealthRequest& request) {
    HealthReply reply;
    reply.id = request.id;
    reply.state = state;
    if (state != HealthState::ok) reply.reasons = {"disk full"};
    return session.reply(reply);
  });
  EXPECT_EQ(run({"health"}).exit_code, 0);
  state = HealthState::degraded;
  const auto ran = run({"health", "--json"});
  EXPECT_EQ(ran.exit_code, 9);
  EXPECT_EQ(json::parse(ran.out)["reasons"], json({"disk full"}));
  EXPECT_EQ(ran.err, "cubinctl: unavailable: the daemon is degraded: disk full\n");
}

TEST_F(Commands, StatsAreNamesAndNumbers) {
  serve<StatsRequest>([](Session& session, const StatsRequest& request) {
    return session.reply(StatsReply{request.id, {{"compiles", 12}, {"compile_seconds", 1.5}}});
  });
  EXPECT_EQ(run({"stats"}).out, "compiles         12\ncompile_seconds  1.500\n");
  EXPECT_EQ(json::parse(run({"stats", "--json"}).out), json({{"compiles", 12.0}, {"compile_seconds", 1.5}}));
}

}  // namespace
}  // namespace cubind::test
