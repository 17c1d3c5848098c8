// The networks of share/jobs/nets against published sizes.  |W| is the bytes of all weights, |D| those of the
// activations that convolutions and fc layers read, for a batch of 1024, both in decimal MB of 4-byte floats:
// Iandola et al., "FireCaffe", 2015, table 1.
#include <gtest/gtest.h>

#include "job/job.h"
#include "model/network.h"

namespace ps::nets_test {
namespace {

struct Sizes {
  double weights = 0, activations = 0;  // values; activations of one example
};

Sizes sizes_of(const std::string& net) {
  const Job job = load_job(cat(PS_NETS_FOLDER, "/", net, ".json"), {});
  const Network<float> network(job.model, job.data.schema(job.data.format), job.job.seed);
  Sizes sizes;
  for (const LayerSize& layer : network.layer_sizes()) {
    sizes.weights += static_cast<double>(layer.weights);
    if (layer.type == "conv2d" || layer.type == "fc") sizes.activations += static_cast<double>(layer.inputs);
  }
  return sizes;
}

struct Published {
  const char* net;
  double weights_mb, activations_mb;
};

class PublishedNet : public testing::TestWithParam<Published> {};

TEST_P(PublishedNet, HasThePublishedBytesOfWeightsAndActivations) {
  constexpr double kBytes = 4, kBatch = 1024, kMega = 1e6, kTolerance = 0.015;
  const Sizes sizes = sizes_of(GetParam().net);
  const double weights_mb = kBytes * sizes.weights / kMega;
  const double activations_mb = kBytes * kBatch * sizes.activations / kMega;
  EXPECT_NEAR(weights_mb, GetParam().weights_mb, kTolerance * GetParam().weights_mb);
  EXPECT_NEAR(activations_mb, GetParam().activations_mb, kTolerance * GetParam().activations_mb);
}

INSTANTIATE_TEST_SUITE_P(FireCaffe, PublishedNet,
                         testing::Values(Published{"nin", 30, 5800}, Published{"alexnet", 249, 1680},
                                         Published{"googlenet", 53.5, 19100}, Published{"vgg19", 575, 42700}),
                         [](const auto& test) { return test.param.net; });

// Weights that everybody counts the same: Simonyan and Zisserman 2015; He et al. 2016 as torchvision has it;
// the LeNet of Caffe's examples.
TEST(Nets, HaveTheWeightsThatOthersCount) {
  EXPECT_EQ(sizes_of("lenet").weights, 431080);
  EXPECT_EQ(sizes_of("vgg16").weights, 138357544);
  EXPECT_EQ(sizes_of("vgg19").weights, 143667240);
  EXPECT_EQ(sizes_of("resnet18").weights, 11689512);
  EXPECT_EQ(sizes_of("resnet50").weights, 25557032);
}

}  // namespace
}  // namespace ps::nets_test
