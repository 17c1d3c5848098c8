// A store whose dense parameters are trained on a device gives what the store gives alone, for every optimizer.
#include "device/model_store.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "device/model_devices.h"
#include "model/model_device.h"
#include "optim/optimizer.h"

namespace ps::model_store_test {
namespace {

// Matrices, one of them of a single value, and one that the device is not asked to train.
std::vector<ParameterSpec> parameters() {
  std::vector<ParameterSpec> all(3);
  const char* const names[] = {"weight", "bias", "other"};
  for (size_t p = 0; p < all.size(); ++p) {
    all[p].name = names[p];
    all[p].rows = p == 1 ? 1 : 5;
    all[p].cols = p == 1 ? 1 : 67;
    all[p].initializer = {Distribution::kNormal, 0, 0.5, 10 + p};
  }
  all[0].tuning.learning_rate = 0.5;
  return all;
}

int64_t size_of(size_t parameter) {
  return parameters()[parameter].rows * parameters()[parameter].cols;
}

class Trained {
 public:
  explicit Trained(const OptimizerPlan& optimizers)
      : local_(parameters(), optimizers, UINT64_MAX, processor_) {}

  void use_device() {
    kernels_ = make_emulated_model_device();
    const std::vector<bool> wanted = {true, true, false};
    on_device_ = std::make_unique<ModelStore>(local_, local_, parameters(), wanted, kernels_, processor_);
  }

  ParameterStore& store() { return on_device_ ? static_cast<ParameterStore&>(*on_device_) : local_; }
  LocalStore& local() { return local_; }
  uint64_t graphs() const { return kernels_->started_work().graphs; }
  ModelStore& on_device() { return *on_device_; }

  void step(int64_t number) {
    if (kernels_) kernels_->begin_batch();
    const std::vector<KeyPlan> plans(parameters().size());
    std::vector<ParameterView<float>> views;
    store().pull(plans, PullMode::kTrain, views);
    for (size_t p = 0; p < plans.size(); ++p) {
      Random random(static_cast<uint64_t>(number), p);
      std::vector<float> gradient(static_cast<size_t>(size_of(p)));
      for (float& value : gradient) value = static_cast<float>(random.normal());
      if (views[p].there) {
        kernels_->send(views[p].gradient, gradient.data(), gradient.size() * sizeof(float));
        kernels_->wait();
      } else {
        std::copy(gradient.begin(), gradient.end(), views[p].gradient);
      }
    }
    store().push(plans, views, {8, 0});
  }

  // The weights to test with, by both ways to read them.
  std::vector<float> weights(size_t parameter) {
    std::vector<float> all(static_cast<size_t>(size_of(parameter)));
    store().read_all(static_cast<int>(parameter), all.data());
    std::vector<ParameterView<float>> views;
    store().pull(std::vector<KeyPlan>(parameters().size()), PullMode::kRead, views);
    EXPECT_FALSE(views[parameter].there);
    EXPECT_EQ(all, std::vector<float>(views[parameter].value, views[parameter].value + all.size()));
    return all;
  }

 private:
  Device processor_{1, best_cpu_level()};
  LocalStore local_;
  std::shared_ptr<ModelDevice> kernels_;
  std::unique_ptr<ModelStore> on_device_;
};

OptimizerPlan plan_of(Json optimizer) {
  if (!optimizer.contains("learning_rate")) optimizer["learning_rate"] = 0.05;
  return make_optimizer_plan(optimizer, "mean");
}

void expect_same(Trained& plain, Trained& device) {
  for (size_t p = 0; p < parameters().size(); ++p) {
    EXPECT_EQ(plain.weights(p), device.weights(p)) << parameters()[p].name;
    std::vector<float> here, there;
    plain.local().copy_stored(static_cast<int>(p), here);
    device.local().copy_stored(static_cast<int>(p), there);
    EXPECT_EQ(here, there) << "the state of " << parameters()[p].name;
  }
}

TEST(ModelStore, GivesTheBitsOfTheStoreForEveryOptimizer) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    SCOPED_TRACE(entry->name);
    const OptimizerPlan optimizers = plan_of({{"type", entry->name}, {"clip_value", 0.8}});
    Trained plain(optimizers), device(optimizers);
    device.use_device();
    EXPECT_EQ(device.on_device().num_there(), 2u);
    for (int64_t number = 0; number < 6; ++number) {
      plain.step(number);
      device.step(number);
      if (number % 2 == 1) expect_same(plain, device);
      EXPECT_EQ(plain.store().learning_rate(), device.store().learning_rate());
    }
    EXPECT_GT(device.graphs(), 0u);
  }
}

// The third step is the first that counts for the mean: models have the weights before, and the means after it.
TEST(ModelStore, GivesTheMeansOfTheStoreForEveryOptimizer) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    SCOPED_TRACE(entry->name);
    const OptimizerPlan optimizers = plan_of({{"type", entry->name}, {"average", {{"begin_step", 2}}}});
    Trained plain(optimizers), device(optimizers);
    device.use_device();
    EXPECT_EQ(device.on_device().num_there(), 2u);
    for (int64_t number = 0; number < 7; ++number) {
      plain.step(number);
      device.step(number);
      expect_same(plain, device);
    }
    std::vector<float> stored;
    device.local().copy_stored(0, stored);
    stored.resize(static_cast<size_t>(size_of(0)));
    EXPECT_NE(device.weights(0), stored) << "a model has the weights, and not their means";
  }
}

TEST(ModelStore, TrainsOnWithWeightsThatWereSet) {
  const OptimizerPlan optimizers = plan_of({{"type", "adam"}, {"l2", 0.01}});
  Trained plain(optimizers), device(optimizers);
  device.use_device();
  const std::vector<float> set(static_cast<size_t>(size_of(0)), 0.25f);
  for (Trained* trained : {&plain, &device}) {
    trained->step(0);
    trained->store().load_all(0, set.data());
    EXPECT_EQ(trained->weights(0), set);
    trained->step(1);
  }
  expect_same(plain, device);
}

// The norm of a gradient is computed on the processor.
TEST(ModelStore, LeavesWhereTheyAreWhatADeviceCannotTrain) {
  const OptimizerPlan optimizers = plan_of({{"type", "sgd"}, {"clip_norm", 0.5}});
  Trained plain(optimizers), device(optimizers);
  device.use_device();
  EXPECT_EQ(device.on_device().num_there(), 0u);
  for (Trained* trained : {&plain, &device}) trained->step(0);
  expect_same(plain, device);
}

TEST(ModelStore, SaysWhatItTakes) {
  Trained device(plan_of({{"type", "adam"}}));
  device.use_device();
  EXPECT_EQ(device.on_device().bytes_there(), (5 * 67 + 1) * sizeof(float) * 4);
}

}  // namespace
}  // namespace ps::model_store_test
