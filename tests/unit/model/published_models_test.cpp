// Every published config of tests/golden/models: either exactly its quantized layers, or refused with the reason and,
// where one is at fault, the layer.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/model/model_layers.hpp"

namespace cubind {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string models() {
  return std::string(std::getenv("CUBIND_TEST_SOURCE")) + "/tests/golden/models/";
}

Result<std::vector<ModelLayer>> layers_of(const std::string& file, std::uint32_t tp = 1) {
  auto config = read_hf_config(models() + file);
  if (!config.ok()) return std::move(config).error();
  return quantized_layers(*config, {tp, ""});
}

// "qkv_proj 28 4608 3584"
std::vector<std::string> lines(const std::vector<ModelLayer>& layers) {
  std::vector<std::string> out;
  for (const auto& layer : layers) {
    out.push_back(layer.name + " " + std::to_string(layer.count) + " " + std::to_string(layer.n) + " " +
                  std::to_string(layer.k));
  }
  return out;
}

const std::set<std::string> kServed = {"qwen2.5-7b-instruct-gptq-int4", "qwen2.5-72b-instruct-awq", "qwen3-4b-awq",
                                       "qwen3-32b-awq"};

TEST(PublishedModels, ServedOnesGiveExactlyTheirQuantizedLayers) {
  std::ifstream file(models() + "expected_gemms_tp1.json");
  const auto expected = nlohmann::json::parse(file);
  for (const auto& name : kServed) {
    std::vector<std::string> rows;
    for (const auto& row : expected.at(name).at("rows")) {
      if (!row["kind"].get<std::string>().starts_with("AWQ") && !row["kind"].get<std::string>().starts_with("GPTQ")) {
        continue;
      }
      rows.push_back(row["name"].get<std::string>() + " " + row["count"].dump() + " " + row["N"].dump() + " " +
                     row["K"].dump());
    }
    ASSERT_EQ(rows.size(), 4u) << name;
    const auto layers = layers_of(name + ".json");
    ASSERT_TRUE(layers.ok()) << name << ": " << to_string(layers.error());
    EXPECT_EQ(lines(*layers), rows) << name;
  }
}

TEST(PublishedModels, FormatsAreThoseOfTheCheckpoints) {
  const auto gptq = layers_of("qwen2.5-7b-instruct-gptq-int4.json");
  ASSERT_TRUE(gptq.ok());
  EXPECT_EQ((*gptq)[0].descriptor.activation, DType::f16);
  EXPECT_EQ((*gptq)[0].descriptor.zero_point, ZeroPointKind::none);
  EXPECT_EQ((*gptq)[0].descriptor.group_k, 128u);
  EXPECT_TRUE((*gptq)[0].descriptor.bias);
  EXPECT_FALSE((*gptq)[1].descriptor.bias);
  const auto awq = layers_of("qwen3-32b-awq.json");
  ASSERT_TRUE(awq.ok());
  EXPECT_EQ((*awq)[0].descriptor.zero_point, ZeroPointKind::integer);
  EXPECT_FALSE((*awq)[0].descriptor.bias);
}

TEST(PublishedModels, ActOrderGivesItsLayersToo) {
  const auto layers = layers_of("deepseek-r1-distill-qwen-7b-gptqmodel-4bit-vortex-v2.json");
  ASSERT_TRUE(layers.ok()) << to_string(layers.error());
  EXPECT_EQ(lines(*layers), (std::vector<std::string>{"qkv_proj 28 4608 3584", "o_proj 28 3584 3584",
                                                      "gate_up_proj 28 37888 3584", "down_proj 28 3584 18944"}));
  EXPECT_EQ((*layers)[0].descriptor.group_k, 32u);
  EXPECT_EQ((*layers)[0].descriptor.activation, DType::bf16);
}

TEST(PublishedModels, TensorParallelShapes) {
  const auto tp2 = layers_of("qwen2.5-7b-instruct-gptq-int4.json", 2);
  ASSERT_TRUE(tp2.ok());
  EXPECT_EQ(lines(*tp2), (std::vector<std::string>{"qkv_proj 28 2304 3584", "o_proj 28 3584 1792",
                                                   "gate_up_proj 28 18944 3584", "down_proj 28 3584 9472"}));
  const auto tp4 = layers_of("qwen2.5-7b-instruct-gptq-int4.json", 4);
  ASSERT_TRUE(tp4.ok());
  EXPECT_EQ(lines(*tp4), (std::vector<std::string>{"qkv_proj 28 1152 3584", "o_proj 28 3584 896",
                                                   "gate_up_proj 28 9472 3584", "down_proj 28 3584 4736"}));
  const auto wide = layers_of("qwen3-32b-awq.json", 8);
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(lines(*wide).back(), "down_proj 64 5120 3200");
  const auto four = layers_of("qwen3-4b-awq.json", 4);
  ASSERT_TRUE(four.ok());
  EXPECT_EQ(lines(*four).back(), "down_proj 36 2560 2432");
}

TEST(PublishedModels, KeyValueHeadsAreReplicatedAboveTheirNumber) {
  const auto layers = layers_of("qwen3-32b-awq.json", 16);  // 8 heads of 128: one a rank, on two ranks each
  ASSERT_FALSE(layers.ok());                                // down_proj: 25600 / 16 = 1600 = 12.5 groups
  EXPECT_THAT(layers.error().message, HasSubstr("layer down_proj: k \"1600\""));
  auto config = read_hf_config(models() + "qwen3-32b-awq.json");
  ASSERT_TRUE(config.ok());
  config->intermediate_size = 32768;
  const auto wide = quantized_layers(*config, {16, ""});
  ASSERT_TRUE(wide.ok()) << to_string(wide.error());
  EXPECT_EQ(lines(*wide)[0], "qkv_proj 64 768 5120");
}

TEST(PublishedModels, RanksThatDoNotDivideAreRefusedNamingLayerValueAndRule) {
  const struct {
    const char* file;
    std::uint32_t tp;
    const char* message;
  } cases[] = {
      {"qwen2.5-7b-instruct-gptq-int4.json", 8,
       "layer qkv_proj: num_attention_heads \"28\" is not divisible by tp \"8\""},
      {"qwen2.5-72b-instruct-awq.json", 2,
       "layer down_proj: k \"14784\" of each of 2 ranks is not a multiple of group_size \"128\"; a model whose k is "
       "padded to 29696 would fit"},
      {"qwen2.5-72b-instruct-awq.json", 4, "layer down_proj: k \"7392\" of each of 4 ranks"},
      {"qwen2.5-72b-instruct-awq.json", 8, "layer down_proj: k \"3696\" of each of 8 ranks"},
      {"qwen3-4b-awq.json", 8, "layer down_proj: k \"1216\" of each of 8 ranks"},
      {"qwen3-32b-awq.json", 3, "num_attention_heads \"64\" is not divisible by tp \"3\""},
  };
  for (const auto& test : cases) {
    const auto layers = layers_of(test.file, test.tp);
    ASSERT_FALSE(layers.ok()) << test.file << " tp " << test.tp;
    EXPECT_EQ(layers.error().code, ErrorCode::not_supported);
    EXPECT_THAT(layers.error().message, HasSubstr(test.message));
  }
}

// What each refused file's message must hold: the layer where one is at fault, and the reason.
const std::map<std::string, std::vector<std::string>> kRefused = {
    {"base/deepseek-v2-lite-chat.json", {"not quantized"}},
    {"base/gemma-3-27b-it.json", {"not quantized"}},
    {"base/glm-4.5-air.json", {"not quantized"}},
    {"base/llama-3.1-70b.json", {"not quantized"}},
    {"base/llama-3.1-8b.json", {"not quantized"}},
    {"base/llama-4-scout-17b-16e-instruct.json", {"not quantized"}},
    {"base/mixtral-8x7b-v0.1.json", {"not quantized"}},
    {"base/phi-3-mini-128k-instruct.json", {"not quantized"}},
    {"base/phi-3.5-moe-instruct.json", {"not quantized"}},
    {"base/qwen2.5-32b.json", {"not quantized"}},
    {"noquantblock-glm-5.1-w8a8-ascend.json", {"not quantized"}},
    {"expected_gemms_tp1.json", {"not quantized"}},
    {"bitnet-b1.58-2b-4t-bf16.json", {"layer model.layers.0.self_attn.q_proj", "quant_method \"bitnet\""}},
    {"deepseek-r1-distill-qwen-1.5b-w8a8-int.json", {"layer model.layers.0.", "\"compressed-tensors\""}},
    {"deepseek-r1.json", {"layer model.layers.0.self_attn.q_a_proj", "quant_method \"fp8\""}},
    {"deepseek-v3.2-exp-w8a8-int8.json", {"layer model.layers.0.", "\"compressed-tensors\""}},
    {"deepseek-v3.2.json", {"layer model.layers.0.", "\"fp8\""}},
    {"deepseek-v3.json", {"layer model.layers.0.", "\"fp8\""}},
    {"deepseek-v4-flash.json", {"layer model.layers.0.", "\"fp8\""}},
    {"glm-5-fp8.json", {"layer model.layers.0.", "\"fp8\""}},
    {"glm-5.2-w4afp8.json", {"layer model.layers.0.", "\"w4afp8\""}},
    {"gpt-oss-120b.json", {"layer model.layers.0.mlp.experts", "\"mxfp4\""}},
    {"gpt-oss-20b.json", {"layer model.layers.0.mlp.experts", "\"mxfp4\""}},
    {"kimi-k2-instruct-fp8.json", {"layer model.layers.0.", "\"fp8\""}},
    {"kimi-k2-thinking-int4.json", {"layer model.layers.1.mlp.experts", "\"compressed-tensors\""}},
    {"kimi-k2.5-int4.json",
     {"layer model.layers.1.mlp.experts", "text_config.quantization_config", "\"compressed-tensors\""}},
    {"llama-3.1-405b-fp8-static-dummy.json", {"layer model.layers.0.", "\"fp8\""}},
    {"llama-3.1-405b-instruct-fp8-fbgemm.json", {"layer model.layers.1.self_attn.q_proj", "\"fbgemm_fp8\""}},
    {"meta-llama-3-8b-mxfp4-compressed-tensors.json", {"layer model.layers.0.", "\"compressed-tensors\""}},
    {"nvidia-deepseek-v3.1-nvfp4.json",
     {"layer model.layers.0.self_attn.o_proj", "hf_quant_config.json quant_algo \"NVFP4\""}},
    {"nvidia-deepseek-v4-flash-nvfp4.json", {"\"fp8\""}},
    {"nvidia-kimi-k2.5-nvfp4.json", {"layer model.layers.0.mlp.gate_proj", "\"modelopt\""}},
    {"nvidia-nemotron-3-nano-30b-a3b-nvfp4.json", {"hf_quant_config.json quant_algo \"NVFP4\""}},
    {"nvidia-qwen3-235b-a22b-nvfp4.json", {"layer model.layers.0.", "hf_quant_config.json quant_algo \"NVFP4\""}},
    {"nvidia-qwen3-32b-nvfp4.json", {"layer model.layers.0.", "\"modelopt\""}},
    {"nvidia-qwen3.6-27b-nvfp4-mixed.json", {"layer model.layers.0.mlp.gate_proj", "is not supported"}},
    {"qwen3-235b-a22b-fp8.json", {"layer model.layers.0.", "\"fp8\""}},
    {"qwen3-30b-a3b-fp8.json", {"layer model.layers.0.", "\"fp8\""}},
    {"qwen3-32b-fp8.json", {"layer model.layers.0.", "\"fp8\""}},
    {"qwen3-32b-w8a8-int.json", {"layer model.layers.0.", "\"compressed-tensors\""}},
    {"qwen3-8b-fp8.json", {"layer model.layers.0.", "\"fp8\""}},
    {"qwen3.5-27b-gptq-int8.json", {"layer model.layers.0.", "bits \"8\""}},
    {"redhatai-qwen3-32b-nvfp4.json", {"layer model.layers.0.", "\"compressed-tensors\""}},
    {"refuse-gguf-shim.json", {"quant_method \"gguf\""}},
    {"refuse-unsloth-llama-3-8b-instruct-bnb-4bit.json", {"layer model.layers.0.", "\"bitsandbytes\""}},
    {"tinyllama-1.1b-chat-v1.0-nvfp4a16.json", {"layer model.layers.0.", "\"compressed-tensors\""}},
};

TEST(PublishedModels, EveryOtherFileIsRefusedWithItsReason) {
  std::size_t refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models())) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = std::filesystem::relative(entry.path(), models()).string();
    if (kServed.contains(entry.path().stem().string()) || file.find("gptqmodel-4bit") != std::string::npos) continue;
    const auto layers = layers_of(file);
    ASSERT_FALSE(layers.ok()) << file;
    ++refused;
    const std::string& message = layers.error().message;
    EXPECT_THAT(message, Not(HasSubstr("\n"))) << file;
    if (file.ends_with(".hf_quant_config.json")) {
      EXPECT_THAT(message, HasSubstr("name the config.json beside it")) << file;
      continue;
    }
    EXPECT_EQ(layers.error().code, ErrorCode::not_supported) << file << ": " << message;
    ASSERT_TRUE(kRefused.contains(file)) << file << " is not in the table: " << message;
    for (const auto& part : kRefused.at(file)) EXPECT_THAT(message, HasSubstr(part)) << file;
  }
  EXPECT_EQ(refused, kRefused.size() + 5);  // and five side files
}

TEST(PublishedModels, TheExampleIsLlama) {
  auto config = read_hf_config(std::string(std::getenv("CUBIND_TEST_SOURCE")) + "/examples/llama-3.1-8b-awq.json");
  ASSERT_TRUE(config.ok()) << to_string(config.error());
  const auto layers = quantized_layers(*config, {1, ""});
  ASSERT_TRUE(layers.ok()) << to_string(layers.error());
  EXPECT_EQ(lines(*layers), (std::vector<std::string>{"qkv_proj 32 6144 4096", "o_proj 32 4096 4096",
                                                      "gate_up_proj 32 28672 4096", "down_proj 32 4096 14336"}));
}

}  // namespace
}  // namespace cubind
