#include "codegen/nvrtc/nvrtc_program.hpp"

namespace cubind {

namespace {
Error refused(const NvrtcApi& api, const char* function, NvrtcApi::Code code) {
  return classify_nvrtc(code, std::string(function) + ": " + api.error_string(code), {});
}
}  // namespace

Result<NvrtcProgram> NvrtcProgram::create(const NvrtcApi& api, const std::string& name, const std::string& source,
                                          const std::vector<std::pair<std::string, std::string>>& headers) {
  std::vector<const char*> names, texts;
  for (const auto& [header, text] : headers) {
    names.push_back(header.c_str());
    texts.push_back(text.c_str());
  }
  NvrtcApi::Program program = nullptr;
  const auto code = api.create_program(&program, source.c_str(), name.c_str(), static_cast<int>(headers.size()),
                                       texts.data(), names.data());
  if (code != 0) return refused(api, "nvrtcCreateProgram", code);
  return NvrtcProgram(api, program);
}

NvrtcProgram::NvrtcProgram(NvrtcProgram&& other) noexcept
    : api_(other.api_), program_(std::exchange(other.program_, nullptr)) {}

NvrtcProgram::~NvrtcProgram() {
  if (program_ != nullptr) api_->destroy_program(&program_);
}

Status NvrtcProgram::compile(const std::vector<std::string>& options) {
  std::vector<const char*> list;
  for (const auto& option : options) list.push_back(option.c_str());
  const auto code = api_->compile_program(program_, static_cast<int>(list.size()), list.data());
  if (code != 0) return classify_nvrtc(code, api_->error_string(code), log());
  return {};
}

std::string NvrtcProgram::log() const {
  std::size_t size = 0;
  if (api_->log_size(program_, &size) != 0 || size <= 1) return {};
  std::string text(size, '\0');
  if (api_->log(program_, text.data()) != 0) return {};
  text.resize(size - 1);  // the size counts the NUL
  return text;
}

Result<Bytes> NvrtcProgram::cubin() const {
  std::size_t size = 0;
  if (const auto code = api_->cubin_size(program_, &size); code != 0) return refused(*api_, "nvrtcGetCUBINSize", code);
  Bytes bytes(size);
  if (const auto code = api_->cubin(program_, reinterpret_cast<char*>(bytes.data())); code != 0) {
    return refused(*api_, "nvrtcGetCUBIN", code);
  }
  return bytes;
}

}  // namespace cubind
