// Layers on numbers small enough to compute by hand.  The cost "sum" passes their output on as predictions.
#include <gmock/gmock.h>

#include <cmath>

#include "config/json.h"
#include "network_bench.h"

namespace ps::layers_test {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;

class Layers : public testing::Test {
 protected:
  // A network of these layers, of which the first, "out", is measured.
  void build(const char* layers) {
    Json model = {{"layers", Json::parse(layers)}, {"cost", {{"type", "sum"}, {"input", "out"}}}};
    bench_ = std::make_unique<NetworkBench<float>>(model, schema_);
  }

  // Appends an example.
  void add(std::vector<Key> ids, std::vector<float> values, std::vector<float> x) {
    SlotData& slot = batch_.slots[0];
    slot.keys.insert(slot.keys.end(), ids.begin(), ids.end());
    slot.values.insert(slot.values.end(), values.begin(), values.end());
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    batch_.slots[1].values.insert(batch_.slots[1].values.end(), x.begin(), x.end());
    batch_.labels.push_back(0);
  }

  void load(bool training = true, int64_t step = 0) { bench_->load(batch_, training, step); }

  void set(const std::string& parameter, std::vector<float> values) {
    bench_->weights(bench_->find(parameter)) = std::move(values);
    bench_->load(batch_);  // points to the new array
  }

  void set_row(const std::string& parameter, Key key, std::vector<float> values) {
    std::copy(values.begin(), values.end(), bench_->row(bench_->find(parameter), key).begin());
  }

  std::vector<float> forward() {
    cost_ = bench_->forward();
    Matrix<const float> predictions = bench_->network().predictions();
    return {predictions.data, predictions.data + predictions.size()};
  }

  std::vector<float> gradient(const std::string& parameter) {
    return bench_->gradient(bench_->find(parameter));
  }
  std::vector<float> row_gradient(const std::string& parameter, Key key) {
    std::span<float> row = bench_->row_gradient(bench_->find(parameter), key);
    return {row.begin(), row.end()};
  }

  const DataSchema schema_ = {{{.name = "ids", .dim = 4}, {.name = "x", .dense = true, .dim = 2}}};
  Batch batch_ = [this] {
    Batch batch;
    batch.clear(schema_);
    return batch;
  }();
  std::unique_ptr<NetworkBench<float>> bench_;
  double cost_ = 0;
};

TEST_F(Layers, FcAddsTheRowsOfIdsTimesTheirValuesAndTheBias) {
  add({1, 3}, {2, 1}, {0, 0});
  add({}, {}, {0, 0});
  add({3, 3}, {1, 5}, {0, 0});
  build(R"([{"name": "out", "type": "fc", "input": "ids", "size": 2}])");
  load();
  set("out.bias", {100, 200});
  set_row("out.weight", 1, {1, 2});
  set_row("out.weight", 3, {10, 20});
  EXPECT_THAT(forward(), ElementsAre(112, 224, 100, 200, 160, 320));
  EXPECT_EQ(cost_, 1116);
  bench_->backward();
  EXPECT_THAT(gradient("out.bias"), ElementsAre(3, 3));
  EXPECT_THAT(row_gradient("out.weight", 1), ElementsAre(2, 2));
  EXPECT_THAT(row_gradient("out.weight", 3), ElementsAre(7, 7));
}

TEST_F(Layers, FcSumsItsInputs) {
  add({0}, {}, {3, 4});
  build(
      R"([{"name": "out", "type": "fc", "input": ["x", "ids"], "size": 1, "bias": false, "sparse_update": true}])");
  load();
  set("out.weight0", {10, 100});
  set_row("out.weight1", 0, {5});
  EXPECT_THAT(forward(), ElementsAre(435));
  EXPECT_EQ(bench_->network().parameters().size(), 2u);
  EXPECT_FALSE(bench_->network().parameters()[0].sparse);
  EXPECT_TRUE(bench_->network().parameters()[1].sparse);
}

TEST_F(Layers, EmbeddingSumsOrAveragesOrLinesUpTheRowsOfASlot) {
  add({1, 2}, {1, 3}, {0, 0});
  add({}, {}, {0, 0});
  add({2}, {2}, {0, 0});
  auto pooled = [&](const char* layers) {
    build(layers);
    load();
    set_row("out.weight", 1, {1, 2});
    set_row("out.weight", 2, {10, 20});
    return forward();
  };
  EXPECT_THAT(pooled(R"([{"name": "out", "type": "embedding", "input": "ids", "size": 2}])"),
              ElementsAre(31, 62, 0, 0, 20, 40));
  EXPECT_THAT(
      pooled(R"([{"name": "out", "type": "embedding", "input": "ids", "size": 2, "pooling": "mean"}])"),
      ElementsAre(15.5, 31, 0, 0, 20, 40));
  EXPECT_THAT(pooled(R"([{"name": "out", "type": "embedding", "input": "ids", "size": 2, "pooling": "concat",
                          "ids_per_example": 2}])"),
              ElementsAre(1, 2, 30, 60, 0, 0, 0, 0, 20, 40, 0, 0));
}

