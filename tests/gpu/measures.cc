// Evaluators on a device have the state of the processor's, byte for byte, over random shapes; and the predictions that they
// read there do not come to the processor.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "../unit/model/network_bench.h"
#include "config/json.h"
#include "model/evaluator.h"
#include "model/measure_batch.h"
#include "on_both_devices.h"
#include "test_device.h"

namespace ps {

namespace {

std::string state_of(const Evaluator& evaluator) {
  std::string state;
  evaluator.save(state);
  return state;
}

std::shared_ptr<Device> device_there(Device& host, uint64_t seed) {
  return std::make_shared<Device>(host, device_kernels(seed));
}

// Some examples with predictions, of which a few are NaN or equal to others, and labels of which a few are no class.
struct Drawn {
  Batch batch;
  std::vector<float> predictions;  // [B, stride]
  std::vector<float> losses;       // [B]
  std::vector<int64_t> rows;       // those that count
  int64_t stride;
};

Drawn draw_examples(Random& random, int64_t size, int64_t cols, bool weighted, bool all_rows) {
  Drawn drawn;
  drawn.stride = cols + (all_rows ? 0 : draw_size(random, 2));
  drawn.batch.slots.resize(1);
  drawn.batch.slots[0].offsets = {0};
  for (int64_t b = 0; b < size; ++b) {
    for (int64_t c = 0; c < drawn.stride; ++c) {
      const float drawn_value = static_cast<float>(random.below(9)) / 8;
      drawn.predictions.push_back(random.below(40) == 0 ? NAN
                                                        : drawn_value + 0.01f * static_cast<float>(b % 3));
    }
    drawn.losses.push_back(static_cast<float>(random.below(1000)) / 300);
    if (!all_rows && random.below(3) == 0) continue;
    drawn.rows.push_back(b);
    const float label = static_cast<float>(random.below(static_cast<uint64_t>(std::max<int64_t>(cols, 2))));
    drawn.batch.labels.push_back(random.below(30) == 0 ? label - 0.5f : label);
    if (weighted) drawn.batch.weights.push_back(static_cast<float>(random.below(5)) / 3);
    for (int64_t k = draw_size(random, 3); k > 0; --k)
      drawn.batch.slots[0].keys.push_back(random.below(static_cast<uint64_t>(cols)));
    drawn.batch.slots[0].offsets.push_back(static_cast<uint32_t>(drawn.batch.slots[0].keys.size()));
  }
  return drawn;
}

// The arrays of the rows that count, one after the other.
std::vector<float> chosen(const Drawn& drawn, const std::vector<float>& values, int64_t stride,
                          int64_t cols) {
  std::vector<float> out;
  for (int64_t row : drawn.rows)
    out.insert(out.end(), values.begin() + row * stride, values.begin() + row * stride + cols);
  return out;
}

void add_here(Evaluator& evaluator, const Drawn& drawn, int64_t cols, bool losses) {
  if (losses) return evaluator.add_log_losses(chosen(drawn, drawn.losses, 1, 1), drawn.batch);
  const std::vector<float> predictions = chosen(drawn, drawn.predictions, drawn.stride, cols);
  evaluator.add({predictions.data(), drawn.batch.size(), cols}, drawn.batch);
}

void add_there(Evaluator& evaluator, const Drawn& drawn, int64_t cols, bool losses, Device& device) {
  device.kernels()->begin_batch();
  Desk desk(device);
  ExamplesThere there;
  there.size = drawn.batch.size();
  there.examples = {desk.put(drawn.predictions), cols, drawn.stride,
                    mirror(device, drawn.batch.labels.data(), there.size),
                    mirror(device, drawn.batch.weights.data(), std::ssize(drawn.batch.weights))};
  if (std::ssize(drawn.rows) * drawn.stride != std::ssize(drawn.predictions) || drawn.stride != cols)
    there.examples.rows = mirror(device, drawn.rows.data(), there.size);
  if (losses) there.log_losses = desk.put(drawn.losses);
  evaluator.add_there(device, there, drawn.batch);
  device.kernels()->wait();  // the desk goes
}

// On a GPU log is another function than on the processor.
void expect_same_state(const Evaluator& there, const Evaluator& here, bool has_log, uint64_t seed) {
  if (test_device::kSameFunctions || !has_log) {
    ASSERT_EQ(state_of(there), state_of(here)) << "seed " << seed;
    return;
  }
  const auto x = there.values(), y = here.values();
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(y[i].second)) continue;
    ASSERT_NEAR(x[i].second, y[i].second, 1e-12 * std::fabs(y[i].second)) << "seed " << seed;
  }
}

