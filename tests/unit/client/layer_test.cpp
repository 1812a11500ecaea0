#include "client/layer.hpp"

#include <gtest/gtest.h>

#include "protocol/kernel_abi.hpp"
#include "tests/support/scripted_daemon.hpp"

namespace cubind {
namespace {

using std::chrono::milliseconds;
using test::MadeUpService;
using test::ScriptedDaemon;
using test::Session;
using test::TemporarySocket;

PrepareOptions sm90() {
  PrepareOptions options;
  options.arch = {90, 'a'};
  options.sm_count = 132;
  return options;
}

LayerSpec layer(std::uint32_t n, std::uint32_t k, std::uint32_t max_m = 256) {
  return {GemmDescriptor{}, n, k, max_m};
}

class LayerTest : public testing::Test {
 protected:
  void start(ScriptedDaemon::Handler handler) {
    daemon_.start(std::move(handler));
    ClientOptions options;
    options.socket_path = socket_.path();
    options.request_deadline = milliseconds(20'000);
    auto client = Client::open(options);
    ASSERT_TRUE(client.ok());
    client_ = std::move(client).value();
  }
  void start() {
    start([this](Session& session, const Request& request) { return service_(session, request); });
  }
  // What one changed table or kernel does to a prepare.
  Error refused(const std::function<void(TableReply&)>& change_table,
                const std::function<void(KernelReply&)>& change_kernel) {
    daemon_.stop();
    start([=](Session& session, const Request& request) {
      const auto id = std::get<KernelsRequest>(request).id;
      TableReply table{id, 0, {{1, 16, 0, 1, 4}, {17, 256, 0, 2, 2}}, {test::made_up_key(0)}};
      change_table(table);
      KernelReply kernel = test::made_up_kernel(id, 0);
      change_kernel(kernel);
      const Bytes code = test::made_up_code(0);
      return session.reply(table) && session.reply(kernel, ByteView(code).first(kernel.code_bytes)) &&
             session.reply(SummaryReply{id, 1});
    });
    const auto prepared = prepare_layers(*client_, cache_, {layer(4096, 4096)}, sm90());
    EXPECT_FALSE(prepared.ok());
    return prepared.ok() ? Error{ErrorCode::ok, ""} : prepared.error();
  }

  TemporarySocket socket_;
  MadeUpService service_;
  ScriptedDaemon daemon_{socket_.path()};
  std::unique_ptr<Client> client_;
  KernelCache cache_;
};

TEST_F(LayerTest, RequestSaysWhatTheClientUnderstands) {
  start();
  PrepareOptions options = sm90();
  options.max_cuda = 12040;
  options.excluded_toolchains = {"nvrtc-13.1"};
  ASSERT_TRUE(prepare_layers(*client_, cache_, {layer(4096, 4096)}, options).ok());
  ASSERT_EQ(service_.requests.size(), 1u);
  const KernelsRequest& request = service_.requests[0];
  EXPECT_EQ(request.arch, (Arch{90, 'a'}));
  EXPECT_EQ(request.sm_count, 132u);
  EXPECT_EQ(request.launch_abi, (VersionRange{1, kLaunchAbi}));
  EXPECT_EQ(request.weight_layout, (VersionRange{1, kWeightLayout}));
  EXPECT_EQ(request.toolchain.rule, ToolchainRule::max_cuda);
  EXPECT_EQ(request.toolchain.max_cuda, 12040u);
  EXPECT_EQ(request.toolchain.excluded, std::vector<std::string>{"nvrtc-13.1"});
  EXPECT_EQ(request.priority, Priority::foreground);
}

TEST_F(LayerTest, LayersShareKernelsAndASecondPrepareTransfersNone) {
  start();
  auto first = prepare_layers(*client_, cache_, {layer(4096, 4096), layer(6144, 4096)}, sm90());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ((*first)[0]->kernels[1].kernel, (*first)[1]->kernels[1].kernel);
  auto second = prepare_layers(*client_, cache_, {layer(4096, 14336)}, sm90());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(service_.requests[1].held.size(), 2u);
  EXPECT_EQ((*second)[0]->kernels[0].kernel, (*first)[0]->kernels[0].kernel);
  EXPECT_EQ((*second)[0]->kernels[0].outcome, Outcome::none);
}

TEST_F(LayerTest, KernelsGoWithTheirLastLayer) {
  start();
  { ASSERT_TRUE(prepare_layers(*client_, cache_, {layer(4096, 4096)}, sm90()).ok()); }
  EXPECT_TRUE(cache_.all().empty());
  ASSERT_TRUE(prepare_layers(*client_, cache_, {layer(4096, 4096)}, sm90()).ok());
  EXPECT_TRUE(service_.requests[1].held.empty());
}

TEST_F(LayerTest, WorkspaceIsThatOfTheRow) {
  service_.splits_of_last_row = 3;
  start();
  auto prepared = prepare_layers(*client_, cache_, {layer(1000, 4096, 100)}, sm90());
  ASSERT_TRUE(prepared.ok());
  const PreparedLayer& one = *(*prepared)[0];
  EXPECT_EQ(one.row_of(1).kernel, 0u);
  EXPECT_EQ(one.row_of(16).kernel, 0u);
  EXPECT_EQ(one.row_of(17).kernel, 1u);
  EXPECT_EQ(one.row_of(100).kernel, 1u);
  EXPECT_EQ(one.workspace_bytes(16), 0u);
  // Tiles of 32 tokens by 64 features: 16 along n, 2 along m.
  EXPECT_EQ(one.workspace_bytes(33), kWorkspaceCounterBytes + 16ull * 2 * 3 * 32 * 64 * 4);
  EXPECT_EQ(one.workspace_bytes(0), one.workspace_bytes(100));
  EXPECT_EQ(one.workspace_bytes(101), 0u);
}

TEST_F(LayerTest, FailedKernelFailsThePrepareAndIsNamed) {
  const Error error = refused([](TableReply&) {},
                              [](KernelReply& kernel) {
                                kernel.code = ErrorCode::compile_failed;
                                kernel.message = "line 3: no such type";
                                kernel.code_bytes = 0;
                              });
  EXPECT_EQ(error, (Error{ErrorCode::compile_failed, "kernel \"made-up-0\": line 3: no such type"}));
}

TEST_F(LayerTest, PendingKernelIsPending) {
  const Error error = refused([](TableReply&) {},
                              [](KernelReply& kernel) {
                                kernel.code = ErrorCode::pending;
                                kernel.code_bytes = 0;
                              });
  EXPECT_EQ(error.code, ErrorCode::pending);
}

TEST_F(LayerTest, TableThatBreaksItsRulesIsCorruption) {
  const auto same = [](KernelReply&) {};
  EXPECT_EQ(refused([](TableReply& table) { table.rows[1].m_first = 18; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.rows[1].m_first = 16; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.rows[1].m_last = 255; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.rows[1].m_last = 257; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.rows[0].kernel = 1; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.rows[0].splits = 0; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.rows.clear(); }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.layer = 1; }, same).code, ErrorCode::corruption);
  EXPECT_EQ(refused([](TableReply& table) { table.kernels = {test::made_up_key(7)}; }, same).code,
            ErrorCode::corruption);
}

TEST_F(LayerTest, KernelThatCannotBeLaunchedIsCorruption) {
  const auto same = [](TableReply&) {};
  EXPECT_EQ(refused(same, [](KernelReply& kernel) { kernel.info.threads = 0; }).code, ErrorCode::corruption);
  EXPECT_EQ(refused(same, [](KernelReply& kernel) { kernel.info.tile_n = 0; }).code, ErrorCode::corruption);
  EXPECT_EQ(refused(same, [](KernelReply& kernel) { kernel.info.tile_m = 0; }).code, ErrorCode::corruption);
  EXPECT_EQ(refused(same, [](KernelReply& kernel) { kernel.info.entry = "other"; }).code, ErrorCode::corruption);
  const Error newer = refused(same, [](KernelReply& kernel) { kernel.info.launch_abi = kLaunchAbi + 1; });
  EXPECT_EQ(newer.code, ErrorCode::corruption) << "the daemon was told what we understand";
  EXPECT_NE(newer.message.find("launch_abi"), std::string::npos);
}

TEST_F(LayerTest, PrewarmAsksForTheWholeCatalogueWithoutCode) {
  start();
  Error failure;
  const auto summary = prewarm_layers(*client_, {layer(4096, 4096)}, sm90(), &failure);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->built, 2u);
  const KernelsRequest& request = service_.requests[0];
  EXPECT_TRUE(request.whole_catalogue);
  EXPECT_FALSE(request.with_code);
  EXPECT_EQ(request.priority, Priority::prewarm);
}

}  // namespace
}  // namespace cubind