TEST_F(Layers, EmbeddingOfTooManyIdsToLineUpIsBadData) {
  add({}, {}, {0, 0});
  add({1, 2, 3}, {}, {0, 0});
  build(
      R"([{"name": "out", "type": "embedding", "input": "ids", "size": 2, "pooling": "concat", "ids_per_example": 2}])");
  load();
  try {
    forward();
    FAIL() << "three ids in two places";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kData);
    EXPECT_EQ(error.message(),
              "example 1 of the batch has 3 ids in slot 'ids', more than ids_per_example, 2");
  }
}

TEST_F(Layers, ConcatKeepsTheOrderOfItsInputsAndAddSumsThem) {
  add({0}, {}, {3, 4});
  build(R"([{"name": "out", "type": "concat", "input": ["x", "e", "x"]},
            {"name": "e", "type": "embedding", "input": "ids", "size": 1}])");
  load();
  set_row("e.weight", 0, {7});
  EXPECT_THAT(forward(), ElementsAre(3, 4, 7, 3, 4));
  build(R"([{"name": "out", "type": "add", "input": ["x", "e", "x"]},
            {"name": "e", "type": "embedding", "input": "ids", "size": 2}])");
  load();
  set_row("e.weight", 0, {7, 70});
  EXPECT_THAT(forward(), ElementsAre(13, 78));
}

TEST_F(Layers, FmSumsTheProductsOfAllPairsOfIds) {
  add({0, 1, 2}, {1, 2, 1}, {0, 0});
  add({1}, {5}, {0, 0});
  build(R"([{"name": "out", "type": "fm", "input": "ids", "factors": 2}])");
  load();
  set_row("out.weight", 0, {1, 2});
  set_row("out.weight", 1, {3, 4});
  set_row("out.weight", 2, {5, 6});
  // 2 (1, 2).(3, 4) + (1, 2).(5, 6) + 2 (3, 4).(5, 6) = 22 + 17 + 78
  EXPECT_THAT(forward(), ElementsAre(117, 0));
}

TEST_F(Layers, FfmMultipliesVectorsThatFaceEachOthersSlots) {
  add({0, 2}, {1, 2}, {0, 0});
  build(R"([{"name": "out", "type": "ffm", "input": ["ids", "ids"], "factors": 1}])");
  load();
  set_row("out.weight", 0, {3, 5});  // facing the first slot, facing the second
  set_row("out.weight", 2, {7, 11});
  // The sums are 5 + 2 11 of what faces the second slot, and 3 + 2 7 of what faces the first.
  EXPECT_THAT(forward(), ElementsAre(27 * 17));
}

