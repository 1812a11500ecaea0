// What opening the store's database costs without us: the same column families, one record and its cubin read, done.
//   cubind-bench-bare-rocks FOLDER [KEY]     FOLDER is <root>/v1 of a stopped daemon; KEY 64 hexadecimal digits, else
//   the first
// Prints {"open_ms": ..., "read_ms": ..., "cubin_bytes": ...}. start.open_ratio compares the time from its exec to this
// line with the daemon's from exec to the first hit.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>

namespace {

// Where a version 1 record has its cubin's digest: after its header of 12 bytes and the kernel key (cache/record.hpp).
constexpr std::size_t kDigestOffset = 12 + 32;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

int fail(const rocksdb::Status& status) {
  std::fprintf(stderr, "cubind-bench-bare-rocks: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: cubind-bench-bare-rocks FOLDER [KEY]\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  rocksdb::ColumnFamilyOptions options;
  options.disable_auto_compactions = true;  // it only looks
  std::vector<rocksdb::ColumnFamilyDescriptor> columns;
  for (const auto* name : {"default", "kernels", "blobs", "usage", "failures", "tuning", "trace"}) {
    columns.emplace_back(name, options);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  auto status = rocksdb::DB::Open(rocksdb::DBOptions(), argv[1], columns, &handles, &opened);
  if (!status.ok()) return fail(status);
  const std::unique_ptr<rocksdb::DB> db(opened);
  const double open_ms = ms_since(start);

  std::string record, cubin;
  if (argc > 2) {
    status = db->Get(rocksdb::ReadOptions(), handles[1], from_hex(argv[2]), &record);
    if (!status.ok()) return fail(status);
  } else {
    const std::unique_ptr<rocksdb::Iterator> first(db->NewIterator(rocksdb::ReadOptions(), handles[1]));
    first->SeekToFirst();
    if (!first->Valid()) return fail(rocksdb::Status::NotFound("no record"));
    record = first->value().ToString();
  }
  if (record.size() < kDigestOffset + 32) return fail(rocksdb::Status::Corruption("short record"));
  status = db->Get(rocksdb::ReadOptions(), handles[2], record.substr(kDigestOffset, 32), &cubin);
  if (!status.ok()) return fail(status);
  std::printf("{\"open_ms\": %.3f, \"read_ms\": %.3f, \"cubin_bytes\": %zu}\n", open_ms, ms_since(start) - open_ms,
              cubin.size());
  std::fflush(stdout);  // closing is not part of it
  for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
  return 0;
}
