// A trainer's copies of weights are restored from their chunks, and damaged chunks are refused.
#include "ps/client/local_sgd_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "store/optimizer_states.h"

namespace ps::local_sgd_chunks_test {
namespace {

constexpr int64_t kPeriod = 3;

std::vector<ParameterSpec> specs() {
  return {synthetic_parameter("table", ParameterKind::kRows, true, 0, 3),
          synthetic_parameter("bounded", ParameterKind::kRows, true, 500, 1),
          synthetic_parameter("embedding", ParameterKind::kRows, false, 30, 2),
          synthetic_parameter("matrix", ParameterKind::kMatrix, false, 10, 5),
          synthetic_parameter("running", ParameterKind::kStatistic, false, 1, 4)};
}

OptimizerPlan plan(const char* type = "momentum") {
  return make_optimizer_plan({{"type", type},
                              {"learning_rate", 0.1},
                              {"l2", 0.01},
                              {"schedule", {{"type", "linear"}, {"a", 0.001}, {"b", 0.01}}}},
                             "sum");
}

// A trainer's copies, of which some have been read from servers.
class Trainer {
 public:
  explicit Trainer(const OptimizerPlan& optimizers = plan())
      : local_(specs(), optimizers, UINT64_MAX, device_), copies(specs(), kPeriod, local_) {}

  void step(uint64_t seed) {
    Random random(seed, 1);
    std::vector<KeyPlan> plans(specs().size());
    for (uint64_t key = random.below(9); key < 500; key += 1 + random.below(60)) {
      plans[0].keys.push_back(key * 0x9e3779b97f4a7c15);
      plans[1].keys.push_back(key);
      if (key < 30) plans[2].keys.push_back(key);
    }
    std::ranges::sort(plans[0].keys);
    std::vector<ParameterView<float>> views;
    local_.pull(plans, PullMode::kTrain, views);
    for (size_t p = 0; p < 4; ++p) {
      const bool by_keys = p < 3;
      const size_t rows = by_keys ? plans[p].keys.size() : 10;
      float* gradients = by_keys ? views[p].row_gradients : views[p].gradient;
      for (size_t i = 0; i < rows * copies[p].cols; ++i) {
        gradients[i] = static_cast<float>(random.uniform()) - 0.5f;
      }
    }
    local_.push(plans, views, {4, 0});
    for (size_t p = 0; p < 3; ++p) read(p, plans[p].keys, random);
    copies[3].whole.assign(50, static_cast<float>(seed));
    copies.progress = {0, static_cast<int64_t>(seed) + 1, copies.progress.batches + 1};
  }

  std::vector<std::string> chunks(uint64_t most_bytes) const {
    std::vector<std::string> all;
    const auto source = copies.chunks(most_bytes);
    for (size_t n = 0; n < source->size(); ++n) all.push_back(source->encode(n));
    return all;
  }

  void restore(const std::vector<std::string>& chunks, uint64_t batches = 100) {
    for (const std::string& chunk : chunks) copies.restore(chunk);
    copies.end_restoring(batches);
  }

 private:
  void read(size_t p, std::span<const uint64_t> keys, Random& random) {
    for (uint64_t key : keys) {
      float* base = copies[p].find_or_start(specs()[p], key);
      *base += static_cast<float>(random.uniform());
      copies[p].set_mark(base, random.below(3) == 0 ? LocalSgdCopy::kSent : 0);
    }
  }

  Device device_{1, best_cpu_level()};
  LocalStore local_;

