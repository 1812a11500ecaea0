#include "client/cli/options.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "client/cli/values.hpp"
#include "cubind_version.hpp"
#include "protocol/limits.hpp"

namespace cubind::cli {

namespace {

constexpr const char* kFooter =
    "\nExit codes: 0 ok, 1 invalid argument, 2 not supported, 3 not found, 4 corruption, 5 compile failed,\n"
    "6 resource exhausted, 7 timed out, 8 cancelled, 9 unavailable, 10 permission denied, 11 internal error,\n"
    "12 pending (the deadline passed; the work goes on). An error is one line on standard error.\n";

// Arguments as they came; CLI11 only collects them, values.hpp says what is wrong with one.
struct Raw {
  std::string socket, deadline, config_file, arch, tp = "1", max_m, dtype, priority = "prewarm";
  std::string sign, bundle, from_trace, interval, views, toolchain, max_cuda, format, config, key, output, n, k,
      sm_count, device = "0";
  std::string shapes =
      "6144x4096,4096x4096,28672x4096,4096x14336,10240x8192,8192x8192,57344x8192,8192x28672,2048x2048,640x2048";
  std::string tokens = "1,2,4,8,16,32,48,64,96,128,192,256,384,512,1024,2048,4096,8192";
  bool json = false, dry_run = false, no_wait = false, hit_only = false, source = false, all = false, alive = false,
       off = false, nearest = false;
};

Error wrong(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

Status read_number(const char* argument, const std::string& text, std::uint32_t most, std::uint32_t& out) {
  if (text.empty()) return {};
  CUBIND_TRY(out, number_value(argument, text, 1, most));
  return {};
}

Status read_key(const Raw& raw, KernelKey& out) {
  if (raw.key.empty()) return {};
  CUBIND_TRY(out, key_value("--key", raw.key));
  return {};
}

Result<ToolchainChoice> toolchain_of(const Raw& raw) {
  ToolchainChoice choice;
  if (!raw.toolchain.empty() && !raw.max_cuda.empty()) {
    return wrong("--max-cuda \"" + raw.max_cuda + "\" cannot be given together with --toolchain");
  }
  if (raw.toolchain.size() > limits::kMaxText) {
    return wrong("--toolchain is longer than " + std::to_string(limits::kMaxText) + " characters");
  }
  if (!raw.toolchain.empty()) {
    choice.rule = ToolchainRule::exact;
    choice.id = raw.toolchain;
  } else if (!raw.max_cuda.empty()) {
    choice.rule = ToolchainRule::max_cuda;
    CUBIND_TRY(choice.max_cuda, number_value("--max-cuda", raw.max_cuda, 11000, 99990));
  }
  return choice;
}

Result<CommandOptions> prewarm_of(const Raw& raw) {
  PrewarmOptions out;
  out.config = raw.config_file;
  out.trace = raw.from_trace;
  if (raw.from_trace.empty()) {
    if (raw.config_file.empty()) return wrong("CONFIG is missing: name a model's config.json, or a --from-trace");
    if (raw.arch.empty()) return wrong("--arch is missing");
    CUBIND_TRY(out.archs, arch_list("--arch", raw.arch));
  } else {
    const std::string tp = raw.tp == "1" ? "" : raw.tp;
    for (const auto& [name, value] : {std::pair{"CONFIG", &raw.config_file},
                                      {"--arch", &raw.arch},
                                      {"--tp", &tp},
                                      {"--max-m", &raw.max_m},
                                      {"--dtype", &raw.dtype},
                                      {"--toolchain", &raw.toolchain},
                                      {"--max-cuda", &raw.max_cuda}}) {
      if (!value->empty()) {
        return wrong(std::string(name) + " \"" + *value + "\" cannot be given together with --from-trace");
      }
    }
  }
  CUBIND_TRY(out.tp, number_value("--tp", raw.tp, 1, limits::kMaxTensorParallel));
  CUBIND_CHECK(read_number("--max-m", raw.max_m, limits::kMaxM, out.max_m));
  out.dtype = raw.dtype;
  out.dry_run = raw.dry_run;
  out.wait = !raw.no_wait;
  if (raw.priority != "prewarm" && raw.priority != "foreground") {
    return wrong("--priority \"" + raw.priority + "\" is neither prewarm nor foreground");
  }
  out.priority = raw.priority == "prewarm" ? Priority::prewarm : Priority::foreground;
  CUBIND_TRY(out.toolchain, toolchain_of(raw));
  return CommandOptions{std::move(out)};
}

Result<KernelChoice> kernel_of(const Raw& raw, bool by_key) {
  KernelChoice out;
  if (by_key && !raw.key.empty()) {
    for (const auto& [name, value] : {std::pair{"FORMAT", &raw.format},
                                      {"--config", &raw.config},
                                      {"--arch", &raw.arch},
                                      {"--toolchain", &raw.toolchain},
                                      {"--max-cuda", &raw.max_cuda}}) {
      if (!value->empty()) return wrong(std::string(name) + " \"" + *value + "\" cannot be given together with --key");
    }
    CUBIND_CHECK(read_key(raw, out.key));
    return out;
  }
  if (raw.format.empty()) return wrong(by_key ? "FORMAT is missing: name one, or a --key" : "FORMAT is missing");
  if (raw.arch.empty()) return wrong("--arch is missing");
  CUBIND_TRY(out.arch, arch_value("--arch", raw.arch));
  CUBIND_TRY(out.spec, kernel_value(raw.format, raw.config, out.arch));
  CUBIND_TRY(out.toolchain, toolchain_of(raw));
  return out;
}

Result<CommandOptions> get_of(const Raw& raw) {
  GetOptions out;
  CUBIND_TRY(out.kernel, kernel_of(raw, true));
  out.output = raw.output;
  out.hit_only = raw.hit_only;
  if (raw.output == "-" && raw.json) return wrong("-o \"-\" cannot be given together with --json: both write there");
  return CommandOptions{std::move(out)};
}

Result<CommandOptions> explain_of(const Raw& raw) {
  ExplainOptions out;
  CUBIND_TRY(out.kernel, kernel_of(raw, false));
  out.source = raw.source;
  out.nearest = raw.nearest;
  if (raw.source && raw.nearest) return wrong("--source cannot be given together with --nearest");
  return CommandOptions{std::move(out)};
}

Result<CommandOptions> can_of(const Raw& raw) {
  CanOptions out;
  out.format = raw.format;
  // Not arch_value(): whether there is code for the architecture is the question.
  auto arch = arch_from_string(raw.arch);
  if (!arch.ok()) return wrong("--arch: " + arch.error().message);
  out.arch = *arch;
  if (raw.n.empty() != raw.k.empty()) {
    return wrong(raw.n.empty() ? "--k \"" + raw.k + "\" needs --n beside it"
                               : "--n \"" + raw.n + "\" needs --k beside it");
  }
  CUBIND_CHECK(read_number("--n", raw.n, limits::kMaxNK, out.n));
  CUBIND_CHECK(read_number("--k", raw.k, limits::kMaxNK, out.k));
  CUBIND_CHECK(read_number("--max-m", raw.max_m, limits::kMaxM, out.max_m));
  CUBIND_CHECK(read_number("--sm-count", raw.sm_count, limits::kMaxSmCount, out.sm_count));
  return CommandOptions{std::move(out)};
}

Result<CommandOptions> tune_of(const Raw& raw) {
  TuneOptions out;
  CUBIND_TRY(out.formats, format_list(raw.format));
  CUBIND_TRY(out.shapes, shape_list("--shapes", raw.shapes));
  CUBIND_TRY(out.tokens, number_list("--tokens", raw.tokens, 1, limits::kMaxM));
  std::sort(out.tokens.begin(), out.tokens.end());
  CUBIND_TRY(out.device, number_value("--device", raw.device, 0, 1023));
  out.output = raw.output;
  return CommandOptions{std::move(out)};
}

Result<CommandOptions> top_of(const Raw& raw) {
  TopOptions out;
  CUBIND_CHECK(read_number("--interval", raw.interval, 3600, out.interval_s));
  CUBIND_CHECK(read_number("--count", raw.views, 1'000'000, out.count));
  return CommandOptions{out};
}

Result<CommandOptions> trace_of(const Raw& raw) {
  TraceOptions out;
  if (!raw.output.empty()) out.output = raw.output;
  return CommandOptions{std::move(out)};
}

Result<CommandOptions> export_of(const Raw& raw) {
  ExportOptions out;
  if (raw.output.empty()) return wrong("-o is missing: name the file");
  out.output = raw.output;
  out.sign = raw.sign;
  KernelKey key;
  CUBIND_CHECK(read_key(raw, key));
  if (!key.is_zero()) out.keys.push_back(key);
  return CommandOptions{std::move(out)};
}

Result<CommandOptions> verify_of(const Raw& raw) {
  VerifyOptions out;
  CUBIND_CHECK(read_key(raw, out.key));
  return CommandOptions{out};
}

Result<CommandOptions> purge_of(const Raw& raw) {
  PurgeOptions out;
  if (raw.all && !raw.key.empty()) return wrong("--key \"" + raw.key + "\" cannot be given together with --all");
  if (!raw.all && raw.key.empty()) return wrong("purge needs --all or --key: nothing was removed");
  CUBIND_CHECK(read_key(raw, out.key));
  return CommandOptions{out};
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

// The grammar: which options each command has, and what the help says about them.
struct Grammar {
  Raw raw;
  CLI::App app{"cubinctl: asks the node's cubind daemon for kernels, and looks after its store", "cubinctl"};
  std::vector<std::pair<CLI::App*, Result<CommandOptions> (*)(const Raw&)>> commands;

  using Reader = Result<CommandOptions> (*)(const Raw&);

  CLI::App* command(const char* name, const char* group, const char* description, Reader reader,
                    bool asks_daemon = true) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->group(group);
    sub->footer(kFooter);
    sub->add_flag("--json", raw.json, "JSON on standard output")->group("Output");
    if (asks_daemon) {
      text(sub, "--socket", raw.socket, "The daemon's socket (default $CUBIND_SOCKET, /run/cubind/cubind.sock)",
           "Daemon", "PATH");
      text(sub, "--deadline", raw.deadline, "Give up waiting after this long", "Daemon", "SECONDS");
    }
    commands.emplace_back(sub, reader);
    return sub;
  }

  static CLI::Option* text(CLI::App* sub, const char* name, std::string& value, const char* help, const char* group,
                           const char* type = "") {
    return sub->add_option(name, value, help)->group(group)->type_name(type);
  }

  void toolchain(CLI::App* sub) {
    text(sub, "--toolchain", raw.toolchain, "Exactly this one, by an id that `health` lists", "Toolchain", "ID");
    text(sub, "--max-cuda", raw.max_cuda, "What a driver for this CUDA version takes, e.g. 12080", "Toolchain",
         "VERSION");
  }

  void kernel(CLI::App* sub) {
    text(sub, "FORMAT", raw.format, "Such as w4a16-bf16-g128, w4a16-f16-ch-zp", "What");
    text(sub, "--config", raw.config, "One of the catalogue, such as m16n64k128s4w1x1x4 (`can` lists them)", "What",
         "NAME");
    text(sub, "--arch", raw.arch, "Architecture, such as sm_90a", "What", "ARCH");
    toolchain(sub);
  }

  void prewarm() {
    CLI::App* sub = command("prewarm", "Kernels", "Compile and store every kernel that a model can use", prewarm_of);
    text(sub, "CONFIG", raw.config_file, "The model's config.json", "What");
    text(sub, "--arch", raw.arch, "Architectures, separated by commas: sm_80,sm_90a", "What", "ARCH");
    text(sub, "--from-trace", raw.from_trace, "Instead of CONFIG: what `trace` wrote, here or elsewhere", "What",
         "FILE");
    text(sub, "--tp", raw.tp, "Tensor-parallel ranks (default 1)", "What", "N");
    text(sub, "--max-m", raw.max_m, "Tokens of the largest batch (default 8192)", "What", "M");
    text(sub, "--dtype", raw.dtype, "Activations: float16 or bfloat16 (default: the config's, else float16)", "What",
         "TYPE");
    toolchain(sub);
    sub->add_flag("--dry-run", raw.dry_run, "Say what would be asked for; needs no daemon")->group("How");
    sub->add_flag("--no-wait", raw.no_wait, "Queue the compiles and return")->group("How");
    text(sub, "--priority", raw.priority, "prewarm (default: after all that somebody waits for) or foreground", "How",
         "CLASS");
  }

  void get() {
    CLI::App* sub = command("get", "Kernels", "One kernel, compiled if need be", get_of);
    kernel(sub);
    text(sub, "--key", raw.key, "A stored kernel, by its 64 hexadecimal digits", "What", "HEX");
    text(sub, "-o,--output", raw.output, "Write the cubin to this file; - is standard output", "Output");
    sub->add_flag("--hit-only", raw.hit_only, "Do not wait for a compile: exit code 12 if it is not stored")
        ->group("How");
  }

  void explain() {
    CLI::App* sub = command("explain", "Kernels", "Everything that a kernel's key is made of", explain_of);
    kernel(sub);
    sub->add_flag("--source", raw.source, "Print the generated CUDA instead")->group("Output");
    sub->add_flag("--nearest", raw.nearest, "Instead: what differs from the stored kernel with the most similar key")
        ->group("Output");
  }

  void can() {
    CLI::App* sub = command("can", "Kernels",
                            "Whether a format, an architecture and a shape are served; needs no daemon", can_of, false);
    text(sub, "FORMAT", raw.format, "Such as w4a16-bf16-g128", "What")->required();
    text(sub, "--arch", raw.arch, "Architecture, such as sm_90a", "What", "ARCH")->required();
    text(sub, "--n", raw.n, "Output features", "What", "N");
    text(sub, "--k", raw.k, "Input features", "What", "K");
    text(sub, "--max-m", raw.max_m, "Tokens of the largest batch (default 8192)", "What", "M");
    text(sub, "--sm-count", raw.sm_count, "Multiprocessors of the device (default 132)", "What", "N");
  }

  void tune() {
    CLI::App* sub =
        command("tune", "Kernels", "Measure a format's kernels on this GPU and write a tuning table", tune_of);
    text(sub, "FORMAT", raw.format, "Such as w4a16-bf16-g128, several separated by commas", "What")->required();
    text(sub, "--shapes", raw.shapes, "Layers: NxK,... (default: those of Llama 3.1 8B and 70B)", "What", "LIST");
    text(sub, "--tokens", raw.tokens, "Numbers of tokens (default: 18 from 1 to 8192)", "What", "LIST");
    text(sub, "--device", raw.device, "CUDA ordinal (default 0)", "What", "N");
    text(sub, "-o,--output", raw.output, "Write the table to this file, after each layer", "Output");
  }

  void daemon_and_store() {
    CLI::App* health =
        command("health", "Daemon", "Whether the daemon is well: exit code 9 if not",
                [](const Raw& given) { return Result<CommandOptions>(CommandOptions{HealthOptions{given.alive}}); });
    health->add_flag("--alive", raw.alive, "Exit code 0 if it answers, degraded or not")->group("What");
    command("stats", "Daemon", "The daemon's counters",
            [](const Raw&) { return Result<CommandOptions>(CommandOptions{StatsOptions{}}); });
    CLI::App* top = command("top", "Daemon", "A view of the daemon at work that refreshes itself", top_of);
    text(top, "--interval", raw.interval, "Between views (default 2)", "How", "SECONDS");
    text(top, "--count", raw.views, "End after that many views (default: one if this is no terminal)", "How", "N");
    CLI::App* ready =
        command("ready", "Daemon", "This user's processes have warmed up: from here on a compile is an alarm",
                [](const Raw& given) { return Result<CommandOptions>(CommandOptions{ReadyOptions{given.off}}); });
    ready->add_flag("--off", raw.off, "Take it back")->group("What");
    command("reload", "Daemon", "Have the daemon read its config again (administrators)",
            [](const Raw&) { return Result<CommandOptions>(CommandOptions{ReloadOptions{}}); });
    CLI::App* trace =
        command("trace", "Kernels", "What the daemon was asked for, for `prewarm --from-trace` elsewhere", trace_of);
    text(trace, "-o,--output", raw.output, "Write it to this file; - is standard output", "Output");
    command("ls", "Store", "The stored kernels",
            [](const Raw&) { return Result<CommandOptions>(CommandOptions{ListOptions{}}); });
    CLI::App* verify =
        command("verify", "Store",
                "Compile stored kernels again and compare: exit code 4 if one differs (administrators)", verify_of);
    text(verify, "--key", raw.key, "Only this one", "What", "HEX");
    CLI::App* exporting = command("export", "Store", "Stored kernels as one file, for `import` elsewhere", export_of);
    text(exporting, "--key", raw.key, "Only this one", "What", "HEX");
    text(exporting, "-o,--output", raw.output, "The file", "Output");
    text(exporting, "--sign", raw.sign, "Sign it with this Ed25519 private key (PEM)", "Output", "KEY");
    CLI::App* importing =
        command("import", "Store", "Check such a file and store its kernels (administrators)",
                [](const Raw& given) { return Result<CommandOptions>(CommandOptions{ImportOptions{given.bundle}}); });
    text(importing, "FILE", raw.bundle, "What `export` wrote", "What")->required();
    CLI::App* purge = command("purge", "Store", "Remove stored kernels (administrators)", purge_of);
    text(purge, "--key", raw.key, "This one", "What", "HEX");
    purge->add_flag("--all", raw.all, "All of them")->group("What");
  }
};

// CLI11 says only that a command is missing.
Status check_command(const Grammar& grammar, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::string names;
  for (const auto& [sub, reader] : grammar.commands) {
    if (sub->get_name() == argv[1]) return {};
    names += (names.empty() ? "" : ", ") + sub->get_name();
  }
  return wrong("command \"" + one_line(argv[1]) + "\" is none of " + names);
}

}  // namespace

Result<std::variant<Invocation, HelpText>> parse_command_line(int argc, const char* const* argv) {
  Grammar grammar;
  const std::string version = "cubinctl " CUBIND_VERSION " (" CUBIND_COMMIT "), protocol " +
                              std::to_string(kProtocolMin) + " to " + std::to_string(kProtocolMax);
  grammar.app.require_subcommand(1);
  grammar.app.footer(kFooter);
  grammar.app.set_version_flag("--version", version);
  grammar.prewarm();
  grammar.get();
  grammar.explain();
  grammar.can();
  grammar.tune();
  grammar.daemon_and_store();
  CUBIND_CHECK(check_command(grammar, argc, argv));
  try {
    grammar.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::variant<Invocation, HelpText>{HelpText{grammar.app.help()}};
  } catch (const CLI::CallForVersion&) {
    return std::variant<Invocation, HelpText>{HelpText{version + "\n"}};
  } catch (const CLI::ParseError& error) {
    return wrong(one_line(error.what()) + " (see cubinctl --help)");
  }

  const Raw& raw = grammar.raw;
  Invocation out;
  out.common.socket = raw.socket;
  out.common.json = raw.json;
  CUBIND_CHECK(read_number("--deadline", raw.deadline, 1'000'000, out.common.deadline_s));
  for (const auto& [sub, reader] : grammar.commands) {
    if (!sub->parsed()) continue;
    CUBIND_TRY(out.command, reader(raw));
  }
  return std::variant<Invocation, HelpText>{std::move(out)};
}

}  // namespace cubind::cli
