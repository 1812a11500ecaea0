#include "daemon/config.hpp"

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "daemon/config_settings.hpp"
#include "tests/support/temp_folder.hpp"

namespace cubind {
namespace {

struct ConfigTest : testing::Test {
  TempFolder folder;
  std::string file = folder / "cubind.toml";

  Result<Config> load(const std::string& text) {
    std::ofstream(file) << text;
    return load_config(file);
  }
  std::string refusal(const std::string& text) {
    const auto loaded = load(text);
    EXPECT_FALSE(loaded.ok()) << text;
    return loaded.ok() ? "" : loaded.error().message;
  }
  static Result<CommandLine> parse(std::vector<const char*> args) {
    args.insert(args.begin(), "cubind");
    return parse_command_line(static_cast<int>(args.size()), args.data());
  }
};

TEST_F(ConfigTest, AnEmptyFileGivesTheDefaults) {
  EXPECT_EQ(to_toml(load("").value()), to_toml(Config{}));
}

// Rows C1 and E1 of docs/faults.md.
TEST_F(ConfigTest, NothingOfTheEnvironmentMovesTheDefaults) {
  const auto before = to_toml(Config{});
  for (const char* name : {"HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CUBIND_SOCKET", "CUBIND_STORE"}) {
    ::setenv(name, folder.path().c_str(), 1);
  }
  EXPECT_EQ(to_toml(load("").value()), before);
  EXPECT_EQ(before.find(folder.path()), std::string::npos);
  EXPECT_EQ(Config{}.store_root, "/var/lib/cubind") << "on the node's disk, in nobody's home";
}

TEST_F(ConfigTest, ValuesAreTaken) {
  const auto config = load(R"(
shutdown_grace = "2min"
[socket]
path = "/tmp/x.sock"
mode = "0600"
group = "4711"
[store]
disk_limit = "3GiB"
allow_any_filesystem = true
[compile]
workers = 3
toolchains = ["/opt/a", "/opt/b"]
[admin]
users = ["root", "4712"]
[metrics]
socket = "off"
listen = "[::1]:9155"
[log]
level = "warn"
format = "json"
)")
                          .value();
  EXPECT_EQ(config.shutdown_grace, std::chrono::seconds(120));
  EXPECT_EQ(config.socket_path, "/tmp/x.sock");
  EXPECT_EQ(config.socket_mode, 0600u);
  EXPECT_EQ(config.socket_gid, 4711u);
  EXPECT_EQ(config.disk_limit, 3ull << 30);
  EXPECT_TRUE(config.allow_any_filesystem);
  EXPECT_EQ(config.workers, 3u);
  EXPECT_EQ(config.toolchains, (std::vector<std::string>{"/opt/a", "/opt/b"}));
  EXPECT_EQ(config.admins.uids, (std::vector<std::uint32_t>{0, 4712}));
  EXPECT_EQ(config.metrics_socket, "off");
  EXPECT_EQ(config.metrics_listen, (TcpAddress{"::1", 9155}));
  EXPECT_EQ(config.log_level, LogLevel::warn);
  EXPECT_EQ(config.log_format, LogFormat::json);
}

TEST_F(ConfigTest, RefusalsNameFileLineKeyValueAndRule) {
  EXPECT_EQ(refusal("[store]\ndisk_limit = \"8 apples\"\n"),
            file + ":2: store.disk_limit \"8 apples\" is not a size of 1MiB to 1024TiB, such as 512MiB or 8GiB");
  EXPECT_EQ(refusal("[compile]\n\nworkers = 9999\n"),
            file + ":3: compile.workers \"9999\" is not a whole number from 0 to 1024");
  EXPECT_EQ(refusal("[compile]\nworkers = \"two\"\n"), file + ":2: compile.workers \"two\" is not a number");
  EXPECT_EQ(refusal("[socket]\npath = \"run/x\"\n"), file + ":2: socket.path \"run/x\" is not an absolute path");
  EXPECT_EQ(refusal("[log]\nlevel = \"loud\"\n"),
            file + ":2: log.level \"loud\" is not one of debug info warn error off");
  EXPECT_EQ(refusal("shutdown_grace = \"20\"\n"),
            file + ":1: shutdown_grace \"20\" is not a time of 1s to 24h, such as 20s or 2min");
  EXPECT_EQ(refusal("[admin]\nusers = [\"no-such-user-here\"]\n"),
            file + ":2: admin.users \"no-such-user-here\" is neither a user of this system nor a number");
  for (const char* wrong :
       {"9155", "localhost:9155", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "::1:9155", "[::1]"}) {
    EXPECT_EQ(refusal("[metrics]\nlisten = \"" + std::string(wrong) + "\"\n"),
              file + ":2: metrics.listen \"" + wrong +
                  "\" is not a numeric address and a port, such as 127.0.0.1:9155 or [::1]:9155");
  }
  EXPECT_EQ(refusal("[socket]\nmode = \"0999\"\n"),
            file + ":2: socket.mode \"0999\" is not an octal number from 0 to 777");
}

TEST_F(ConfigTest, UnknownKeysAndSectionsAreRefused) {
  EXPECT_EQ(refusal("[store]\nroof = \"/x\"\n"), file + ":2: store.roof \"/x\": there is no such setting");
  EXPECT_EQ(refusal("[stories]\nroot = \"/x\"\n"), file + ":1: stories: there is no such section");
  EXPECT_EQ(refusal("store = 3\n"), file + ":1: store \"3\": is a section, not a value");
}

TEST_F(ConfigTest, BrokenTomlIsRefusedWithItsLine) {
  EXPECT_EQ(refusal("[store]\nroot = \n").rfind(file + ":2: ", 0), 0u) << refusal("[store]\nroot = \n");
  EXPECT_EQ(refusal("[log]\nlevel = \"info\"\nlevel = \"warn\"\n").rfind(file + ":3: ", 0), 0u);
  const auto absent = load_config(folder / "absent.toml");
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().message.find("absent.toml"), std::string::npos);
}

TEST_F(ConfigTest, RefusalsAreOneLineWhateverTheyQuote) {
  for (const char* text : {"[store]\nallow_any_filesystem = tr\neu\n", "[log]\nlevel = \"a\\nb\"\n", "\"a\\nb\" = 1\n",
                           "[socket]\npath = \"/run/a\\nb\"\n", "[socket]\npath = \"/run/a\\u0000b\"\n"}) {
    const auto said = refusal(text);
    for (const char c : said) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << said;
  }
  const auto line = parse({"--socket", "a\nb"});
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().message.find('\n'), std::string::npos);
}

