// Plain structs to Cap'n Proto. Pointers are filled in their order, depth first, and empty values stay null: so
// client/wire.cpp, which does the same, writes identical bytes.
#include <capnp/message.h>

#include "protocol/codec.hpp"
#include "protocol/frame.hpp"
#include "protocol/schema/cubind.capnp.h"

namespace cubind::codec {

namespace {

constexpr std::size_t kScratchWords = 512;     // holds nearly every message; larger ones are built twice
constexpr std::size_t kSegmentTableBytes = 8;  // u32 segments - 1, u32 words of the only one

// The enums of schema and model have the same numbers; these are the ones a new value is most likely added after.
static_assert(static_cast<int>(schema::ErrorCode::PENDING) == static_cast<int>(ErrorCode::pending));
static_assert(static_cast<int>(schema::Outcome::JOINED) == static_cast<int>(Outcome::joined));
static_assert(static_cast<int>(schema::Activation::GELU_MUL) == static_cast<int>(Activation::gelu_mul));
static_assert(static_cast<int>(schema::ScaleKind::BLOCK) == static_cast<int>(ScaleKind::block));
static_assert(static_cast<int>(schema::RequestMode::PREFETCH) == static_cast<int>(RequestMode::prefetch));
static_assert(static_cast<int>(schema::HealthState::STOPPING) == static_cast<int>(HealthState::stopping));

template <class To, class From>
To same(From value) {
  return static_cast<To>(value);
}

capnp::Text::Reader text(const std::string& value) {
  return {value.c_str(), value.size()};
}

void write(schema::Digest::Builder to, const Digest& digest) {
  const auto* bytes = reinterpret_cast<const std::byte*>(digest.bytes.data());
  to.setWord0(load_le<std::uint64_t>(bytes));
  to.setWord1(load_le<std::uint64_t>(bytes + 8));
  to.setWord2(load_le<std::uint64_t>(bytes + 16));
  to.setWord3(load_le<std::uint64_t>(bytes + 24));
}

template <class Group>
void write_arch(Group to, Arch arch) {
  to.setNumber(arch.number);
  to.setSuffix(static_cast<std::uint8_t>(arch.suffix));
}

void write_texts(capnp::List<capnp::Text>::Builder to, const std::vector<std::string>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].empty()) to.set(static_cast<unsigned>(i), text(items[i]));
  }
}

unsigned count(std::size_t size) {
  return static_cast<unsigned>(size);
}

void write(schema::GemmDescriptor::Builder to, const GemmDescriptor& from) {
  to.setKind(same<schema::GemmKind>(from.kind));
  to.setActivation(same<std::uint8_t>(from.activation));
  to.setWeight(same<std::uint8_t>(from.weight));
  to.setOutput(same<std::uint8_t>(from.output));
  to.setWeightScale(same<schema::ScaleKind>(from.weight_scale));
  to.setWeightScaleType(same<std::uint8_t>(from.weight_scale_type));
  to.setWeightGlobalScale(from.weight_global_scale);
  to.setGroupK(from.group_k);
  to.setGroupN(from.group_n);
  to.setZeroPoint(same<schema::ZeroPointKind>(from.zero_point));
  to.setActivationScale(same<schema::ScaleKind>(from.activation_scale));
  to.setActivationScaleType(same<std::uint8_t>(from.activation_scale_type));
  to.setActivationGroupK(from.activation_group_k);
  to.setBias(from.bias);
  to.setEpilogue(same<schema::Activation>(from.epilogue));
  to.setAccumulation(same<schema::Accumulation>(from.accumulation));
  to.setPromotionK(from.promotion_k);
  to.setDeterminism(same<schema::Determinism>(from.determinism));
}

void write(schema::ToolchainChoice::Builder to, const ToolchainChoice& from) {
  to.setRule(same<schema::ToolchainRule>(from.rule));
  to.setMaxCuda(from.max_cuda);
  if (!from.id.empty()) to.setId(text(from.id));
  if (!from.excluded.empty()) write_texts(to.initExcluded(count(from.excluded.size())), from.excluded);
}

void write(schema::KernelSpec::Builder to, const KernelSpec& from) {
  write(to.initDescriptor(), from.descriptor);
  if (!from.config.empty()) to.setConfig(text(from.config));
}

void write(schema::LayerSpec::Builder to, const LayerSpec& from) {
  to.setN(from.n);
  to.setK(from.k);
  to.setMaxM(from.max_m);
  write(to.initDescriptor(), from.descriptor);
}

void write(schema::LaunchRow::Builder to, const LaunchRow& row) {
  to.setMFirst(row.m_first);
  to.setMLast(row.m_last);
  to.setKernel(row.kernel);
  to.setSplits(row.splits);
  to.setKTilesPerSplit(row.k_tiles_per_split);
}

