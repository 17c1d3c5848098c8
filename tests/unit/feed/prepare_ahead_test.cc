#include "feed/prepare_ahead.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "config/spec.h"

namespace ps::prepare_ahead_test {
namespace {

const Json kModel = {
    {"layers", Json::array({{{"name", "score"}, {"type", "fc"}, {"input", "features"}, {"size", 1}}})},
    {"cost", {{"type", "binary_cross_entropy"}, {"input", "score"}}}};

std::string lines(int examples) {
  Random random(3, 4);
  std::string text;
  for (int i = 0; i < examples; ++i)
    text += cat(i % 2, " ", random.below(50), ":1 ", 50 + random.below(50), ":1\n");
  return text;
}

class PrepareAheadTest : public testing::Test {
 protected:
  PrepareAheadTest() : path_(testing::TempDir() + "prepare_ahead.libsvm") { write(lines(1000)); }

  void write(const std::string& text) { write_file(path_, text); }

  BatchReader reader(int threads) {
    DataOptions data;
    data.format = "libsvm";
    data.dim = 100;
    data.batch_size = 64;
    ReaderSettings settings;
    settings.threads = threads;
    return BatchReader(data, {path_}, settings);
  }

  static Network<float> network(const BatchReader& reader) {
    return Network<float>(ModelOptions::spec().parse(kModel, "model"), reader.schema(), 1);
  }

  // Returns everything that a pass hands out, in order: step, labels, keys and indices.
  std::vector<std::string> pass(int threads) {
    BatchReader reader = this->reader(1);
    Network<float> network = this->network(reader);
    reader.begin_pass(0);
    return pass(network, reader, threads, nullptr);
  }

  std::vector<std::string> pass(const Network<float>& network, BatchReader& reader, int threads,
                                PlanCache* plans) {
    PrepareAhead prepare(network, reader,
                         {.threads = threads, .training = true, .steps = {5, 2}, .kept = {plans, 0}});
    std::vector<std::string> out;
    while (const PreparedBatch* prepared = prepare.next(kGoOn)) {
      std::string text = cat(prepared->step, ":");
      for (float label : prepared->batch.labels) text += cat(" ", label);
      for (uint64_t key : prepared->plans[0].keys) text += cat(" ", key);
      for (uint32_t index : prepared->plans[0].uses[0].index) text += cat(" ", index);
      EXPECT_EQ(prepared->plans[0].uses[0].offsets.data(), prepared->batch.slots[0].offsets.data());
      out.push_back(text);
    }
    return out;
  }

  const std::function<bool()> kGoOn = [] { return false; };
  const std::string path_;
};

TEST_F(PrepareAheadTest, BatchesAreTheSameWithoutThreads) {
  const std::vector<std::string> alone = pass(0);
  EXPECT_EQ(alone.size(), 16u);
  EXPECT_EQ(alone, pass(1));
  EXPECT_EQ(alone, pass(3));
}

TEST_F(PrepareAheadTest, PassesLeavePlansToEachOther) {
  const std::vector<std::string> alone = pass(0);
  for (int threads : {0, 2}) {
    for (uint64_t limit : {uint64_t{0}, uint64_t{20'000}, uint64_t{1} << 30}) {
      BatchReader reader = this->reader(1);
      Network<float> network = this->network(reader);
      PlanCache plans;
      plans.set_limit(limit);
      for (int pass = 0; pass < 3; ++pass) {
        reader.begin_pass(pass);
        EXPECT_EQ(this->pass(network, reader, threads, &plans), alone) << threads << " " << limit;
      }
      EXPECT_LE(plans.memory_bytes(), limit);
      EXPECT_EQ(plans.memory_bytes() > 0, limit > 0);
      std::vector<KeyPlan> first;
      EXPECT_EQ(plans.take(0, first), limit > 0);
      plans.set_limit(0);
      EXPECT_EQ(plans.memory_bytes(), 0u);
    }
  }
}

TEST_F(PrepareAheadTest, BadDataAreToldAfterTheBatchesBeforeThem) {
  write(lines(200) + "1 x:1\n" + lines(200));
  for (int threads : {0, 2}) {
    BatchReader reader = this->reader(1);
    Network<float> network = this->network(reader);
    reader.begin_pass(0);
    PrepareAhead prepare(network, reader, {.threads = threads, .training = true});
    for (int batch = 0; batch < 3; ++batch) EXPECT_NE(prepare.next(kGoOn), nullptr) << threads;
    try {
      while (prepare.next(kGoOn) != nullptr) {
      }
      ADD_FAILURE() << "nothing was refused with " << threads << " threads";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData) << error.message();
    }
  }
}

}  // namespace
}  // namespace ps::prepare_ahead_test
