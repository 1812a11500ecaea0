// Config files that nobody vouches for: bounded, one line of message, never a crash.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/model/model_layers.hpp"
#include "protocol/limits.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const std::string& text) {
  auto parsed = parse_hf_config(text, "");
  if (!parsed.ok()) return to_string(parsed.error());
  const auto layers = quantized_layers(*parsed, {});
  return layers.ok() ? "accepted" : to_string(layers.error());
}

TEST(HostileConfig, NotJson) {
  EXPECT_THAT(error_of(""), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of("{\"hidden_size\": 4096,"), HasSubstr("is not JSON: it breaks at byte 22"));
  EXPECT_THAT(error_of("[1, 2]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(error_of(std::string("\0\x01\xff", 3)), HasSubstr("is not JSON"));
}

TEST(HostileConfig, DeepNestingIsRefused) {
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_THAT(error_of(deep), HasSubstr("nested more than 32 deep"));
}

TEST(HostileConfig, SizeIsBounded) {
  EXPECT_THAT(error_of("{\"a\": \"" + std::string(limits::kMaxModelConfigBytes, 'x') + "\"}"), HasSubstr("at most"));
}

TEST(HostileConfig, NumbersAreBoundedAndIntegers) {
  for (const char* value :
       {"0", "-1", "4096.5", "1e400", "\"4096\"", "99999999999999999999", "1048577", "true", "[]"}) {
    const std::string message = error_of(R"({"quantization_config": {}, "hidden_size": )" + std::string(value) + "}");
    EXPECT_THAT(message, HasSubstr("invalid_argument")) << value;
  }
  EXPECT_THAT(error_of(R"({"hidden_size": 4096.5})"), HasSubstr("hidden_size \"4096.5\" is not an integer from 1 to"));
}

TEST(HostileConfig, ShapesThatMultiplyBeyondTheLimitAreRefused) {
  EXPECT_THAT(error_of(R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 1048576,
                           "num_hidden_layers": 1, "num_attention_heads": 16384, "head_dim": 1048576,
                           "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64}})"),
              HasSubstr("layer qkv_proj"));
}

TEST(HostileConfig, MessagesAreOneShortLine) {
  const std::string evil = "a\\nb\\u0000c\\u001b[31m" + std::string(5000, 'z');
  const std::string message = error_of(R"({"quantization_config": {"quant_method": ")" + evil + "\"}}");
  EXPECT_THAT(message, HasSubstr("quant_method"));
  EXPECT_LT(message.size(), 300u);
  for (const char c : message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << message;
}

TEST(HostileConfig, TypesInWrongPlacesAreNamed) {
  EXPECT_THAT(error_of(R"({"quantization_config": "awq"})"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(error_of(R"({"text_config": 3})"), HasSubstr("text_config \"3\""));
  EXPECT_THAT(error_of(R"({"quantization_config": {"quant_method": "awq", "ignore": [1]}})"), HasSubstr("ignore"));
  EXPECT_THAT(error_of(R"({"quantization_config": {"quant_method": "awq", "zero_point": "yes"}})"),
              HasSubstr("zero_point \"yes\" is not true or false"));
}

TEST(HostileConfig, FilesThatAreNotThere) {
  const auto absent = read_hf_config("/nonexistent/config.json");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_THAT(absent.error().message, HasSubstr("/nonexistent/config.json"));
  const auto folder = read_hf_config("/tmp");
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("is a folder"));
}

// Every truncation of real files, and random damage: an error or a list, never anything else.
TEST(HostileConfig, DamagedRealFilesNeverCrash) {
  const std::string folder = std::string(std::getenv("CUBIND_TEST_SOURCE")) + "/tests/golden/models/";
  std::mt19937 random(7);
  for (const char* name : {"qwen3-4b-awq.json", "qwen2.5-7b-instruct-gptq-int4.json", "kimi-k2.5-int4.json"}) {
    std::ifstream file(folder + name);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    ASSERT_FALSE(text.empty());
    for (std::size_t length = 0; length < text.size(); ++length) {
      EXPECT_THAT(error_of(text.substr(0, length)), Not(HasSubstr("\n")));
    }
    for (int i = 0; i < 2000; ++i) {
      std::string damaged = text;
      for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = "0123456789{}[]\",:-e.ntx"[random() % 23];
      EXPECT_THAT(error_of(damaged), Not(HasSubstr("\n")));
    }
  }
}

}  // namespace
}  // namespace cubind