void write(schema::KernelInfo::Builder to, const KernelInfo& info) {
  write_arch(to.getArch(), info.arch);
  to.setLaunchAbi(info.launch_abi);
  to.setWeightLayout(info.weight_layout);
  to.setTileM(info.tile_m);
  to.setTileN(info.tile_n);
  to.setTileK(info.tile_k);
  to.setThreads(info.threads);
  to.setSmemBytes(info.smem_bytes);
  to.setStaticSmemBytes(info.static_smem_bytes);
  to.setRegisters(info.registers);
  to.setLocalBytes(info.local_bytes);
  to.setCompileMs(info.compile_ms);
  to.setCompilePeakBytes(info.compile_peak_bytes);
  if (!info.name.empty()) to.setName(text(info.name));
  if (!info.entry.empty()) to.setEntry(text(info.entry));
  if (!info.toolchain.empty()) to.setToolchain(text(info.toolchain));
  if (!info.log.empty()) to.setLog(text(info.log));
}

void write(schema::Counter::Builder to, const Counter& counter) {
  to.setValue(counter.value);
  if (!counter.name.empty()) to.setName(text(counter.name));
}

void write(schema::RecordSummary::Builder to, const RecordSummary& record) {
  write_arch(to.getArch(), record.arch);
  to.setCubinBytes(record.cubin_bytes);
  to.setCreatedMs(record.created_ms);
  to.setLastUsedMs(record.last_used_ms);
  to.setHits(record.hits);
  to.setCompileMs(record.compile_ms);
  if (!record.key.is_zero()) write(to.initKey(), record.key);
  if (!record.name.empty()) to.setName(text(record.name));
  if (!record.toolchain.empty()) to.setToolchain(text(record.toolchain));
}

void write(schema::Ingredient::Builder to, const Ingredient& ingredient) {
  if (!ingredient.name.empty()) to.setName(text(ingredient.name));
  if (!ingredient.value.empty()) to.setValue(text(ingredient.value));
}

void write(schema::Difference::Builder to, const Difference& difference) {
  if (!difference.name.empty()) to.setName(text(difference.name));
  if (!difference.asked.empty()) to.setAsked(text(difference.asked));
  if (!difference.stored.empty()) to.setStored(text(difference.stored));
}

// Writes a list of structs with the overload of write() for its items, all of which are above.
template <class List, class Items>
void write_all(List to, const Items& items) {
  for (std::size_t i = 0; i < items.size(); ++i) write(to[static_cast<unsigned>(i)], items[i]);
}

// ---- requests ----

void write(schema::Request::Builder to, const KernelsRequest& request) {
  auto kernels = to.initKernels();
  write_arch(kernels.getArch(), request.arch);
  kernels.setWithCode(request.with_code);
  kernels.setWholeCatalogue(request.whole_catalogue);
  kernels.setMode(same<schema::RequestMode>(request.mode));
  kernels.setPriority(same<schema::Priority>(request.priority));
  kernels.setSmCount(request.sm_count);
  kernels.setDeadlineMs(request.deadline_ms);
  kernels.getLaunchAbi().setMin(request.launch_abi.min);
  kernels.getLaunchAbi().setMax(request.launch_abi.max);
  kernels.getWeightLayout().setMin(request.weight_layout.min);
  kernels.getWeightLayout().setMax(request.weight_layout.max);
  write(kernels.initToolchain(), request.toolchain);
  if (!request.layers.empty()) write_all(kernels.initLayers(count(request.layers.size())), request.layers);
  if (!request.kernels.empty()) write_all(kernels.initKernels(count(request.kernels.size())), request.kernels);
  if (!request.keys.empty()) write_all(kernels.initKeys(count(request.keys.size())), request.keys);
  if (!request.held.empty()) write_all(kernels.initHeld(count(request.held.size())), request.held);
}

void write(schema::Request::Builder to, const CancelRequest&) {
  to.setCancel();
}
void write(schema::Request::Builder to, const StatsRequest&) {
  to.setStats();
}
void write(schema::Request::Builder to, const HealthRequest&) {
  to.setHealth();
}

void write(schema::Request::Builder to, const ListRequest& request) {
  auto list = to.initList();
  list.setLimit(request.limit);
  if (!request.after.is_zero()) write(list.initAfter(), request.after);
}

void write(schema::Request::Builder to, const ExplainRequest& request) {
  auto explain = to.initExplain();
  write_arch(explain.getArch(), request.arch);
  explain.setWithSource(request.with_source);
  write(explain.initKernel(), request.kernel);
  write(explain.initToolchain(), request.toolchain);
}

