#include "daemon/bundle_export.hpp"

#include <algorithm>
#include <utility>

#include "cache/bundle.hpp"
#include "protocol/limits.hpp"

namespace cubind {

namespace {

constexpr std::size_t kListed = 256, kGathered = 16;  // records a time

}  // namespace

BundleExport::BundleExport(ArtifactStore& store, Executor& executor, ReplySink& sink, ExportRequest request)
    : store_(store),
      executor_(executor),
      sink_(sink),
      request_(std::move(request)),
      self_(std::make_shared<BundleExport*>(this)) {
  plan_->keys = request_.keys;
  plan_->named = plan_->listed = !request_.keys.empty();
}

Status BundleExport::gather(ArtifactStore& store, Plan& plan) {
  const auto until = std::min(plan.gathered + kGathered, plan.keys.size());
  for (; plan.gathered < until; ++plan.gathered) {
    const auto& key = plan.keys[plan.gathered];
    CUBIND_TRY(const auto artifact, store.get(key, {}));
    CUBIND_TRY(auto ingredients, store.ingredients(key));
    if (!artifact || !ingredients) {
      if (!plan.named) continue;  // it went between listing and reading
      return Error{ErrorCode::not_found, "key \"" + key.hex() + "\" is in no record"};
    }
    plan.records.push_back({key,
                            artifact->cubin_digest,
                            static_cast<std::uint32_t>(artifact->cubin->size()),
                            0,
                            artifact->info,
                            *std::move(ingredients),
                            {}});
  }
  return {};
}

Result<BundleExport::Piece> BundleExport::next_piece(ArtifactStore& store, Plan& plan) {
  if (!plan.listed) {
    CUBIND_TRY(const auto page, store.list(plan.keys.empty() ? KernelKey{} : plan.keys.back(), kListed));
    for (const auto& record : page) plan.keys.push_back(record.key);
    plan.listed = page.size() < kListed;
    return Piece();
  }
  if (plan.gathered < plan.keys.size()) {
    CUBIND_CHECK(gather(store, plan));
    return Piece();
  }
  if (!std::exchange(plan.begun, true)) {
    plan.cubins = cubins_of(plan.records);
    CUBIND_TRY(auto head, begin_bundle(plan.records));
    return Piece{std::move(head)};
  }
  if (plan.next == plan.cubins.size()) return Piece{{}, true};
  const auto& record = plan.records[plan.cubins[plan.next++]];
  CUBIND_TRY(const auto artifact, store.get(record.key, {}));
  if (!artifact || artifact->cubin_digest != record.cubin_digest) {
    return Error{ErrorCode::unavailable, "key \"" + record.key.hex() + "\" was removed meanwhile: ask again"};
  }
  return Piece{Bytes(*artifact->cubin)};
}

void BundleExport::advance(SteadyTime) {
  while (!finished_ && sent_ < read_.size() && sink_.has_room()) {
    const auto size = std::min(limits::kMaxChunkBytes, read_.size() - sent_);
    const auto piece = ByteView(read_).subspan(sent_, size);
    sent_ += size;
    sink_.reply(Reply(ChunkReply{request_.id, false, Bytes(piece.begin(), piece.end())}));
  }
  if (!finished_ && !reading_ && sent_ == read_.size() && sink_.has_room()) read_on();
}

void BundleExport::read_on() {
  reading_ = true;
  executor_.on_disk_thread([weak = std::weak_ptr(self_), plan = plan_, &store = store_, &executor = executor_] {
    auto piece = std::make_shared<Result<Piece>>(next_piece(store, *plan));
    executor.on_loop([weak, piece] {
      if (const auto self = weak.lock(); self != nullptr) (*self)->on_read(std::move(*piece));
    });
  });
}

void BundleExport::on_read(Result<Piece> piece) {
  reading_ = false;
  if (finished_) return;
  if (!piece.ok()) return fail(piece.error());
  read_ = std::move(piece->bytes);
  sent_ = 0;
  if (!piece->last) return advance({});
  finished_ = true;
  sink_.reply(Reply(ChunkReply{request_.id, true, {}}));
}

void BundleExport::cancel(SteadyTime) {
  if (!finished_) fail({ErrorCode::cancelled, "the client withdrew"});
}

void BundleExport::fail(const Error& error) {
  finished_ = true;
  sink_.reply(Reply(ErrorReply{request_.id, error.code, error.message}));
}

}  // namespace cubind
