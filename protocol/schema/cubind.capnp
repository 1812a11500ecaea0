# The encoding of cubind's wire, versions 1 and 2. docs/protocol.md tells the protocol around it (greeting, framing, order, limits);
# protocol/messages.hpp holds the same messages as C++ structs, with the meaning of each field, and the codec maps one to the other.
#
# A frame holds one message: one of the four root structs ClientHello, ServerHello, Request, Reply, in exactly one segment.
# Struct-only: there is no interface here, so nothing needs capnp-rpc.
#
# Rules that keep old and new programs talking:
#  1. Nothing is removed, renumbered or given another type. A field that is no longer used keeps its place and its name
#     with "unused" in front.
#  2. New fields go at the end, and their zero (0, false, empty, null) means what was done before they existed: a reader finds zero where
#     an older writer wrote nothing. So no field has a default other than zero.
#  3. A null pointer is the zero value. Writers write null for empty texts, empty lists and all-zero digests.
#  4. A new kind of request, or a new value of an enum, is sent only where the negotiated version has it. A request with an unknown
#     kind or value is refused with invalid_argument, naming the field; in a reply an unknown outcome is read as none, an unknown code as
#     internal, an unknown health as degraded.
#  5. ClientHello and ServerHello are the same in every version: they are read before one is agreed on.
#  6. Enums that have gaps in their numbers (DType) are plain integers; the numbers are those of protocol/dtype.hpp.
#  7. The bytes of version 1 are pinned by the transcripts in tests/golden/protocol/v1, which stay for ever.
@0xbade3546b07407d2;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("cubind::schema");

# ---- shared parts ----

# 32 bytes (SHA-256): byte i is bits 8 * (i % 8) and up of word i / 8. A struct and not Data, so that a list of them is one block.
struct Digest {
  word0 @0 :UInt64;
  word1 @1 :UInt64;
  word2 @2 :UInt64;
  word3 @3 :UInt64;
}

enum GemmKind { dense @0; groupedContiguous @1; groupedMasked @2; indexed @3; }
enum ScaleKind { none @0; tensor @1; channel @2; group @3; block @4; }
enum ZeroPointKind { none @0; integer @1; floating @2; }
enum Activation { none @0; relu @1; relu2 @2; silu @3; gelu @4; siluMul @5; geluMul @6; }
enum Accumulation { f32 @0; f16 @1; f32Promoted @2; }
enum Determinism { runToRun @0; smCount @1; batchInvariant @2; }

# What a kernel computes. Types are DType numbers.
struct GemmDescriptor {
  kind @0 :GemmKind;
  activation @1 :UInt8;            # DType of x
  weight @2 :UInt8;                # DType of w
  output @3 :UInt8;
  weightScale @4 :ScaleKind;
  weightScaleType @5 :UInt8;
  weightGlobalScale @6 :Bool;      # one more f32 factor
  groupK @7 :UInt32;               # k per weight scale (group, block), else 0
  groupN @8 :UInt32;               # n per weight scale (block), else 0
  zeroPoint @9 :ZeroPointKind;
  activationScale @10 :ScaleKind;
  activationScaleType @11 :UInt8;
  bias @12 :Bool;
  activationGroupK @13 :UInt32;    # k per activation scale (group), else 0
  epilogue @14 :Activation;
  accumulation @15 :Accumulation;
  promotionK @16 :UInt32;          # for f32Promoted, else 0
  determinism @17 :Determinism;
}

enum ToolchainRule { any @0; exact @1; maxCuda @2; }

# Which NVRTC may have made the kernel.
struct ToolchainChoice {
  rule @0 :ToolchainRule;
  maxCuda @1 :UInt32;              # for maxCuda: cuDriverGetVersion's number, e.g. 13000
  id @2 :Text;                     # for exact: a toolchain's id
  excluded @3 :List(Text);         # ids never to use
}

# One kernel of the catalogue.
struct KernelSpec {
  descriptor @0 :GemmDescriptor;
  config @1 :Text;                 # e.g. "m16n64k128s4w1x1x4"
}

# ---- greeting ----

struct ClientHello {
  minVersion @0 :UInt16;
  maxVersion @1 :UInt16;
  client @2 :Text;                 # program and version, for logs
}

