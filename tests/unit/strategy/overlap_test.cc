// AllReduceStore whose gradients are exchanged while backward goes on: the bits are those of an exchange after it, and
// exchanges do begin before its end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <semaphore>
#include <thread>

#include "base/error.h"
#include "collective/fused.h"
#include "exchange_trainer.h"
#include "store/codec_exchange.h"
#include "store/dgc_exchange.h"
#include "store/power_sgd_exchange.h"

namespace ps::overlap_test {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// Tells of each collective of a step that has ended.
class Observed final : public Communicator {
 public:
  explicit Observed(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_reduce(Elements data) override {
    inner_.all_reduce(data);
    ended.release();
  }
  using Communicator::all_gather, Communicator::reduce_scatter;
  void reduce_scatter(Elements data, std::span<const size_t> counts) override {
    inner_.reduce_scatter(data, counts);
  }
  void all_gather(Elements data, std::span<const size_t> counts) override { inner_.all_gather(data, counts); }
  void broadcast(Elements data, int root) override { inner_.broadcast(data, root); }
  std::vector<std::string> gather(std::string bytes) override {
    auto all = inner_.gather(std::move(bytes));
    ended.release();
    return all;
  }
  std::vector<std::string> all_to_all(std::vector<std::string> bytes) override {
    auto all = inner_.all_to_all(std::move(bytes));
    ended.release();
    return all;
  }
  void barrier() override { inner_.barrier(); }
  bool may_change_threads() const override { return may_change; }
  uint64_t bytes_sent(int to) const override { return inner_.bytes_sent(to); }

  std::counting_semaphore<> ended{0};
  bool may_change = true;

 private:
  Communicator& inner_;
};

ParameterSpec matrix(const char* name, int64_t rows, int64_t cols) {
  return synthetic_parameter(name, ParameterKind::kMatrix, false, rows, cols);
}

// Two matrices that fill a group each, and what is small before, between and after them.
constexpr int64_t kLargeRows = 601, kLargeCols = 500;
static_assert(kLargeRows * kLargeCols * sizeof(float) > kFusedBytes);

std::vector<ParameterSpec> layered_parameters(bool statistics) {
  std::vector<ParameterSpec> specs = {matrix("first", 7, 5),
                                      matrix("first.bias", 1, 5),
                                      matrix("wide", kLargeRows, kLargeCols),
                                      matrix("wide.bias", 1, kLargeCols),
                                      synthetic_parameter("rows", ParameterKind::kRows, false, 30, 4),
                                      matrix("wider", kLargeRows, kLargeCols),
                                      matrix("last", 1, 3)};
  if (statistics) specs.push_back(synthetic_parameter("mean", ParameterKind::kStatistic, false, 1, 3));
  return specs;
}

// The ways to order what backward gives.
enum class Backward { kAtOnce, kLastFirst, kFirstFirst };

// Makes the compression of a trainer.
using MakeCompression = std::function<std::unique_ptr<GradientCompression>(std::span<const ParameterSpec>,
                                                                           LocalStore&, Communicator&)>;

struct OverlapCase {
  std::vector<ParameterSpec> specs;
  std::vector<int64_t> steps = {4, 2};
  std::string algorithm = "direct";
  Backward backward = Backward::kLastFirst;
  MakeCompression compression = nullptr;  // null: all gradients are exchanged whole
  CompressedGroups groups = CompressedGroups::kSeveral;
};

template <class Exchange, class Options>
MakeCompression compression_of(const Options& options) {
  return [options](std::span<const ParameterSpec> specs, LocalStore& local, Communicator& communicator) {
    return std::make_unique<Exchange>(options, specs, local, communicator);
  };
}

class Layered {
 public:
  Layered(const OverlapCase& run, Communicator& communicator)
      : run_(run),
        local_(run.specs, make_optimizer_plan(kExchangeMomentum, "mean"), UINT64_MAX, device_),
        control_(communicator.rank(), [] {}) {
    if (run.compression) compression_ = run.compression(run.specs, local_, communicator);
    store_ = std::make_unique<AllReduceStore>(run.specs, local_, communicator, control_, compression_.get(),
                                              GradientPlacement(), run.groups);
  }

  using Given = std::function<void(size_t parameter)>;  // a gradient of backward

