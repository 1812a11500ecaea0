// export and import: stored kernels as one file, to be carried to other machines.
#include <algorithm>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/ed25519.hpp"
#include "client/cli/commands.hpp"
#include "client/cli/output.hpp"
#include "client/cli/output_file.hpp"

namespace cubind::cli {

namespace {

// As the file's format has it (docs/protocol.md): what is signed, and how the signature lies behind it.
constexpr std::size_t kSignedBytes = 48;
constexpr std::string_view kSignatureMagic = "CUBSIG01";
constexpr std::size_t kPieceBytes = 1 << 20;

Bytes signature_block(const Signature& signature) {
  Bytes block = to_bytes(kSignatureMagic);
  const auto append = [&block](const auto& bytes) {
    const auto view = std::as_bytes(std::span(bytes));
    block.insert(block.end(), view.begin(), view.end());
  };
  append(signature.key.bytes);
  append(signature.bytes);
  return block;
}

}  // namespace

Status run(const CommonOptions& common, const ExportOptions& options) {
  CUBIND_TRY(auto file, OutputFile::create(options.output));
  if (!options.sign.empty()) CUBIND_CHECK(sign_with(options.sign, {}));  // a key that is of no use stops everything
  CUBIND_TRY(const auto client, open_client(common));
  ExportRequest request;
  request.keys = options.keys;
  Bytes head;
  std::uint64_t bytes = 0;
  const auto piece = [&](ByteView data) -> Status {
    const auto missing = std::min(kSignedBytes - head.size(), data.size());
    head.insert(head.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(missing));
    bytes += data.size();
    return file.append(data);
  };
  CUBIND_CHECK(client->export_bundle(std::move(request), piece, deadline_of(common, std::chrono::hours(1))));
  if (!options.sign.empty()) {
    CUBIND_TRY(const auto signature, sign_with(options.sign, head));
    CUBIND_CHECK(file.append(signature_block(signature)));
  }
  CUBIND_CHECK(file.publish({}));
  if (common.json) return print_json({{"bytes", bytes}, {"signed", !options.sign.empty()}});
  return print_text(bytes_text(bytes) + (options.sign.empty() ? "\n" : ", signed\n"));
}

Status run(const CommonOptions& common, const ImportOptions& options) {
  std::ifstream file(options.file, std::ios::binary);
  if (!file) return Error{ErrorCode::not_found, "\"" + options.file + "\" cannot be read"};
  CUBIND_TRY(const auto client, open_client(common));
  for (;;) {
    ImportRequest request;
    request.data.resize(kPieceBytes);
    file.read(reinterpret_cast<char*>(request.data.data()), static_cast<std::streamsize>(kPieceBytes));
    request.data.resize(static_cast<std::size_t>(file.gcount()));
    if (file.bad()) return Error{ErrorCode::internal, "\"" + options.file + "\" cannot be read to its end"};
    request.last = file.eof();
    const bool last = request.last;
    CUBIND_TRY(const DoneReply done,
               client->import_bundle(std::move(request), deadline_of(common, std::chrono::minutes(10))));
    if (!last) continue;
    if (common.json) return print_json({{"message", done.message}});
    return print_text(printable(done.message) + "\n");
  }
}

}  // namespace cubind::cli
