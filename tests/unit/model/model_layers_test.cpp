#include "client/model/model_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubind {
namespace {

using ::testing::HasSubstr;

// A small dense config with what the test adds at the top and in the quantization block.
std::string config(const std::string& top, const std::string& block) {
  return R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 12,
             "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000)" +
         top + R"(, "quantization_config": {)" + block + "}}";
}
const std::string kAwq = R"("quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true)";
const std::string kGptq = R"("quant_method": "gptq", "bits": 4, "group_size": 64, "sym": true)";

Result<std::vector<ModelLayer>> layers_of(const std::string& text, ModelOptions options = {}) {
  auto parsed = parse_hf_config(text, "");
  if (!parsed.ok()) return std::move(parsed).error();
  return quantized_layers(*parsed, options);
}

std::vector<std::string> counts(const Result<std::vector<ModelLayer>>& layers) {
  if (!layers.ok()) return {to_string(layers.error())};
  std::vector<std::string> out;
  for (const auto& layer : *layers) out.push_back(layer.name + " " + std::to_string(layer.count));
  return out;
}

std::string refusal(const std::string& text, ModelOptions options = {}) {
  const auto layers = layers_of(text, options);
  return layers.ok() ? "accepted" : to_string(layers.error());
}

TEST(ModelLayers, HeadDimIsItsOwnKey) {
  const auto layers = layers_of(config(R"(, "head_dim": 128)", kAwq));
  ASSERT_TRUE(layers.ok());
  EXPECT_EQ((*layers)[0].n, (8 + 2 * 2) * 128u);
  EXPECT_EQ((*layers)[1].k, 8 * 128u);
}

TEST(ModelLayers, NullIsMissing) {
  const auto layers = layers_of(config(R"(, "head_dim": null, "num_experts": null, "torch_dtype": null)", kAwq));
  ASSERT_TRUE(layers.ok());
  EXPECT_EQ((*layers)[0].n, (8 + 2 * 2) * 64u);
  EXPECT_EQ((*layers)[0].descriptor.activation, DType::f16);
}

TEST(ModelLayers, DtypeOptionBeatsTheConfig) {
  const std::string text = config(R"(, "torch_dtype": "float16")", kAwq);
  EXPECT_EQ((*layers_of(text))[0].descriptor.activation, DType::f16);
  const auto layers = layers_of(text, {1, "bfloat16"});
  EXPECT_EQ((*layers)[0].descriptor.activation, DType::bf16);
  EXPECT_EQ((*layers)[0].descriptor.output, DType::bf16);
  EXPECT_EQ((*layers)[0].descriptor.weight_scale_type, DType::bf16);
  EXPECT_THAT(refusal(text, {1, "float64"}), HasSubstr("dtype \"float64\" is not supported for activations"));
  EXPECT_THAT(refusal(config(R"(, "dtype": "float32")", kAwq)), HasSubstr("dtype \"float32\""));
}

TEST(ModelLayers, TheBlockMayBeInTextConfig) {
  const std::string text =
      R"({"model_type": "wrapper", "torch_dtype": "bfloat16", "text_config": )" + config("", kGptq) + "}";
  const auto layers = layers_of(text);
  ASSERT_TRUE(layers.ok()) << to_string(layers.error());
  EXPECT_EQ((*layers)[0].descriptor.activation, DType::bf16);
}

TEST(ModelLayers, GroupSizeMinusOneZeroAndNullAreOneGroupAColumn) {
  for (const char* value : {"-1", "0", "null"}) {
    const auto layers =
        layers_of(config("", R"("quant_method": "gptq", "bits": 4, "group_size": )" + std::string(value)));
    ASSERT_TRUE(layers.ok()) << value << to_string(layers.error());
    EXPECT_EQ((*layers)[0].descriptor.weight_scale, ScaleKind::channel);
    EXPECT_EQ((*layers)[0].descriptor.group_k, 0u);
  }
}

TEST(ModelLayers, AsymmetricGptqHasZeroPoints) {
  const auto layers = layers_of(config("", R"("quant_method": "gptq", "bits": 4, "group_size": 64, "sym": false)"));
  ASSERT_TRUE(layers.ok());
  EXPECT_EQ((*layers)[0].descriptor.zero_point, ZeroPointKind::integer);
}

TEST(ModelLayers, ListedModulesAreLeftOut) {
  EXPECT_EQ(counts(layers_of(config("", kAwq + R"(, "modules_to_not_convert": ["mlp.down_proj", "lm_head"])"))),
            (std::vector<std::string>{"qkv_proj 12", "o_proj 12", "gate_up_proj 12"}));
  // layers.1 is not layers.10 and layers.11.
  EXPECT_EQ(counts(layers_of(config("", kAwq + R"(, "modules_to_not_convert": ["model.layers.1"])"))),
            (std::vector<std::string>{"qkv_proj 11", "o_proj 11", "gate_up_proj 11", "down_proj 11"}));
  EXPECT_EQ(counts(layers_of(config("", kAwq + R"(, "ignore": ["model.layers.*.self_attn"])"))),
            (std::vector<std::string>{"gate_up_proj 12", "down_proj 12"}));
  EXPECT_EQ(counts(layers_of(config("", kAwq + R"(, "exclude_modules": ["re:.*layers\\.(0|5)\\.mlp.*"])"))),
            (std::vector<std::string>{"qkv_proj 12", "o_proj 12", "gate_up_proj 10", "down_proj 10"}));
}

