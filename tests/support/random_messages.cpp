#include "tests/support/random_messages.hpp"

namespace cubind::test {

std::uint32_t RandomMessages::u32() {
  switch (number(4)) {
    case 0: return 0;
    case 1: return static_cast<std::uint32_t>(number(256));
    case 2: return UINT32_MAX;
    default: return static_cast<std::uint32_t>(engine_());
  }
}

std::string RandomMessages::text() {
  std::string out(number(3) == 0 ? number(300) : number(20), '\0');
  for (char& c : out) c = static_cast<char>(number(256));
  return out;
}

std::vector<std::string> RandomMessages::texts() {
  std::vector<std::string> out(count());
  for (auto& item : out) item = text();
  return out;
}

Digest RandomMessages::digest() {
  Digest out;
  if (number(4) == 0) return out;
  for (auto& byte : out.bytes) byte = static_cast<std::uint8_t>(engine_());
  return out;
}

std::vector<Digest> RandomMessages::digests() {
  std::vector<Digest> out(count());
  for (auto& item : out) item = digest();
  return out;
}

Arch RandomMessages::arch() {
  constexpr char kSuffixes[] = {'\0', 'a', 'f'};
  return {u16(), kSuffixes[number(3)]};
}

DType RandomMessages::dtype() {
  for (;;) {
    const auto type = static_cast<DType>(number(65));
    if (type == DType::none || bits_of(type) != 0) return type;
  }
}

GemmDescriptor RandomMessages::descriptor() {
  GemmDescriptor out;
  out.kind = choice(GemmKind::indexed);
  out.activation = dtype();
  out.weight = dtype();
  out.output = dtype();
  out.weight_scale = choice(ScaleKind::block);
  out.weight_scale_type = dtype();
  out.group_k = u32();
  out.group_n = u32();
  out.weight_global_scale = flag();
  out.zero_point = choice(ZeroPointKind::floating);
  out.activation_scale = choice(ScaleKind::block);
  out.activation_scale_type = dtype();
  out.activation_group_k = u32();
  out.bias = flag();
  out.epilogue = choice(Activation::gelu_mul);
  out.accumulation = choice(Accumulation::f32_promoted);
  out.promotion_k = u32();
  out.determinism = choice(Determinism::batch_invariant);
  return out;
}

ToolchainChoice RandomMessages::toolchain() {
  return {choice(ToolchainRule::max_cuda), text(), u32(), texts()};
}

KernelSpec RandomMessages::kernel() {
  return {descriptor(), text()};
}

KernelInfo RandomMessages::info() {
  KernelInfo out;
  out.name = text();
  out.entry = text();
  out.arch = arch();
  out.launch_abi = u32();
  out.weight_layout = u32();
  out.tile_m = u32();
  out.tile_n = u32();
  out.tile_k = u32();
  out.threads = u32();
  out.smem_bytes = u32();
  out.static_smem_bytes = u32();
  out.registers = u32();
  out.local_bytes = u32();
  out.toolchain = text();
  out.compile_ms = real();
  out.compile_peak_bytes = u64();
  out.log = text();
  return out;
}

ClientHello RandomMessages::client_hello() {
  return {u16(), u16(), text()};
}

ServerHello RandomMessages::server_hello() {
  return {u16(), u16(), u16(), text(), u32(), u32()};
}

Request RandomMessages::request(std::size_t kind) {
  switch (kind) {
    case 0: {
      KernelsRequest out;
      out.id = u64();
      out.arch = arch();
      out.sm_count = u32();
      out.mode = choice(RequestMode::prefetch);
      out.priority = choice(Priority::prewarm);
      out.deadline_ms = u32();
      out.toolchain = toolchain();
      out.launch_abi = {u32(), u32()};
      out.weight_layout = {u32(), u32()};
      out.with_code = flag();
      out.whole_catalogue = flag();
      out.layers.resize(count());
      for (auto& layer : out.layers) layer = {descriptor(), u32(), u32(), u32()};
      out.kernels.resize(count());
      for (auto& spec : out.kernels) spec = kernel();
      out.keys = digests();
      out.held = digests();
      return out;
    }
    case 1: return CancelRequest{u64()};
    case 2: return StatsRequest{u64()};
    case 3: return HealthRequest{u64()};
    case 4: return ListRequest{u64(), u32(), digest()};
    case 5: return ExplainRequest{u64(), kernel(), arch(), toolchain(), flag()};
    case 6: return VerifyRequest{u64(), digest()};
    case 7: return PurgeRequest{u64(), digest()};
    case 8: return ReadyRequest{u64(), choice(ReadyScope::user), flag()};
    case 9: return ReloadRequest{u64()};
    case 10: return TraceRequest{u64()};
    case 11: return NearestRequest{u64(), kernel(), arch(), toolchain()};
    case 12: return ExportRequest{u64(), digests()};
    default: return ImportRequest{u64(), flag(), to_bytes(text())};
  }
}

Reply RandomMessages::reply(std::size_t kind) {
  switch (kind) {
    case 0: {
      TableReply out{u64(), u32(), {}, digests()};
      out.rows.resize(count());
      for (auto& row : out.rows) row = {u32(), u32(), u32(), u32(), u32()};
      return out;
    }
    case 1:
      return KernelReply{u64(),    digest(), choice(ErrorCode::pending), text(), choice(Outcome::joined), info(),
                         digest(), u32()};
    case 2: return ProgressReply{u64(), u32(), u32(), u32(), u32(), u32()};
    case 3: return SummaryReply{u64(), u32(), u32(), u32(), u32(), u32(), u32(), u32(), u32(), real()};
    case 4: return ErrorReply{u64(), choice(ErrorCode::pending), text()};
    case 5: {
      StatsReply out{u64(), {}};
      out.counters.resize(count());
      for (auto& counter : out.counters) counter = {text(), real()};
      return out;
    }
    case 6: return HealthReply{u64(), choice(HealthState::stopping), texts(), text(), u64(), u64(), texts(), text()};
    case 7: {
      ListReply out{u64(), {}};
      out.records.resize(count());
      for (auto& record : out.records) {
        record = {digest(), text(), arch(), text(), u64(), u64(), u64(), u64(), real()};
      }
      return out;
    }
    case 8: {
      ExplainReply out{u64(), digest(), {}, text()};
      out.ingredients.resize(count());
      for (auto& ingredient : out.ingredients) ingredient = {text(), text()};
      return out;
    }
    case 9: return VerifyReply{u64(), digest(), text(), flag(), text()};
    case 10: return PurgeReply{u64(), u64(), u64()};
    case 11: return DoneReply{u64(), text()};
    case 12: return ChunkReply{u64(), flag(), to_bytes(text())};
    default: {
      NearestReply out{u64(), digest(), digest(), text(), {}};
      out.differences.resize(count());
      for (auto& difference : out.differences) difference = {text(), text(), text()};
      return out;
    }
  }
}

}  // namespace cubind::test
