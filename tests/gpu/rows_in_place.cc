// A model on the device of its rows reads them where they lie in the table, and gives the bits of the processor: bags of rows,
// their gradients, and what steps make of the rows.  Where rows cannot stay in place it gets copies, with the same bits.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "device/device_store.h"
#include "device/model_devices.h"
#include "math/dense_kernels.h"
#include "math/sparse_kernels.h"
#include "on_both_devices.h"
#include "optim/optimizer_plan.h"
#include "store/local_store.h"
#include "support/bits.h"
#include "test_device.h"

namespace ps {

namespace {

struct Shape {
  int64_t width = 1, rows = 0;  // rows of the device
  uint64_t keys = 1;            // drawn ids are below
  std::string values = "f32";
  Json optimizer = {{"type", "sgd"}, {"learning_rate", 0.05}};
};

ParameterSpec table_spec(const Shape& shape, uint64_t number) {
  ParameterSpec spec;
  spec.name = cat("table", number);
  spec.kind = ParameterKind::kRows;
  spec.sparse = true;
  spec.cols = shape.width + static_cast<int64_t>(number);
  spec.initializer = {Distribution::kUniform, 0, 1, 5 + number};
  return spec;
}

// A batch of examples with some ids each, and its plan.
struct Bags {
  Bags(Random& random, uint64_t num_keys, uint64_t examples) {
    for (uint64_t b = 0; b < examples; ++b) {
      for (uint64_t k = random.below(6); k > 0; --k) ids.push_back(hash_key(random.below(num_keys)));
      offsets.push_back(static_cast<uint32_t>(ids.size()));
    }
    values = draw(random, std::ssize(ids));
    const KeyList list{offsets, ids, /*transposed=*/true};
    KeyPlanner().plan({&list, 1}, plan);
  }

  // Uses of the plan point to the offsets.
  Bags(Bags&&) = default;
  Bags(const Bags&) = delete;

  int64_t examples() const { return std::ssize(offsets) - 1; }

  std::vector<uint32_t> offsets = {0};
  std::vector<uint64_t> ids;
  std::vector<float> values;
  KeyPlan plan;
};

// A device that counts the keys that it is asked to look up, and to read.
class CountingDevice final : public RowDevice {
 public:
  explicit CountingDevice(std::unique_ptr<RowDevice> device) : device_(std::move(device)) {}

  uint64_t free_bytes() const override { return device_->free_bytes(); }
  uint64_t bytes_for(const CachedRowsOptions& options) const override { return device_->bytes_for(options); }
  uint64_t rows_for(uint64_t bytes, const CachedRowsOptions& options) const override {
    return device_->rows_for(bytes, options);
  }
  bool gives_pointers(const CachedRowsOptions& options) const override {
    return device_->gives_pointers(options);
  }
  std::unique_ptr<CachedRows> make_rows(const CachedRowsOptions& options) override {
    return device_->make_rows(options);
  }
  void look_up_all(std::span<const RowsLookUp> look_ups) override {
    for (const RowsLookUp& each : look_ups) looked_up += each.keys.size();
    device_->look_up_all(look_ups);
  }
  void advance_all(std::span<const RowsAdvance> advances) override { device_->advance_all(advances); }
  void read_all(std::span<const RowsRead> reads) override {
    for (const RowsRead& each : reads) read += each.keys.size();
    device_->read_all(reads);
  }
  void step_all(std::span<const RowsStep> steps) override { device_->step_all(steps); }

  uint64_t looked_up = 0, read = 0;

 private:
  const std::unique_ptr<RowDevice> device_;
};

// Two tables, trained by the processor, or by a device with the model.
class Training {
 public:
  explicit Training(const Shape& shape)
      : parameters_{table_spec(shape, 0), table_spec(shape, 1)},
        optimizers_(make_optimizer_plan(shape.optimizer, "mean")),
        local_(parameters_, optimizers_, UINT64_MAX, processor_) {}

  void use_device(const Shape& shape, uint64_t seed) {
    auto device = std::make_unique<gpu::Device>(test_device::with_few_threads(seed));
    kernels_ = make_gpu_kernels(std::move(device));
    DeviceOptions options;
    options.type = "emulated";
    rows_ = std::make_shared<CountingDevice>(row_device_of(kernels_, options.type));
    options.trains = "all";
    options.rows = shape.rows;
    options.values = shape.values;
    options.rounding = "nearest";
    const CachePlan plan = plan_caches(*rows_, options, parameters_, optimizers_);
    there_.emplace(processor_, kernels_);
    on_device_ = std::make_unique<DeviceStore>(local_, local_, rows_, plan, /*own_thread=*/true,
                                               ModelBesideRows{kernels_, &processor_, &used_});
  }

