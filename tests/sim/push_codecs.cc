// Gradients that travel to servers in the bytes of a codec: what they come to, and the same bits under faults.
#include <cmath>

#include "cluster.h"
#include "codec/codec.h"

namespace ps {
namespace {

// A codec, and how far from the weights of f32 those of eight steps of rate 1 may be: about twice the distance that was
// measured.  Gradients are noise, of which one_bit, threshold and low_rank leave much in their residuals.
struct Coded {
  Json codec;
  double worst;
  bool any_servers;  // values are encoded one by one: the weights do not depend on the number of servers
};

std::vector<Coded> all_codecs() {
  return {{{{"type", "fp16"}}, 1e-4, true},
          {{{"type", "bf16"}}, 1e-3, true},
          {{{"type", "int8"}}, 1e-3, false},
          {{{"type", "int8"}, {"rounding", "stochastic"}}, 2e-3, false},
          {{{"type", "shared_scale_int"}}, 2e-3, false},
          {{{"type", "one_bit"}}, 0.8, false},
          {{{"type", "threshold"}, {"tau", 0.5}}, 1.2, true},
          {{{"type", "top_k"}, {"density", 0.2}}, 0.15, false},
          {{{"type", "low_rank"}, {"rank", 2}}, 1.2, false}};
}

class EveryPushCodec : public testing::TestWithParam<Coded> {
 protected:
  SyntheticJob job() const {
    SyntheticJob job;
    job.types.push_codec = GetParam().codec;
    return job;
  }
};

TEST_P(EveryPushCodec, IsWithinABoundOfGradientsAsTheyAre) {
  SyntheticJob coded = job();
  coded.optimizer = {{"type", "sgd"}, {"learning_rate", 1}};
  const std::vector<float> served = ShardCluster(coded, {2, 1, 1}).train(), exact = train_locally(coded);
  double worst = 0;
  for (size_t i = 0; i < served.size(); ++i) worst = std::max<double>(worst, std::fabs(served[i] - exact[i]));
  EXPECT_GT(worst, 0);
  EXPECT_LT(worst, GetParam().worst);
  RecordProperty("worst", std::to_string(worst));
}

TEST_P(EveryPushCodec, HasTheSameBitsOnAnyServersIfItEncodesValuesOneByOne) {
  SyntheticJob coded = job();
  coded.steps = {{4, 2}, {5, 0}};
  const std::vector<float> one = ShardCluster(coded, {1, 1, 0}).train();
  const std::vector<float> many = ShardCluster(coded, {3, 2, 2}, /*seed=*/2).train();
  if (GetParam().any_servers) return expect_same_bits(one, many);
  EXPECT_NE(one, many) << "say so in ps-job(5)";
}

TEST_P(EveryPushCodec, ChangesNoBitUnderFaults) {
  SyntheticJob coded = job();
  coded.steps = {{6, 4}, {5, 5}};
  coded.optimizer = {{"type", "adagrad"}, {"learning_rate", 0.05}, {"clip_global_norm", 0.5}};
  expect_no_bit_changes_under_faults(coded, 2);
}

INSTANTIATE_TEST_SUITE_P(Codecs, EveryPushCodec, testing::ValuesIn(all_codecs()), [](const auto& each) {
  const Json& codec = each.param.codec;
  return codec["type"].template get<std::string>() + (codec.contains("rounding") ? "_stochastic" : "");
});

}  // namespace
}  // namespace ps
