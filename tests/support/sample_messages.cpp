#include "tests/support/sample_messages.hpp"

namespace cubind::test {

namespace {

Digest digest(std::uint8_t first) {
  Digest out;
  for (std::size_t i = 0; i < out.bytes.size(); ++i) out.bytes[i] = static_cast<std::uint8_t>(first + i);
  return out;
}

GemmDescriptor usual() {
  return {.activation = DType::bf16,
          .weight = DType::int4,
          .output = DType::bf16,
          .weight_scale = ScaleKind::group,
          .weight_scale_type = DType::bf16,
          .group_k = 128,
          .zero_point = ZeroPointKind::integer,
          .bias = true};
}

GemmDescriptor every_field() {
  return {.kind = GemmKind::grouped_masked,
          .activation = DType::e4m3,
          .weight = DType::e2m1,
          .output = DType::f16,
          .weight_scale = ScaleKind::block,
          .weight_scale_type = DType::e8m0,
          .group_k = 32,
          .group_n = 16,
          .weight_global_scale = true,
          .zero_point = ZeroPointKind::floating,
          .activation_scale = ScaleKind::group,
          .activation_scale_type = DType::f32,
          .activation_group_k = 64,
          .bias = true,
          .epilogue = Activation::silu_mul,
          .accumulation = Accumulation::f32_promoted,
          .promotion_k = 512,
          .determinism = Determinism::batch_invariant};
}

ToolchainChoice choice() {
  return {ToolchainRule::max_cuda, "nvrtc-13.0.88-1a2b3c4d", 13000, {"nvrtc-12.9.86-55667788"}};
}

KernelInfo info() {
  return {.name = "w4a16-bf16-g128-zp-m16n64k128s4w1x1x4",
          .entry = "cubind_kernel",
          .arch = {90, '\0'},
          .launch_abi = 1,
          .weight_layout = 2,
          .tile_m = 16,
          .tile_n = 64,
          .tile_k = 128,
          .threads = 256,
          .smem_bytes = 49152,
          .static_smem_bytes = 1024,
          .registers = 168,
          .local_bytes = 8,
          .toolchain = "nvrtc-13.0.88-1a2b3c4d",
          .compile_ms = 412.5,
          .compile_peak_bytes = 123456789,
          .log = "warning: a loop was not unrolled"};
}

}  // namespace

std::vector<SampleMessage> sample_messages() {
  const KernelsRequest kernels{.id = 1,
                               .arch = {90, 'a'},
                               .sm_count = 132,
                               .mode = RequestMode::hit_only,
                               .priority = Priority::prewarm,
                               .deadline_ms = 30000,
                               .toolchain = choice(),
                               .launch_abi = {1, 2},
                               .weight_layout = {3, 4},
                               .with_code = true,
                               .whole_catalogue = true,
                               .layers = {{usual(), 6144, 4096, 8192}, {every_field(), 28672, 4096, 1}},
                               .kernels = {{usual(), "m16n64k128s4w1x1x4"}},
                               .keys = {digest(1), digest(2)},
                               .held = {digest(3)}};
  const RecordSummary record{digest(7), "w4a16-bf16-g128", {80, '\0'},    "nvrtc-13.0.88-1a2b3c4d",
                             61440,     1700000000000,     1700000001000, 42,
                             398.25};
  return {
      {"client_hello", ClientHello{1, 3, "libcubind 0.1.0"}},
      {"server_hello", ServerHello{1, 1, 2, "cubind 0.1.0 (0123456789ab)", 1, 1}},
      {"request_kernels", Request(kernels)},
      {"request_cancel", Request(CancelRequest{2})},
      {"request_stats", Request(StatsRequest{3})},
      {"request_health", Request(HealthRequest{4})},
      {"request_list", Request(ListRequest{5, 100, digest(4)})},
      {"request_explain",
       Request(ExplainRequest{6, {every_field(), "m64n128k64s3w2x2x1"}, {120, 'f'}, choice(), true})},
      {"request_verify", Request(VerifyRequest{7, digest(5)})},
      {"request_purge", Request(PurgeRequest{8, {}})},
      {"reply_table", Reply(TableReply{1, 1, {{1, 16, 0, 4, 8}, {17, 8192, 1, 1, 32}}, {digest(8), digest(9)}})},
      {"reply_kernel", Reply(KernelReply{1, digest(8), ErrorCode::ok, "", Outcome::built, info(), digest(10), 61440})},
      {"reply_kernel_failed",
       Reply(KernelReply{
           1, digest(9), ErrorCode::compile_failed, "the compiler refused the source", Outcome::joined, {}, {}, 0})},
      {"reply_progress", Reply(ProgressReply{1, 12, 5, 2, 5, 1500})},
      {"reply_summary", Reply(SummaryReply{1, 12, 1, 2, 3, 4, 5, 6, 2500, 1234.5})},
      {"reply_error", Reply(ErrorReply{9, ErrorCode::permission_denied, "purge is for administrators"})},
      {"reply_stats", Reply(StatsReply{3, {{"hits_memory", 17}, {"compile_seconds", 0.75}}})},
      {"reply_health", Reply(HealthReply{4,
                                         HealthState::degraded,
                                         {"the disk is full"},
                                         "cubind 0.1.0",
                                         4321,
                                         86400000,
                                         {"nvrtc-13.0.88-1a2b3c4d"},
                                         "/var/lib/cubind/v1"})},
      {"reply_list", Reply(ListReply{5, {record}})},
      {"reply_explain", Reply(ExplainReply{6, digest(11), {{"schema", "1"}, {"arch", "sm_90"}}, "int x;\n"})},
      {"reply_verify", Reply(VerifyReply{7, digest(5), "w4a16-bf16-g128", true, "same bytes"})},
      {"reply_purge", Reply(PurgeReply{8, 10, 614400})},
      {"request_ready", Request(ReadyRequest{10, ReadyScope::user, true}), 2},
      {"request_reload", Request(ReloadRequest{11}), 2},
      {"request_trace", Request(TraceRequest{12}), 2},
      {"request_nearest", Request(NearestRequest{13, {every_field(), "m64n128k64s3w2x2x1"}, {120, 'f'}, choice()}), 2},
      {"request_export", Request(ExportRequest{14, {digest(1), digest(2)}}), 2},
      {"request_import", Request(ImportRequest{15, true, to_bytes("CUBNDL01")}), 2},
      {"reply_done", Reply(DoneReply{10, "3 settings changed"}), 2},
      {"reply_chunk", Reply(ChunkReply{12, true, to_bytes("cubind-trace 1\n")}), 2},
      {"reply_nearest",
       Reply(
           NearestReply{13, digest(11), digest(12), "w4a16-bf16-g128", {{"arch", "sm_90a", "sm_90"}, {"x", "", "1"}}}),
       2},
  };
}

}  // namespace cubind::test
