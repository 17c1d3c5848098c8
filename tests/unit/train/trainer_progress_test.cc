// How far training has come: saved, and put back.
#include "train/trainer_progress.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/json.h"
#include "config/spec.h"
#include "model/options.h"

namespace ps::trainer_progress_test {
namespace {

class TrainerProgressTest : public testing::Test {
 protected:
  static Network<float> make_network() {
    const char* const model = R"({
      "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1}],
      "cost": {"type": "binary_cross_entropy", "input": "score"}, "evaluators": ["classification_error"]})";
    return Network<float>(ModelOptions::spec().parse(parse_json(model, "model"), "model"),
                          DataSchema{{{.name = "features", .dim = 4}}}, 1);
  }
  void train(TrainerProgress& progress, int batches, double cost = 1) {
    const float predictions[] = {0.25f, 0.75f};
    for (int i = 0; i < batches; ++i) {
      progress.add({{&cost, 1}, {predictions, 2, 1}, {}}, batch_);
      if (progress.report_is_due()) progress.merge_current();
    }
  }
  // A pass as a trainer begins it.
  static void begin(TrainerProgress& progress, int pass) {
    progress.enter_pass(pass);
    progress.begin_figures();
  }
  static std::string saved(const TrainerProgress& progress) {
    std::string out;
    progress.save(out);
    return out;
  }

  // As the process that goes on from `states`, which trainers have saved, at a batch of pass 2.
  TrainerProgress resumed(int64_t batches, const std::vector<std::string>& states) {
    TrainerProgress progress(network_, 3);
    progress.resume({.pass = 2, .pass_batches = batches, .batches = 100}, states);
    return progress;
  }
  std::string figures(int pass, int batches, double cost) {
    TrainerProgress other(network_, 3);
    for (int p = 0; p < pass; ++p) begin(other, p), other.end_pass();
    begin(other, pass);
    train(other, batches, cost);
    std::string out;
    other.save_figures(out);
    return out;
  }

  const Network<float> network_ = make_network();
  const Batch batch_{.labels = {0, 1}, .weights = {}, .groups = {}, .slots = {}};
  TrainerProgress progress_{network_, 3};
};

TEST_F(TrainerProgressTest, CountsBatchesOfThePassAndStepsOfAllPasses) {
  begin(progress_, 0);
  train(progress_, 4);
  EXPECT_EQ(progress_.batches(), 4);
  EXPECT_EQ(progress_.samples(), 8);
  EXPECT_EQ(progress_.whole().samples(), 6) << "up to the last report";
  progress_.merge_current();
  progress_.end_pass();
  begin(progress_, 1);
  train(progress_, 1);
  EXPECT_EQ(progress_.pass(), 1);
  EXPECT_EQ(progress_.batches(), 1);
  EXPECT_EQ(progress_.step(), 5);
  EXPECT_EQ(progress_.samples(), 2);
}

TEST_F(TrainerProgressTest, ANoteIsThereAgainWithTheFigures) {
  TrainerProgress other(network_, 3);
  for (int p = 0; p < 2; ++p) begin(other, p), other.end_pass();
  begin(other, 2);
  train(other, 4);
  other.set_note("the best was 1");
  std::string noted;
  other.save_figures(noted);
  EXPECT_EQ(resumed(4, {noted}).note(), "the best was 1");
  EXPECT_EQ(resumed(4, {noted}).samples(), resumed(4, {figures(2, 4, 1)}).samples());
  EXPECT_EQ(resumed(4, {figures(2, 4, 1)}).note(), "") << "as earlier programs saved figures";
  EXPECT_EQ(resumed(4, {figures(1, 4, 1), noted}).note(), "the best was 1")
      << "of another number of trainers";
}

TEST_F(TrainerProgressTest, LoadedProgressIsTheOneThatWasSaved) {
  begin(progress_, 0);
  train(progress_, 5, 0.5);
  const std::string bytes = saved(progress_);
  TrainerProgress other(network_, 3);
  ByteReader in(bytes);
  other.load(in);
  EXPECT_EQ(saved(other), bytes);
  EXPECT_EQ(other.batches_to_skip(), 5);
  EXPECT_TRUE(other.skips_exactly());
  for (TrainerProgress* each : {&progress_, &other}) {
    if (each == &other) begin(other, 0);
    train(*each, 2, 0.25);
  }
  EXPECT_EQ(saved(other), saved(progress_)) << "both go on alike";
}

TEST_F(TrainerProgressTest, DamagedProgressIsRefused) {
  const std::string bytes = saved(progress_);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string prefix = bytes.substr(0, size);
    ByteReader in(prefix);
    EXPECT_THROW(TrainerProgress(network_, 3).load(in), Error) << size;
  }
  const std::string longer = bytes + "x";
  ByteReader in(longer);
  EXPECT_THROW(TrainerProgress(network_, 3).load(in), Error);
}

TEST_F(TrainerProgressTest, ResumedRankGoesOnWithItsOwnFigures) {
  TrainerProgress progress = resumed(4, {figures(2, 4, 0.5)});
  EXPECT_EQ(progress.batches_to_skip(), 4);
  begin(progress, 2);
  EXPECT_EQ(progress.batches(), 4);
  EXPECT_EQ(progress.samples(), 8);
}

TEST_F(TrainerProgressTest, FiguresOfSeveralOtherRanksAreAddedUp) {
  TrainerProgress progress = resumed(3, {figures(2, 2, 0.5), figures(2, 4, 0.5)});
  begin(progress, 2);
  EXPECT_EQ(progress.samples(), 12);
  EXPECT_EQ(progress.batches(), 3);
}

TEST_F(TrainerProgressTest, WithoutFiguresThePassIsMeasuredFromHereOn) {
  for (const std::vector<std::string>& states : {std::vector<std::string>(), {figures(1, 4, 0.5)}}) {
    TrainerProgress progress = resumed(4, states);
    EXPECT_EQ(progress.batches_to_skip(), 4);
    begin(progress, 2);
    EXPECT_EQ(progress.batches(), 0);
    EXPECT_EQ(progress.samples(), 0);
  }
}

}  // namespace
}  // namespace ps::trainer_progress_test
