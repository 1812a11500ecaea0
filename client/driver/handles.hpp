// Owners of the driver's objects. If you hold one, it is valid; what it needs is inside it; destructors cannot fail.
// After fork the driver is of no use in the child, so destructors there do nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.hpp"
#include "client/driver/driver_api.hpp"

namespace cubind::cuda {

// Makes a context current until the end of the scope.
class ContextScope {
 public:
  static Result<ContextScope> enter(const DriverApi& api, Context context);
  ContextScope(ContextScope&& other) noexcept : api_(std::exchange(other.api_, nullptr)) {}
  ContextScope& operator=(ContextScope&&) = delete;
  ~ContextScope();

 private:
  explicit ContextScope(const DriverApi* api) : api_(api) {}
  const DriverApi* api_;
};

// A device's primary context, retained.
class PrimaryContext {
 public:
  static Result<std::shared_ptr<const PrimaryContext>> retain(const DriverApi& api, Device device);
  PrimaryContext(const DriverApi& api, Device device, Context context);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  Context get() const { return context_; }

 private:
  const DriverApi& api_;
  Device device_;
  Context context_;
  std::uint32_t generation_;
};

// A loaded cubin, of no context yet: the driver loads it into each context when a function is asked for there.
class LibraryBox {
 public:
  static Result<std::shared_ptr<const LibraryBox>> load(const DriverApi& api, ByteView cubin, const char* entry);
  LibraryBox(const DriverApi& api, Library library, Kernel kernel);
  ~LibraryBox();
  LibraryBox(const LibraryBox&) = delete;
  LibraryBox& operator=(const LibraryBox&) = delete;

  Kernel kernel() const { return kernel_; }

 private:
  const DriverApi& api_;
  Library library_;
  Kernel kernel_;
  std::uint32_t generation_;
};

}  // namespace cubind::cuda
