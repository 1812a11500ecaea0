// Every bound of the wire and of the service in one place, with its reason. Those marked (config) are defaults that the
// daemon's config file can change.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cubind::limits {

// Wire. A request of 10,000 layers fits in 4 MiB; a reply frame carries no cubin, so 256 KiB plus room is plenty.
inline constexpr std::size_t kMaxRequestBytes = 4 << 20;
inline constexpr std::size_t kMaxReplyBytes = 260 << 10;
inline constexpr std::size_t kMaxCubinBytes = 32 << 20;  // nothing we generate is near; refuses nonsense
inline constexpr std::size_t kMaxText = 4096;            // any one string of a request
inline constexpr std::size_t kMaxLayersPerRequest = 4096;
inline constexpr std::size_t kMaxKernelsPerRequest = 16384;  // after planning
inline constexpr std::size_t kMaxExcludedToolchains = 64;
inline constexpr std::size_t kMaxRecordsPerListReply = 256;  // about 80 KB
inline constexpr std::size_t kMaxRequestsInFlight = 64;      // of one connection
inline constexpr std::uint32_t kMaxM = 1u << 20;
inline constexpr std::uint32_t kMaxNK = 1u << 20;   // of one layer's n or k
inline constexpr std::uint32_t kMaxSmCount = 4096;  // the largest GPU has a few hundred

// Service.
inline constexpr std::size_t kMaxConnections = 4096;      // (config)
inline constexpr std::size_t kMaxQueuedCompiles = 16384;  // (config) the largest request fits; then resource_exhausted
inline constexpr std::size_t kMemoryStoreBytes = 256 << 20;   // (config)
inline constexpr std::uint64_t kDiskStoreBytes = 8ull << 30;  // (config) high watermark; eviction goes down to 90 %
inline constexpr std::size_t kMaxCompileLog = 16 << 10;
inline constexpr std::chrono::seconds kCompileCpuTime{120};  // (config) RLIMIT_CPU: a busy node uses up none of it
inline constexpr std::chrono::seconds kCompileTimeout{600};  // (config) by the clock, for one that hangs
inline constexpr std::uint64_t kCompileMemoryBytes = 4ull
                                                     << 30;  // (config) RLIMIT_AS of a compile; NVRTC maps about 0.5 GB
inline constexpr std::chrono::seconds kGreetingTimeout{5};   // a connection that says nothing is closed
inline constexpr std::chrono::seconds kWriteTimeout{30};     // a reader that takes nothing is dropped
inline constexpr std::chrono::milliseconds kProgressInterval{
    500};  // a waiting client hears from us at least every second
inline constexpr std::chrono::seconds kShutdownGrace{
    20};  // (config) running compiles are finished, queued ones refused
inline constexpr std::chrono::seconds kUsageFlush{30};
inline constexpr std::size_t kMaxQueuedReplyBytes = 4
                                                    << 20;  // of one connection; beyond it requests wait for the reader
inline constexpr std::size_t kMaxChunkBytes = 128 << 10;    // of one ChunkReply
inline constexpr std::uint64_t kMaxBundleBytes = 16ull
                                                 << 30;    // of one import; kept beside the store until it is checked
inline constexpr std::size_t kMaxTraceEntries = 1 << 16;   // about 6 MB; a fleet of models has some hundred
inline constexpr std::size_t kMaxReadsPerRequest = 64;     // disk look-ups of one request at a time
inline constexpr std::chrono::minutes kFailureMemory{10};  // a compile that the source made fail is tried again then
inline constexpr std::chrono::milliseconds kSlowCompile{2000};  // the log warns of longer ones
inline constexpr std::chrono::seconds kDrainFlush{2};           // at shutdown, for answers to reach their readers

// Model configs (client/model): the largest known is 73 KB, with 2,000 module names.
inline constexpr std::size_t kMaxModelConfigBytes = 4 << 20;
inline constexpr std::size_t kMaxModuleNames = 8192;
inline constexpr std::uint32_t kMaxTensorParallel = 1024;

}  // namespace cubind::limits
