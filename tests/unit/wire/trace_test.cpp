#include "protocol/trace.hpp"

#include <gtest/gtest.h>

namespace cubind {
namespace {

TraceEntry layer() {
  TraceEntry entry;
  entry.descriptor = descriptor_from_name("w4a16-bf16-g128-zp").value();
  entry.arch = {90, 'a'};
  entry.sm_count = 132;
  entry.n = 6144;
  entry.k = 4096;
  entry.max_m = 8192;
  entry.toolchain = "nvrtc-13.0.88-1a2b3c4d";
  return entry;
}

TraceEntry kernel() {
  auto entry = layer();
  entry.sm_count = entry.n = entry.k = entry.max_m = 0;
  entry.config = "m16n64k128s4w1x1x4";
  return entry;
}

std::string refusal(const std::string& lines) {
  const auto parsed = parse_trace(std::string(kTraceHeader) + lines);
  EXPECT_FALSE(parsed.ok()) << lines;
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Trace, LinesAreAsDocumented) {
  EXPECT_EQ(trace_line(layer()), "layer sm_90a 132 w4a16-bf16-g128-zp 6144 4096 8192 nvrtc-13.0.88-1a2b3c4d\n");
  EXPECT_EQ(trace_line(kernel()), "kernel sm_90a w4a16-bf16-g128-zp m16n64k128s4w1x1x4 nvrtc-13.0.88-1a2b3c4d\n");
}

TEST(Trace, EveryKindOfEntryComesBackAsItWas) {
  auto catalogue = layer();
  catalogue.whole_catalogue = true;
  const std::vector<TraceEntry> entries{layer(), kernel(), catalogue};
  std::string text(kTraceHeader);
  for (const auto& entry : entries) text += trace_line(entry) + "\n";  // empty lines do no harm
  const auto parsed = parse_trace(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, entries);
  EXPECT_TRUE(parse_trace(kTraceHeader).value().empty());
}

TEST(Trace, WhatIsNoneIsRefusedWithLineWordAndRule) {
  EXPECT_FALSE(parse_trace("").ok());
  EXPECT_FALSE(parse_trace("cubind-trace 2\n").ok());
  EXPECT_EQ(refusal("\nshader x\n"), "line 3: \"shader\" is not layer, catalogue or kernel");
  EXPECT_EQ(refusal("kernel sm_90\n"), "line 2: kernel with \"2\" words does not have 5");
  EXPECT_EQ(refusal("layer sm_90 132 w4a16-bf16-g128-zp 0 4096 16 x\n"),
            "line 2: n \"0\" is not a number from 1 to 1048576");
  EXPECT_NE(refusal("layer sm_90 132 w5a99 1 4096 16 x\n").find("w5a99"), std::string::npos);
  EXPECT_NE(refusal("layer hopper 132 w4a16-bf16-g128-zp 1 4096 16 x\n").find("hopper"), std::string::npos);
}

}  // namespace
}  // namespace cubind