TEST_F(Layers, BiInteractionMultipliesAllPairsOfVectors) {
  add({0, 2}, {1, 1}, {3, 5});
  build(R"([{"name": "out", "type": "bi_interaction", "input": "joined", "size": 2},
            {"name": "vectors", "type": "fc", "input": "x", "size": 4, "bias": false},
            {"name": "joined", "type": "concat", "input": ["vectors", "x"]}])");
  load();
  set("vectors.weight", {1, 0, 2, 0, 0, 1, 0, 2});
  // The vectors are (3, 5), (6, 10) and (3, 5).
  EXPECT_THAT(forward(), ElementsAre(18 + 9 + 18, 50 + 25 + 50));
}

TEST_F(Layers, DotCosineBilinearAndTranslationMatchVectors) {
  add({}, {}, {3, 4});
  add({}, {}, {0, 0});
  const std::string a = R"({"name": "a", "type": "fc", "input": "x", "size": 2, "bias": false})";
  const auto matched = [&](const std::string& layer) {
    build(cat("[", layer, ", ", a, "]").c_str());
    load();
    set("a.weight", {0, 1, 1, 0});  // (4, 3) and (0, 0)
    return forward();
  };
  EXPECT_THAT(matched(R"({"name": "out", "type": "dot", "input": ["x", "a"]})"), ElementsAre(24, 0));
  EXPECT_THAT(matched(R"({"name": "out", "type": "cosine", "input": ["x", "a"], "scale": 5})"),
              ElementsAre(FloatNear(4.8f, 1e-6f), 0));
  EXPECT_THAT(matched(R"({"name": "out", "type": "bilinear", "input": ["x", "a", "a"]})"),
              ElementsAre(48 + 36, 0));
  EXPECT_THAT(matched(R"({"name": "out", "type": "translation", "input": ["x", "x", "a"]})"),
              ElementsAre(FloatNear(-std::sqrt(29.0f), 1e-6f), FloatNear(0, 1e-5f)));
  EXPECT_THAT(matched(R"({"name": "out", "type": "translation", "input": ["x", "x", "a"], "norm": "l1"})"),
              ElementsAre(-7, 0));
}

TEST_F(Layers, InBatchSoftmaxTakesTheOtherItemsOfTheBatchAsNegatives) {
  add({1}, {1}, {1, 0});
  add({2}, {1}, {0, 1});
  add({1}, {1}, {0, 2});
  batch_.labels = {1, 0, 1};
  build(R"([{"name": "out", "type": "in_batch_softmax", "input": ["x", "x"]}])");
  load();
  // Similarities of the first query are 1, 0, 0, and of the last 0, 2, 4; the second has no cost.
  EXPECT_THAT(forward(), ElementsAre(FloatNear(std::log1p(2 * std::exp(-1.0f)), 1e-6f), 0,
                                     FloatNear(std::log1p(std::exp(-2.0f) + std::exp(-4.0f)), 1e-6f)));
  // The first and the last item are the same, and do not count beside each other.
  build(R"([{"name": "out", "type": "in_batch_softmax", "input": ["x", "x", "ids"]}])");
  load();
  EXPECT_THAT(forward(), ElementsAre(FloatNear(std::log1p(std::exp(-1.0f)), 1e-6f), 0,
                                     FloatNear(std::log1p(std::exp(-2.0f)), 1e-6f)));
}

TEST_F(Layers, ThatMatchVectorsRefuseOtherInputs) {
  add({}, {}, {1, 2});
  EXPECT_THROW(build(R"([{"name": "out", "type": "dot", "input": ["x", "ids"]}])"), Error);
  EXPECT_THROW(build(R"([{"name": "out", "type": "dot", "input": ["x", "x", "x"]}])"), Error);
  EXPECT_THROW(build(R"([{"name": "out", "type": "bilinear", "input": ["x", "x"]}])"), Error);
  EXPECT_THROW(build(R"([{"name": "out", "type": "in_batch_softmax", "input": ["x", "ids"]}])"), Error);
  EXPECT_THROW(build(R"([{"name": "out", "type": "bi_interaction", "input": "x", "size": 2}])"), Error);
  EXPECT_THROW(build(R"([{"name": "out", "type": "ffm", "input": ["ids"], "factors": 2}])"), Error);
}

