// A bounded map that forgets what was used least recently. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace cubind {

template <class Key, class Value, class Hash = std::hash<Key>>
class LruMap {
 public:
  explicit LruMap(std::size_t max_size) : max_size_(max_size) {}

  // Null if it is not there; otherwise valid until the next put or erase, and now the one used most recently.
  Value* get(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->second;
  }

  void put(const Key& key, Value value) {
    erase(key);
    order_.emplace_front(key, std::move(value));
    index_.emplace(key, order_.begin());
    if (order_.size() > max_size_) erase(Key(order_.back().first));
  }

  void erase(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    const auto entry = found->second;
    index_.erase(found);
    order_.erase(entry);
  }

  void clear() {
    index_.clear();
    order_.clear();
  }

  std::size_t size() const { return order_.size(); }

 private:
  using Order = std::list<std::pair<Key, Value>>;  // most recently used first

  std::size_t max_size_;
  Order order_;
  std::unordered_map<Key, typename Order::iterator, Hash> index_;
};

}  // namespace cubind