  // Trains a batch whose gradient is the output of its bags.  Returns the bags and the gradients of rows, one table behind the
  // other.
  std::vector<float> step(const std::vector<Bags>& bags) {
    if (kernels_) kernels_->begin_batch();
    const std::vector<KeyPlan> plans = {bags[0].plan, bags[1].plan};
    std::vector<ParameterView<float>> views;
    store().pull(plans, PullMode::kTrain, views);
    std::vector<float> results;
    for (size_t p = 0; p < plans.size(); ++p) compute(p, bags[p], views[p], results);
    store().push(plans, views, {8, 0});
    return results;
  }

  // Weights and state, as checkpoints have them.
  std::vector<float> rows(int parameter) {
    RowBlock block;
    local_.copy_rows(parameter, store().keys(parameter), block);
    return block.values;
  }
  uint64_t count(const char* what) const { return on_device_->counters()[what]; }
  uint64_t looked_up() const { return rows_->looked_up; }
  uint64_t read() const { return rows_->read; }
  uint64_t free_bytes() const { return kernels_->free_bytes(); }

 private:
  ParameterStore& store() { return on_device_ ? static_cast<ParameterStore&>(*on_device_) : local_; }

  void compute(size_t parameter, const Bags& bags, const ParameterView<float>& view,
               std::vector<float>& results) {
    EXPECT_EQ(view.there, on_device_ != nullptr);
    Device& device = there_ ? *there_ : processor_;
    const int64_t width = parameters_[parameter].cols;
    const int64_t gradient_size = std::ssize(bags.plan.keys) * width;
    DeviceBuffer<float>& out = out_[parameter];
    out.resize(device, bags.examples() * width);
    fill_values(device, 0.0f, out.size(), out.data());
    const Matrix<float> sums{out.data(), bags.examples(), width};
    const KeyUse& use = bags.plan.uses.front();
    add_bags<float>(device, use, bags.values.data(), view.rows, columns(sums));
    fill_values(device, 0.0f, gradient_size, view.row_gradients);
    add_bag_gradients<float>(device, use, bags.values.data(), columns(Matrix<const float>(sums)),
                             view.row_gradients);
    take(out.data(), out.size(), results);
    take(view.row_gradients, gradient_size, results);
  }

  void take(const float* from, int64_t size, std::vector<float>& results) {
    const size_t before = results.size();
    results.resize(before + static_cast<size_t>(size));
    if (kernels_)
      return kernels_->receive(results.data() + before, from, static_cast<uint64_t>(size) * sizeof(float));
    std::copy_n(from, size, results.data() + before);
  }