 public:
  LocalSgdCopies copies;
};

TEST(LocalSgdChunks, ComeBackAndTrainOnTheSame) {
  for (const char* type : {"sgd", "momentum", "adam", "adadelta"}) {
    for (const uint64_t most_bytes : {100u, 1000u, 1u << 20}) {
      Trainer one(plan(type)), other(plan(type));
      for (uint64_t number = 0; number < 7; ++number) one.step(number);
      one.copies.whole_is_sent = most_bytes == 100;
      const std::vector<std::string> chunks = one.chunks(most_bytes);
      other.restore(chunks);
      EXPECT_TRUE(other.copies.resumed());
      EXPECT_EQ(other.chunks(most_bytes), chunks);
      EXPECT_EQ(other.copies.progress.batches, 7);
      EXPECT_EQ(other.copies.whole_is_sent, most_bytes == 100);
      EXPECT_EQ(other.copies.sent_keys()[0].keys, one.copies.sent_keys()[0].keys);
      EXPECT_FALSE(other.copies.sent_keys()[0].keys.empty());
      for (uint64_t number = 7; number < 12; ++number) {
        one.step(number);
        other.step(number);
      }
      EXPECT_EQ(other.chunks(most_bytes), one.chunks(most_bytes)) << type;
    }
  }
}

TEST(LocalSgdChunks, ComeBackInAnyOrder) {
  Trainer one, other;
  for (uint64_t number = 0; number < 7; ++number) one.step(number);
  std::vector<std::string> chunks = one.chunks(100);
  std::ranges::reverse(chunks);
  other.restore(chunks);
  for (Trainer* trainer : {&one, &other}) trainer->step(7);
  std::vector<float> weights[2];
  for (size_t p : {0, 1, 2, 3}) {
    const int parameter = static_cast<int>(p);
    int i = 0;
    for (Trainer* trainer : {&one, &other}) {
      LocalStore& local = trainer->copies.local();
      const size_t rows = p < 2 ? local.keys(parameter).size() : static_cast<size_t>(specs()[p].rows);
      weights[i].assign(rows * trainer->copies[p].cols, 0);
      p < 2 ? local.read_rows(parameter, local.keys(parameter), weights[i].data())
            : local.read_all(parameter, weights[i].data());
      ++i;
    }
    EXPECT_EQ(weights[0], weights[1]) << specs()[p].name;
  }
}

TEST(LocalSgdChunks, AreOfBoundedSize) {
  constexpr size_t kOneRow = 1 + 8 + 8 + 1 + 5 * 4 + 2 * 5 * 4;  // of the matrix
  Trainer trainer;
  EXPECT_EQ(trainer.chunks(1 << 20).size(), 3u) << "the tables that are not sparse are there from the start";
  for (uint64_t number = 0; number < 7; ++number) trainer.step(number);
  size_t fewer = SIZE_MAX;
  for (const uint64_t most_bytes : {1u, 100u, 1000u, 1u << 20}) {
    const std::vector<std::string> chunks = trainer.chunks(most_bytes);
    for (const std::string& chunk : chunks)
      EXPECT_LE(chunk.size(), std::max<size_t>(most_bytes + 17, kOneRow));
    EXPECT_LT(chunks.size(), fewer);
    fewer = chunks.size();
  }
  EXPECT_EQ(fewer, 3u);
}

TEST(LocalSgdChunks, OfOtherTrainersTheFurthestScheduleIsTaken) {
  Trainer one, other, next;
  for (uint64_t number = 0; number < 5; ++number) one.step(number);
  for (uint64_t number = 0; number < 9; ++number) other.step(number);
  for (const Trainer* trainer : {&other, &one}) {
    for (const std::string& chunk : trainer->chunks(1000)) {
      if (is_of_kind(chunk, StateChunkKind::kSchedule)) next.copies.restore(chunk);
    }
  }
  next.copies.end_restoring(100);
  EXPECT_FALSE(next.copies.resumed());
  EXPECT_EQ(next.copies.progress.batches, 0);
  EXPECT_EQ(optimizer_steps(next.copies.local().tables()), 0);
  next.step(0);
  other.step(9);
  EXPECT_EQ(next.copies.local().learning_rate(), other.copies.local().learning_rate());
}

TEST(LocalSgdChunks, SayWhetherTheyMatter) {
  auto matters = [](const Json& optimizer) {
    return Trainer(make_optimizer_plan(optimizer, "sum")).copies.matters();
  };
  EXPECT_FALSE(matters({{"type", "sgd"}}));
  EXPECT_TRUE(matters({{"type", "sgd"}, {"l2", 0.1}}));
  EXPECT_TRUE(matters({{"type", "adagrad"}}));
  const Json by_steps = {{"type", "poly"}, {"a", 1}, {"b", 1}, {"unit", "steps"}},
             by_passes = {{"type", "poly"}, {"a", 1}, {"b", 1}, {"unit", "passes"}},
             warm = {{"type", "constant"}, {"warmup", {{"length", 5}}}};
  EXPECT_TRUE(matters({{"type", "sgd"}, {"schedule", by_steps}}));
  EXPECT_FALSE(matters({{"type", "sgd"}, {"schedule", by_passes}}));
  EXPECT_TRUE(matters({{"type", "sgd"}, {"schedule", warm}}));
}

std::string refusal(const std::vector<std::string>& chunks, uint64_t batches = 100) {
  try {
    Trainer().restore(chunks, batches);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return error.message();
  }
  return "accepted";
}

TEST(LocalSgdChunks, ThatAreNotAllThereAreRefused) {
  Trainer trainer;
  for (uint64_t number = 0; number < 7; ++number) trainer.step(number);
  const std::vector<std::string> chunks = trainer.chunks(200);
  EXPECT_EQ(refusal(chunks, /*batches=*/3), "accepted");
  EXPECT_THAT(refusal(chunks, 2), testing::HasSubstr("7 steps in 2 rounds of 3"));
  for (size_t n = 0; n < chunks.size(); ++n) {
    std::vector<std::string> some = chunks;
    some.erase(some.begin() + static_cast<ptrdiff_t>(n));
    EXPECT_NE(refusal(some), "accepted") << "without chunk " << n;
    some = chunks;
    some.push_back(chunks[n]);
    if (n > 0) {
      EXPECT_NE(refusal(some), "accepted") << "chunk " << n << " twice";
    }
  }
}

std::string section(uint32_t parameter, uint64_t key, int flags) {
  std::string chunk = "\4";
  put(chunk, parameter);
  put(chunk, uint32_t{1});
  put(chunk, key);
  put(chunk, static_cast<uint8_t>(flags));
  chunk.append(100, '\1');
  return chunk;
}

TEST(LocalSgdChunks, ThatMakeNoSenseAreRefused) {
  EXPECT_EQ(refusal({}), "accepted") << "who begins has none";
  EXPECT_THAT(refusal({""}), testing::HasSubstr("a chunk of kind 0"));
  EXPECT_THAT(refusal({"\1"}), testing::HasSubstr("a chunk of kind 1"));
  EXPECT_THAT(refusal({"\7"}), testing::HasSubstr("a chunk of kind 7"));
  EXPECT_THAT(refusal({section(5, 0, 1)}), testing::HasSubstr("rows of parameter 5"));
  EXPECT_THAT(refusal({section(4, 0, 1)}), testing::HasSubstr("rows of parameter 4"));
  EXPECT_THAT(refusal({section(0, 1, 0)}), testing::HasSubstr("row 1 of 'table' has flags 0"));
  EXPECT_THAT(refusal({section(3, 1, 2)}), testing::HasSubstr("row 1 of 'matrix' has flags 2"));
  EXPECT_THAT(refusal({section(3, 1, 4)}), testing::HasSubstr("row 1 of 'matrix' has flags 4"));
  EXPECT_THAT(refusal({section(1, 500, 1)}), testing::HasSubstr("'bounded' has no row 500"));
  EXPECT_THAT(refusal({section(3, 10, 1)}), testing::HasSubstr("'matrix' has no row 10"));
}

// Rows of tables that are not sparse are counted in the end, where a row that came twice would stand for one that is
// missing.  A row of the matrix has 5 weights, their momentum and its base, one of the embedding 2 and their momentum.
TEST(LocalSgdChunks, WithARowTwiceAreRefused) {
  constexpr size_t kHead = 1 + 8 + 8 + 1;
  const std::string matrix = section(3, 1, 1).substr(0, kHead + 3 * 5 * sizeof(float));
  const std::string bare = section(3, 1, 0).substr(0, kHead + 2 * 5 * sizeof(float));
  const std::string embedding = section(2, 7, 0).substr(0, kHead + 2 * 2 * sizeof(float));
  EXPECT_THAT(refusal({matrix}), testing::HasSubstr("some of it is missing"));
  EXPECT_THAT(refusal({matrix, matrix}), testing::HasSubstr("row 1 of 'matrix' comes twice"));
  EXPECT_THAT(refusal({matrix, bare}), testing::HasSubstr("row 1 of 'matrix' comes twice"));
  EXPECT_THAT(refusal({embedding, embedding}), testing::HasSubstr("row 7 of 'embedding' comes twice"));
}

// A damaged chunk is refused or read as something else, but does nothing worse.
TEST(LocalSgdChunks, ThatAreDamagedDoNoHarm) {
  Trainer trainer;
  for (uint64_t number = 0; number < 3; ++number) trainer.step(number);
  const std::vector<std::string> chunks = trainer.chunks(400);
  for (size_t n = 0; n < chunks.size(); n += chunks.size() / 8 + 1) {
    std::vector<std::string> damaged = chunks;
    for (size_t i = 0; i < chunks[n].size(); i += 1 + i / 40) {
      damaged[n] = chunks[n];
      damaged[n][i] = static_cast<char>(damaged[n][i] ^ (1 << i % 8));
      refusal(damaged);
      damaged[n] = chunks[n].substr(0, i);
      EXPECT_NE(refusal(damaged), "accepted") << "chunk " << n << " of " << i << " bytes";
    }
  }
}

}  // namespace
}  // namespace ps::local_sgd_chunks_test