// Three batches: the second is added here, or there, so that sums and scores go there and come back.
void compare(const EvaluatorEntry& entry, uint64_t seed, Device& device) {
  Random random(seed, 0);
  const bool of_sets = entry.name == "precision_at_k" || entry.name == "micro_f1";
  // With 12 classes, some evaluators have more sums than have blocks of their own.
  const int64_t more = seed % 20 == 11 ? 10 : draw_size(random, 6);
  const int64_t cols = seed % 4 == 0 && !of_sets ? 1 : 2 + (seed % 4 == 1 ? 0 : more);
  std::unique_ptr<Evaluator> here, there;
  try {
    here = entry.make(entry.spec().complete(Json::object(), ""), cols);
  } catch (const Error&) {
    return;  // it does not take so many predictions
  }
  there = entry.make(entry.spec().complete(Json::object(), ""), cols);
  if (of_sets && seed % 2 == 0) {
    ASSERT_TRUE(here->use_label_sets(0) && there->use_label_sets(0));
  }
  const bool losses = here->wants_log_losses() && seed % 3 == 0;
  for (int step = 0; step < 3; ++step) {
    const int64_t size = seed % 10 == 0 && step == 0 ? 0 : draw_size(random, seed % 10 == 1 ? 300 : 12);
    const Drawn drawn = draw_examples(random, size, cols, seed % 3 != 1, seed % 5 != 0);
    add_here(*here, drawn, cols, losses);
    if (step == 1 && seed % 7 < 3) {
      add_here(*there, drawn, cols, losses);
    } else {
      add_there(*there, drawn, cols, losses, device);
    }
    if (step == 1 && seed % 7 == 4) {
      here->reset();
      there->reset();
    }
  }
  expect_same_state(*there, *here, entry.name == "log_loss" && !losses, seed);
}

// The kernels of a device, which count the bytes that come to the processor.
class CountingKernels final : public DeviceKernels {
 public:
  explicit CountingKernels(std::shared_ptr<DeviceKernels> kernels) : kernels_(std::move(kernels)) {}

  uint64_t bytes_received() const { return bytes_received_; }

  uint64_t free_bytes() const override { return kernels_->free_bytes(); }
  void* allocate(uint64_t bytes) override { return kernels_->allocate(bytes); }
  void release(void* memory) noexcept override { kernels_->release(memory); }
  void send(void* to, const void* from, uint64_t bytes) override { kernels_->send(to, from, bytes); }
  void receive(void* to, const void* from, uint64_t bytes) override {
    bytes_received_ += bytes;
    kernels_->receive(to, from, bytes);
  }
  void copy(void* to, const void* from, uint64_t bytes) override { kernels_->copy(to, from, bytes); }
  void wait() override { kernels_->wait(); }
  Upload upload(uint64_t bytes) override { return kernels_->upload(bytes); }
  const void* download(const void* from, uint64_t bytes) override {
    bytes_received_ += bytes;
    return kernels_->download(from, bytes);
  }
  const void* mirror(const void* host, uint64_t bytes) override { return kernels_->mirror(host, bytes); }
  void begin_batch() override { kernels_->begin_batch(); }
  void hold_work(BatchPart part) override { kernels_->hold_work(part); }
  void start_work() override { kernels_->start_work(); }
  void run_items(int64_t items, const AnyItems& body) override { kernels_->run_items(items, body); }
  void add_product(const Factor& a, const Factor& b, int64_t m, int64_t n, int64_t k, float* out) override {
    kernels_->add_product(a, b, m, n, k, out);
  }

 private:
  const std::shared_ptr<DeviceKernels> kernels_;
  uint64_t bytes_received_ = 0;
};

constexpr int64_t kExamples = 100, kKinds = 50;

// Two tasks: that of "a" has a label in each example, and that of "b" has none in some.  No dense matrices are multiplied.
Json two_tasks() {
  return Json::parse(R"({
    "layers": [{"type": "embedding", "name": "a", "input": "ids", "size": 1},
               {"type": "embedding", "name": "b", "input": "ids", "size": 50, "activation": "softmax"}],
    "cost": {"type": "binary_cross_entropy", "input": "a", "label": "click"},
    "auxiliary_costs": [{"type": "cross_entropy", "input": "b", "label": "kind"}],
    "evaluators": ["log_loss", "auc", "calibration", {"type": "accuracy", "label": "kind"},
                   {"type": "log_loss", "label": "kind"}, {"type": "precision_recall", "label": "kind"}]})");
}

DataSchema schema_of_tasks() {
  return {{{.name = "ids", .dim = 20},
           {.name = "click", .dense = true, .dim = 1},
           {.name = "kind", .dim = kKinds}}};
}

