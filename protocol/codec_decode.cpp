// Cap'n Proto to plain structs. The payload may be hostile: pointers are Cap'n Proto's to check, values and sizes ours.
#include <algorithm>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include "protocol/codec.hpp"
#include "protocol/limits.hpp"
#include "protocol/schema/cubind.capnp.h"

namespace cubind::codec {

namespace {

constexpr std::size_t kSegmentTableBytes = 8;
constexpr int kNestingLimit = 16;  // the schema's deepest message has 6 levels

// Turns fields into values and keeps the first thing that was wrong. In requests an unknown value of an enum, or a text
// or list above its limit, is wrong; in replies (from a daemon we trust to keep the frame's limit) it has a fallback.
class Fields {
 public:
  explicit Fields(bool request) : request_(request) {}

  const std::optional<Error>& error() const { return error_; }

  std::string text(capnp::Text::Reader from, const char* name) {
    if (request_ && from.size() > limits::kMaxText) {
      refuse(std::string(name) + " of \"" + std::to_string(from.size()) + "\" bytes is longer than " +
             std::to_string(limits::kMaxText));
      return {};
    }
    return {from.begin(), from.size()};
  }

  template <class Enum, class Number>
  Enum choice(Number number, Enum last, Enum fallback, const char* name) {
    const auto value = static_cast<std::uint16_t>(number);
    if (value <= static_cast<std::uint16_t>(last)) return static_cast<Enum>(value);
    if (request_) {
      refuse(std::string(name) + " \"" + std::to_string(value) + "\" is not a number from 0 to " +
             std::to_string(static_cast<unsigned>(last)));
    }
    return fallback;
  }

  DType dtype(std::uint8_t number, const char* name) {
    const auto type = static_cast<DType>(number);
    if (type == DType::none || bits_of(type) != 0) return type;
    refuse(std::string(name) + " \"" + std::to_string(number) + "\" is not the number of a type");
    return DType::none;
  }

  template <class Group>
  Arch arch(Group from) {
    const auto suffix = static_cast<char>(from.getSuffix());
    if (suffix != '\0' && suffix != 'a' && suffix != 'f') {
      refuse("arch suffix \"" + std::to_string(from.getSuffix()) + "\" is not 0, 'a' or 'f'");
      return {};
    }
    return {from.getNumber(), suffix};
  }

  // How many of the list's items to read: none if there are more than `most`.
  std::size_t items(std::size_t size, std::size_t most, const char* name) {
    if (!request_ || size <= most) return size;
    refuse(std::string(name) + " with \"" + std::to_string(size) + "\" entries has more than " + std::to_string(most));
    return 0;
  }

  void refuse(std::string message) {
    if (!error_) error_ = Error{ErrorCode::invalid_argument, std::move(message)};
  }

