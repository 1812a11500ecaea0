// Puts records and says so, to be killed at a fault point: store_child ROOT FIRST COUNT SIZE MAX_BYTES.
// One line a record that was acknowledged: "ok NUMBER". Neighbours (2n, 2n + 1) share their cubin.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cache/rocks_store.hpp"
#include "tests/support/test_artifacts.hpp"

int main(int argc, char** argv) {
  using namespace cubind;
  if (argc != 6) return 2;
  RocksStoreOptions options;
  options.root = argv[1];
  options.allow_any_filesystem = true;
  const auto first = std::strtoull(argv[2], nullptr, 10);
  const auto count = std::strtoull(argv[3], nullptr, 10);
  const auto size = std::strtoull(argv[4], nullptr, 10);
  options.max_bytes = std::strtoull(argv[5], nullptr, 10);
  auto store = RocksStore::open(options);
  if (!store) {
    std::fprintf(stderr, "%s\n", to_string(store.error()).c_str());
    return 3;
  }
  for (auto number = first; number < first + count; ++number) {
    const auto artifact = test_artifact(test_key(number), test_cubin(number / 2, size));
    if (const auto put = (*store)->put(artifact, test_ingredients(number)); !put) {
      std::fprintf(stderr, "%s\n", to_string(put.error()).c_str());
      return 4;
    }
    std::printf("ok %llu\n", number);
    std::fflush(stdout);
    static_cast<void>((*store)->get(artifact.key, {}));
    if (number % 4 == 3 && !(*store)->flush_usage()) return 5;
  }
  return 0;
}
