// One function for each command: does it, prints its result, returns why it could not. What a command found out (a
// kernel that failed to compile, a record that differs) is printed as its result and also returned as an error.
#pragma once

#include "client/cli/options.hpp"
#include "client/client.hpp"

namespace cubind::cli {

Status run(const CommonOptions& common, const PrewarmOptions& options);
Status run(const CommonOptions& common, const GetOptions& options);
Status run(const CommonOptions& common, const ExplainOptions& options);
Status run(const CommonOptions& common, const CanOptions& options);
Status run(const CommonOptions& common, const TuneOptions& options);
Status run(const CommonOptions& common, const HealthOptions& options);
Status run(const CommonOptions& common, const StatsOptions& options);
Status run(const CommonOptions& common, const TopOptions& options);
Status run(const CommonOptions& common, const ReadyOptions& options);
Status run(const CommonOptions& common, const ReloadOptions& options);
Status run(const CommonOptions& common, const TraceOptions& options);
Status run(const CommonOptions& common, const ExportOptions& options);
Status run(const CommonOptions& common, const ImportOptions& options);
Status run(const CommonOptions& common, const ListOptions& options);
Status run(const CommonOptions& common, const VerifyOptions& options);
Status run(const CommonOptions& common, const PurgeOptions& options);

// Connected to the daemon that the options name.
Result<std::unique_ptr<Client>> open_client(const CommonOptions& common);

// The --deadline, else `otherwise`.
std::chrono::milliseconds deadline_of(const CommonOptions& common, std::chrono::seconds otherwise);

}  // namespace cubind::cli