TEST_F(Layers, CrossMultipliesTheInputWithItself) {
  add({}, {}, {1, 2});
  build(R"([{"name": "out", "type": "cross", "input": "x", "depth": 2}])");
  load();
  set("out.weight", {3, 4, 1, 0});
  set("out.bias", {5, 6, 100, 200});
  // x1 = (1, 2) 11 + (5, 6) + (1, 2) = (17, 30);  x2 = (1, 2) 17 + (100, 200) + x1
  EXPECT_THAT(forward(), ElementsAre(134, 264));
}

TEST_F(Layers, BatchNormUsesTheBatchInTrainingAndTheRunningStatisticsInTests) {
  add({}, {}, {1, 10});
  add({}, {}, {3, 10});
  build(R"([{"name": "out", "type": "batch_norm", "input": "x", "epsilon": 1e-8, "momentum": 0.75}])");
  load();
  set("out.weight", {2, 1});
  set("out.bias", {0, 5});
  set("out.mean", {0, 0});
  set("out.variance", {1, 1});
  EXPECT_THAT(forward(), ElementsAre(FloatEq(-2), FloatEq(5), FloatEq(2), FloatEq(5)));
  EXPECT_THAT(bench_->weights(bench_->find("out.mean")), ElementsAre(0.5, 2.5));
  EXPECT_THAT(bench_->weights(bench_->find("out.variance")), ElementsAre(1, 0.75));
  load(/*training=*/false);
  set("out.mean", {1, 0});
  set("out.variance", {4, 25});
  load(/*training=*/false);
  EXPECT_THAT(forward(), ElementsAre(FloatEq(0), FloatEq(7), FloatEq(2), FloatEq(7)));
  EXPECT_THAT(bench_->weights(bench_->find("out.mean")), ElementsAre(1, 0)) << "a test moved the statistics";
}

TEST_F(Layers, DropoutDependsOnTheStepAloneAndKeepsTheExpectation) {
  for (int i = 0; i < 5000; ++i) add({}, {}, {1, 1});
  const char* layers = R"([{"name": "out", "type": "dropout", "input": "x", "rate": 0.25}])";
  build(layers);
  load(true, /*step=*/3);
  std::vector<float> first = forward();
  EXPECT_NEAR(cost_, 10000, 4 * 58) << "four deviations";
  for (float value : first) ASSERT_THAT(value, testing::AnyOf(0.0f, FloatNear(4.0f / 3, 1e-6f)));
  build(layers);
  load(true, 3);
  EXPECT_EQ(forward(), first);
  load(true, 4);
  EXPECT_NE(forward(), first);
  load(false, 3);
  EXPECT_EQ(forward(), std::vector<float>(10000, 1.0f));
}

TEST_F(Layers, ActivationsAreWhatTheirNamesSay) {
  add({}, {}, {-1, 30});
  auto activated = [&](const std::string& activation) {
    build(cat(R"([{"name": "out", "type": "concat", "input": "x", "activation": ")", activation, "\"}]")
              .c_str());
    load();
    return forward();
  };
  EXPECT_THAT(activated("linear"), ElementsAre(-1, 30));
  EXPECT_THAT(activated("sigmoid"), ElementsAre(FloatEq(0.26894143f), FloatEq(1)));
  EXPECT_THAT(activated("tanh"), ElementsAre(FloatEq(-0.76159418f), FloatEq(1)));
  EXPECT_THAT(activated("stanh"), ElementsAre(FloatNear(-0.999997f, 1e-6f), FloatEq(1.7159f)));
  EXPECT_THAT(activated("relu"), ElementsAre(0, 30));
  EXPECT_THAT(activated("brelu"), ElementsAre(0, 24));
  EXPECT_THAT(activated("softplus"), ElementsAre(FloatEq(0.31326166f), FloatEq(30)));
  EXPECT_THAT(activated("softmax"), ElementsAre(FloatEq(3.4424772e-14f), FloatEq(1)));
  EXPECT_THAT(activated("exponential"), ElementsAre(FloatEq(0.36787945f), FloatEq(1.0686475e13f)));
}