 private:
  bool request_;
  std::optional<Error> error_;
};

Digest read(schema::Digest::Reader from, Fields&) {
  Digest digest;
  auto* bytes = reinterpret_cast<std::byte*>(digest.bytes.data());
  store_le(bytes, from.getWord0());
  store_le(bytes + 8, from.getWord1());
  store_le(bytes + 16, from.getWord2());
  store_le(bytes + 24, from.getWord3());
  return digest;
}

// Reads a list of structs with the overload of read() for its items.
template <class Item, class List>
std::vector<Item> read_all(List from, Fields& fields, const char* name, std::size_t most = SIZE_MAX) {
  std::vector<Item> items(fields.items(from.size(), most, name));
  for (std::size_t i = 0; i < items.size() && !fields.error(); ++i) {
    items[i] = read(from[static_cast<unsigned>(i)], fields);
  }
  return items;
}

std::vector<std::string> read_texts(capnp::List<capnp::Text>::Reader from, Fields& fields, const char* name,
                                    std::size_t most = SIZE_MAX) {
  std::vector<std::string> items(fields.items(from.size(), most, name));
  for (std::size_t i = 0; i < items.size() && !fields.error(); ++i) {
    items[i] = fields.text(from[static_cast<unsigned>(i)], name);
  }
  return items;
}

GemmDescriptor read(schema::GemmDescriptor::Reader from, Fields& f) {
  GemmDescriptor to;
  to.kind = f.choice(from.getKind(), GemmKind::indexed, GemmKind::dense, "kind");
  to.activation = f.dtype(from.getActivation(), "activation");
  to.weight = f.dtype(from.getWeight(), "weight");
  to.output = f.dtype(from.getOutput(), "output");
  to.weight_scale = f.choice(from.getWeightScale(), ScaleKind::block, ScaleKind::none, "weight_scale");
  to.weight_scale_type = f.dtype(from.getWeightScaleType(), "weight_scale_type");
  to.weight_global_scale = from.getWeightGlobalScale();
  to.group_k = from.getGroupK();
  to.group_n = from.getGroupN();
  to.zero_point = f.choice(from.getZeroPoint(), ZeroPointKind::floating, ZeroPointKind::none, "zero_point");
  to.activation_scale = f.choice(from.getActivationScale(), ScaleKind::block, ScaleKind::none, "activation_scale");
  to.activation_scale_type = f.dtype(from.getActivationScaleType(), "activation_scale_type");
  to.activation_group_k = from.getActivationGroupK();
  to.bias = from.getBias();
  to.epilogue = f.choice(from.getEpilogue(), Activation::gelu_mul, Activation::none, "epilogue");
  to.accumulation = f.choice(from.getAccumulation(), Accumulation::f32_promoted, Accumulation::f32, "accumulation");
  to.promotion_k = from.getPromotionK();
  to.determinism =
      f.choice(from.getDeterminism(), Determinism::batch_invariant, Determinism::run_to_run, "determinism");
  return to;
}

ToolchainChoice read(schema::ToolchainChoice::Reader from, Fields& f) {
  ToolchainChoice to;
  to.rule = f.choice(from.getRule(), ToolchainRule::max_cuda, ToolchainRule::any, "toolchain rule");
  to.max_cuda = from.getMaxCuda();
  to.id = f.text(from.getId(), "toolchain id");
  to.excluded = read_texts(from.getExcluded(), f, "toolchain excluded", limits::kMaxExcludedToolchains);
  return to;
}

KernelSpec read(schema::KernelSpec::Reader from, Fields& f) {
  KernelSpec to;
  to.descriptor = read(from.getDescriptor(), f);
  to.config = f.text(from.getConfig(), "config");
  return to;
}

LayerSpec read(schema::LayerSpec::Reader from, Fields& f) {
  LayerSpec to;
  to.n = from.getN();
  to.k = from.getK();
  to.max_m = from.getMaxM();
  to.descriptor = read(from.getDescriptor(), f);
  return to;
}

// ---- requests ----

KernelsRequest read_kernels(schema::KernelsRequest::Reader from, Fields& f) {
  KernelsRequest to;
  to.arch = f.arch(from.getArch());
  to.with_code = from.getWithCode();
  to.whole_catalogue = from.getWholeCatalogue();
  to.mode = f.choice(from.getMode(), RequestMode::prefetch, RequestMode::wait, "mode");
  to.priority = f.choice(from.getPriority(), Priority::prewarm, Priority::foreground, "priority");
  to.sm_count = from.getSmCount();
  to.deadline_ms = from.getDeadlineMs();
  to.launch_abi = {from.getLaunchAbi().getMin(), from.getLaunchAbi().getMax()};
  to.weight_layout = {from.getWeightLayout().getMin(), from.getWeightLayout().getMax()};
  to.toolchain = read(from.getToolchain(), f);
  to.layers = read_all<LayerSpec>(from.getLayers(), f, "layers", limits::kMaxLayersPerRequest);
  to.kernels = read_all<KernelSpec>(from.getKernels(), f, "kernels", limits::kMaxKernelsPerRequest);
  to.keys = read_all<KernelKey>(from.getKeys(), f, "keys", limits::kMaxKernelsPerRequest);
  to.held = read_all<KernelKey>(from.getHeld(), f, "held", limits::kMaxKernelsPerRequest);
  return to;
}

ExplainRequest read_explain(schema::ExplainRequest::Reader from, Fields& f) {
  ExplainRequest to;
  to.arch = f.arch(from.getArch());
  to.with_source = from.getWithSource();
  to.kernel = read(from.getKernel(), f);
  to.toolchain = read(from.getToolchain(), f);
  return to;
}

NearestRequest read_nearest(schema::NearestRequest::Reader from, Fields& f) {
  NearestRequest to;
  to.arch = f.arch(from.getArch());
  to.kernel = read(from.getKernel(), f);
  to.toolchain = read(from.getToolchain(), f);
  return to;
}

Request read_request(schema::Request::Reader from, Fields& f) {
  const auto with_id = [&](auto request) -> Request {
    request.id = from.getId();
    return request;
  };
  switch (from.which()) {
    case schema::Request::KERNELS: return with_id(read_kernels(from.getKernels(), f));
    case schema::Request::CANCEL: return with_id(CancelRequest{});
    case schema::Request::STATS: return with_id(StatsRequest{});
    case schema::Request::HEALTH: return with_id(HealthRequest{});
    case schema::Request::LIST: {
      const auto list = from.getList();
      return with_id(ListRequest{.limit = list.getLimit(), .after = read(list.getAfter(), f)});
    }
    case schema::Request::EXPLAIN: return with_id(read_explain(from.getExplain(), f));
    case schema::Request::VERIFY: return with_id(VerifyRequest{.key = read(from.getVerify().getKey(), f)});
    case schema::Request::PURGE: return with_id(PurgeRequest{.key = read(from.getPurge().getKey(), f)});
    case schema::Request::READY: {
      const auto ready = from.getReady();
      return with_id(
          ReadyRequest{.scope = f.choice(ready.getScope(), ReadyScope::user, ReadyScope::connection, "ready scope"),
                       .off = ready.getOff()});
    }
    case schema::Request::RELOAD: return with_id(ReloadRequest{});
    case schema::Request::TRACE: return with_id(TraceRequest{});
    case schema::Request::NEAREST: return with_id(read_nearest(from.getNearest(), f));
    case schema::Request::EXPORT:
      return with_id(ExportRequest{
          .keys = read_all<KernelKey>(from.getExport().getKeys(), f, "keys", limits::kMaxKernelsPerRequest)});
    case schema::Request::IMPORT: {
      const auto import = from.getImport();
      const auto data = import.getData();
      return with_id(ImportRequest{.last = import.getLast(),
                                   .data = to_bytes({reinterpret_cast<const char*>(data.begin()), data.size()})});
    }
  }
  f.refuse("request kind \"" + std::to_string(static_cast<unsigned>(from.which())) + "\" is not known here");
  return {};
}

// ---- replies ----

LaunchRow read(schema::LaunchRow::Reader from, Fields&) {
  return {from.getMFirst(), from.getMLast(), from.getKernel(), from.getSplits(), from.getKTilesPerSplit()};
}

KernelInfo read(schema::KernelInfo::Reader from, Fields& f) {
  KernelInfo to;
  to.arch = f.arch(from.getArch());
  to.launch_abi = from.getLaunchAbi();
  to.weight_layout = from.getWeightLayout();
  to.tile_m = from.getTileM();
  to.tile_n = from.getTileN();
  to.tile_k = from.getTileK();
  to.threads = from.getThreads();
  to.smem_bytes = from.getSmemBytes();
  to.static_smem_bytes = from.getStaticSmemBytes();
  to.registers = from.getRegisters();
  to.local_bytes = from.getLocalBytes();
  to.compile_ms = from.getCompileMs();
  to.compile_peak_bytes = from.getCompilePeakBytes();
  to.name = f.text(from.getName(), "name");
  to.entry = f.text(from.getEntry(), "entry");
  to.toolchain = f.text(from.getToolchain(), "toolchain");
  to.log = f.text(from.getLog(), "log");
  return to;
}

ErrorCode read_code(schema::ErrorCode code, Fields& f) {
  return f.choice(code, ErrorCode::pending, ErrorCode::internal, "code");
}

TableReply read_reply(schema::TableReply::Reader from, Fields& f) {
  TableReply to;
  to.layer = from.getLayer();
  to.rows = read_all<LaunchRow>(from.getRows(), f, "rows");
  to.kernels = read_all<KernelKey>(from.getKernels(), f, "kernels");
  return to;
}

KernelReply read_reply(schema::KernelReply::Reader from, Fields& f) {
  KernelReply to;
  to.code = read_code(from.getCode(), f);
  to.outcome = f.choice(from.getOutcome(), Outcome::joined, Outcome::none, "outcome");
  to.code_bytes = from.getCodeBytes();
  to.key = read(from.getKey(), f);
  to.cubin_digest = read(from.getCubinDigest(), f);
  to.info = read(from.getInfo(), f);
  to.message = f.text(from.getMessage(), "message");
  return to;
}

ProgressReply read_reply(schema::ProgressReply::Reader from, Fields&) {
  ProgressReply to;
  to.total = from.getTotal();
  to.ready = from.getReady();
  to.compiling = from.getCompiling();
  to.queued = from.getQueued();
  to.elapsed_ms = from.getElapsedMs();
  return to;
}

SummaryReply read_reply(schema::SummaryReply::Reader from, Fields&) {
  SummaryReply to;
  to.total = from.getTotal();
  to.hits_memory = from.getHitsMemory();
  to.hits_disk = from.getHitsDisk();
  to.built = from.getBuilt();
  to.joined = from.getJoined();
  to.pending = from.getPending();
  to.failed = from.getFailed();
  to.elapsed_ms = from.getElapsedMs();
  to.compile_ms = from.getCompileMs();
  return to;
}

ErrorReply read_reply(schema::ErrorReply::Reader from, Fields& f) {
  ErrorReply to;
  to.code = read_code(from.getCode(), f);
  to.message = f.text(from.getMessage(), "message");
  return to;
}

Counter read(schema::Counter::Reader from, Fields& f) {
  return {f.text(from.getName(), "name"), from.getValue()};
}

StatsReply read_reply(schema::StatsReply::Reader from, Fields& f) {
  StatsReply to;
  to.counters = read_all<Counter>(from.getCounters(), f, "counters");
  return to;
}

HealthReply read_reply(schema::HealthReply::Reader from, Fields& f) {
  HealthReply to;
  to.state = f.choice(from.getState(), HealthState::stopping, HealthState::degraded, "state");
  to.pid = from.getPid();
  to.uptime_ms = from.getUptimeMs();
  to.daemon = f.text(from.getDaemon(), "daemon");
  to.store = f.text(from.getStore(), "store");
  to.reasons = read_texts(from.getReasons(), f, "reasons");
  to.toolchains = read_texts(from.getToolchains(), f, "toolchains");
  return to;
}

RecordSummary read(schema::RecordSummary::Reader from, Fields& f) {
  RecordSummary to;
  to.arch = f.arch(from.getArch());
  to.cubin_bytes = from.getCubinBytes();
  to.created_ms = from.getCreatedMs();
  to.last_used_ms = from.getLastUsedMs();
  to.hits = from.getHits();
  to.compile_ms = from.getCompileMs();
  to.key = read(from.getKey(), f);
  to.name = f.text(from.getName(), "name");
  to.toolchain = f.text(from.getToolchain(), "toolchain");
  return to;
}

ListReply read_reply(schema::ListReply::Reader from, Fields& f) {
  ListReply to;
  to.records = read_all<RecordSummary>(from.getRecords(), f, "records");
  return to;
}

Ingredient read(schema::Ingredient::Reader from, Fields& f) {
  return {f.text(from.getName(), "name"), f.text(from.getValue(), "value")};
}

ExplainReply read_reply(schema::ExplainReply::Reader from, Fields& f) {
  ExplainReply to;
  to.key = read(from.getKey(), f);
  to.ingredients = read_all<Ingredient>(from.getIngredients(), f, "ingredients");
  to.source = f.text(from.getSource(), "source");
  return to;
}

VerifyReply read_reply(schema::VerifyReply::Reader from, Fields& f) {
  VerifyReply to;
  to.matches = from.getMatches();
  to.key = read(from.getKey(), f);
  to.name = f.text(from.getName(), "name");
  to.message = f.text(from.getMessage(), "message");
  return to;
}

PurgeReply read_reply(schema::PurgeReply::Reader from, Fields&) {
  PurgeReply to;
  to.records = from.getRecords();
  to.bytes = from.getBytes();
  return to;
}

DoneReply read_reply(schema::DoneReply::Reader from, Fields& f) {
  DoneReply to;
  to.message = f.text(from.getMessage(), "message");
  return to;
}

ChunkReply read_reply(schema::ChunkReply::Reader from, Fields&) {
  ChunkReply to;
  to.last = from.getLast();
  const auto data = from.getData();
  to.data = to_bytes({reinterpret_cast<const char*>(data.begin()), data.size()});
  return to;
}

Difference read(schema::Difference::Reader from, Fields& f) {
  return {f.text(from.getName(), "name"), f.text(from.getAsked(), "asked"), f.text(from.getStored(), "stored")};
}

NearestReply read_reply(schema::NearestReply::Reader from, Fields& f) {
  NearestReply to;
  to.key = read(from.getKey(), f);
  to.nearest = read(from.getNearest(), f);
  to.name = f.text(from.getName(), "name");
  to.differences = read_all<Difference>(from.getDifferences(), f, "differences");
  return to;
}

Reply read_reply_envelope(schema::Reply::Reader from, Fields& f) {
  const auto with_id = [&](auto reader) -> Reply {
    auto reply = read_reply(reader, f);
    reply.id = from.getId();
    return reply;
  };
  switch (from.which()) {
    case schema::Reply::TABLE: return with_id(from.getTable());
    case schema::Reply::KERNEL: return with_id(from.getKernel());
    case schema::Reply::PROGRESS: return with_id(from.getProgress());
    case schema::Reply::SUMMARY: return with_id(from.getSummary());
    case schema::Reply::ERROR: return with_id(from.getError());
    case schema::Reply::STATS: return with_id(from.getStats());
    case schema::Reply::HEALTH: return with_id(from.getHealth());
    case schema::Reply::LIST: return with_id(from.getList());
    case schema::Reply::EXPLAIN: return with_id(from.getExplain());
    case schema::Reply::VERIFY: return with_id(from.getVerify());
    case schema::Reply::PURGE: return with_id(from.getPurge());
    case schema::Reply::DONE: return with_id(from.getDone());
    case schema::Reply::CHUNK: return with_id(from.getChunk());
    case schema::Reply::NEAREST: return with_id(from.getNearest());
  }
  f.refuse("reply kind \"" + std::to_string(static_cast<unsigned>(from.which())) + "\" is not known here");
  return {};
}

// ---- from bytes ----

Error unparsable(std::string_view why) {
  return {ErrorCode::corruption, "message does not parse: " + std::string(why.substr(0, why.find('\n')))};
}

// Root is the message's struct in the schema; read_root(Root::Reader, Fields&) makes the value.
template <class Root, class Read>
auto parse(ByteView payload, std::size_t most, bool request, Read read_root)
    -> Result<decltype(read_root(std::declval<typename Root::Reader>(), std::declval<Fields&>()))> {
  if (payload.size() > most) {
    return Error{ErrorCode::invalid_argument,
                 "message of \"" + std::to_string(payload.size()) + "\" bytes is longer than " + std::to_string(most)};
  }
  if (payload.size() < kSegmentTableBytes + sizeof(capnp::word) || payload.size() % sizeof(capnp::word) != 0) {
    return unparsable("it is not a whole number of words, or empty");
  }
  const std::size_t words = payload.size() / sizeof(capnp::word) - 1;
  if (load_le<std::uint32_t>(payload.data()) != 0 || load_le<std::uint32_t>(payload.data() + 4) != words) {
    return unparsable("it is not exactly one segment");
  }
  const auto* begin = payload.data() + kSegmentTableBytes;
  std::vector<std::uint64_t> aligned;
  if (reinterpret_cast<std::uintptr_t>(begin) % alignof(capnp::word) != 0) {
    aligned.resize(words);
    std::memcpy(aligned.data(), begin, words * sizeof(capnp::word));
    begin = reinterpret_cast<const std::byte*>(aligned.data());
  }
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 2 * words + 64;  // every object is read once; sharing one many times gets no further
  options.nestingLimit = kNestingLimit;
  const kj::ArrayPtr<const capnp::word> segment(reinterpret_cast<const capnp::word*>(begin), words);
  try {
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(&segment, 1), options);
    Fields fields(request);
    auto value = read_root(reader.getRoot<Root>(), fields);
    if (fields.error()) return *fields.error();
    return value;
  } catch (const kj::Exception& exception) {
    const auto description = exception.getDescription();
    return unparsable({description.begin(), description.size()});
  }
}

}  // namespace

