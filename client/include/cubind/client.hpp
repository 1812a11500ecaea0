// C++ over cubind.h: the same calls with owned handles and results. Header-only, C++17, no exceptions thrown. Read
// cubind.h first: lifetimes, threads and fork are as it says.
//
//   namespace cb = cubind::api;
//   auto client = cb::Client::open();
//   auto layers = client->prepare({cb::layer(cb::gemm("w4a16-bf16-g128").value(), 6144, 4096, 8192)});
//   auto loaded = (*layers)[0].load(CUBIND_CURRENT_CONTEXT);
//   cubind_launch_args args = cb::sized<cubind_launch_args>();
//   ...
//   if (cb::Error error = loaded->launch(args)) fail(error.message());
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cubind/cubind.h"

namespace cubind::api {

// A zeroed struct of cubind.h with struct_size set.
template <class T>
T sized() {
  T value{};
  value.struct_size = static_cast<std::uint32_t>(sizeof(T));
  return value;
}

// True if something failed.
class [[nodiscard]] Error {
 public:
  Error() = default;
  explicit Error(const cubind_error& raw) : raw_(raw) {}

  explicit operator bool() const { return raw_.code != CUBIND_OK; }
  cubind_status code() const { return raw_.code; }
  int cuda_result() const { return raw_.cuda_result; }
  std::string message() const { return std::string(cubind_status_name(raw_.code)) + ": " + raw_.message; }

 private:
  cubind_error raw_ = sized<cubind_error>();
};

// A value or an error. Dereferencing one without a value is undefined, as for std::optional.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(error) {}         // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return value_.has_value(); }
  T& value() & { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  T* operator->() { return &*value_; }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

// Owns a handle of cubind.h; move-only.
template <class Raw, void (*close)(Raw*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Raw* raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      close(raw_);
      raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
  }
  ~Handle() { close(raw_); }

  Raw* get() const { return raw_; }

 private:
  Raw* raw_ = nullptr;
};

inline Result<cubind_gemm> gemm(const std::string& name) {
  auto out = sized<cubind_gemm>();
  auto error = sized<cubind_error>();
  if (cubind_gemm_from_name(name.c_str(), &out, &error) != CUBIND_OK) return Error(error);
  return out;
}

struct LayerDesc {
  cubind_gemm gemm;
  std::uint32_t n, k, max_m;
};
inline LayerDesc layer(const cubind_gemm& gemm, std::uint32_t n, std::uint32_t k, std::uint32_t max_m) {
  return {gemm, n, k, max_m};
}

class LoadedLayer {
 public:
  explicit LoadedLayer(cubind_loaded_layer* raw) : handle_(raw) {}

  Error launch(const cubind_launch_args& args) const {
    // The error is only looked at after a failure, so the hot path does not clear its message.
    cubind_error error;
    error.struct_size = static_cast<std::uint32_t>(sizeof error);
    if (cubind_layer_launch(handle_.get(), &args, &error) == CUBIND_OK) return Error();
    return Error(error);
  }
  cubind_loaded_layer* get() const { return handle_.get(); }

 private:
  Handle<cubind_loaded_layer, cubind_loaded_layer_close> handle_;
};

class Layer {
 public:
  explicit Layer(cubind_layer* raw) : handle_(raw) {}

  std::size_t workspace_bytes(std::uint32_t m = 0) const { return cubind_layer_workspace_bytes(handle_.get(), m); }

  std::vector<cubind_launch_row> rows() const {
    std::vector<cubind_launch_row> rows(cubind_layer_row_count(handle_.get()), sized<cubind_launch_row>());
    for (std::size_t i = 0; i < rows.size(); ++i) cubind_layer_row(handle_.get(), i, &rows[i], nullptr);
    return rows;
  }
  std::vector<cubind_kernel_info> kernels() const {
    std::vector<cubind_kernel_info> infos(cubind_layer_kernel_count(handle_.get()), sized<cubind_kernel_info>());
    for (std::size_t i = 0; i < infos.size(); ++i) cubind_layer_kernel(handle_.get(), i, &infos[i], nullptr);
    return infos;
  }