TEST(ModelLayers, InverseListsLeaveTheRestOut) {
  EXPECT_EQ(
      counts(layers_of(config(
          "", kGptq + R"(, "modules_in_block_to_quantize": [["mlp.gate_proj", "mlp.up_proj"], ["mlp.down_proj"]])"))),
      (std::vector<std::string>{"gate_up_proj 12", "down_proj 12"}));
}

TEST(ModelLayers, MembersOfAFusedLayerMustAgree) {
  const std::string message = refusal(config("", kAwq + R"(, "ignore": ["model.layers.3.self_attn.k_proj"])"));
  EXPECT_THAT(message, HasSubstr("layer model.layers.3.self_attn.k_proj: is not quantized but self_attn.q_proj is"));
}

TEST(ModelLayers, AModelWhoseListsLeaveNothingIsRefused) {
  EXPECT_THAT(refusal(config("", kAwq + R"(, "ignore": ["self_attn", "mlp"])")), HasSubstr("no quantized layer"));
}

TEST(ModelLayers, LmHeadIsQuantizedOnlyIfTheBlockSaysSoAndItIsNotTied) {
  const std::string head = kGptq + R"(, "lm_head": true)";
  const auto layers = layers_of(config("", head), {2, ""});
  ASSERT_TRUE(layers.ok()) << to_string(layers.error());
  EXPECT_EQ(layers->back().name, "lm_head");
  EXPECT_EQ(layers->back().n, 500u);
  EXPECT_EQ(layers->back().k, 512u);
  EXPECT_EQ(counts(layers_of(config(R"(, "tie_word_embeddings": true)", head))).back(), "down_proj 12");
  EXPECT_EQ(counts(layers_of(config("", kGptq))).back(), "down_proj 12");
}

TEST(ModelLayers, MixtureOfExpertsIsRefusedNamingItsFirstLayer) {
  EXPECT_THAT(refusal(config(R"(, "num_local_experts": 8)", kAwq)),
              HasSubstr("layer model.layers.0.mlp.experts: num_local_experts \"8\" is not supported"));
  EXPECT_THAT(refusal(config(R"(, "n_routed_experts": 64, "first_k_dense_replace": 1, "kv_lora_rank": 512)", kAwq)),
              HasSubstr("layer model.layers.1.mlp.experts: n_routed_experts \"64\""));
}

TEST(ModelLayers, LatentAttentionIsRefused) {
  EXPECT_THAT(refusal(config(R"(, "kv_lora_rank": 512)", kAwq)), HasSubstr("layer model.layers.0.self_attn.kv_b_proj"));
}

TEST(ModelLayers, UnknownModelTypesAreRefusedListingTheKnown) {
  const std::string text = R"({"model_type": "mamba", "quantization_config": {)" + kAwq + "}}";
  EXPECT_EQ(refusal(text),
            "not_supported: model_type \"mamba\" is not supported: llama, mistral, qwen2, qwen3, phi3 are");
}

TEST(ModelLayers, VariantsOfTheTwoMethodsThatAreNotServedAreNamed) {
  const struct {
    std::string block, message;
  } cases[] = {
      {R"("quant_method": "awq", "bits": 8, "group_size": 64)", "quantization_config bits \"8\" is not supported"},
      {R"("quant_method": "awq", "group_size": 64)", "bits \"\""},
      {R"("quant_method": "awq", "bits": 4, "version": "gemv")", "version \"gemv\" is not supported: gemm is"},
      {R"("quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin")", "checkpoint_format \"marlin\""},
      {R"("quant_method": "gptq", "bits": 4, "dynamic": {"-:lm_head": {}})", "dynamic"},
      {R"("bits": 4)", "neither quant_method nor quant_algo"},
      {R"("quant_method": "awq", "bits": 4, "group_size": "many")", "group_size \"many\" is not an integer"},
  };
  for (const auto& test : cases) EXPECT_THAT(refusal(config("", test.block)), HasSubstr(test.message)) << test.block;
}

TEST(ModelLayers, KThatIsNoMultipleOfTheGroupIsRefusedAtOneRankToo) {
  const std::string message = refusal(config(R"(, "head_dim": 36)", kAwq));
  EXPECT_THAT(message, HasSubstr("layer o_proj: k \"288\" is not a multiple of group_size \"64\""));
}

TEST(ModelLayers, TpIsBounded) {
  EXPECT_THAT(refusal(config("", kAwq), {0, ""}), HasSubstr("tp \"0\" is not from 1"));
  EXPECT_THAT(refusal(config("", kAwq), {5000, ""}), HasSubstr("tp \"5000\""));
}

}  // namespace
}  // namespace cubind