Result<ClientHello> decode_client_hello(ByteView payload) {
  return parse<schema::ClientHello>(payload, limits::kMaxRequestBytes, true,
                                    [](schema::ClientHello::Reader from, Fields& f) {
                                      ClientHello hello;
                                      hello.min_version = from.getMinVersion();
                                      hello.max_version = from.getMaxVersion();
                                      hello.client = f.text(from.getClient(), "client");
                                      return hello;
                                    });
}

Result<ServerHello> decode_server_hello(ByteView payload) {
  return parse<schema::ServerHello>(payload, limits::kMaxReplyBytes, false,
                                    [](schema::ServerHello::Reader from, Fields& f) {
                                      ServerHello hello;
                                      hello.version = from.getVersion();
                                      hello.min_version = from.getMinVersion();
                                      hello.max_version = from.getMaxVersion();
                                      hello.launch_abi = from.getLaunchAbi();
                                      hello.weight_layout = from.getWeightLayout();
                                      hello.daemon = f.text(from.getDaemon(), "daemon");
                                      return hello;
                                    });
}

Result<Request> decode_request(ByteView payload) {
  return parse<schema::Request>(payload, limits::kMaxRequestBytes, true, read_request);
}

Result<Reply> decode_reply(ByteView payload) {
  return parse<schema::Reply>(payload, limits::kMaxReplyBytes, false, read_reply_envelope);
}

Result<std::uint64_t> decode_request_id(ByteView payload) {
  return parse<schema::Request>(payload, limits::kMaxRequestBytes, true,
                                [](schema::Request::Reader from, Fields&) { return from.getId(); });
}

}  // namespace cubind::codec