  void step(
      int rank, int64_t number, const Given& given = [](size_t) {}) {
    const size_t num = run_.specs.size();
    std::vector<KeyPlan> plans(num);
    for (uint64_t key = static_cast<uint64_t>(rank); key < 30; key += 3) plans[4].keys.push_back(key);
    std::vector<ParameterView<float>> views;
    store_->pull(plans, PullMode::kTrain, views);
    for (size_t p = 0; p < num; ++p) {
      if (run_.specs[p].kind == ParameterKind::kStatistic)
        fill_with_noise({views[p].value, 3}, rank, number, p);
    }
    const StepInfo info{.samples = 3 + rank, .pass = 0};
    if (run_.backward != Backward::kAtOnce) store_->begin_push(plans, views, info);
    for (size_t n = 0; n < num; ++n) {
      const size_t p = run_.backward == Backward::kFirstFirst ? n : num - 1 - n;
      fill(plans, views, rank, number, p);
      if (run_.backward != Backward::kAtOnce) store_->final_gradient(p);
      given(p);
    }
    store_->push(plans, views, info);
  }

  AllReduceStore& store() { return *store_; }
  std::vector<float> weights() { return whole_weights(local_, run_.specs.size()); }

 private:
  void fill(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views, int rank,
            int64_t number, size_t p) const {
    const ParameterSpec& spec = run_.specs[p];
    const size_t cols = static_cast<size_t>(spec.cols);
    if (spec.kind == ParameterKind::kMatrix) {
      fill_with_noise({views[p].gradient, static_cast<size_t>(spec.rows) * cols}, rank, number, p);
    } else if (spec.kind == ParameterKind::kRows) {
      fill_with_noise({views[p].row_gradients, plans[p].keys.size() * cols}, rank, number, p);
    }
  }