void write(schema::Request::Builder to, const VerifyRequest& request) {
  auto verify = to.initVerify();
  if (!request.key.is_zero()) write(verify.initKey(), request.key);
}

void write(schema::Request::Builder to, const PurgeRequest& request) {
  auto purge = to.initPurge();
  if (!request.key.is_zero()) write(purge.initKey(), request.key);
}

void write(schema::Request::Builder to, const ReadyRequest& request) {
  auto ready = to.initReady();
  ready.setScope(same<schema::ReadyScope>(request.scope));
  ready.setOff(request.off);
}

void write(schema::Request::Builder to, const ReloadRequest&) {
  to.setReload();
}

void write(schema::Request::Builder to, const TraceRequest&) {
  to.setTrace();
}

void write(schema::Request::Builder to, const NearestRequest& request) {
  auto nearest = to.initNearest();
  write_arch(nearest.getArch(), request.arch);
  write(nearest.initKernel(), request.kernel);
  write(nearest.initToolchain(), request.toolchain);
}

void write(schema::Request::Builder to, const ExportRequest& request) {
  auto to_export = to.initExport();
  if (!request.keys.empty()) write_all(to_export.initKeys(count(request.keys.size())), request.keys);
}

void write(schema::Request::Builder to, const ImportRequest& request) {
  auto import = to.initImport();
  import.setLast(request.last);
  if (request.data.empty()) return;
  std::memcpy(import.initData(count(request.data.size())).begin(), request.data.data(), request.data.size());
}

// ---- replies ----

void write(schema::Reply::Builder to, const TableReply& reply) {
  auto table = to.initTable();
  table.setLayer(reply.layer);
  if (!reply.rows.empty()) write_all(table.initRows(count(reply.rows.size())), reply.rows);
  if (!reply.kernels.empty()) write_all(table.initKernels(count(reply.kernels.size())), reply.kernels);
}

void write(schema::Reply::Builder to, const KernelReply& reply) {
  auto kernel = to.initKernel();
  kernel.setCode(same<schema::ErrorCode>(reply.code));
  kernel.setOutcome(same<schema::Outcome>(reply.outcome));
  kernel.setCodeBytes(reply.code_bytes);
  if (!reply.key.is_zero()) write(kernel.initKey(), reply.key);
  if (!reply.cubin_digest.is_zero()) write(kernel.initCubinDigest(), reply.cubin_digest);
  write(kernel.initInfo(), reply.info);
  if (!reply.message.empty()) kernel.setMessage(text(reply.message));
}

void write(schema::Reply::Builder to, const ProgressReply& reply) {
  auto progress = to.initProgress();
  progress.setTotal(reply.total);
  progress.setReady(reply.ready);
  progress.setCompiling(reply.compiling);
  progress.setQueued(reply.queued);
  progress.setElapsedMs(reply.elapsed_ms);
}

void write(schema::Reply::Builder to, const SummaryReply& reply) {
  auto summary = to.initSummary();
  summary.setTotal(reply.total);
  summary.setHitsMemory(reply.hits_memory);
  summary.setHitsDisk(reply.hits_disk);
  summary.setBuilt(reply.built);
  summary.setJoined(reply.joined);
  summary.setPending(reply.pending);
  summary.setFailed(reply.failed);
  summary.setElapsedMs(reply.elapsed_ms);
  summary.setCompileMs(reply.compile_ms);
}

void write(schema::Reply::Builder to, const ErrorReply& reply) {
  auto error = to.initError();
  error.setCode(same<schema::ErrorCode>(reply.code));
  if (!reply.message.empty()) error.setMessage(text(reply.message));
}

void write(schema::Reply::Builder to, const StatsReply& reply) {
  auto stats = to.initStats();
  if (!reply.counters.empty()) write_all(stats.initCounters(count(reply.counters.size())), reply.counters);
}

void write(schema::Reply::Builder to, const HealthReply& reply) {
  auto health = to.initHealth();
  health.setState(same<schema::HealthState>(reply.state));
  health.setPid(reply.pid);
  health.setUptimeMs(reply.uptime_ms);
  if (!reply.daemon.empty()) health.setDaemon(text(reply.daemon));
  if (!reply.store.empty()) health.setStore(text(reply.store));
  if (!reply.reasons.empty()) write_texts(health.initReasons(count(reply.reasons.size())), reply.reasons);
  if (!reply.toolchains.empty()) write_texts(health.initToolchains(count(reply.toolchains.size())), reply.toolchains);
}

void write(schema::Reply::Builder to, const ListReply& reply) {
  auto list = to.initList();
  if (!reply.records.empty()) write_all(list.initRecords(count(reply.records.size())), reply.records);
}

