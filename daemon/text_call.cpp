#include "daemon/text_call.hpp"

#include "protocol/limits.hpp"

namespace cubind {

void TextCall::advance(SteadyTime) {
  while (!finished_ && sink_.has_room()) {
    const auto piece = std::string_view(text_).substr(sent_, limits::kMaxChunkBytes);
    sent_ += piece.size();
    finished_ = sent_ == text_.size();
    sink_.reply(Reply(ChunkReply{id_, finished_, to_bytes(piece)}));
  }
}

void TextCall::cancel(SteadyTime) {
  if (finished_) return;
  finished_ = true;
  sink_.reply(Reply(ErrorReply{id_, ErrorCode::cancelled, "the client withdrew"}));
}

}  // namespace cubind