Batch batch_of_tasks(uint64_t seed) {
  Random random(seed, 0);
  Batch batch;
  batch.clear(schema_of_tasks());
  for (int64_t b = 0; b < kExamples; ++b) {
    batch.labels.push_back(9);
    batch.weights.push_back(static_cast<float>(1 + random.below(3)) / 3);
    for (int id = 0; id < 3; ++id) batch.slots[0].keys.push_back(random.below(20));
    batch.slots[0].offsets.push_back(static_cast<uint32_t>(batch.slots[0].keys.size()));
    batch.slots[1].values.push_back(static_cast<float>(random.below(2)));
    if (random.below(4) > 0) batch.slots[2].keys.push_back(random.below(kKinds));
    batch.slots[2].offsets.push_back(static_cast<uint32_t>(batch.slots[2].keys.size()));
  }
  return batch;
}

}  // namespace

TEST(Measures, HaveTheStateOfTheProcessor) {
  int compared = 0;
  for (const EvaluatorEntry* entry : evaluator_catalog()) {
    const int64_t cols = entry->name == "rmse" || entry->name == "mae" ? 1 : 2;
    const std::unique_ptr<Evaluator> one = entry->make(entry->spec().complete(Json::object(), ""), cols);
    const bool ranks_groups = entry->name == "gauc" || entry->name == "ndcg" ||
                              entry->name == "recall_at_k" || entry->name == "mrr" || entry->name == "map";
    ASSERT_NE(one->runs_there(), ranks_groups) << entry->name;
    if (ranks_groups) continue;
    SCOPED_TRACE(entry->name);
    Device host(1, best_cpu_level());
    std::shared_ptr<Device> device;
    for (uint64_t seed = 0; seed < kShapes; ++seed) {
      if (seed % 20 == 0) device = device_there(host, seed / 20);
      compare(*entry, seed, *device);
      if (testing::Test::HasFatalFailure()) return;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 15);
}

// More scores than stay on a device at once.
TEST(Measures, HaveTheScoresOfManyBatches) {
  Device host(1, best_cpu_level());
  const std::shared_ptr<Device> device = device_there(host, 1);
  for (const EvaluatorEntry* entry : evaluator_catalog()) {
    if (entry->name != "auc" && entry->name != "pr_auc") continue;
    const std::unique_ptr<Evaluator> here = entry->make(Json::object(), 1),
                                     there = entry->make(Json::object(), 1);
    Random random(5, 0);
    for (int64_t size : {20000, 20000, 40000, 1000}) {
      const Drawn drawn = draw_examples(random, size, 1, true, true);
      add_here(*here, drawn, 1, false);
      add_there(*there, drawn, 1, false, *device);
    }
    ASSERT_EQ(state_of(*there), state_of(*here));
  }
}

// A batch has 100 x 51 predictions and 100 log losses, which take 20800 bytes; what comes to the processor is a cost for
// each example and task.  Tests have the same evaluators.
TEST(Measures, LeaveThePredictionsOnTheDevice) {
  NetworkBench<float> here(two_tasks(), schema_of_tasks()), there(two_tasks(), schema_of_tasks());
  const auto kernels = std::make_shared<CountingKernels>(device_kernels(3));
  there.compute_on(kernels);
  const auto of_here = here.network().make_evaluators(), of_there = there.network().make_evaluators();
  for (uint64_t step = 0; step < 4; ++step) {
    const Batch batch = batch_of_tasks(step);
    for (NetworkBench<float>* bench : {&here, &there}) bench->load(batch, /*training=*/step != 3);
    here.forward();
    const uint64_t before = kernels->bytes_received();
    there.forward();
    const BatchFigures figures = there.network().figures(FiguresFor::kEvaluators);
    for (size_t e = 0; e < of_here.size(); ++e) {
      measure_batch(here.network().figures(), here.prepared().batch, *of_here[e]);
      measure_batch(figures, there.prepared().batch, *of_there[e]);
    }
    kernels->wait();
    EXPECT_EQ(kernels->bytes_received() - before, 2 * kExamples * sizeof(float));
  }
  for (size_t e = 0; e < of_here.size(); ++e) {
    if (test_device::kSameFunctions) {
      EXPECT_EQ(state_of(*of_there[e]), state_of(*of_here[e])) << "evaluator " << e;
    }
    EXPECT_FALSE(std::isnan(of_there[e]->values()[0].second)) << "evaluator " << e;
  }
  EXPECT_EQ(there.network().predictions().cols, 1 + kKinds);
}

}  // namespace ps
