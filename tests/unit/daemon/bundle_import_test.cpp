// What an administrator may bring in: bundles that are whole, signed as the policy wants, of cubins that are what their
// records say.
#include "daemon/bundle_import.hpp"

#include <fstream>
#include <functional>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/bundle.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/unit/daemon/service_harness.hpp"

namespace cubind::test {
namespace {

using ::testing::HasSubstr;

// A kernel of 128 threads and 8 registers for sm_90.
Bytes golden_cubin() {
  std::ifstream file(std::string(CUBIND_SOURCE_DIR) + "/tests/golden/cubin/kernel_abi_sm_90.cubin", std::ios::binary);
  return to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

struct BundleImportTest : testing::Test {
  BundleImportTest() {
    record.info.name = "some kernel";
    record.info.entry = "cubind_kernel";
    record.info.arch = {90, '\0'};
    record.info.launch_abi = 1;
    record.info.weight_layout = 1;
    record.info.threads = 128;
    record.info.registers = 8;
    auto toolchain = known_toolchain({"", 13, 0, 88, "aa", "bb"});
    record.info.toolchain = toolchain_id(toolchain);
  }

  // Its record is made to agree with the cubin's digest and with its own key: only what is said of the cubin can be
  // wrong.
  Bytes bundle(std::string_view key_arch = "sm_90") {
    FieldHasher hasher;
    hasher.field("arch", key_arch);
    hasher.field("nvrtc_version", "13.0.88");
    hasher.field("nvrtc_build_id", "aa");
    hasher.field("builtins_build_id", "bb");
    hasher.field("launch_abi", 1);
    hasher.field("weight_layout", 1);
    record.key = hasher.finish();
    record.ingredients = hasher.ingredients();
    record.cubin_digest = sha256(cubin);
    record.cubin_bytes = static_cast<std::uint32_t>(cubin.size());
    auto bytes = begin_bundle(std::vector{record}).value();
    bytes.insert(bytes.end(), cubin.begin(), cubin.end());
    return bytes;
  }
  std::string outcome(ByteView bytes, const ImportPolicy& policy = {}) {
    BundleImport import(folder.path());
    const auto half = bytes.size() / 2;
    EXPECT_TRUE(import.append(bytes.first(half)).ok());
    EXPECT_TRUE(import.append(bytes.subspan(half)).ok());
    const auto done = import.finish(policy, store);
    return done.ok() ? std::to_string(done->records) + " stored" : to_string(done.error());
  }
  std::string refusal(ByteView bytes, const ImportPolicy& policy = {}) {
    auto said = outcome(bytes, policy);
    EXPECT_TRUE(store.artifacts.empty()) << "it was refused, but stored";
    return said;
  }

  TempFolder folder;
  MapStore store;
  Record record;
  Bytes cubin = golden_cubin();
};

TEST_F(BundleImportTest, StoresWhatIsRight) {
  EXPECT_EQ(outcome(bundle()), "1 stored");
  ASSERT_EQ(store.artifacts.size(), 1u);
  const auto& [key, artifact] = *store.artifacts.begin();
  EXPECT_EQ(key, record.key);
  EXPECT_EQ(artifact.info, record.info);
  EXPECT_EQ(*artifact.cubin, cubin);
  EXPECT_EQ(store.ingredients_of[key], record.ingredients);
  EXPECT_EQ(store.toolchains, (std::vector<ToolchainIdentity>{{record.info.toolchain, 13, 0, 88, "aa", "bb"}}));
}

// G7
TEST_F(BundleImportTest, ACubinThatIsNotWhatItsRecordSaysIsRefused) {
  cubin = to_bytes("no cubin");
  EXPECT_THAT(refusal(bundle()), HasSubstr("corruption: bundle has a record of \"some kernel\" whose cubin cannot be"));
  cubin = golden_cubin();
  record.info.arch = {80, '\0'};
  EXPECT_THAT(refusal(bundle("sm_80")), HasSubstr("for sm_80 whose cubin is for sm_90"));
  record.info.arch = {90, '\0'};
  EXPECT_THAT(refusal(bundle("sm_80")), HasSubstr("whose key is not for sm_90"));

  const auto with = [this](const std::function<void(KernelInfo&)>& change) {
    const auto right = record.info;
    change(record.info);
    auto said = refusal(bundle());
    record.info = right;
    return said;
  };
  EXPECT_THAT(with([](KernelInfo& info) { info.entry = "other"; }), HasSubstr("has not the one entry \"other\""));
  EXPECT_THAT(with([](KernelInfo& info) { info.threads = 256; }), HasSubstr("other threads, registers or memory"));
  EXPECT_THAT(with([](KernelInfo& info) { info.registers = 9; }), HasSubstr("other threads, registers or memory"));
  EXPECT_THAT(with([](KernelInfo& info) { info.launch_abi = 2; }), HasSubstr("are not its key's"));
  EXPECT_THAT(with([](KernelInfo& info) { info.toolchain = "nvrtc-13.0.88-00000000"; }),
              HasSubstr("whose toolchain is not its key's"));
  EXPECT_EQ(outcome(bundle()), "1 stored");
}

TEST_F(BundleImportTest, KernelsOfAToolchainThatIsNotInstalledCanBeAskedForAtOnce) {
  Service service(std::vector<Toolchain>{});  // no NVRTC at all
  service.parts.import_folder = folder.path();
  Conversation admin(service);
  const auto bytes = bundle();
  const auto plan = [&](const std::string& id) {
    return service.planner.plan_kernel(catalogue_kernel(0), {90, '\0'}, {ToolchainRule::exact, id, 0, {}});
  };
  EXPECT_FALSE(plan(record.info.toolchain).ok());
  admin.send(ImportRequest{1, true, bytes});
  service.executor.run();
  EXPECT_EQ(admin.heard_of<DoneReply>(admin.heard()).size(), 1u);
  EXPECT_TRUE(plan(record.info.toolchain).ok());
}

TEST_F(BundleImportTest, OneWrongRecordOfManyStoresNone) {
  const auto right = bundle();
  auto second = record;
  second.info.threads = 256;
  FieldHasher hasher;
  for (const auto& [name, value] : record.ingredients) hasher.field(name, value);
  hasher.field("more", 1);
  second.key = hasher.finish();
  second.ingredients = hasher.ingredients();
  auto both = begin_bundle(std::vector{record, second}).value();
  both.insert(both.end(), cubin.begin(), cubin.end());  // they share it
  EXPECT_THAT(refusal(both), HasSubstr("other threads"));
}

TEST_F(BundleImportTest, ABundleThatIsCutShortIsRefused) {
  const auto whole = bundle();
  EXPECT_THAT(refusal(ByteView(whole).first(whole.size() - 1)), HasSubstr("ends inside its cubins"));
  EXPECT_THAT(refusal({}), HasSubstr("bundle is empty"));
}

TEST_F(BundleImportTest, AnUnsignedOneIsRefusedWhereSignaturesAreRequired) {
  EXPECT_THAT(refusal(bundle(), {{}, true}), HasSubstr("permission_denied: bundle is not signed"));
}

TEST_F(BundleImportTest, OnlyAdministratorsImportAndOnlyPieceAfterPiece) {
  Service service;
  service.parts.import_folder = folder.path();
  const auto bytes = bundle();
  const auto ask = [&service](Conversation& from, std::uint64_t id, bool last, ByteView data) {
    from.send(ImportRequest{id, last, Bytes(data.begin(), data.end())});
    service.executor.run();
    return from.heard();
  };
  Conversation stranger(service, {4711, 4711, 2, {}});
  const auto refused = stranger.heard_of<ErrorReply>(ask(stranger, 1, true, bytes));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].code, ErrorCode::permission_denied);
  EXPECT_TRUE(service.store.artifacts.empty());

  Conversation admin(service);
  const auto half = bytes.size() / 2;
  const auto first = ByteView(bytes).first(half), second = ByteView(bytes).subspan(half);
  EXPECT_EQ(admin.heard_of<DoneReply>(ask(admin, 1, false, first)).size(), 1u);
  admin.send(ImportRequest{2, false, {}});
  admin.send(ImportRequest{3, false, {}});  // before the answer
  service.executor.run();
  EXPECT_EQ(admin.heard_of<ErrorReply>(admin.heard()).size(), 1u);
  const auto done = admin.heard_of<DoneReply>(ask(admin, 4, true, second));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_THAT(done[0].message, HasSubstr("imported 1 records"));
  EXPECT_EQ(service.store.artifacts.size(), 1u);
  EXPECT_EQ(service.metrics.records_imported, 1u);
  const auto other = admin.heard_of<ErrorReply>(ask(admin, 5, true, second));  // the next bundle begins anew
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].code, ErrorCode::corruption);
  EXPECT_EQ(service.metrics.imports_refused, 1u);
}

}  // namespace
}  // namespace cubind::test