  // `device`: an ordinal or CUBIND_CURRENT_CONTEXT.
  Result<LoadedLayer> load(std::int32_t device) const {
    cubind_loaded_layer* out = nullptr;
    auto error = sized<cubind_error>();
    if (cubind_layer_load(handle_.get(), device, &out, &error) != CUBIND_OK) return Error(error);
    return LoadedLayer(out);
  }
  cubind_layer* get() const { return handle_.get(); }

 private:
  Handle<cubind_layer, cubind_layer_close> handle_;
};

class Client {
 public:
  explicit Client(cubind_client* raw) : handle_(raw) {}

  static Result<Client> open(const cubind_client_options& options = sized<cubind_client_options>()) {
    cubind_client* out = nullptr;
    auto error = sized<cubind_error>();
    if (cubind_client_open(&options, &out, &error) != CUBIND_OK) return Error(error);
    return Client(out);
  }

  // One request for all of them; the results are in the same order.
  Result<std::vector<Layer>> prepare(const std::vector<LayerDesc>& layers,
                                     const cubind_prepare_options& options = sized<cubind_prepare_options>()) const {
    const auto descs = raw_descs(layers);
    std::vector<cubind_layer*> out(layers.size(), nullptr);
    auto error = sized<cubind_error>();
    if (cubind_layers_prepare(handle_.get(), descs.data(), descs.size(), &options, out.data(), &error) != CUBIND_OK) {
      return Error(error);
    }
    std::vector<Layer> owned;
    owned.reserve(out.size());
    for (cubind_layer* raw : out) owned.emplace_back(raw);
    return owned;
  }

  Result<cubind_prewarm_summary> prewarm(
      const std::vector<LayerDesc>& layers,
      const cubind_prepare_options& options = sized<cubind_prepare_options>()) const {
    const auto descs = raw_descs(layers);
    auto out = sized<cubind_prewarm_summary>();
    auto error = sized<cubind_error>();
    if (cubind_prewarm(handle_.get(), descs.data(), descs.size(), &options, &out, &error) != CUBIND_OK) {
      return Error(error);
    }
    return out;
  }

  // Error() if all is well: this process has warmed up, a compile that it needs from here on is an alarm.
  Error ready(bool value = true) const {
    auto error = sized<cubind_error>();
    if (cubind_client_ready(handle_.get(), value ? 1 : 0, &error) != CUBIND_OK) return Error(error);
    return Error();
  }

  Result<cubind_health> health() const {
    auto out = sized<cubind_health>();
    auto error = sized<cubind_error>();
    if (cubind_client_health(handle_.get(), &out, &error) != CUBIND_OK) return Error(error);
    return out;
  }

  Result<std::vector<std::pair<std::string, double>>> stats() const {
    std::vector<std::pair<std::string, double>> counters;
    const auto add = [](void* context, const char* name, double value) {
      static_cast<decltype(counters)*>(context)->emplace_back(name, value);
    };
    auto error = sized<cubind_error>();
    if (cubind_client_stats(handle_.get(), add, &counters, &error) != CUBIND_OK) return Error(error);
    return counters;
  }

  cubind_client* get() const { return handle_.get(); }

 private:
  static std::vector<cubind_layer_desc> raw_descs(const std::vector<LayerDesc>& layers) {
    std::vector<cubind_layer_desc> descs;
    descs.reserve(layers.size());
    for (const LayerDesc& layer : layers) {
      auto desc = sized<cubind_layer_desc>();
      desc.n = layer.n;
      desc.k = layer.k;
      desc.max_m = layer.max_m;
      desc.gemm = &layer.gemm;
      descs.push_back(desc);
    }
    return descs;
  }

  Handle<cubind_client, cubind_client_close> handle_;
};

inline Error workspace_init(void* workspace, std::size_t bytes, cubind_stream stream) {
  auto error = sized<cubind_error>();
  if (cubind_workspace_init(workspace, bytes, stream, &error) == CUBIND_OK) return Error();
  return Error(error);
}

}  // namespace cubind::api
