#include "client/loaded_layer.hpp"

#include <cstring>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "client/driver/device.hpp"
#include "protocol/kernel_abi.hpp"
#include "tests/support/recording_cuda.hpp"
#include "tests/support/scripted_daemon.hpp"

namespace cubind {
namespace {

using test::RecordingCuda;
using test::RecordingState;

PreparedKernelPtr kernel(unsigned index, Arch arch = {90, '\0'}) {
  auto made = std::make_shared<PreparedKernel>();
  made->key = test::made_up_key(index);
  made->info = test::made_up_kernel(1, index).info;
  made->info.arch = arch;
  made->info.smem_bytes = 100'000 + index;
  made->cubin = test::made_up_code(index);
  made->arch_text = to_string(arch);
  return made;
}

// n 1000, k 4160, group 64, zero points, bias; m to 16 on kernel 0 (tile_m 16), to 300 on kernel 1 (tile_m 32) in 3
// splits.
PreparedLayer made_up_layer(Arch arch = {90, '\0'}) {
  PreparedLayer layer;
  layer.spec.descriptor.group_k = 64;
  layer.spec.descriptor.zero_point = ZeroPointKind::integer;
  layer.spec.descriptor.bias = true;
  layer.spec.n = 1000;
  layer.spec.k = 4160;
  layer.spec.max_m = 300;
  layer.rows = {{1, 16, 0, 1, 33}, {17, 300, 1, 3, 11}};
  layer.kernels = {{kernel(0, arch), Outcome::built}, {kernel(1, arch), Outcome::built}};
  return layer;
}

class LoadedLayerTest : public testing::Test {
 protected:
  void SetUp() override { cuda_.reset(); }
  void TearDown() override {
    EXPECT_TRUE(state().violations.empty()) << testing::PrintToString(state().violations);
    for (void* context : contexts_) cuda_.destroy_context(context);
    cuda_.set_current(nullptr);
  }

  RecordingState& state() { return *cuda_.state(); }
  const cuda::DriverApi& api() {
    const auto driver = cuda::driver();
    EXPECT_TRUE(driver.ok());
    return **driver;
  }
  void* context(int device = 0) {
    contexts_.push_back(cuda_.create_context(device));
    return contexts_.back();
  }
  Result<std::unique_ptr<LoadedLayer>> load(const PreparedLayer& layer) {
    return LoadedLayer::load(api(), layer, nullptr);
  }
  std::unique_ptr<LoadedLayer> loaded(const PreparedLayer& layer) {
    auto made = load(layer);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made ? std::move(made).value() : nullptr;
  }

  static void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
  static LaunchArgs args(std::uint32_t m) {
    LaunchArgs made;
    made.x = at(0x10000);
    made.weights = at(0x20000);
    made.scales = at(0x30000);
    made.zeros = at(0x40000);
    made.bias = at(0x50000);
    made.out = at(0x60000);
    made.workspace = at(0x70000);
    made.workspace_bytes = 1 << 30;
    made.m = m;
    made.ldx = 4160;
    made.ldo = 1000;
    made.stream = static_cast<cuda::Stream>(at(0x99));
    return made;
  }

