#include "daemon/request_planner.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

KernelsRequest layer_request() {
  auto request = kernels_request(1);
  request.layers = {{{}, 4096, 4096, 8192}};
  return request;
}

struct RequestPlannerTest : testing::Test {
  RequestPlanner planner{{test_toolchain()}, {}, ""};

  Error refusal(const KernelsRequest& request) {
    auto planned = planner.plan(request);
    EXPECT_FALSE(planned.ok());
    return planned.ok() ? Error{} : planned.error();
  }
};

TEST_F(RequestPlannerTest, AskingTwiceGivesTheSamePlanFromMemory) {
  const auto first = planner.plan(layer_request()).value();
  const auto second = planner.plan(layer_request()).value();
  EXPECT_EQ(first.layers[0].get(), second.layers[0].get());
}

TEST_F(RequestPlannerTest, KernelsOfLayersThatShareThemAreOne) {
  auto request = layer_request();
  request.layers.push_back({{}, 6144, 4096, 8192});
  request.layers.back().descriptor.bias = true;  // a run-time pointer: the same kernels
  const auto planned = planner.plan(request).value();
  std::vector<KernelKey> keys;
  for (const auto& kernel : planned.kernels) keys.push_back(kernel->key);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
  EXPECT_LE(keys.size(), kMaxCatalogue);
}

TEST_F(RequestPlannerTest, KeysDoNotDependOnTheDevice) {
  auto request = layer_request();
  request.whole_catalogue = true;
  const auto keys_for = [&](std::uint32_t sm_count) {
    request.sm_count = sm_count;
    const auto planned = planner.plan(request).value();
    std::vector<KernelKey> keys;
    for (const auto& kernel : planned.kernels) keys.push_back(kernel->key);
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  EXPECT_EQ(keys_for(16), keys_for(132));
}

TEST_F(RequestPlannerTest, AnOldClientAndAnOldDaemonAreToldApart) {
  auto request = layer_request();
  request.launch_abi = {0, 0};
  EXPECT_EQ(refusal(request).code, ErrorCode::not_supported);
  EXPECT_NE(refusal(request).message.find("the client is old"), std::string::npos);
  request.launch_abi = {kLaunchAbi + 1, kLaunchAbi + 2};
  EXPECT_NE(refusal(request).message.find("the daemon is old"), std::string::npos);
  request.launch_abi = {kPlainLaunchAbi, kPlainLaunchAbi};  // all that this layer's kernels need
  EXPECT_TRUE(planner.plan(request).ok());
  request.launch_abi = kLaunchAbis;
  request.weight_layout = {kWeightLayout + 1, kWeightLayout + 2};
  EXPECT_NE(refusal(request).message.find("weight_layout"), std::string::npos);
  EXPECT_NE(refusal(request).message.find("the daemon is old"), std::string::npos);
}

TEST_F(RequestPlannerTest, RefusalsNameTheLayerTheFieldAndTheValue) {
  auto request = layer_request();
  request.layers.push_back({{}, 4096, 4100, 8192});
  EXPECT_EQ(refusal(request).code, ErrorCode::invalid_argument);
  EXPECT_NE(refusal(request).message.find("layer 1"), std::string::npos);
  EXPECT_NE(refusal(request).message.find("\"4100\""), std::string::npos);

  request = layer_request();
  request.layers[0].max_m = 0;
  EXPECT_NE(refusal(request).message.find("max_m \"0\""), std::string::npos);
  request = layer_request();
  request.sm_count = 0;
  EXPECT_NE(refusal(request).message.find("sm_count \"0\""), std::string::npos);
  request = layer_request();
  request.arch = {61, '\0'};
  EXPECT_EQ(refusal(request).code, ErrorCode::not_supported);
  EXPECT_EQ(refusal(kernels_request(1)).code, ErrorCode::invalid_argument) << "nothing is asked for";
}

TEST_F(RequestPlannerTest, AnArchWithoutCodeOfItsOwnGetsThatOfItsMajor) {
  auto request = layer_request();
  request.arch = {100, '\0'};
  const auto plain = planner.plan(request).value();
  request.arch = {103, 'a'};
  const auto specific = planner.plan(request).value();
  EXPECT_EQ(plain.kernels[0]->key, specific.kernels[0]->key);
  EXPECT_EQ(specific.kernels[0]->arch, (Arch{100, '\0'}));
}

TEST_F(RequestPlannerTest, ToolchainsGiveDifferentKeys) {
  auto other = test_toolchain();
  other.id = "nvrtc-12.8.93-00000002";
  other.major = 12;
  other.minor = 8;
  other.build_id = "cc";
  RequestPlanner two({test_toolchain(), other}, {}, "");
  auto request = layer_request();
  request.toolchain = {ToolchainRule::max_cuda, "", 12090, {}};
  EXPECT_EQ(two.plan(request).value().kernels[0]->toolchain->id, other.id);
  EXPECT_NE(two.plan(request).value().kernels[0]->key, two.plan(layer_request()).value().kernels[0]->key);
}

// Row F6 of docs/faults.md: the driver refused what the newest toolchain made.
TEST_F(RequestPlannerTest, AnExcludedToolchainGivesAnotherOnesKernels) {
  auto older = test_toolchain();
  older.id = "nvrtc-13.0.48-00000002";
  older.patch = 48;
  older.build_id = "cc";
  RequestPlanner two({test_toolchain(), older}, {}, "");
  auto request = layer_request();
  const auto refused = two.plan(request).value().kernels[0];
  EXPECT_EQ(refused->toolchain->id, test_toolchain().id);
  request.toolchain.excluded = {refused->toolchain->id};
  const auto other = two.plan(request).value().kernels[0];
  EXPECT_EQ(other->toolchain->id, older.id);
  EXPECT_NE(other->key, refused->key);
  request.toolchain.excluded.push_back(older.id);
  const auto none = two.plan(request);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::unavailable);
  EXPECT_NE(none.error().message.find(older.id + " (excluded)"), std::string::npos) << none.error().message;
}

TEST_F(RequestPlannerTest, WithoutAnyToolchainTheRequestIsUnavailable) {
  RequestPlanner none({}, {}, "");
  EXPECT_EQ(none.plan(layer_request()).error().code, ErrorCode::unavailable);
}

TEST_F(RequestPlannerTest, ARecordsOwnWordsLeadBackToItsKernel) {
  const auto kernel = planner.plan_kernel(catalogue_kernel(0), {90, '\0'}, {}).value();
  auto keyed = make_keyed_unit(kernel->descriptor, kernel->config, kernel->arch, *kernel->toolchain).value();
  RecordSummary record;
  record.key = kernel->key;
  record.name = keyed.unit.name;
  record.arch = kernel->arch;
  record.toolchain = kernel->toolchain->id;
  EXPECT_EQ(planner.plan_record(record).value()->key, kernel->key);
  record.key = sha256(as_bytes("of an older generator"));
  EXPECT_EQ(planner.plan_record(record).error().code, ErrorCode::not_supported);
}

}  // namespace
}  // namespace cubind::test