// A layer of images on x, a dense slot of two values.
constexpr const char* kImage = R"("input": "x", "channels": 1, "height": 1, "width": 2)";

TEST_F(Layers, Conv2dSumsEachFilterOverTheImageAndItsPadding) {
  add({}, {}, {3, 4});
  build(cat(R"([{"name": "out", "type": "conv2d", "filters": 2, "kernel": 3, "padding": 1, )", kImage, "}]")
            .c_str());
  load();
  set("out.weight", {0, 0, 0, 1, 10, 100, 0, 0, 0, 9, 9, 9, 0, 1, 0, 9, 9, 9});
  set("out.bias", {1000, 2000});
  // Row 1 of a filter lies on the image: 1 x 0 + 10 x 3 + 100 x 4, and 1 x 3 + 10 x 4 + 100 x 0.
  EXPECT_THAT(forward(), ElementsAre(1430, 1043, 2003, 2004));
  bench_->backward();
  EXPECT_THAT(gradient("out.bias"), ElementsAre(2, 2));
  EXPECT_THAT(gradient("out.weight"), ElementsAre(0, 0, 0, 3, 7, 4, 0, 0, 0, 0, 0, 0, 3, 7, 4, 0, 0, 0));
}

TEST_F(Layers, PoolsTakeTheLargestOrTheMeanOfWhatTheirWindowsHold) {
  add({}, {}, {1, 2});
  auto pooled = [&](const std::string& type, const std::string& keys) {
    build(cat(R"([{"name": "out", "type": ")", type, R"(", "input": "c")", keys, R"(},
               {"name": "c", "type": "conv2d", "filters": 3, "kernel": 1, "bias": false, )",
              kImage, "}]")
              .c_str());
    load();
    set("c.weight", {1, -2, 10});  // channels (1, 2), (-2, -4), (10, 20)
    return forward();
  };
  const std::string wide = R"(, "kernel": 3, "padding": 1, "stride": 2)";
  EXPECT_THAT(pooled("max_pool", wide), ElementsAre(2, -2, 20));
  EXPECT_THAT(pooled("average_pool", wide), ElementsAre(1.5, -3, 15));
  EXPECT_THAT(pooled("max_pool", R"(, "kernel": 1, "stride": 2)"), ElementsAre(1, -2, 10));
  EXPECT_THAT(pooled("max_pool", R"(, "kernel": 1)"), ElementsAre(1, 2, -2, -4, 10, 20));
  EXPECT_THAT(pooled("global_average_pool", ""), ElementsAre(1.5, -3, 15));
}

// Three values with windows of two, two apart: the last value is alone in a window, or in none.
TEST_F(Layers, PoolsWithCeilModeReachPastTheEdge) {
  add({}, {}, {1, 2});
  auto pooled = [&](const char* mode) {
    build(cat(R"([{"name": "out", "type": "average_pool", "kernel": 2, "stride": 2, "input": "b",
                   "channels": 1, "height": 3, "width": 3, "ceil_mode": )",
              mode, R"(}, {"name": "b", "type": "fc", "input": "x", "size": 9}])")
              .c_str());
    load();
    set("b.weight", std::vector<float>(18, 0));
    set("b.bias", {1, 3, 5, 5, 7, 9, 11, 13, 15});
    return forward();
  };
  EXPECT_THAT(pooled("false"), ElementsAre(4));
  EXPECT_THAT(pooled("true"), ElementsAre(4, 7, 12, 15));
}

