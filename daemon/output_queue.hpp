// What one connection has still to write, in order: frames, and cubins that are sent straight from the bytes that the
// memory store holds. Gathered into as few writes as can be.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sys/uio.h>

#include "base/bytes.hpp"

namespace cubind {

class OutputQueue {
 public:
  void push(Bytes frame, SharedBytes code) {
    bytes_ += frame.size() + (code != nullptr ? code->size() : 0);
    pieces_.push_back({std::move(frame), std::move(code)});
  }

  bool empty() const { return first_ == pieces_.size(); }
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
    for (auto i = first_; i < pieces_.size() && used != out.size(); ++i) {
      add(pieces_[i].frame);
      if (pieces_[i].code != nullptr) add(*pieces_[i].code);
    }
    return used;
  }

  void consume(std::size_t bytes) {
    bytes_ -= bytes;
    written_ += bytes;
    while (!empty() && written_ >= pieces_[first_].size()) {
      written_ -= pieces_[first_].size();
      pieces_[first_++] = {};
    }
    if (empty()) {
      pieces_.clear();
      first_ = 0;
      if (pieces_.capacity() > kKept) pieces_.shrink_to_fit();
    } else if (first_ > kKept && first_ > pieces_.size() / 2) {
      pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  struct Piece {
    Bytes frame;
    SharedBytes code;  // null: none
    std::size_t size() const { return frame.size() + (code != nullptr ? code->size() : 0); }
  };

  // A vector that is consumed from the front: an idle connection, of which there may be thousands, holds nothing for
  // it.
  static constexpr std::size_t kKept = 16;
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;    // those before it are written
  std::size_t bytes_ = 0;    // not yet written
  std::size_t written_ = 0;  // of the first piece
};

}  // namespace cubind
