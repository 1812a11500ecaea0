#include <gtest/gtest.h>

#include "tests/unit/plan/served.hpp"

namespace cubind {
namespace {

constexpr Arch kHopper{90, '\0'};

const GemmDescriptor kServed = served::w4a16(DType::bf16, 128, ZeroPointKind::none);

template <class Change>
GemmDescriptor changed(Change change) {
  auto d = kServed;
  change(d);
  return d;
}

struct Refusal {
  GemmDescriptor descriptor;
  std::string_view message;
};

// Legal by the descriptor's own rules, so what is wrong is only that nothing serves it yet.
TEST(NotServed, NamesFieldValueAndWhatIsServed) {
  const Refusal refusals[] = {
      {changed([](auto& d) { d.kind = GemmKind::grouped_contiguous; }),
       "kind \"grouped_contiguous\" is not served yet, only dense"},
      {changed([](auto& d) { d.kind = GemmKind::grouped_masked; }),
       "kind \"grouped_masked\" is not served yet, only dense"},
      {changed([](auto& d) { d.kind = GemmKind::indexed; }), "kind \"indexed\" is not served yet, only dense"},
      {changed([](auto& d) { d.activation = DType::int8; }), "activation \"int8\" is not served yet, only f16, bf16"},
      {changed([](auto& d) { d.activation = DType::e4m3; }), "activation \"e4m3\" is not served yet, only f16, bf16"},
      {changed([](auto& d) { d.weight = DType::int8; }), "weight \"int8\" is not served yet, only int4"},
      {changed([](auto& d) { d.weight = DType::int3; }), "weight \"int3\" is not served yet, only int4"},
      {changed([](auto& d) { d.weight = DType::e2m1; }), "weight \"e2m1\" is not served yet, only int4"},
      {changed([](auto& d) { d.output = DType::f16; }),
       "output \"f16\" is not served yet, only bf16 with activation \"bf16\""},
      {changed([](auto& d) { d.output = DType::f32; }),
       "output \"f32\" is not served yet, only bf16 with activation \"bf16\""},
      {changed([](auto& d) {
         d.weight_scale = ScaleKind::tensor;
         d.group_k = 0;
       }),
       "weight_scale \"tensor\" is not served yet, only group, channel"},
      {changed([](auto& d) {
         d.weight_scale = ScaleKind::none;
         d.weight_scale_type = DType::none;
         d.group_k = 0;
       }),
       "weight_scale \"none\" is not served yet, only group, channel"},
      {changed([](auto& d) {
         d.weight_scale = ScaleKind::block;
         d.group_n = 128;
       }),
       "weight_scale \"block\" is not served yet, only group, channel"},
      {changed([](auto& d) { d.weight_scale_type = DType::f16; }),
       "weight_scale_type \"f16\" is not served yet, only bf16 with activation \"bf16\""},
      {changed([](auto& d) { d.group_k = 16; }),
       "group_k \"16\" is not served yet, only 32, 64, 128 and larger powers of two"},
      {changed([](auto& d) { d.weight_global_scale = true; }),
       "weight_global_scale \"true\" is not served yet, only false"},
      {changed([](auto& d) { d.zero_point = ZeroPointKind::floating; }),
       "zero_point \"floating\" is not served yet, only none, integer"},
      {changed([](auto& d) { d.epilogue = Activation::silu_mul; }),
       "epilogue \"silu_mul\" is not served yet, only none"},
      {changed([](auto& d) {
         d.activation = d.output = d.weight_scale_type = DType::f16;
         d.accumulation = Accumulation::f16;
       }),
       "accumulation \"f16\" is not served yet, only f32"},
      {changed([](auto& d) { d.determinism = Determinism::batch_invariant; }),
       "determinism \"batch_invariant\" is not served yet, only run_to_run, sm_count"},
  };
  for (const auto& [descriptor, message] : refusals) {
    ASSERT_TRUE(validate(descriptor).ok()) << message;
    for (const auto arch : {Arch{80, '\0'}, kHopper}) {
      const auto all = catalogue(descriptor, arch);
      ASSERT_FALSE(all.ok()) << message;
      EXPECT_EQ(all.error().code, ErrorCode::not_supported);
      EXPECT_EQ(all.error().message, message);
      EXPECT_EQ(reachable(descriptor, arch, 16).error(), all.error());
      EXPECT_EQ(plan(descriptor, arch, 132, 4096, 4096, 1).error(), all.error());
      EXPECT_EQ(launch_table(descriptor, arch, 132, 4096, 4096, 64).error(), all.error());
      EXPECT_EQ(config_from_name(descriptor, arch, "m16").error(), all.error());
    }
  }
}

TEST(NotServed, Bf16OnTuring) {
  const auto all = catalogue(kServed, {75, '\0'});
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::not_supported);
  EXPECT_EQ(all.error().message, "activation \"bf16\" is not served on sm_75, which has no bf16 MMA, only f16");
}

TEST(InvalidArgument, ComesBeforeWhatIsServed) {
  const auto bad = changed([](auto& d) {
    d.kind = GemmKind::indexed;
    d.group_k = 48;
  });
  for (const auto& error : {catalogue(bad, kHopper).error(), plan(bad, kHopper, 132, 4096, 4096, 1).error()}) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(error.message, "group_k \"48\" is not a power of two of at least 16");
  }
}

TEST(InvalidArgument, NamesTheNumberThatIsOutOfRange) {
  const auto message = [](std::uint32_t sm_count, std::uint32_t n, std::uint32_t k, std::uint32_t m) {
    return plan(kServed, kHopper, sm_count, n, k, m).error().message;
  };
  EXPECT_EQ(message(0, 4096, 4096, 1), "sm_count \"0\" is not in [1, 1024]");
  EXPECT_EQ(message(1025, 4096, 4096, 1), "sm_count \"1025\" is not in [1, 1024]");
  EXPECT_EQ(message(132, 4096, 4096, 0), "m \"0\" is not in [1, 1048576]");
  EXPECT_EQ(message(132, 4096, 4096, 1048577), "m \"1048577\" is not in [1, 1048576]");
  EXPECT_EQ(message(132, 0, 4096, 1), "n \"0\" is not in [1, 1048576]");
  EXPECT_EQ(message(132, 4096, 2880, 1), "k \"2880\" is not a multiple of group_k \"128\": pad k to 2944");
  EXPECT_EQ(reachable(kServed, kHopper, 0).error().message, "max_m \"0\" is not in [1, 1048576]");
  EXPECT_EQ(launch_table(kServed, kHopper, 132, 4096, 4096, 0).error().message, "max_m \"0\" is not in [1, 1048576]");
}

TEST(NotSupported, ArchWithoutCode) {
  EXPECT_EQ(plan(kServed, {70, '\0'}, 80, 4096, 4096, 1).error().code, ErrorCode::not_supported);
  EXPECT_EQ(catalogue(kServed, {110, 'a'}).error().code, ErrorCode::not_supported);
}

}  // namespace
}  // namespace cubind