  const OverlapCase& run_;
  Device device_{1, best_cpu_level()};
  LocalStore local_;
  CollectiveRun control_;
  std::unique_ptr<GradientCompression> compression_;
  std::unique_ptr<AllReduceStore> store_;
};

using Body = std::function<void(int rank, Observed& communicator, Layered& trainer)>;

void run_ranks(const OverlapCase& run, const Body& body) {
  auto communicators =
      make_thread_communicators({.size = static_cast<int>(run.steps.size()), .algorithm = run.algorithm});
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&run, &body, inner = std::move(communicator)] {
      Observed observed(*inner);
      Layered trainer(run, observed);
      body(inner->rank(), observed, trainer);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::vector<float>> train(const OverlapCase& run) {
  std::vector<std::vector<float>> weights(run.steps.size());
  run_ranks(run, [&](int rank, Observed&, Layered& trainer) {
    const size_t r = static_cast<size_t>(rank);
    for (int64_t step = 0; step < run.steps[r]; ++step) trainer.step(rank, step);
    trainer.store().end_pass(0);
    weights[r] = trainer.weights();
  });
  return weights;
}

TEST(Overlap, GivesTheBitsOfAnExchangeAfterBackward) {
  for (const bool statistics : {false, true}) {
    for (const char* algorithm : {"direct", "ring"}) {
      SCOPED_TRACE(cat(algorithm, statistics ? ", with statistics" : ""));
      OverlapCase run{.specs = layered_parameters(statistics), .algorithm = algorithm};
      run.backward = Backward::kAtOnce;
      const auto expected = train(run);
      for (const Backward backward : {Backward::kLastFirst, Backward::kFirstFirst}) {
        run.backward = backward;
        for (const auto& weights : train(run)) expect_same_bits(weights, expected[0]);
      }
    }
  }
}

// The compressions, and the collectives that one of their groups needs.
struct Compression {
  const char* name;
  MakeCompression make;
  int calls;
};

std::vector<Compression> compressions(int64_t begin_step) {
  DgcOptions dgc;
  dgc.sparsity = {0.99}, dgc.rampup_begin_step = begin_step, dgc.l2 = 0.001, dgc.clip_norm = 2;
  return {
      {"codec",
       compression_of<CodecExchange>(
           CodecExchangeOptions{.codecs = {Json{{"type", "int8"}}}, .begin_step = begin_step}),
       2},
      {"dgc",
       compression_of<DgcExchange>(DgcExchangeOptions{.dgc = dgc, .exchange = SparseExchange::kAllGather}),
       1},
      {"power_sgd", compression_of<PowerSgdExchange>(PowerSgdOptions{.begin_step = begin_step}), 2}};
}

// Vectors are exchanged whole, two of them each in a group; matrices are compressed from the second step on.
TEST(Overlap, GivesTheBitsOfACompressionAfterBackward) {
  for (const Compression& compression : compressions(1)) {
    SCOPED_TRACE(compression.name);
    OverlapCase run{.specs = layered_parameters(true), .compression = compression.make};
    for (const char* name : {"long", "longer"}) run.specs.push_back(matrix(name, 1, kLargeRows * kLargeCols));
    run.backward = Backward::kAtOnce;
    const auto expected = train(run);
    for (const Backward backward : {Backward::kLastFirst, Backward::kFirstFirst}) {
      run.backward = backward;
      for (const auto& weights : train(run)) expect_same_bits(weights, expected[0]);
    }
  }
}

// Exchanges: header; wider; rows and wide; the vectors; first.  Backward goes on with the weights of the step.
TEST(Overlap, ACompressedExchangeEndsWhileBackwardIsAtTheLayersBelow) {
  for (const Compression& compression : compressions(0)) {
    SCOPED_TRACE(compression.name);
    const OverlapCase run{
        .specs = layered_parameters(false), .steps = {1, 1}, .compression = compression.make};
    run_ranks(run, [&](int rank, Observed& communicator, Layered& trainer) {
      const std::vector<float> before = trainer.weights();
      trainer.step(rank, 0, [&](size_t parameter) {
        const int calls = parameter == 5 ? 1 + compression.calls : parameter == 2 ? compression.calls : 0;
        for (int n = 0; n < calls; ++n)
          EXPECT_TRUE(communicator.ended.try_acquire_for(kPatience)) << parameter;
        if (parameter == 2) expect_same_bits(trainer.weights(), before);
      });
      for (int n = 0; n < 1 + compression.calls; ++n) EXPECT_TRUE(communicator.ended.try_acquire());
      EXPECT_FALSE(communicator.ended.try_acquire());
      EXPECT_NE(trainer.weights(), before);
      trainer.store().end_pass(0);
    });
  }
}

// A compression of one thread, as those with a device are.
class OfOneThread final : public GradientCompression {
 public:
  explicit OfOneThread(std::unique_ptr<GradientCompression> inner) : inner_(std::move(inner)) {}
  bool compresses(size_t parameter) const override { return inner_->compresses(parameter); }
  bool moves_weights() const override { return inner_->moves_weights(); }
  bool may_change_threads() const override { return false; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override {
    EXPECT_EQ(std::this_thread::get_id(), owner_);
    inner_->step(gradients, step);
  }
  void end_step() override { inner_->end_step(); }

 private:
  const std::unique_ptr<GradientCompression> inner_;
  const std::thread::id owner_ = std::this_thread::get_id();
};

// Exchanges all gradients of a step together, in the order of the model, after the last group has been given.
class Ungrouped final : public GradientCompression {
 public:
  // `groups` counts the groups of all steps.
  Ungrouped(std::unique_ptr<GradientCompression> inner, std::atomic<int>& groups)
      : inner_(std::move(inner)), groups_(groups) {}
  bool compresses(size_t parameter) const override { return inner_->compresses(parameter); }
  bool moves_weights() const override { return inner_->moves_weights(); }
  bool may_change_threads() const override { return true; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override {
    all_.insert(all_.end(), gradients.begin(), gradients.end());
    step_ = step;
    ++groups_;
  }
  void end_step() override {
    std::ranges::sort(all_, {}, &Gradient::parameter);
    if (!all_.empty()) inner_->step(all_, *step_);
    all_.clear();
    inner_->end_step();
  }

 private:
  const std::unique_ptr<GradientCompression> inner_;
  std::atomic<int>& groups_;
  std::vector<Gradient> all_;
  std::optional<StepSize> step_;
};

TEST(Overlap, GroupsOfACompressionHaveTheBitsOfOneExchange) {
  for (const Compression& compression : compressions(1)) {
    SCOPED_TRACE(compression.name);
    OverlapCase run{.specs = layered_parameters(true), .compression = compression.make};
    const auto expected = train(run);
    std::atomic<int> groups = 0;
    run.compression = [&](std::span<const ParameterSpec> specs, LocalStore& local,
                          Communicator& communicator) {
      return std::make_unique<Ungrouped>(compression.make(specs, local, communicator), groups);
    };
    for (const auto& weights : train(run)) expect_same_bits(weights, expected[0]);
    EXPECT_GT(groups, 8) << "two trainers make several steps, each of several groups";
    groups = 0;
    run.groups = CompressedGroups::kOne;
    for (const auto& weights : train(run)) expect_same_bits(weights, expected[0]);
    EXPECT_EQ(groups, 6) << "two trainers make four steps, of which all but the first compress";
  }
}

TEST(Overlap, ACompressionOfOneThreadIsCalledOnThatThreadAlone) {
  for (const Compression& compression : compressions(0)) {
    SCOPED_TRACE(compression.name);
    OverlapCase run{.specs = layered_parameters(true), .compression = compression.make};
    const auto expected = train(run);
    run.compression = [&](std::span<const ParameterSpec> specs, LocalStore& local,
                          Communicator& communicator) {
      return std::make_unique<OfOneThread>(compression.make(specs, local, communicator));
    };
    for (const auto& weights : train(run)) expect_same_bits(weights, expected[0]);
  }
}

// Groups: last and the header; wider; wide.bias and rows; wide; first and its bias.  A trainer that waits in the middle of
// backward hears of those whose gradients it has given.
TEST(Overlap, AnExchangeEndsWhileBackwardIsAtTheLayersBelow) {
  const OverlapCase run{.specs = layered_parameters(false), .steps = {1, 1}};
  run_ranks(run, [&](int rank, Observed& communicator, Layered& trainer) {
    trainer.step(rank, 0, [&](size_t parameter) {
      const bool ends_a_group = parameter == 6 || parameter == 5 || parameter == 3 || parameter == 2;
      if (!ends_a_group) return;
      EXPECT_TRUE(communicator.ended.try_acquire_for(kPatience)) << parameter;
    });
    EXPECT_TRUE(communicator.ended.try_acquire());
    EXPECT_FALSE(communicator.ended.try_acquire());
    trainer.store().end_pass(0);
  });
}

TEST(Overlap, AModelOfOneExchangeStartsNoneBeforeTheEnd) {
  const OverlapCase run{.specs = {matrix("a", 7, 5), matrix("b", 1, 5), matrix("c", 2, 2), matrix("d", 1, 1),
                                  synthetic_parameter("rows", ParameterKind::kRows, false, 30, 4)},
                        .steps = {1, 1}};
  run_ranks(run, [&](int rank, Observed& communicator, Layered& trainer) {
    trainer.step(rank, 0, [&](size_t) { EXPECT_FALSE(communicator.ended.try_acquire()); });
    EXPECT_TRUE(communicator.ended.try_acquire());
    trainer.store().end_pass(0);
  });
}

TEST(Overlap, ACommunicatorOfOneThreadIsCalledOnThatThreadAlone) {
  const OverlapCase run{.specs = layered_parameters(false), .steps = {1, 1}};
  run_ranks(run, [&](int rank, Observed& communicator, Layered& trainer) {
    communicator.may_change = false;
    trainer.step(rank, 0, [&](size_t) { EXPECT_FALSE(communicator.ended.try_acquire()); });
    trainer.store().end_pass(0);
  });
}

// Trainer 1 leaves before it has given all gradients of a step.
TEST(Overlap, ALostTrainerIsAnErrorOfThePush) {
  const OverlapCase run{.specs = layered_parameters(false), .steps = {1, 1}};
  run_ranks(run, [&](int rank, Observed& communicator, Layered& trainer) {
    struct Leaves {};
    try {
      trainer.step(rank, 0, [&](size_t parameter) {
        if (parameter != 5) return;
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(communicator.ended.try_acquire_for(kPatience));
        if (rank == 1) throw Leaves();
      });
      ADD_FAILURE() << "rank " << rank << " has made a step";
    } catch (const Leaves&) {
      EXPECT_EQ(rank, 1);
    } catch (const Error& error) {
      EXPECT_EQ(rank, 0);
      EXPECT_EQ(error.code(), Code::kUnavailable);
    }
  });
}

}  // namespace
}  // namespace ps::overlap_test