TEST_F(Layers, LocalResponseNormDividesByTheChannelsBeside) {
  add({}, {}, {1, 2});
  build(R"([{"name": "out", "type": "local_response_norm", "input": "b", "size": 3, "alpha": 0.5, "beta": 2,
             "k": 1, "channels": 3, "height": 1, "width": 1},
            {"name": "b", "type": "fc", "input": "x", "size": 3, "bias": false}])");
  load();
  set("b.weight", {2, 0, 4, 0, 0, 0});  // channels 2, 0, 4
  EXPECT_THAT(forward(), ElementsAre(FloatEq(2.0f / 9), 0, FloatEq(4.0f / 81)));
}

TEST_F(Layers, BatchNormOfAnImageTakesEachChannelOverExamplesAndPlaces) {
  add({}, {}, {1, 3});
  add({}, {}, {5, 7});
  build(R"([{"name": "out", "type": "batch_norm", "input": "c", "epsilon": 1e-8, "momentum": 0},
            {"name": "c", "type": "conv2d", "filters": 2, "kernel": 1, "bias": false,
             "input": "x", "channels": 1, "height": 1, "width": 2}])");
  load();
  set("c.weight", {1, -2});  // mean 4, variance 5; mean -8, variance 20
  set("out.weight", {1, 1});
  set("out.bias", {0, 0});
  const float near = 1 / std::sqrt(5.0f), far = 3 * near;
  EXPECT_THAT(forward(), ElementsAre(FloatEq(-far), FloatEq(-near), FloatEq(far), FloatEq(near),
                                     FloatEq(near), FloatEq(far), FloatEq(-near), FloatEq(-far)));
  EXPECT_THAT(bench_->weights(bench_->find("out.mean")), ElementsAre(4, -8));
  EXPECT_THAT(bench_->weights(bench_->find("out.variance")), ElementsAre(FloatEq(5), FloatEq(20)));
}

TEST_F(Layers, AuxiliaryCostsCountInTrainingAlone) {
  add({}, {}, {1, 2});
  bench_ = std::make_unique<NetworkBench<float>>(Json::parse(R"({
        "layers": [{"name": "out", "type": "concat", "input": "x"}, {"name": "b", "type": "concat", "input": "x"}],
        "cost": {"type": "sum", "input": "out", "factor": 2},
        "auxiliary_costs": [{"type": "sum", "input": "b", "factor": 10}]})"),
                                                 schema_);
  load();
  EXPECT_THAT(forward(), ElementsAre(1, 2));
  EXPECT_EQ(cost_, 36);
  load(/*training=*/false);
  EXPECT_THAT(forward(), ElementsAre(1, 2));
  EXPECT_EQ(cost_, 6);
}

// The loop may keep a step with no data left.
TEST_F(Layers, AnEmptyBatchCostsNothingAndHasZeroGradients) {
  build(R"([{"name": "out", "type": "fc", "input": ["ids", "h"], "size": 2, "activation": "softmax"},
            {"name": "h", "type": "batch_norm", "input": "n"},
            {"name": "n", "type": "local_response_norm", "input": "p"},
            {"name": "p", "type": "max_pool", "input": "v", "kernel": 1},
            {"name": "v", "type": "conv2d", "input": "c", "channels": 2, "height": 1, "width": 1, "kernel": 1,
             "filters": 2},
            {"name": "c", "type": "cross", "input": "d"},
            {"name": "d", "type": "dropout", "input": "x"}])");
  load();
  forward();
  EXPECT_EQ(cost_, 0);
  bench_->backward();
  EXPECT_THAT(gradient("out.bias"), ElementsAre(0, 0));
  EXPECT_THAT(gradient("out.weight1"), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(gradient("v.weight"), ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace ps::layers_test