TEST_F(ConfigTest, QuotesAndBackslashesSurviveThePrinting) {
  Config config;
  config.socket_path = "/run/a \"quoted\" \\ path";
  config.default_toolchain = "a\tb\x7f";
  const auto again = load(to_toml(config));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->socket_path, config.socket_path);
  EXPECT_EQ(again->default_toolchain, config.default_toolchain);
}

TEST_F(ConfigTest, APrintedConfigReadsBackTheSame) {
  Config config;
  config.workers = 7;
  config.socket_gid = 12;
  config.toolchains = {"/opt/a", "/opt/b"};
  config.admins.uids = {5};
  config.metrics_socket = "/run/m.sock";
  config.metrics_listen = TcpAddress{"::1", 9155};
  config.log_format = LogFormat::json;
  config.compile_cpu_time = std::chrono::seconds(22);
  config.compile_timeout = std::chrono::seconds(33);
  EXPECT_EQ(to_toml(load(to_toml(config)).value()), to_toml(config));
}

TEST_F(ConfigTest, WhatAReloadAppliesIsWhatTheExampleSays) {
  std::set<std::string> live;
  for (const auto& setting : settings()) {
    if (setting.live) live.insert(setting.key);
  }
  EXPECT_EQ(live, (std::set<std::string>{"shutdown_grace", "socket.max_connections", "store.memory_limit",
                                         "store.disk_limit", "admin.users", "admin.groups", "socket.allow_users",
                                         "socket.allow_groups", "log.level", "log.format"}));
}

TEST_F(ConfigTest, FlagsWinOverTheFile) {
  std::ofstream(file) << "[compile]\nworkers = 3\nqueue = 5\n";
  const auto line = parse({"--config", file.c_str(), "--workers", "4", "--socket", "/tmp/y.sock", "--admin-user", "7",
                           "--admin-user", "8", "--allow-any-filesystem"});
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_EQ(line->config.workers, 4u);
  EXPECT_EQ(line->config.queue, 5u);
  EXPECT_EQ(line->config.socket_path, "/tmp/y.sock");
  EXPECT_EQ(line->config.admins.uids, (std::vector<std::uint32_t>{7, 8}));
  EXPECT_TRUE(line->config.allow_any_filesystem);
}

TEST_F(ConfigTest, WrongFlagsAreRefusedInOneLine) {
  EXPECT_EQ(parse({"--workers", "many"}).error().message, "--workers \"many\" is not a whole number from 0 to 1024");
  for (const auto& args : std::vector<std::vector<const char*>>{
           {"--no-such-flag"}, {"--socket"}, {"stray"}, {"--workers", "1", "--workers", "2"}}) {
    const auto line = parse(args);
    ASSERT_FALSE(line.ok()) << args[0];
    EXPECT_EQ(line.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(line.error().message.find('\n'), std::string::npos) << line.error().message;
  }
}

TEST_F(ConfigTest, VersionNamesEverythingThatMustNotMix) {
  const auto line = parse({"--version"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->action, CommandLine::Action::print_and_exit);
  for (const char* word :
       {"cubind ", "commit ", "protocol ", "key_schema ", "record_schema ", "launch_abi ", "weight_layout "}) {
    EXPECT_NE(line->text.find(word), std::string::npos) << word;
  }
}

TEST_F(ConfigTest, TheExampleShowsEverySettingWithItsDefault) {
  std::ifstream example(CUBIND_SOURCE_DIR "/systemd/cubind.toml");
  std::stringstream text;
  text << example.rdbuf();
  ASSERT_TRUE(load(text.str()).ok()) << load(text.str()).error().message;
  const auto uncommented = std::regex_replace(text.str(), std::regex("(^|\n)#([a-z_]+ = )"), "$1$2");
  const auto config = load(uncommented);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(to_toml(*config), to_toml(Config{}));
  for (const auto& setting : settings()) {
    const std::string key = setting.key;
    const auto name = key.substr(key.find('.') + 1);
    EXPECT_NE(uncommented.find("\n" + name + " = "), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace cubind
