#include "strategy/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "codec/codec.h"
#include "optim/optimizer_plan.h"
#include "strategy/exchange_codec.h"
#include "support/scratch_folder.h"

namespace ps::strategy_test {
namespace {

using testing::HasSubstr;

const Json kSgd = {{"type", "sgd"}, {"learning_rate", 0.25}};

std::string refusal(const char* strategy, const Json& optimizer = kSgd) {
  try {
    const Json object = Json::parse(strategy);
    find_strategy(object).check(object, optimizer);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "accepted";
}

ServerPlan plan(const char* strategy) {
  const Json object = Json::parse(strategy);
  return find_strategy(object).serve(object, make_optimizer_plan(kSgd, "mean"));
}

TEST(Strategies, WithoutATypeServersAreInStep) {
  EXPECT_EQ(find_strategy(Json::object()).name, "parameter_server");
  const Json whole = complete_strategy(Json::object());
  EXPECT_EQ(whole["type"], "parameter_server");
  EXPECT_EQ(whole["consistency"], "sync");
  EXPECT_EQ(complete_strategy(whole), whole);
}

// Abilities are told by the entries, so that nobody else compares names.
TEST(Strategies, OneThatDoesNotExchangeEachBatchIsRefusedWhereThatIsNeeded) {
  check_exchanges_each_batch(Json::object(), "x: ", "trainers may do so", "leave it out");
  for (const StrategyEntry* entry : strategy_catalog()) {
    if (entry->exchanges_each_batch) {
      EXPECT_NE(entry->serve, nullptr) << entry->name;
      continue;
    }
    const Json object = {{"type", std::string(entry->name)}};
    try {
      check_exchanges_each_batch(object, "x: ", "trainers may do so", "leave it out");
      ADD_FAILURE() << entry->name << " is accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      EXPECT_EQ(error.message(), cat("x: train.strategy.type is '", entry->name,
                                     "': trainers may do so with parameter_server alone; leave it out"));
    }
  }
}

TEST(Strategies, TrainersThatOwnRowsMeetBesideTheServers) {
  int owning = 0;
  for (const StrategyEntry* entry : strategy_catalog()) {
    if (!entry->owns_rows) continue;
    ++owning;
    EXPECT_TRUE(entry->meets_beside_servers) << entry->name;
    EXPECT_TRUE(entry->trains_rows_on_devices()) << entry->name;
  }
  EXPECT_EQ(owning, 1);
}

TEST(Strategies, OneThatStandsInWithoutServersHasNone) {
  for (const StrategyEntry* entry : strategy_catalog()) {
    if (entry->without_servers == nullptr) continue;
    EXPECT_EQ(find_strategy({{"type", entry->without_servers}}).serve, nullptr) << entry->name;
  }
}

TEST(Strategies, ConsistencyHasItsOwnNumbers) {
  EXPECT_FALSE(plan(R"({"consistency": "sync"})").consistency.async);
  EXPECT_EQ(plan(R"({"consistency": "staleness", "staleness": 3})").consistency.staleness, 3);
  EXPECT_EQ(plan(R"({"consistency": "async", "max_lag": 4})").consistency.max_lag, 4);
  EXPECT_THAT(refusal(R"({"consistency": "staleness"})"), HasSubstr("train.strategy.staleness: missing"));
  EXPECT_THAT(refusal(R"({"staleness": 3})"), HasSubstr("train.strategy.staleness: 3, but"));
  EXPECT_THAT(refusal(R"({"consistency": "staleness", "staleness": 1001})"),
              HasSubstr("train.strategy.staleness: 1001"));
  EXPECT_THAT(refusal(R"({"consistency": "staleness", "staleness": -1})"),
              HasSubstr("train.strategy.staleness: -1"));
  EXPECT_THAT(refusal(R"({"max_lag": 3})"), HasSubstr("train.strategy.max_lag: 3, but"));
  EXPECT_THAT(refusal(R"({"consistency": "asink"})"), HasSubstr("train.strategy.consistency"));
}

TEST(Strategies, LocalSgdChecksItsPeriod) {
  EXPECT_EQ(refusal(R"({"type": "local_sgd", "period": 5, "differences": "sum"})"), "accepted");
  for (const char* wrong :
       {R"({"type": "local_sgd"})", R"({"type": "local_sgd", "period": 0})",
        R"({"type": "local_sgd", "period": 1.5})", R"({"type": "local_sgd", "period": 1000001})"}) {
    EXPECT_THAT(refusal(wrong), HasSubstr("train.strategy.period")) << wrong;
  }
  EXPECT_THAT(refusal(R"({"type": "local_sgd", "period": 5, "differences": "most"})"),
              HasSubstr("train.strategy.differences"));
  EXPECT_THAT(refusal(R"({"type": "local_sgd", "period": 5, "consistency": "sync"})"),
              HasSubstr("train.strategy.consistency: unknown key"));
}

TEST(Strategies, RowsTravelAsTheirTypesSay) {
  for (const StrategyEntry* entry : strategy_catalog()) {
    if (entry->serve == nullptr) continue;
    const std::string head = cat(R"({"type": ")", entry->name, R"(", "period": 1, )");
    auto with = [&](const char* key) {
      std::string text = cat(head, key, "}");
      if (entry->name != "local_sgd") text.replace(text.find(R"("period": 1, )"), 13, "");
      return refusal(text.c_str());
    };
    EXPECT_EQ(with(R"("codec": "bf16")"), "accepted");
    EXPECT_EQ(with(R"("codec": {"pull": "f16", "push": "int8", "residual_memory": "1K"})"), "accepted");
    EXPECT_EQ(with(R"("codec": {"pull": "int8_blocks", "push": "one_bit"})"), "accepted");
    EXPECT_THAT(with(R"("codec": "one_bit")"), HasSubstr("train.strategy.codec: unknown value 'one_bit'"));
    EXPECT_THAT(with(R"("codec": {"pull": "one_bit"})"), HasSubstr("train.strategy.codec.pull"));
    EXPECT_THAT(with(R"("codec": "f64")"), HasSubstr("train.strategy.codec: unknown value 'f64'"))
        << entry->name;
    EXPECT_THAT(with(R"("codec": 16)"), HasSubstr("train.strategy.codec: found number 16, expected a name"));
    EXPECT_THAT(with(R"("codec": {"pull": "f64"})"), HasSubstr("train.strategy.codec.pull")) << entry->name;
    EXPECT_THAT(with(R"("codec": {"both": "f16"})"), HasSubstr("train.strategy.codec.both: unknown key"));
    EXPECT_THAT(with(R"("codec": {"residual_memory": "much"})"),
                HasSubstr("train.strategy.codec.residual_memory: 'much' is not a number of bytes"));
  }
}

TEST(Strategies, ACodecOfOneNameIsForBothDirections) {
  const RowTypes both = ExchangeCodec::spec().parse("bf16", "codec").row_types();
  EXPECT_EQ(both.push, RowType::kBf16);
  EXPECT_EQ(both.pull, RowType::kBf16);
  const RowTypes push =
      ExchangeCodec::spec().parse({{"push", "int8"}, {"residual_memory", "3K"}}, "codec").row_types();
  EXPECT_EQ(push.push, RowType::kInt8);
  EXPECT_EQ(push.pull, RowType::kF32);
  EXPECT_EQ(push.error_bytes, 3072);
}

TEST(Strategies, GradientsForServersTravelInTheBytesOfAnyCodec) {
  auto push = [](const Json& value) {
    return ExchangeCodec::spec().parse({{"push", value}}, "codec").row_types();
  };
  EXPECT_EQ(push("int8").push_codec, nullptr) << "rows have a type of this name";
  EXPECT_EQ(push("int8").push, RowType::kInt8);
  EXPECT_EQ(push({{"type", "int8"}}).push_codec["type"], "int8");
  EXPECT_EQ(push({{"type", "int8"}}).push, RowType::kF32);
  EXPECT_EQ(push("top_k").push_codec, push({{"type", "top_k"}}).push_codec);
  EXPECT_EQ(push({{"type", "top_k"}, {"density", 0.5}}).push_codec["density"], 0.5);
  auto refusal = [&](const Json& value) { return error_of([&] { push(value); }).message(); };
  EXPECT_THAT(refusal("top"), HasSubstr("codec.push: unknown value 'top' (did you mean 'top_k'?)"));
  EXPECT_THAT(refusal({{"type", "none"}}), HasSubstr("codec.push.type: 'none' compresses nothing; 'f32'"));
  EXPECT_THAT(refusal({{"type", "top_k"}, {"share", 0.5}}), HasSubstr("codec.push.share: unknown key"));
  EXPECT_THAT(refusal(3), HasSubstr("codec.push: found number 3"));
}

TEST(Strategies, ServersDecodeTheCodecOfTheJob) {
  for (const char* type : {"parameter_server", "hybrid"}) {
    const std::string with = cat(R"({"type": ")", type, R"(", "codec": {"push": "top_k"}})");
    EXPECT_EQ(plan(with.c_str()).push_codec["type"], "top_k");
    EXPECT_EQ(plan(cat(R"({"type": ")", type, R"("})").c_str()).push_codec, nullptr);
  }
  const char* local_sgd = R"({"type": "local_sgd", "period": 2, "codec": {"push": "threshold"}})";
  EXPECT_EQ(plan(local_sgd).push_codec["tau"], 0.001);
}

// Trainers and servers compare strategies as they are completed.
TEST(Strategies, BothFormsOfACodecAreTheSameJob) {
  const Json brief = complete_strategy(Json::parse(R"({"codec": "f16"})"));
  EXPECT_EQ(brief, complete_strategy(Json::parse(R"({"codec": {"pull": "f16", "push": "f16"}})")));
  EXPECT_NE(brief, complete_strategy(Json::parse(R"({"codec": {"push": "f16"}})")));
  EXPECT_EQ(complete_strategy(brief), brief);
}

TEST(Strategies, TheSchemaHasBothFormsOfACodec) {
  const Json schema = strategy_schema()["oneOf"][0]["properties"]["codec"];
  ASSERT_EQ(schema["anyOf"].size(), 2);
  EXPECT_EQ(schema["anyOf"][0]["enum"], Json(weight_type_names()));
  const Json push = schema["anyOf"][1]["properties"]["push"]["anyOf"];
  for (const std::string& name : row_type_names()) EXPECT_THAT(push[0]["enum"], testing::Contains(name));
  EXPECT_THAT(push[0]["enum"], testing::Contains("top_k"));
  EXPECT_THAT(push[0]["enum"], testing::Not(testing::Contains("none")));
  EXPECT_EQ(push[1]["oneOf"].size(), codec_catalog().size());
  EXPECT_TRUE(schema["anyOf"][1]["properties"].contains("residual_memory"));
  EXPECT_EQ(schema["default"]["push"], "f32");
}

// Servers of trainers that have their own optimizers add: a step of -1 moves a weight by +1.
TEST(Strategies, ServersOfLocalSgdAddAndTuneNothing) {
  const ServerPlan adds = plan(R"({"type": "local_sgd", "period": 5})");
  EXPECT_TRUE(adds.consistency.async);
  EXPECT_FALSE(adds.optimizers.mean);
  ParameterSpec spec;
  spec.tuning.learning_rate = 7;
  EXPECT_NE(plan("{}").parameters({spec})[0].tuning.learning_rate,
            adds.parameters({spec})[0].tuning.learning_rate);
}

TEST(Strategies, TheOptimizersOfServersHaveTheLevelOfTheJob) {
  const OptimizerPlan job = make_optimizer_plan(kSgd, "mean", CpuLevel::kBaseline);
  for (const char* strategy : {"{}", R"({"type": "local_sgd", "period": 5})", R"({"type": "hybrid"})"}) {
    const Json object = Json::parse(strategy);
    const ServerPlan servers = find_strategy(object).serve(object, job);
    EXPECT_EQ(servers.optimizers.cpu, CpuLevel::kBaseline) << strategy;
    EXPECT_EQ(servers.optimizers.make({})->cpu(), CpuLevel::kBaseline) << strategy;
  }
}

TEST(Strategies, ServersOfHybridLeaveDenseParametersToTrainers) {
  const ServerPlan hybrid = plan(R"({"type": "hybrid"})");
  EXPECT_FALSE(hybrid.consistency.async);
  ParameterSpec matrix, table;
  table.sparse = true;
  const std::vector<ParameterSpec> specs = hybrid.parameters({matrix, table});
  EXPECT_TRUE(specs[0].by_trainers);
  EXPECT_FALSE(specs[1].by_trainers);
  EXPECT_FALSE(plan("{}").parameters({matrix})[0].by_trainers);
}

TEST(Strategies, TheSchemaRequiresOnlyKeysWithoutDefaults) {
  const Json schema = strategy_schema();
  ASSERT_EQ(schema["oneOf"].size(), strategy_catalog().size());
  EXPECT_FALSE(schema["oneOf"][0].contains("required"));
  EXPECT_EQ(schema["oneOf"][1]["required"].dump(), R"(["period","type"])");
}

}  // namespace
}  // namespace ps::strategy_test