  const std::vector<ParameterSpec> parameters_;
  const OptimizerPlan optimizers_;
  const std::vector<bool> used_ = {true, true};
  Device processor_{1, best_cpu_level()};
  LocalStore local_;
  std::shared_ptr<ModelDevice> kernels_;
  std::shared_ptr<CountingDevice> rows_;
  std::optional<Device> there_;  // none: the processor computes
  std::unique_ptr<DeviceStore> on_device_;
  DeviceBuffer<float> out_[2];
};

// A batch for both tables.
std::vector<Bags> draw_bags(Random& random, const Shape& shape, uint64_t examples) {
  std::vector<Bags> bags;
  for (int p = 0; p < 2; ++p) bags.emplace_back(random, shape.keys, examples);
  return bags;
}
std::vector<Bags> draw_bags(Random& random, const Shape& shape) {
  return draw_bags(random, shape, random.below(24));
}

Shape draw_shape(Random& random, uint64_t seed) {
  const Json optimizers[] = {{{"type", "sgd"}, {"learning_rate", 0.05}},
                             {{"type", "momentum"}, {"learning_rate", 0.01}, {"l2", 0.001}},
                             {{"type", "adagrad"}, {"learning_rate", 0.05}},
                             {{"type", "adam"}, {"learning_rate", 0.01}},
                             {{"type", "adam"}, {"learning_rate", 0.01}, {"average", Json::object()}},
                             {{"type", "sgd"}, {"learning_rate", 0.05}, {"clip_value", 0.5}, {"l1", 0.001}}};
  Shape shape;
  shape.width = 1 + draw_size(random, seed % 5 == 0 ? 70 : 12);
  shape.rows = seed % 3 == 0 ? 32 : seed % 3 == 1 ? 64 : 512;
  shape.keys = 1 + random.below(120);
  shape.optimizer = optimizers[random.below(std::size(optimizers))];
  return shape;
}

uint64_t num_shapes() {
  return test_device::is_slow() ? 20 : kShapes;
}

TEST(RowsInPlace, BagsGradientsAndStepsAreThoseOfTheProcessor) {
  uint64_t asked = 0, in_place = 0;
  for (uint64_t seed = 0; seed < num_shapes(); ++seed) {
    Random random(seed, 30);
    const Shape shape = draw_shape(random, seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", width " << shape.width << ", " << shape.keys
                                    << " keys, " << shape.rows << " rows, " << shape.optimizer.dump());
    Training here(shape), there(shape);
    there.use_device(shape, seed);
    for (int step = 0; step < 4; ++step) {
      const std::vector<Bags> bags = draw_bags(random, shape);
      ASSERT_EQ(bits_of(there.step(bags)), bits_of(here.step(bags))) << "step " << step;
    }
    for (int p = 0; p < 2; ++p) ASSERT_EQ(bits_of(there.rows(p)), bits_of(here.rows(p)));
    asked += there.count("rows_asked"), in_place += there.count("rows_in_place");
  }
  EXPECT_GT(in_place, asked / 2);  // most batches are one round
  EXPECT_GT(asked, in_place);      // some are not
}

// A bucket has 32 rows.
TEST(RowsInPlace, ABatchOfSeveralRoundsGetsCopies) {
  Shape shape;
  shape.width = 5, shape.rows = 32, shape.keys = 1000;
  Random random(1, 31);
  Training here(shape), there(shape);
  there.use_device(shape, 1);
  uint64_t expected = 0;
  for (uint64_t examples : {4, 60, 5, 60, 60, 6}) {
    const std::vector<Bags> bags = draw_bags(random, shape, examples);
    for (const Bags& each : bags) {
      ASSERT_EQ(each.plan.keys.size() > 32, examples == 60);
      if (examples != 60) expected += each.plan.keys.size();
    }
    ASSERT_EQ(bits_of(there.step(bags)), bits_of(here.step(bags)));
    ASSERT_EQ(there.count("rows_in_place"), expected);
  }
  for (int p = 0; p < 2; ++p) ASSERT_EQ(bits_of(there.rows(p)), bits_of(here.rows(p)));
}

// The second time all rows are there, so the look-up sets all pointers.  A row that has come needs one more.
TEST(RowsInPlace, ABatchWhoseRowsAreThereIsLookedUpOnce) {
  Shape shape;
  shape.width = 5, shape.rows = 512, shape.keys = 60;
  Random random(4, 31);
  Training here(shape), there(shape);
  there.use_device(shape, 4);
  const std::vector<Bags> bags = draw_bags(random, shape, 10), more = draw_bags(random, shape, 60);
  const uint64_t size = bags[0].plan.keys.size() + bags[1].plan.keys.size();
  for (uint64_t step = 1; step <= 3; ++step) {
    ASSERT_EQ(bits_of(there.step(bags)), bits_of(here.step(bags)));
    EXPECT_EQ(there.looked_up(), step * size);
    EXPECT_EQ(there.read(), size);  // of the first step, whose rows came
  }
  ASSERT_EQ(bits_of(there.step(more)), bits_of(here.step(more)));
  EXPECT_EQ(there.read(), size + more[0].plan.keys.size() + more[1].plan.keys.size());
}

// The copies of weights of 16 bits are floats.  Nothing else is compared: tests of RowCache have the rounding.
TEST(RowsInPlace, WeightsOf16BitsGetCopies) {
  Shape shape;
  shape.width = 6, shape.rows = 512, shape.keys = 50;
  for (const char* values : {"f16", "bf16"}) {
    shape.values = values;
    Random random(2, 31);
    Training here(shape), there(shape);
    there.use_device(shape, 2);
    for (int step = 0; step < 3; ++step) {
      const std::vector<Bags> bags = draw_bags(random, shape);
      const std::vector<float> results = there.step(bags), exact = here.step(bags);
      ASSERT_EQ(results.size(), exact.size());
      for (size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(results[i], exact[i], 0.2f);
    }
    EXPECT_GT(there.count("rows_asked"), 0u);
    EXPECT_EQ(there.count("rows_in_place"), 0u);
  }
}

// Returns the memory of the device that a batch takes, and sets `weights` to the bytes of its rows.
uint64_t bytes_taken(const char* values, uint64_t& weights) {
  Shape shape;
  shape.width = 64, shape.rows = 4096, shape.keys = 100000, shape.values = values;
  Random random(3, 31);
  Training there(shape);
  there.use_device(shape, 3);
  const std::vector<Bags> bags = draw_bags(random, shape, 200);
  const uint64_t before = there.free_bytes();
  there.step(bags);
  weights = 0;
  for (size_t p = 0; p < bags.size(); ++p) weights += bags[p].plan.keys.size() * (64 + p) * sizeof(float);
  return before - there.free_bytes();
}

// Weights of 16 bits are copied, and all else is the same.
TEST(RowsInPlace, ABatchTakesNoMemoryForCopiesOfItsRows) {
  if (test_device::kReusesMemory) return;  // then nobody knows what an allocation takes
  uint64_t weights = 0;
  const uint64_t copied = bytes_taken("f16", weights), in_place = bytes_taken("f32", weights);
  EXPECT_GE(copied, in_place + weights);
  EXPECT_LE(copied, in_place + weights + 2 * test_device::kAllocationUnit);
}

}  // namespace

}  // namespace ps
