// How few kernels a whole model needs.
#include <algorithm>
#include <map>
#include <set>

#include "bench/service/example_model.hpp"
#include "bench/service/figures.hpp"

namespace cubind::bench {

namespace {

struct Catalogue {
  std::set<KernelKey> keys;
  std::size_t fewest_of_a_layer = SIZE_MAX;  // distinct kernels in one layer's table
};

Result<Catalogue> catalogue(Client& client, const std::vector<LayerSpec>& layers, std::uint32_t sm_count) {
  auto request = request_of(layers);
  request.sm_count = sm_count;
  request.whole_catalogue = true;
  request.with_code = false;
  Catalogue found;
  Status failed;
  KernelsCallbacks callbacks;
  callbacks.table = [&](const TableReply& table) {
    std::set<std::uint32_t> used;
    for (const auto& row : table.rows) used.insert(row.kernel);
    found.fewest_of_a_layer = std::min(found.fewest_of_a_layer, used.size());
  };
  callbacks.kernel = [&](const KernelReply& reply, const Bytes&) {
    if (reply.code != ErrorCode::ok) failed = Error{reply.code, reply.message};
    found.keys.insert(reply.key);
  };
  CUBIND_TRY([[maybe_unused]] const auto summary, client.kernels(request, callbacks));
  CUBIND_CHECK(failed);
  return found;
}

}  // namespace

Result<Figures> model_figures(DaemonUnderTest& daemon, const std::vector<LayerSpec>& layers) {
  constexpr std::uint32_t kFewSms = 16;
  CUBIND_TRY(const auto client, daemon.connect("bench"));
  CUBIND_TRY(const auto whole, catalogue(*client, layers, kSmCount));
  CUBIND_TRY(const auto small, catalogue(*client, layers, kFewSms));
  const bool same = whole.keys == small.keys;
  return Figures{
      {"model.distinct_keys", static_cast<double>(whole.keys.size()), Figure::Bound::at_most, 12,
       "max m " + std::to_string(kMaxM) + ", " + std::to_string(layers.size()) + " layers; " +
           (same ? "the same set for 16 and 132 SMs" : "not the same set for 16 and 132 SMs"),
       same && !whole.keys.empty()},
      {"model.m_buckets", static_cast<double>(whole.fewest_of_a_layer), Figure::Bound::at_least, 3,
       "the fewest distinct cubins in one layer's table, of all layers", !layers.empty()},
  };
}

}  // namespace cubind::bench