void write(schema::Reply::Builder to, const ExplainReply& reply) {
  auto explain = to.initExplain();
  if (!reply.key.is_zero()) write(explain.initKey(), reply.key);
  if (!reply.ingredients.empty()) {
    write_all(explain.initIngredients(count(reply.ingredients.size())), reply.ingredients);
  }
  if (!reply.source.empty()) explain.setSource(text(reply.source));
}

void write(schema::Reply::Builder to, const VerifyReply& reply) {
  auto verify = to.initVerify();
  verify.setMatches(reply.matches);
  if (!reply.key.is_zero()) write(verify.initKey(), reply.key);
  if (!reply.name.empty()) verify.setName(text(reply.name));
  if (!reply.message.empty()) verify.setMessage(text(reply.message));
}

void write(schema::Reply::Builder to, const PurgeReply& reply) {
  auto purge = to.initPurge();
  purge.setRecords(reply.records);
  purge.setBytes(reply.bytes);
}

void write(schema::Reply::Builder to, const DoneReply& reply) {
  auto done = to.initDone();
  if (!reply.message.empty()) done.setMessage(text(reply.message));
}

void write(schema::Reply::Builder to, const ChunkReply& reply) {
  auto chunk = to.initChunk();
  chunk.setLast(reply.last);
  if (reply.data.empty()) return;
  std::memcpy(chunk.initData(count(reply.data.size())).begin(), reply.data.data(), reply.data.size());
}

void write(schema::Reply::Builder to, const NearestReply& reply) {
  auto nearest = to.initNearest();
  if (!reply.key.is_zero()) write(nearest.initKey(), reply.key);
  if (!reply.nearest.is_zero()) write(nearest.initNearest(), reply.nearest);
  if (!reply.name.empty()) nearest.setName(text(reply.name));
  if (!reply.differences.empty()) {
    write_all(nearest.initDifferences(count(reply.differences.size())), reply.differences);
  }
}

Bytes frame_of(kj::ArrayPtr<const capnp::word> segment) {
  const std::size_t bytes = segment.size() * sizeof(capnp::word);
  Bytes frame(kFrameHeaderBytes + kSegmentTableBytes + bytes);
  store_le(frame.data(), static_cast<std::uint32_t>(kSegmentTableBytes + bytes));
  store_le(frame.data() + kFrameHeaderBytes + 4, static_cast<std::uint32_t>(segment.size()));
  std::memcpy(frame.data() + kFrameHeaderBytes + kSegmentTableBytes, segment.begin(), bytes);
  return frame;
}

// `fill` writes the message into Root's builder. It runs again, into a segment that is large enough, if the message
// does not fit the scratch space: what it took in several segments is more than it needs in one.
template <class Root, class Fill>
Bytes build(Fill fill) {
  capnp::word scratch[kScratchWords] = {};
  capnp::MallocMessageBuilder builder(kj::arrayPtr(scratch, kScratchWords));
  fill(builder.initRoot<Root>());
  const auto segments = builder.getSegmentsForOutput();
  if (segments.size() == 1) return frame_of(segments[0]);
  std::size_t words = 0;
  for (const auto& segment : segments) words += segment.size();
  capnp::MallocMessageBuilder whole(static_cast<unsigned>(words), capnp::AllocationStrategy::FIXED_SIZE);
  fill(whole.initRoot<Root>());
  return frame_of(whole.getSegmentsForOutput()[0]);
}

template <class Root, class Message>
Bytes build_envelope(const Message& message) {
  return build<Root>([&](typename Root::Builder to) {
    std::visit(
        [&](const auto& kind) {
          to.setId(kind.id);
          write(to, kind);
        },
        message);
  });
}

}  // namespace

Bytes encode(const ClientHello& hello) {
  return build<schema::ClientHello>([&](schema::ClientHello::Builder to) {
    to.setMinVersion(hello.min_version);
    to.setMaxVersion(hello.max_version);
    if (!hello.client.empty()) to.setClient(text(hello.client));
  });
}

Bytes encode(const ServerHello& hello) {
  return build<schema::ServerHello>([&](schema::ServerHello::Builder to) {
    to.setVersion(hello.version);
    to.setMinVersion(hello.min_version);
    to.setMaxVersion(hello.max_version);
    to.setLaunchAbi(hello.launch_abi);
    to.setWeightLayout(hello.weight_layout);
    if (!hello.daemon.empty()) to.setDaemon(text(hello.daemon));
  });
}

Bytes encode(const Request& request) {
  return build_envelope<schema::Request>(request);
}

Bytes encode(const Reply& reply) {
  return build_envelope<schema::Reply>(reply);
}

}  // namespace cubind::codec
