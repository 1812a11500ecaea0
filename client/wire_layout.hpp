// Where each field of each message lies: the layout that the schema compiler gives protocol/schema/cubind.capnp. One
// description for both directions: Io is StructWriter (Of<T> const) or StructReader. Pointers are visited in their
// order, which is the order of the objects in the message. Offsets are bytes into the struct's data; those of flags are
// bits.
#pragma once

#include <concepts>
#include <type_traits>

#include "client/wire_reader.hpp"
#include "client/wire_writer.hpp"
#include "protocol/limits.hpp"
#include "protocol/messages.hpp"

namespace cubind::wire {

template <class Const, class T>
concept Of = std::same_as<std::remove_const_t<Const>, T>;

// Words of data, pointers. Requests without a body have neither, and no pointer leads to them.
template <>
inline constexpr Shape kShape<CancelRequest>{0, 0};
template <>
inline constexpr Shape kShape<StatsRequest>{0, 0};
template <>
inline constexpr Shape kShape<HealthRequest>{0, 0};
template <>
inline constexpr Shape kShape<GemmDescriptor>{5, 0};
template <>
inline constexpr Shape kShape<ToolchainChoice>{1, 2};
template <>
inline constexpr Shape kShape<KernelSpec>{0, 2};
template <>
inline constexpr Shape kShape<ClientHello>{1, 1};
template <>
inline constexpr Shape kShape<ServerHello>{2, 1};
template <>
inline constexpr Shape kShape<Request>{2, 1};
template <>
inline constexpr Shape kShape<LayerSpec>{2, 1};
template <>
inline constexpr Shape kShape<KernelsRequest>{4, 5};
template <>
inline constexpr Shape kShape<ListRequest>{1, 1};
template <>
inline constexpr Shape kShape<ExplainRequest>{1, 2};
template <>
inline constexpr Shape kShape<VerifyRequest>{0, 1};
template <>
inline constexpr Shape kShape<PurgeRequest>{0, 1};
template <>
inline constexpr Shape kShape<ReadyRequest>{1, 0};
template <>
inline constexpr Shape kShape<ReloadRequest>{0, 0};
template <>
inline constexpr Shape kShape<TraceRequest>{0, 0};
template <>
inline constexpr Shape kShape<NearestRequest>{1, 2};
template <>
inline constexpr Shape kShape<ExportRequest>{0, 1};
template <>
inline constexpr Shape kShape<ImportRequest>{1, 1};
template <>
inline constexpr Shape kShape<Reply>{2, 1};
template <>
inline constexpr Shape kShape<LaunchRow>{3, 0};
template <>
inline constexpr Shape kShape<TableReply>{1, 2};
template <>
inline constexpr Shape kShape<KernelInfo>{8, 4};
template <>
inline constexpr Shape kShape<KernelReply>{1, 4};
template <>
inline constexpr Shape kShape<ProgressReply>{3, 0};
template <>
inline constexpr Shape kShape<SummaryReply>{5, 0};
template <>
inline constexpr Shape kShape<ErrorReply>{1, 1};
template <>
inline constexpr Shape kShape<Counter>{1, 1};
template <>
inline constexpr Shape kShape<StatsReply>{0, 1};
template <>
inline constexpr Shape kShape<HealthReply>{3, 4};
template <>
inline constexpr Shape kShape<RecordSummary>{6, 3};
template <>
inline constexpr Shape kShape<ListReply>{0, 1};
template <>
inline constexpr Shape kShape<Ingredient>{0, 2};
template <>
inline constexpr Shape kShape<ExplainReply>{0, 3};
template <>
inline constexpr Shape kShape<VerifyReply>{1, 3};
template <>
inline constexpr Shape kShape<PurgeReply>{2, 0};
template <>
inline constexpr Shape kShape<DoneReply>{0, 1};
template <>
inline constexpr Shape kShape<ChunkReply>{1, 1};
template <>
inline constexpr Shape kShape<Difference>{0, 3};
template <>
inline constexpr Shape kShape<NearestReply>{0, 4};

// ---- shared parts ----

template <class Io, Of<GemmDescriptor> M>
void fields(Io& io, M& m) {
  io.choice(0, m.kind, GemmKind::indexed, GemmKind::dense, "kind");
  io.dtype(2, m.activation, "activation");
  io.dtype(3, m.weight, "weight");
  io.dtype(4, m.output, "output");
  io.choice(6, m.weight_scale, ScaleKind::block, ScaleKind::none, "weight_scale");
  io.dtype(5, m.weight_scale_type, "weight_scale_type");
  io.flag(64, m.weight_global_scale);
  io.number(12, m.group_k);
  io.number(16, m.group_n);
  io.choice(10, m.zero_point, ZeroPointKind::floating, ZeroPointKind::none, "zero_point");
  io.choice(20, m.activation_scale, ScaleKind::block, ScaleKind::none, "activation_scale");
  io.dtype(9, m.activation_scale_type, "activation_scale_type");
  io.flag(65, m.bias);
  io.number(24, m.activation_group_k);
  io.choice(22, m.epilogue, Activation::gelu_mul, Activation::none, "epilogue");
  io.choice(28, m.accumulation, Accumulation::f32_promoted, Accumulation::f32, "accumulation");
  io.number(32, m.promotion_k);
  io.choice(30, m.determinism, Determinism::batch_invariant, Determinism::run_to_run, "determinism");
}

template <class Io, Of<ToolchainChoice> M>
void fields(Io& io, M& m) {
  io.choice(0, m.rule, ToolchainRule::max_cuda, ToolchainRule::any, "toolchain rule");
  io.number(4, m.max_cuda);
  io.text(0, m.id, "toolchain id");
  io.texts(1, m.excluded, "toolchain excluded", limits::kMaxExcludedToolchains);
}

template <class Io, Of<KernelSpec> M>
void fields(Io& io, M& m) {
  io.part(0, m.descriptor);
  io.text(1, m.config, "config");
}

// ---- greeting ----

template <class Io, Of<ClientHello> M>
void fields(Io& io, M& m) {
  io.number(0, m.min_version);
  io.number(2, m.max_version);
  io.text(0, m.client, "client");
}

template <class Io, Of<ServerHello> M>
void fields(Io& io, M& m) {
  io.number(0, m.version);
  io.number(2, m.min_version);
  io.number(4, m.max_version);
  io.number(8, m.launch_abi);
  io.number(12, m.weight_layout);
  io.text(0, m.daemon, "daemon");
}

// ---- requests: the bodies; the id is in the envelope ----

template <class Io, Of<LayerSpec> M>
void fields(Io& io, M& m) {
  io.number(0, m.n);
  io.number(4, m.k);
  io.number(8, m.max_m);
  io.part(0, m.descriptor);
}

template <class Io, Of<KernelsRequest> M>
void fields(Io& io, M& m) {
  io.arch(0, m.arch);
  io.flag(24, m.with_code);
  io.flag(25, m.whole_catalogue);
  io.choice(4, m.mode, RequestMode::prefetch, RequestMode::wait, "mode");
  io.choice(6, m.priority, Priority::prewarm, Priority::foreground, "priority");
  io.number(8, m.sm_count);
  io.number(12, m.deadline_ms);
  io.number(16, m.launch_abi.min);
  io.number(20, m.launch_abi.max);
  io.number(24, m.weight_layout.min);
  io.number(28, m.weight_layout.max);
  io.part(0, m.toolchain);
  io.list(1, m.layers, "layers", limits::kMaxLayersPerRequest);
  io.list(2, m.kernels, "kernels", limits::kMaxKernelsPerRequest);
  io.digests(3, m.keys, "keys", limits::kMaxKernelsPerRequest);
  io.digests(4, m.held, "held", limits::kMaxKernelsPerRequest);
}

template <class Io, Of<ListRequest> M>
void fields(Io& io, M& m) {
  io.number(0, m.limit);
  io.digest(0, m.after);
}

template <class Io, Of<ExplainRequest> M>
void fields(Io& io, M& m) {
  io.arch(0, m.arch);
  io.flag(24, m.with_source);
  io.part(0, m.kernel);
  io.part(1, m.toolchain);
}

template <class Io, Of<VerifyRequest> M>
void fields(Io& io, M& m) {
  io.digest(0, m.key);
}

template <class Io, Of<PurgeRequest> M>
void fields(Io& io, M& m) {
  io.digest(0, m.key);
}

template <class Io, Of<ReadyRequest> M>
void fields(Io& io, M& m) {
  io.choice(0, m.scope, ReadyScope::user, ReadyScope::connection, "ready scope");
  io.flag(16, m.off);
}

template <class Io, Of<NearestRequest> M>
void fields(Io& io, M& m) {
  io.arch(0, m.arch);
  io.part(0, m.kernel);
  io.part(1, m.toolchain);
}

template <class Io, Of<ExportRequest> M>
void fields(Io& io, M& m) {
  io.digests(0, m.keys, "keys", limits::kMaxKernelsPerRequest);
}

template <class Io, Of<ImportRequest> M>
void fields(Io& io, M& m) {
  io.flag(0, m.last);
  io.blob(0, m.data);
}

// ---- replies ----

template <class Io, Of<LaunchRow> M>
void fields(Io& io, M& m) {
  io.number(0, m.m_first);
  io.number(4, m.m_last);
  io.number(8, m.kernel);
  io.number(12, m.splits);
  io.number(16, m.k_tiles_per_split);
}

template <class Io, Of<TableReply> M>
void fields(Io& io, M& m) {
  io.number(0, m.layer);
  io.list(0, m.rows, "rows");
  io.digests(1, m.kernels, "kernels");
}

template <class Io, Of<KernelInfo> M>
void fields(Io& io, M& m) {
  io.arch(0, m.arch);
  io.number(4, m.launch_abi);
  io.number(8, m.weight_layout);
  io.number(12, m.tile_m);
  io.number(16, m.tile_n);
  io.number(20, m.tile_k);
  io.number(24, m.threads);
  io.number(28, m.smem_bytes);
  io.number(32, m.static_smem_bytes);
  io.number(36, m.registers);
  io.number(40, m.local_bytes);
  io.number(48, m.compile_ms);
  io.number(56, m.compile_peak_bytes);
  io.text(0, m.name, "name");
  io.text(1, m.entry, "entry");
  io.text(2, m.toolchain, "toolchain");
  io.text(3, m.log, "log");
}

template <class Io, Of<KernelReply> M>
void fields(Io& io, M& m) {
  io.choice(0, m.code, ErrorCode::pending, ErrorCode::internal, "code");
  io.choice(2, m.outcome, Outcome::joined, Outcome::none, "outcome");
  io.number(4, m.code_bytes);
  io.digest(0, m.key);
  io.digest(1, m.cubin_digest);
  io.part(2, m.info);
  io.text(3, m.message, "message");
}

template <class Io, Of<ProgressReply> M>
void fields(Io& io, M& m) {
  io.number(0, m.total);
  io.number(4, m.ready);
  io.number(8, m.compiling);
  io.number(12, m.queued);
  io.number(16, m.elapsed_ms);
}

template <class Io, Of<SummaryReply> M>
void fields(Io& io, M& m) {
  io.number(0, m.total);
  io.number(4, m.hits_memory);
  io.number(8, m.hits_disk);
  io.number(12, m.built);
  io.number(16, m.joined);
  io.number(20, m.pending);
  io.number(24, m.failed);
  io.number(28, m.elapsed_ms);
  io.number(32, m.compile_ms);
}

template <class Io, Of<ErrorReply> M>
void fields(Io& io, M& m) {
  io.choice(0, m.code, ErrorCode::pending, ErrorCode::internal, "code");
  io.text(0, m.message, "message");
}

template <class Io, Of<Counter> M>
void fields(Io& io, M& m) {
  io.number(0, m.value);
  io.text(0, m.name, "name");
}

template <class Io, Of<StatsReply> M>
void fields(Io& io, M& m) {
  io.list(0, m.counters, "counters");
}

template <class Io, Of<HealthReply> M>
void fields(Io& io, M& m) {
  io.choice(0, m.state, HealthState::stopping, HealthState::degraded, "state");
  io.number(8, m.pid);
  io.number(16, m.uptime_ms);
  io.text(0, m.daemon, "daemon");
  io.text(1, m.store, "store");
  io.texts(2, m.reasons, "reasons");
  io.texts(3, m.toolchains, "toolchains");
}

template <class Io, Of<RecordSummary> M>
void fields(Io& io, M& m) {
  io.arch(0, m.arch);
  io.number(8, m.cubin_bytes);
  io.number(16, m.created_ms);
  io.number(24, m.last_used_ms);
  io.number(32, m.hits);
  io.number(40, m.compile_ms);
  io.digest(0, m.key);
  io.text(1, m.name, "name");
  io.text(2, m.toolchain, "toolchain");
}

template <class Io, Of<ListReply> M>
void fields(Io& io, M& m) {
  io.list(0, m.records, "records");
}

template <class Io, Of<Ingredient> M>
void fields(Io& io, M& m) {
  io.text(0, m.name, "name");
  io.text(1, m.value, "value");
}

template <class Io, Of<ExplainReply> M>
void fields(Io& io, M& m) {
  io.digest(0, m.key);
  io.list(1, m.ingredients, "ingredients");
  io.text(2, m.source, "source");
}

template <class Io, Of<VerifyReply> M>
void fields(Io& io, M& m) {
  io.flag(0, m.matches);
  io.digest(0, m.key);
  io.text(1, m.name, "name");
  io.text(2, m.message, "message");
}

template <class Io, Of<PurgeReply> M>
void fields(Io& io, M& m) {
  io.number(0, m.records);
  io.number(8, m.bytes);
}

template <class Io, Of<DoneReply> M>
void fields(Io& io, M& m) {
  io.text(0, m.message, "message");
}

template <class Io, Of<ChunkReply> M>
void fields(Io& io, M& m) {
  io.flag(0, m.last);
  io.blob(0, m.data);
}

template <class Io, Of<Difference> M>
void fields(Io& io, M& m) {
  io.text(0, m.name, "name");
  io.text(1, m.asked, "asked");
  io.text(2, m.stored, "stored");
}

template <class Io, Of<NearestReply> M>
void fields(Io& io, M& m) {
  io.digest(0, m.key);
  io.digest(1, m.nearest);
  io.text(2, m.name, "name");
  io.list(3, m.differences, "differences");
}

}  // namespace cubind::wire
