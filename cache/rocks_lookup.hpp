// One look-up in an open database, checked: record, key fields, cubin's digest. Included by rocks_*.cpp only.
#pragma once

#include <optional>
#include <vector>

#include "cache/record.hpp"
#include "cache/rocks_database.hpp"
#include "protocol/artifact.hpp"

namespace cubind {

struct RocksLookup {
  enum class Outcome { hit, miss, bad_record, bad_blob, trouble } outcome;
  std::optional<Artifact> artifact;  // hit
  std::optional<Record> record;      // hit, bad_blob, and bad_record if it decodes
};

// `ingredients` may be empty: then they are not compared.
RocksLookup look_up(Database& database, const KernelKey& key, const std::vector<Ingredient>& ingredients);

}  // namespace cubind