struct ServerHello {
  version @0 :UInt16;              # the one used from here on; 0 = none in common, and the daemon closes
  minVersion @1 :UInt16;           # what the daemon speaks
  maxVersion @2 :UInt16;
  launchAbi @3 :UInt32;            # newest that the daemon makes
  weightLayout @4 :UInt32;
  daemon @5 :Text;
}

# ---- requests ----

struct Request {
  id @0 :UInt64;                   # the client's choice, unique among its requests in flight on the connection
  union {
    kernels @1 :KernelsRequest;
    cancel @2 :Void;               # `id` is that of the request to cancel
    stats @3 :Void;
    health @4 :Void;
    list @5 :ListRequest;
    explain @6 :ExplainRequest;
    verify @7 :VerifyRequest;
    purge @8 :PurgeRequest;
    # since version 2
    ready @9 :ReadyRequest;
    reload @10 :Void;
    trace @11 :Void;
    nearest @12 :NearestRequest;
    export @13 :ExportRequest;
    import @14 :ImportRequest;
  }
}

enum RequestMode { wait @0; hitOnly @1; prefetch @2; }
enum Priority { foreground @0; prewarm @1; }

struct LayerSpec {
  n @0 :UInt32;                    # output features
  k @1 :UInt32;                    # input features
  maxM @2 :UInt32;                 # every m from 1 to this
  descriptor @3 :GemmDescriptor;
}

struct KernelsRequest {
  arch :group {                    # sm_90a is {90, 'a'}
    number @0 :UInt16;
    suffix @1 :UInt8;              # 0, 'a' or 'f'
  }
  withCode @2 :Bool;
  wholeCatalogue @3 :Bool;
  mode @4 :RequestMode;
  priority @5 :Priority;
  smCount @6 :UInt32;
  deadlineMs @7 :UInt32;           # from receipt; 0 = none
  launchAbi :group {               # what the client understands, both ends included
    min @8 :UInt32;
    max @9 :UInt32;
  }
  weightLayout :group {
    min @10 :UInt32;
    max @11 :UInt32;
  }
  toolchain @12 :ToolchainChoice;
  layers @13 :List(LayerSpec);
  kernels @14 :List(KernelSpec);
  keys @15 :List(Digest);
  held @16 :List(Digest);
}

struct ListRequest {
  limit @0 :UInt32;                # 0 = as many as one reply holds
  after @1 :Digest;                # exclusive; null = from the start
}

struct ExplainRequest {
  arch :group {
    number @0 :UInt16;
    suffix @1 :UInt8;
  }
  withSource @2 :Bool;
  kernel @3 :KernelSpec;
  toolchain @4 :ToolchainChoice;
}

struct VerifyRequest {
  key @0 :Digest;                  # null = every record
}

struct PurgeRequest {
  key @0 :Digest;                  # null = everything
}

enum ReadyScope { connection @0; user @1; }

struct ReadyRequest {
  scope @0 :ReadyScope;
  off @1 :Bool;                    # takes it back
}

struct NearestRequest {
  arch :group {
    number @0 :UInt16;
    suffix @1 :UInt8;
  }
  kernel @2 :KernelSpec;
  toolchain @3 :ToolchainChoice;
}

struct ExportRequest {
  keys @0 :List(Digest);           # empty: every record
}

struct ImportRequest {
  last @0 :Bool;                   # the bundle is whole with this piece
  data @1 :Data;
}

# ---- replies ----

struct Reply {
  id @0 :UInt64;                   # that of the request
  union {
    table @1 :TableReply;
    kernel @2 :KernelReply;
    progress @3 :ProgressReply;
    summary @4 :SummaryReply;
    error @5 :ErrorReply;
    stats @6 :StatsReply;
    health @7 :HealthReply;
    list @8 :ListReply;
    explain @9 :ExplainReply;
    verify @10 :VerifyReply;
    purge @11 :PurgeReply;
    # since version 2
    done @12 :DoneReply;
    chunk @13 :ChunkReply;
    nearest @14 :NearestReply;
  }
}

enum ErrorCode {
  ok @0;
  invalidArgument @1;
  notSupported @2;
  notFound @3;
  corruption @4;
  compileFailed @5;
  resourceExhausted @6;
  timedOut @7;
  cancelled @8;
  unavailable @9;
  permissionDenied @10;
  internal @11;
  pending @12;
}

