// The messages of the wire as plain structs: the model that daemon, client and CLI work with. Two encoders produce the
// same bytes: protocol/codec (Cap'n Proto; daemon) and client/wire (its own bounded reader and writer; client library
// and CLI). docs/protocol.md and protocol/schema/cubind.capnp describe the encoding. Every request carries an id chosen
// by the client, unique among its requests in flight on that connection; every reply repeats it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/result.hpp"
#include "protocol/arch.hpp"
#include "protocol/artifact.hpp"
#include "protocol/gemm_descriptor.hpp"
#include "protocol/kernel_abi.hpp"

namespace cubind {

inline constexpr std::uint16_t kProtocolMin = 1;
inline constexpr std::uint16_t kProtocolMax = 2;

// ---- greeting: the client speaks first, the daemon answers, then requests may be pipelined
// --------------------------------

struct ClientHello {
  std::uint16_t min_version = kProtocolMin;
  std::uint16_t max_version = kProtocolMax;
  std::string client;  // "libcubind 0.1.0", for logs
  bool operator==(const ClientHello&) const = default;
};

struct ServerHello {
  std::uint16_t version = 0;  // the highest common one; 0 = none, and the daemon closes
  std::uint16_t min_version = kProtocolMin;
  std::uint16_t max_version = kProtocolMax;
  std::string daemon;               // "cubind 0.1.0 (commit)"
  std::uint32_t launch_abi = 0;     // newest the daemon makes
  std::uint32_t weight_layout = 0;  // newest the daemon makes
  bool operator==(const ServerHello&) const = default;
};

// ---- requests
// -------------------------------------------------------------------------------------------------------------

enum class RequestMode : std::uint8_t {
  wait = 0,      // answer each kernel when it is ready or the deadline has passed (then `pending`)
  hit_only = 1,  // answer at once; a miss is `pending` and its compile is queued
  prefetch = 2,  // queue what is missing at prewarm priority; answer when queued (`pending`), with no code
};
enum class Priority : std::uint8_t { foreground = 0, prewarm = 1 };

enum class ToolchainRule : std::uint8_t { any = 0, exact = 1, max_cuda = 2 };
struct ToolchainChoice {
  ToolchainRule rule = ToolchainRule::any;
  std::string id;                     // for exact: Toolchain::id
  std::uint32_t max_cuda = 0;         // for max_cuda: cuDriverGetVersion's number, e.g. 13000
  std::vector<std::string> excluded;  // Toolchain::ids whose cubins the client's driver refused
  bool operator==(const ToolchainChoice&) const = default;
};

struct VersionRange {
  std::uint32_t min = 0, max = 0;
  bool operator==(const VersionRange&) const = default;
};

// What clients of this version can launch, and how they pack: all there has been so far.
inline constexpr VersionRange kLaunchAbis{kPlainLaunchAbi, kLaunchAbi};
inline constexpr VersionRange kWeightLayouts{1, kWeightLayout};

// One GEMM layer: every m from 1 to max_m.
struct LayerSpec {
  GemmDescriptor descriptor;
  std::uint32_t n = 0;  // output features
  std::uint32_t k = 0;  // input features
  std::uint32_t max_m = 0;
  bool operator==(const LayerSpec&) const = default;
};

// One kernel of the catalogue: `config` is GemmConfig's name, e.g. "m16n64k128s4w1x1x4".
struct KernelSpec {
  GemmDescriptor descriptor;
  std::string config;
  bool operator==(const KernelSpec&) const = default;
};

// Everything that ends in cubins. Answered by one TableReply for each layer (first), one KernelReply for each distinct
// kernel as it is ready, ProgressReply at least every second while waiting, and a SummaryReply at the end; or by an
// ErrorReply alone if the request as a whole is refused (then nothing was started).
struct KernelsRequest {
  std::uint64_t id = 0;
  Arch arch;
  std::uint32_t sm_count = 0;  // of the device that will run them; plans depend on it, keys do not
  RequestMode mode = RequestMode::wait;
  Priority priority = Priority::foreground;
  std::uint32_t deadline_ms = 0;  // from receipt; 0 = none
  ToolchainChoice toolchain;
  VersionRange launch_abi;  // what the client understands
  VersionRange weight_layout;
  bool with_code = true;         // false: KernelReply without cubin bytes (prewarm)
  bool whole_catalogue = false;  // true: all kernels that any n, k and sm_count could use up to max_m (prewarm)
  std::vector<LayerSpec> layers;
  std::vector<KernelSpec> kernels;  // beside or instead of layers
  std::vector<KernelKey> keys;      // by key: stored ones only, a miss is not_found
  std::vector<KernelKey> held;      // the client has these already: answered without code
  bool operator==(const KernelsRequest&) const = default;
};

struct CancelRequest {   // no answer of its own: the cancelled request ends with a SummaryReply, its open kernels
                         // `cancelled`
  std::uint64_t id = 0;  // of the request to cancel
  bool operator==(const CancelRequest&) const = default;
};
struct StatsRequest {
  std::uint64_t id = 0;
  bool operator==(const StatsRequest&) const = default;
};
struct HealthRequest {
  std::uint64_t id = 0;
  bool operator==(const HealthRequest&) const = default;
};
struct ListRequest {  // records on disk and in memory, ordered by key; page by `after`
  std::uint64_t id = 0;
  std::uint32_t limit = 0;  // at most 256 a reply; 0 = 256
  KernelKey after;          // exclusive; zero = from the start
  bool operator==(const ListRequest&) const = default;
};
struct ExplainRequest {
  std::uint64_t id = 0;
  KernelSpec kernel;
  Arch arch;
  ToolchainChoice toolchain;
  bool with_source = false;
  bool operator==(const ExplainRequest&) const = default;
};
struct VerifyRequest {  // admin: recompile and compare digests; `key` zero = not used, then all records
  std::uint64_t id = 0;
  KernelKey key;
  bool operator==(const VerifyRequest&) const = default;
};
struct PurgeRequest {  // admin: `key` zero = everything
  std::uint64_t id = 0;
  KernelKey key;
  bool operator==(const PurgeRequest&) const = default;
};

// Since version 2 of the protocol; sent only where it was agreed on (first_version_of in protocol/greeting.hpp).

// Who asks has warmed up: a compile that a request of theirs for live traffic needs from here on is an alarm.
enum class ReadyScope : std::uint8_t {
  connection = 0,  // this connection; its client says it again when it has to reconnect
  user = 1,        // all connections of this uid, present and future, until the daemon ends
};
struct ReadyRequest {
  std::uint64_t id = 0;
  ReadyScope scope = ReadyScope::connection;
  bool off = false;  // takes it back
  bool operator==(const ReadyRequest&) const = default;
};
struct ReloadRequest {  // admin: read the config file again
  std::uint64_t id = 0;
  bool operator==(const ReloadRequest&) const = default;
};
struct TraceRequest {  // what was asked for since the daemon started, as protocol/trace.hpp writes it
  std::uint64_t id = 0;
  bool operator==(const TraceRequest&) const = default;
};
struct NearestRequest {  // the stored kernel whose key has the most ingredients in common with this one's
  std::uint64_t id = 0;
  KernelSpec kernel;
  Arch arch;
  ToolchainChoice toolchain;
  bool operator==(const NearestRequest&) const = default;
};
struct ExportRequest {  // a bundle of stored kernels (cache/bundle.hpp)
  std::uint64_t id = 0;
  std::vector<KernelKey> keys;  // empty: all
  bool operator==(const ExportRequest&) const = default;
};
struct ImportRequest {  // admin: the next piece of a bundle; with the last one it is checked whole, then stored
  std::uint64_t id = 0;
  bool last = false;
  Bytes data;
  bool operator==(const ImportRequest&) const = default;
};

using Request =
    std::variant<KernelsRequest, CancelRequest, StatsRequest, HealthRequest, ListRequest, ExplainRequest, VerifyRequest,
                 PurgeRequest, ReadyRequest, ReloadRequest, TraceRequest, NearestRequest, ExportRequest, ImportRequest>;

// ---- replies
// --------------------------------------------------------------------------------------------------------------

// Rows cover [1, max_m] without gaps or overlap, ascending.
struct LaunchRow {
  std::uint32_t m_first = 0, m_last = 0;
  std::uint32_t kernel = 0;  // index into TableReply::kernels
  std::uint32_t splits = 1;
  std::uint32_t k_tiles_per_split = 0;
  bool operator==(const LaunchRow&) const = default;
};
struct TableReply {
  std::uint64_t id = 0;
  std::uint32_t layer = 0;  // index into KernelsRequest::layers
  std::vector<LaunchRow> rows;
  std::vector<KernelKey> kernels;
  bool operator==(const TableReply&) const = default;
};

enum class Outcome : std::uint8_t {
  none = 0,
  hit_memory = 1,
  hit_disk = 2,
  built = 3,   // this request started the compile
  joined = 4,  // another request's compile was awaited
};
struct KernelReply {
  std::uint64_t id = 0;
  KernelKey key;
  ErrorCode code = ErrorCode::ok;  // ok, pending, cancelled, or why there is no kernel
  std::string message;             // for codes other than ok
  Outcome outcome = Outcome::none;
  KernelInfo info;               // if ok; `log` is sent only if the compile failed
  Digest cubin_digest;           // if ok
  std::uint32_t code_bytes = 0;  // raw cubin bytes that follow this frame; 0 if none were asked for or it is held
  bool operator==(const KernelReply&) const = default;
};
struct ProgressReply {
  std::uint64_t id = 0;
  std::uint32_t total = 0, ready = 0, compiling = 0, queued = 0;  // kernels of this request
  std::uint32_t elapsed_ms = 0;
  bool operator==(const ProgressReply&) const = default;
};
struct SummaryReply {
  std::uint64_t id = 0;
  std::uint32_t total = 0, hits_memory = 0, hits_disk = 0, built = 0, joined = 0, pending = 0, failed = 0;
  std::uint32_t elapsed_ms = 0;
  double compile_ms = 0;  // sum over `built`
  bool operator==(const SummaryReply&) const = default;
};
struct ErrorReply {  // ends the request
  std::uint64_t id = 0;
  ErrorCode code = ErrorCode::internal;
  std::string message;
  bool operator==(const ErrorReply&) const = default;
};

struct Counter {
  std::string name;  // stable, documented in docs/operations.md
  double value = 0;
  bool operator==(const Counter&) const = default;
};
struct StatsReply {
  std::uint64_t id = 0;
  std::vector<Counter> counters;
  bool operator==(const StatsReply&) const = default;
};
enum class HealthState : std::uint8_t { ok = 0, degraded = 1, stopping = 2 };
struct HealthReply {
  std::uint64_t id = 0;
  HealthState state = HealthState::ok;
  std::vector<std::string> reasons;  // why it is not ok
  std::string daemon;
  std::uint64_t pid = 0;
  std::uint64_t uptime_ms = 0;
  std::vector<std::string> toolchains;  // ids, newest first
  std::string store;                    // the store's folder
  bool operator==(const HealthReply&) const = default;
};
struct RecordSummary {
  KernelKey key;
  std::string name;
  Arch arch;
  std::string toolchain;
  std::uint64_t cubin_bytes = 0;
  std::uint64_t created_ms = 0, last_used_ms = 0;  // unix time
  std::uint64_t hits = 0;
  double compile_ms = 0;
  bool operator==(const RecordSummary&) const = default;
};
struct ListReply {  // the last page has fewer records than asked for
  std::uint64_t id = 0;
  std::vector<RecordSummary> records;
  bool operator==(const ListReply&) const = default;
};
struct ExplainReply {
  std::uint64_t id = 0;
  KernelKey key;
  std::vector<Ingredient> ingredients;
  std::string source;  // the generated translation unit, if asked for
  bool operator==(const ExplainReply&) const = default;
};
struct VerifyReply {  // one for each record, then a SummaryReply (ready in total, failed = mismatches)
  std::uint64_t id = 0;
  KernelKey key;
  std::string name;
  bool matches = false;
  std::string message;  // why not
  bool operator==(const VerifyReply&) const = default;
};
struct PurgeReply {
  std::uint64_t id = 0;
  std::uint64_t records = 0, bytes = 0;
  bool operator==(const PurgeReply&) const = default;
};

// Since version 2.
struct DoneReply {  // to ready, reload and import
  std::uint64_t id = 0;
  std::string message;  // for people
  bool operator==(const DoneReply&) const = default;
};
struct ChunkReply {  // to trace and export: what was asked for in pieces
  std::uint64_t id = 0;
  bool last = false;  // nothing follows
  Bytes data;
  bool operator==(const ChunkReply&) const = default;
};
struct Difference {
  std::string name, asked, stored;  // of an ingredient; empty where one side has none of that name
  bool operator==(const Difference&) const = default;
};
struct NearestReply {
  std::uint64_t id = 0;
  KernelKey key;      // of the kernel asked for
  KernelKey nearest;  // equal to `key` if it is stored; zero if nothing is
  std::string name;   // of the nearest
  std::vector<Difference> differences;
  bool operator==(const NearestReply&) const = default;
};

using Reply = std::variant<TableReply, KernelReply, ProgressReply, SummaryReply, ErrorReply, StatsReply, HealthReply,
                           ListReply, ExplainReply, VerifyReply, PurgeReply, DoneReply, ChunkReply, NearestReply>;

}  // namespace cubind