  RecordingCuda cuda_ = RecordingCuda::find();
  std::vector<void*> contexts_;
};

TEST_F(LoadedLayerTest, LoadsAtOnceAndAsksForItsSharedMemory) {
  cuda_.set_current(context());
  const auto layer = loaded(made_up_layer());
  EXPECT_EQ(state().libraries_alive, 2);
  EXPECT_EQ(state().count("cuKernelGetFunction"), 2);
  ASSERT_TRUE(layer->launch(args(5)).ok());
  ASSERT_TRUE(layer->launch(args(200)).ok());
  for (const auto& launch : state().launches) EXPECT_FALSE(launch.loaded_at_launch);
  EXPECT_EQ(state().launches[1].smem_bytes, 100'001u);
}

TEST_F(LoadedLayerTest, LaunchPassesWhatTheKernelsAgreedOn) {
  cuda_.set_current(context());
  const auto layer = loaded(made_up_layer());
  ASSERT_TRUE(layer->launch(args(200)).ok());
  ASSERT_EQ(state().launches.size(), 1u);
  const auto& launch = state().launches[0];
  EXPECT_EQ(launch.grid[0], 16u);  // ceil(1000 / 64)
  EXPECT_EQ(launch.grid[1], 7u);   // ceil(200 / 32)
  EXPECT_EQ(launch.grid[2], 3u);
  EXPECT_EQ(launch.block, 128u);
  EXPECT_EQ(launch.stream, at(0x99));
  EXPECT_EQ(launch.code,
            "\x7f"
            "ELF made-up cubin 1");
  const GemmParams& params = launch.params;
  EXPECT_EQ(params.x, at(0x10000));
  EXPECT_EQ(params.weights, at(0x20000));
  EXPECT_EQ(params.scales, at(0x30000));
  EXPECT_EQ(params.zeros, at(0x40000));
  EXPECT_EQ(params.bias, at(0x50000));
  EXPECT_EQ(params.out, at(0x60000));
  EXPECT_EQ(params.workspace, at(0x70000));
  EXPECT_EQ(params.m, 200u);
  EXPECT_EQ(params.n, 1000u);
  EXPECT_EQ(params.k, 4160u);
  EXPECT_EQ(params.ldx, 4160u);
  EXPECT_EQ(params.ldo, 1000u);
  EXPECT_EQ(params.k_groups, 65u);
  EXPECT_EQ(params.group_shift, 6u);
  EXPECT_EQ(params.splits, 3u);
  EXPECT_EQ(params.k_tiles_per_split, 11u);
}

TEST_F(LoadedLayerTest, PerChannelScalesAreOneGroup) {
  cuda_.set_current(context());
  PreparedLayer prepared = made_up_layer();
  prepared.spec.descriptor.weight_scale = ScaleKind::channel;
  prepared.spec.descriptor.group_k = 0;
  const auto layer = loaded(prepared);
  ASSERT_TRUE(layer->launch(args(1)).ok());
  EXPECT_EQ(state().launches[0].params.k_groups, 1u);
  EXPECT_EQ(state().launches[0].params.group_shift, 31u);
  EXPECT_EQ(state().launches[0].params.workspace, nullptr) << "no splits, no workspace";
}

TEST_F(LoadedLayerTest, RowsMeetWithoutAGap) {
  cuda_.set_current(context());
  const auto layer = loaded(made_up_layer());
  for (const std::uint32_t m : {1u, 16u, 17u, 300u}) ASSERT_TRUE(layer->launch(args(m)).ok());
  EXPECT_EQ(state().launches[0].function, state().launches[1].function);
  EXPECT_NE(state().launches[1].function, state().launches[2].function);
  EXPECT_EQ(state().launches[2].function, state().launches[3].function);
}

TEST_F(LoadedLayerTest, LaunchCallsOnlyLaunch) {
  cuda_.set_current(context());
  const auto layer = loaded(made_up_layer());
  state().calls.clear();
  state().capturing = true;
  ASSERT_TRUE(layer->launch(args(5)).ok());
  EXPECT_EQ(state().calls, std::vector<std::string>{"cuLaunchKernel"});
  EXPECT_TRUE(state().launches[0].captured);
}

// The second kernel takes tensor maps: tile 32 x 64 x 128.
PreparedLayer mapped_layer() {
  PreparedLayer layer = made_up_layer();
  auto made = std::make_shared<PreparedKernel>(*layer.kernels[1].kernel);
  made->info.launch_abi = kMappedLaunchAbi;
  layer.kernels[1].kernel = made;
  layer.rows[1].splits = 2;
  return layer;
}

test::RecordedMap recorded(const TensorMap& map) {
  test::RecordedMap record;
  std::memcpy(&record, &map, sizeof record);
  return record;
}

TEST_F(LoadedLayerTest, KernelsWithMapsGetThemAsTheyWereAgreedOn) {
  cuda_.set_current(context());
  state().mapped = true;
  const auto layer = loaded(mapped_layer());
  ASSERT_TRUE(layer->launch(args(200)).ok());
  const auto& launch = state().launches[0];
  const auto tile_k = mapped_layer().kernels[1].kernel->info.tile_k;
  const auto x = recorded(launch.x_map), weights = recorded(launch.weights_map);
  EXPECT_EQ(x.address, at(0x10000));
  EXPECT_EQ(x.width, 4160u);
  EXPECT_EQ(x.height, 200u);
  EXPECT_EQ(x.pitch, 8320u);
  EXPECT_EQ(x.box_width, 64u);
  EXPECT_EQ(x.box_height, 32u);
  EXPECT_EQ(x.type, static_cast<int>(cuda::TensorMapType::uint16));
  EXPECT_EQ(x.swizzle, static_cast<int>(cuda::TensorMapSwizzle::bytes_128));
  EXPECT_EQ(weights.address, at(0x20000));
  EXPECT_EQ(weights.width, 128u);
  EXPECT_EQ(weights.height, 65u);  // ceil(4160 / 64)
  EXPECT_EQ(weights.depth, 63u);   // ceil(1000 / 16)
  EXPECT_EQ(weights.pitch, 512u);
  EXPECT_EQ(weights.plane_pitch, 65u * 512);
  EXPECT_EQ(weights.box_width, 128u);
  EXPECT_EQ(weights.box_height, tile_k / 64);
  EXPECT_EQ(weights.box_depth, 4u);
  EXPECT_EQ(weights.type, static_cast<int>(cuda::TensorMapType::uint32));
  EXPECT_EQ(weights.swizzle, static_cast<int>(cuda::TensorMapSwizzle::none));
  EXPECT_EQ(launch.params.out, at(0x60000));
}

TEST_F(LoadedLayerTest, KernelsWithMapsHaveAOneDimensionalGrid) {
  cuda_.set_current(context());
  const auto grid = [](const test::RecordedLaunch& launch) {
    return std::vector<unsigned>{launch.grid[0], launch.grid[1], launch.grid[2]};
  };
  const auto split = loaded(mapped_layer());
  ASSERT_TRUE(split->launch(args(200)).ok());
  EXPECT_EQ(grid(state().launches[0]), (std::vector<unsigned>{16 * 7 * 2, 1, 1}));
  PreparedLayer prepared = mapped_layer();
  prepared.rows[1].splits = 1;
  const auto whole = loaded(prepared);
  ASSERT_TRUE(whole->launch(args(200)).ok());
  EXPECT_EQ(grid(state().launches[1]), (std::vector<unsigned>{16 * 7, 1, 1})) << "fewer tiles than multiprocessors";
  ASSERT_TRUE(whole->launch(args(300)).ok());
  EXPECT_EQ(grid(state().launches[2]), (std::vector<unsigned>{132, 1, 1}));
}

TEST_F(LoadedLayerTest, KernelsWithClustersGetTheirSplitsAsOneAndNeedNoWorkspace) {
  cuda_.set_current(context());
  PreparedLayer prepared = mapped_layer();
  EXPECT_EQ(prepared.workspace_bytes(200), 0u);
  LaunchArgs without = args(200);
  without.workspace = nullptr;
  without.workspace_bytes = 0;
  const auto split = loaded(prepared);
  state().calls.clear();
  ASSERT_TRUE(split->launch(without).ok());
  EXPECT_EQ(state().launches[0].cluster, 2u);
  EXPECT_EQ(state().launches[0].grid[0], 16u * 7 * 2);
  EXPECT_EQ(state().launches[0].params.workspace, nullptr);
  EXPECT_EQ(state().calls.back(), "cuLaunchKernelEx");
  prepared.rows[1].splits = 1;
  const auto whole = loaded(prepared);
  state().calls.clear();
  ASSERT_TRUE(whole->launch(without).ok());
  EXPECT_EQ(state().launches[1].cluster, 1u);
  EXPECT_EQ(state().calls.back(), "cuLaunchKernel") << "the cheaper call where there are no clusters";
}

TEST_F(LoadedLayerTest, EncodingMapsIsNotForbiddenInACapture) {
  cuda_.set_current(context());
  const auto layer = loaded(mapped_layer());
  state().calls.clear();
  state().capturing = true;
  ASSERT_TRUE(layer->launch(args(200)).ok());
  EXPECT_EQ(state().calls,
            (std::vector<std::string>{"cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled", "cuLaunchKernelEx"}));
}

TEST_F(LoadedLayerTest, AMapThatTheDriverRefusesIsTheLaunchsFailure) {
  cuda_.set_current(context());
  const auto layer = loaded(mapped_layer());
  state().fail_function = "cuTensorMapEncodeTiled";
  state().fail_result = cuda::kErrorInvalidValue;
  const auto launched = layer->launch(args(200));
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().message.find("cuTensorMapEncodeTiled: "), 0u) << launched.error().message;
  EXPECT_TRUE(state().launches.empty());
}

TEST_F(LoadedLayerTest, LayersShareLoadedKernelsInAContext) {
  cuda_.set_current(context());
  const auto one = loaded(made_up_layer());
  const auto other = loaded(made_up_layer());
  EXPECT_EQ(state().count("cuLibraryLoadData"), 2);
  ASSERT_TRUE(one->launch(args(1)).ok());
  ASSERT_TRUE(other->launch(args(1)).ok());
  EXPECT_EQ(state().launches[0].function, state().launches[1].function);
}

TEST_F(LoadedLayerTest, EachContextHasItsOwnFunctions) {
  state().devices = 2;
  void* const first = context(0);
  void* const second = context(1);
  cuda_.set_current(first);
  const auto one = loaded(made_up_layer());
  cuda_.set_current(second);
  const auto other = loaded(made_up_layer());
  EXPECT_EQ(state().count("cuLibraryLoadData"), 2) << "a library is of no context";
  EXPECT_EQ(state().count("cuKernelGetFunction"), 4);
  ASSERT_TRUE(one->launch(args(1)).ok());
  ASSERT_TRUE(other->launch(args(1)).ok());
  EXPECT_EQ(state().launches[0].context, first);
  EXPECT_EQ(state().launches[1].context, second);
}

TEST_F(LoadedLayerTest, ContextAtTheAddressOfADestroyedOneIsAnother) {
  void* const first = cuda_.create_context(0);
  cuda_.set_current(first);
  const auto one = loaded(made_up_layer());
  cuda_.destroy_context(first);
  cuda_.set_current(context());  // maybe at the same address
  const auto other = loaded(made_up_layer());
  EXPECT_EQ(state().count("cuKernelGetFunction"), 4);
  EXPECT_TRUE(other->launch(args(1)).ok());
  const Status dead = one->launch(args(1));
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(dead.error().code, ErrorCode::internal);
}

TEST_F(LoadedLayerTest, LastUserUnloads) {
  cuda_.set_current(context());
  auto one = loaded(made_up_layer());
  auto other = loaded(made_up_layer());
  one.reset();
  EXPECT_EQ(state().libraries_alive, 2);
  other.reset();
  EXPECT_EQ(state().libraries_alive, 0);
}

TEST_F(LoadedLayerTest, PrimaryContextIsRetainedAsLongAsTheLayer) {
  auto primary = cuda::PrimaryContext::retain(api(), 0);
  ASSERT_TRUE(primary.ok());
  cuda_.set_current(nullptr);
  std::unique_ptr<LoadedLayer> layer;
  {
    const auto scope = cuda::ContextScope::enter(api(), (*primary)->get());
    ASSERT_TRUE(scope.ok());
    auto made = LoadedLayer::load(api(), made_up_layer(), *primary);
    ASSERT_TRUE(made.ok());
    layer = std::move(made).value();
  }
  primary = cuda::PrimaryContext::retain(api(), 0);
  *primary = nullptr;
  EXPECT_EQ(state().primary_retains, 1);
  cuda::Context now = nullptr;
  api().context_get_current(&now);
  EXPECT_EQ(now, nullptr) << "the caller's context is restored";
  layer.reset();
  EXPECT_EQ(state().primary_retains, 0);
}

TEST_F(LoadedLayerTest, LaunchRefusesWhatBreaksARuleAndNamesIt) {
  cuda_.set_current(context());
  const auto layer = loaded(made_up_layer());
  const struct {
    const char* field;
    std::uint32_t m;
    void (*change)(LaunchArgs&);
  } cases[] = {
      {"m \"0\"", 0, [](LaunchArgs&) {}},
      {"m \"301\"", 301, [](LaunchArgs&) {}},
      {"ldx \"4159\"", 5, [](LaunchArgs& bad) { bad.ldx = 4159; }},
      {"ldx \"4161\"", 5, [](LaunchArgs& bad) { bad.ldx = 4161; }},
      {"ldo \"999\"", 5, [](LaunchArgs& bad) { bad.ldo = 999; }},
      {"x \"0x0\"", 5, [](LaunchArgs& bad) { bad.x = nullptr; }},
      {"x \"0x10008\"", 5, [](LaunchArgs& bad) { bad.x = at(0x10008); }},
      {"weights \"0x20004\"", 5, [](LaunchArgs& bad) { bad.weights = at(0x20004); }},
      {"scales \"0x30008\"", 5, [](LaunchArgs& bad) { bad.scales = at(0x30008); }},
      {"zeros \"0x0\" is null", 5, [](LaunchArgs& bad) { bad.zeros = nullptr; }},
      {"zeros \"0x40001\"", 5, [](LaunchArgs& bad) { bad.zeros = at(0x40001); }},
      {"bias \"0x0\" is null", 5, [](LaunchArgs& bad) { bad.bias = nullptr; }},
      {"bias \"0x50001\"", 5, [](LaunchArgs& bad) { bad.bias = at(0x50001); }},
      {"out \"0x0\"", 5, [](LaunchArgs& bad) { bad.out = nullptr; }},
      {"workspace \"0x0\"", 20, [](LaunchArgs& bad) { bad.workspace = nullptr; }},
      {"workspace \"0x70080\"", 20, [](LaunchArgs& bad) { bad.workspace = at(0x70080); }},
      {"workspace_bytes \"16384\"", 20, [](LaunchArgs& bad) { bad.workspace_bytes = kWorkspaceCounterBytes; }},
  };
  for (const auto& one : cases) {
    LaunchArgs bad = args(one.m);
    one.change(bad);
    const Status status = layer->launch(bad);
    ASSERT_FALSE(status.ok()) << one.field;
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(status.error().message.rfind(one.field, 0), 0u) << status.error().message;
  }
  EXPECT_TRUE(state().launches.empty());
}

TEST_F(LoadedLayerTest, SymmetricLayerWithoutBiasTakesNeither) {
  cuda_.set_current(context());
  PreparedLayer prepared = made_up_layer();
  prepared.spec.descriptor.zero_point = ZeroPointKind::none;
  prepared.spec.descriptor.bias = false;
  const auto layer = loaded(prepared);
  LaunchArgs bare = args(1);
  EXPECT_FALSE(layer->launch(bare).ok());
  bare.zeros = nullptr;
  EXPECT_FALSE(layer->launch(bare).ok());
  bare.bias = nullptr;
  EXPECT_TRUE(layer->launch(bare).ok());
}

TEST_F(LoadedLayerTest, LaunchNeedsOnlyTheWorkspaceOfItsM) {
  cuda_.set_current(context());
  const PreparedLayer prepared = made_up_layer();
  const auto layer = loaded(prepared);
  LaunchArgs exact = args(20);
  exact.workspace_bytes = prepared.workspace_bytes(20);
  EXPECT_TRUE(layer->launch(exact).ok());
  --exact.workspace_bytes;
  EXPECT_FALSE(layer->launch(exact).ok());
  LaunchArgs none = args(16);
  none.workspace = nullptr;
  none.workspace_bytes = 0;
  EXPECT_TRUE(layer->launch(none).ok());
}

TEST_F(LoadedLayerTest, KernelOfAnotherArchitectureIsNotSupportedAndBothAreNamed) {
  cuda_.set_current(context());
  const auto wrong = load(made_up_layer({100, '\0'}));
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::not_supported);
  EXPECT_NE(wrong.error().message.find("\"sm_100\""), std::string::npos);
  EXPECT_NE(wrong.error().message.find("\"sm_90a\""), std::string::npos);
}

TEST_F(LoadedLayerTest, DriverThatRefusesACubinIsNamedWithTheToolchain) {
  cuda_.set_current(context());
  api();
  state().fail_function = "cuLibraryLoadData";
  state().fail_result = cuda::kErrorNoBinaryForGpu;
  const auto refused = load(made_up_layer());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::not_supported);
  EXPECT_NE(refused.error().message.find("made-up-13.0"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("CUDA_ERROR_NO_BINARY_FOR_GPU (209)"), std::string::npos);
}

TEST_F(LoadedLayerTest, LoadWithoutACurrentContextSaysSo) {
  const auto refused = load(made_up_layer());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
}

TEST_F(LoadedLayerTest, ForkedChildGetsATypedErrorAndMayClose) {
  cuda_.set_current(context());
  auto layer = loaded(made_up_layer());
  const pid_t child = ::fork();
  if (child == 0) {
    const Status launched = layer->launch(args(1));
    const bool typed = !launched.ok() && launched.error().code == ErrorCode::not_supported;
    const bool driver_refused = cuda::driver().ok() ? false : cuda::driver().error().code == ErrorCode::not_supported;
    const auto before = state().calls.size();
    layer.reset();
    const bool silent = state().calls.size() == before;  // nothing of the driver is touched
    ::_exit(typed && driver_refused && silent ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(layer->launch(args(1)).ok()) << "the parent goes on";
}

TEST_F(LoadedLayerTest, OldDriverIsNotSupported) {
  state().driver_version = 11080;
  const auto old = cuda::driver();
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, ErrorCode::not_supported);
  EXPECT_NE(old.error().message.find("\"11.8\""), std::string::npos) << old.error().message;
}

TEST_F(LoadedLayerTest, MachineWithoutADeviceIsUnavailable) {
  state().devices = 0;
  const auto none = cuda::driver();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::unavailable);
}

TEST_F(LoadedLayerTest, HopperAsksForItsOwnTargetOthersForThePlainOne) {
  api();
  const auto target = [&](int major, int minor) {
    state().major = major;
    state().minor = minor;
    return cuda::device_target(api(), 0)->arch;
  };
  EXPECT_EQ(target(9, 0), (Arch{90, 'a'}));
  EXPECT_EQ(target(8, 7), (Arch{87, '\0'}));
  EXPECT_EQ(target(12, 0), (Arch{120, '\0'}));
  EXPECT_TRUE(cuda::runs_on({80, '\0'}, {86, '\0'}));
  EXPECT_FALSE(cuda::runs_on({86, '\0'}, {80, '\0'}));
  EXPECT_FALSE(cuda::runs_on({80, '\0'}, {90, 'a'}));
  EXPECT_FALSE(cuda::runs_on({100, 'a'}, {103, '\0'}));
}

}  // namespace
}  // namespace cubind