struct LaunchRow {
  mFirst @0 :UInt32;
  mLast @1 :UInt32;                # included
  kernel @2 :UInt32;               # index into TableReply.kernels
  splits @3 :UInt32;
  kTilesPerSplit @4 :UInt32;
}

struct TableReply {
  layer @0 :UInt32;                # index into KernelsRequest.layers
  rows @1 :List(LaunchRow);
  kernels @2 :List(Digest);
}

enum Outcome { none @0; hitMemory @1; hitDisk @2; built @3; joined @4; }

struct KernelInfo {
  arch :group {
    number @0 :UInt16;
    suffix @1 :UInt8;
  }
  launchAbi @2 :UInt32;
  weightLayout @3 :UInt32;
  tileM @4 :UInt32;
  tileN @5 :UInt32;
  tileK @6 :UInt32;
  threads @7 :UInt32;              # a block
  smemBytes @8 :UInt32;            # dynamic shared memory a block
  staticSmemBytes @9 :UInt32;
  registers @10 :UInt32;           # a thread
  localBytes @11 :UInt32;          # a thread
  compileMs @12 :Float64;
  compilePeakBytes @13 :UInt64;
  name @14 :Text;
  entry @15 :Text;
  toolchain @16 :Text;
  log @17 :Text;
}

# Followed on the stream, outside any frame, by codeBytes raw bytes: the cubin.
struct KernelReply {
  code @0 :ErrorCode;
  outcome @1 :Outcome;
  codeBytes @2 :UInt32;
  key @3 :Digest;
  cubinDigest @4 :Digest;          # SHA-256 of the cubin
  info @5 :KernelInfo;
  message @6 :Text;
}

struct ProgressReply {
  total @0 :UInt32;
  ready @1 :UInt32;
  compiling @2 :UInt32;
  queued @3 :UInt32;
  elapsedMs @4 :UInt32;
}

struct SummaryReply {
  total @0 :UInt32;
  hitsMemory @1 :UInt32;
  hitsDisk @2 :UInt32;
  built @3 :UInt32;
  joined @4 :UInt32;
  pending @5 :UInt32;
  failed @6 :UInt32;
  elapsedMs @7 :UInt32;
  compileMs @8 :Float64;           # sum over `built`
}

struct ErrorReply {
  code @0 :ErrorCode;
  message @1 :Text;
}

struct Counter {
  value @0 :Float64;
  name @1 :Text;
}

struct StatsReply {
  counters @0 :List(Counter);
}

enum HealthState { ok @0; degraded @1; stopping @2; }

struct HealthReply {
  state @0 :HealthState;
  pid @1 :UInt64;
  uptimeMs @2 :UInt64;
  daemon @3 :Text;
  store @4 :Text;
  reasons @5 :List(Text);
  toolchains @6 :List(Text);
}

struct RecordSummary {
  arch :group {
    number @0 :UInt16;
    suffix @1 :UInt8;
  }
  cubinBytes @2 :UInt64;
  createdMs @3 :UInt64;            # unix time
  lastUsedMs @4 :UInt64;
  hits @5 :UInt64;
  compileMs @6 :Float64;
  key @7 :Digest;
  name @8 :Text;
  toolchain @9 :Text;
}

struct ListReply {
  records @0 :List(RecordSummary);
}

struct Ingredient {
  name @0 :Text;
  value @1 :Text;
}

struct ExplainReply {
  key @0 :Digest;
  ingredients @1 :List(Ingredient);
  source @2 :Text;
}

struct VerifyReply {
  matches @0 :Bool;
  key @1 :Digest;
  name @2 :Text;
  message @3 :Text;
}

struct PurgeReply {
  records @0 :UInt64;
  bytes @1 :UInt64;
}

# ---- since version 2 ----

struct DoneReply {
  message @0 :Text;                # for people
}

struct ChunkReply {
  last @0 :Bool;                   # nothing follows
  data @1 :Data;
}

struct Difference {
  name @0 :Text;                   # of an ingredient
  asked @1 :Text;                  # null: there is none of that name
  stored @2 :Text;
}

struct NearestReply {
  key @0 :Digest;                  # of the kernel asked for
  nearest @1 :Digest;              # equal to key if it is stored; null if nothing is
  name @2 :Text;                   # of the nearest
  differences @3 :List(Difference);
}
