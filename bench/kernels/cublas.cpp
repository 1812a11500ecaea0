#include "bench/kernels/cublas.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace cubind::bench {
namespace {

// Values of cublasOperation_t, cudaDataType_t, cublasComputeType_t and cublasGemmAlgo_t.
constexpr int kNotTransposed = 0, kTransposed = 1, kF16 = 2, kBf16 = 14, kComputeF32 = 68, kAnyAlgorithm = -1;

void* open_library() {
  std::vector<std::string> names;
  if (const char* named = std::getenv("CUBIND_CUBLAS"); named != nullptr) names.emplace_back(named);
  for (const char* file : {"libcublas.so.13", "libcublas.so.12"}) {
    names.emplace_back(file);
    for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda-13.0/lib64/"}) {
      names.push_back(std::string(folder) + file);
    }
  }
  for (const std::string& name : names) {
    if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  }
  return nullptr;
}

}  // namespace

struct Cublas::Functions {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, cuda::Stream stream);
  int (*gemm)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int type_a,
              int lda, const void* b, int type_b, int ldb, const void* beta, void* c, int type_c, int ldc, int compute,
              int algorithm);
};

std::unique_ptr<Cublas> Cublas::open() {
  void* library = open_library();
  if (library == nullptr) return nullptr;
  std::unique_ptr<Cublas> made(new Cublas);
  made->functions_ = std::make_unique<Functions>();
  Functions& functions = *made->functions_;
  functions.create = reinterpret_cast<decltype(functions.create)>(::dlsym(library, "cublasCreate_v2"));
  functions.destroy = reinterpret_cast<decltype(functions.destroy)>(::dlsym(library, "cublasDestroy_v2"));
  functions.set_stream = reinterpret_cast<decltype(functions.set_stream)>(::dlsym(library, "cublasSetStream_v2"));
  functions.gemm = reinterpret_cast<decltype(functions.gemm)>(::dlsym(library, "cublasGemmEx"));
  if (functions.create == nullptr || functions.destroy == nullptr || functions.set_stream == nullptr ||
      functions.gemm == nullptr || functions.create(&made->handle_) != 0) {
    return nullptr;
  }
  return made;
}

Cublas::~Cublas() {
  if (handle_ != nullptr) functions_->destroy(handle_);
}

bool Cublas::multiply(cuda::Stream stream, DType type, const void* x, std::uint32_t ldx, const void* w, void* out,
                      std::uint32_t m, std::uint32_t n, std::uint32_t k) const {
  // cuBLAS counts columns first: out^T [n, m] = w^T^T [n, k] * x^T [k, m].
  const float one = 1, zero = 0;
  const int number = type == DType::bf16 ? kBf16 : kF16;
  const auto i = [](std::uint32_t value) { return static_cast<int>(value); };
  return functions_->set_stream(handle_, stream) == 0 &&
         functions_->gemm(handle_, kTransposed, kNotTransposed, i(n), i(m), i(k), &one, w, number, i(k), x, number,
                          i(ldx), &zero, out, number, i(n), kComputeF32, kAnyAlgorithm) == 0;
}

}  // namespace cubind::bench
