// What one connection has still to write, in order: frames, and cubins that are sent straight from the bytes that the
// memory store holds. Gathered into as few writes as can be.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>

#include <sys/uio.h>

#include "base/bytes.hpp"

namespace cubind {

class OutputQueue {
 public:
  void push(Bytes frame, SharedBytes code) {
    bytes_ += frame.size() + (code != nullptr ? code->size() : 0);
    pieces_.push_back({std::move(frame), std::move(code)});
  }

  bool empty() const { return pieces_.empty(); }
  std::size_t bytes() const { return bytes_; }

  // Fills `out` with what comes next and returns how many entries it used. Valid until the next push or consume.
  std::size_t gather(std::span<iovec> out) const {
    std::size_t used = 0, skip = written_;
    const auto add = [&](const Bytes& bytes) {
      if (skip >= bytes.size()) {
        skip -= bytes.size();
      } else if (used < out.size()) {
        out[used++] = {const_cast<std::byte*>(bytes.data()) + skip, bytes.size() - skip};
        skip = 0;
      }
    };
    for (const auto& piece : pieces_) {
      if (used == out.size()) break;
      add(piece.frame);
      if (piece.code != nullptr) add(*piece.code);
    }
    return used;
  }

  void consume(std::size_t bytes) {
    bytes_ -= bytes;
    written_ += bytes;
    while (!pieces_.empty() && written_ >= pieces_.front().size()) {
      written_ -= pieces_.front().size();
      pieces_.pop_front();
    }
  }

 private:
  struct Piece {
    Bytes frame;
    SharedBytes code;  // null: none
    std::size_t size() const { return frame.size() + (code != nullptr ? code->size() : 0); }
  };

  std::deque<Piece> pieces_;
  std::size_t bytes_ = 0;    // not yet written
  std::size_t written_ = 0;  // of the first piece
};

}  // namespace cubind
