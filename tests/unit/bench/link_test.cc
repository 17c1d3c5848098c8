// Steps over links: sums are right, bytes are those of the formulas, links are no faster than they say.  Nothing
// here asks how fast the machine is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "bench/link/plan_check.h"
#include "bench/link/program.h"
#include "bench/link/rank_run.h"
#include "bench/link/report.h"
#include "bench/link/steps.h"
#include "bench/plan/columns.h"
#include "bench_test.h"
#include "config/json.h"

namespace ps::link_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Log& quiet() {
  static Log log("test", LogLevel::kError);
  return log;
}

// Two tensors, of which one is packed.
ModelShape small_model(int64_t size) {
  return {.name = "small", .tensors = {{size, size}, {1, size}}};
}

LinkRequest request(int64_t size, int ranks, double bits_per_second) {
  return {.model = small_model(size),
          .ranks = ranks,
          .bits_per_second = bits_per_second,
          .compute_seconds = 0.001,
          .link = "bucket",
          .most_runs = 2};
}

TEST(EmulatedAccelerator, AStepTakesItsTimeAndNoProcessor) {
  EmulatedAccelerator accelerator(0.06);
  const double begin = monotonic_seconds(), processor = thread_cpu_seconds();
  accelerator.begin_step();
  accelerator.await_gradient(0);
  EXPECT_GE(monotonic_seconds() - begin, 0.02) << "forward is a third";
  accelerator.await_gradient(0.5);
  EXPECT_GE(monotonic_seconds() - begin, 0.04);
  accelerator.await_gradient(1);
  EXPECT_GE(monotonic_seconds() - begin, 0.06);
  EXPECT_LT(thread_cpu_seconds() - processor, 0.03);
}

TEST(ModelShape, NamesAreThoseOfNetsAndOfThePublishedTable) {
  EXPECT_EQ(find_model_shape("resnet50").elements(), 25557032u);
  EXPECT_NEAR(find_model_shape("faster-rcnn").bytes() / 264e6, 1, 0.01);
  EXPECT_THAT(message_of([] { find_model_shape("resnet51"); }), HasSubstr("2 cannot open 'resnet51'"));
}

TEST(ModelShape, SumsOfGradientsAreExactInAnyOrder) {
  for (uint64_t index = 0; index < 5000; ++index) {
    float up = 0, down = 0;
    for (int rank = 0; rank < kMostLinkedRanks; ++rank) {
      up += emulated_gradient(rank, index);
      down += emulated_gradient(kMostLinkedRanks - 1 - rank, index);
    }
    ASSERT_EQ(up, down) << index;
  }
}

TEST(LinkMeasurements, EveryAlgorithmAddsRightOverLinksAndSendsTheFormulasBytes) {
  LinkRequest wanted = request(1024, 3, 1e10);
  wanted.algorithms = {"direct", "chain", "server", "ring", "halving_doubling", "tree", "dgc"};
  const std::vector<Json> rows = measure_scaling(wanted, quiet());
  ASSERT_EQ(rows.size(), wanted.algorithms.size());
  for (const Json& row : rows) {
    EXPECT_EQ(row["wrong_values"], 0) << row;
    EXPECT_GE(row["step_seconds"].get<double>(), 0.001) << "compute is part of a step";
    if (row["algorithm"] == "dgc" || row["algorithm"] == "halving_doubling") continue;
    EXPECT_NEAR(row["bytes_off"].get<double>(), 0, 1) << row;
  }
}

TEST(LinkMeasurements, DgcSendsTheFormulasBytesAndALinkHoldsDenseStepsBack) {
  const Json row = measure_dgc(request(2048, 2, 1e9), quiet()).at(0);
  EXPECT_EQ(row["wrong_values"], 0);
  EXPECT_NEAR(row["momentum_bytes_off"].get<double>(), 0, 1);
  EXPECT_NEAR(row["dgc_bytes_off"].get<double>(), 0, 1);
  EXPECT_NEAR(row["fewer_bytes"].get<double>() / (4 * 2049 / (2048 * 0.006 + 4)), 1, 0.01);
  // 16.8 MB over 1 Gbit/s.
  EXPECT_GE(row["momentum_seconds"].get<double>(), 0.12);
  EXPECT_GE(row["overlapped_seconds"].get<double>(), 0.12);
  EXPECT_LE(row["measured_bandwidth"].get<double>(), 1.1e9);
  EXPECT_EQ(row["published_speed_up"].get<double>(), 2.45 / 0.375);
  Json slow = row;
  slow["measured_bandwidth"] = 1e8;
  EXPECT_THAT(link_report(this_machine(), {slow}, false), HasSubstr("a link of 1G carried 100 Mbit/s"));
  slow["published_speed_up"] = nullptr;
  EXPECT_THAT(link_report(this_machine(), {slow}, true), HasSubstr(" | - |\n"));
}

TEST(LinkMeasurements, LocalSgdAveragesEveryPeriod) {
  LinkRequest wanted = request(512, 3, 1e9);
  wanted.periods = {1, 4};
  wanted.batch = 10;
  const std::vector<Json> rows = measure_local_sgd(wanted, quiet());
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows) {
    EXPECT_EQ(row["wrong_values"], 0);
    EXPECT_NEAR(row["examples_per_second"].get<double>() * row["step_seconds"].get<double>(), 30, 1e-6);
  }
  EXPECT_EQ(rows[0]["gain"], 1);
  EXPECT_EQ(rows[1]["published_gain"].get<double>(), 8762.66 / 8270.91);
}

TEST(LinkMeasurements, ASumThatLacksARankIsFoundWrong) {
  const auto links = make_bucket_links(1e10);
  const ModelShape model = small_model(64);
  uint64_t wrong = 0;
  run_ranks(*links, 2, 60s, [&](ExchangeCommunicator& communicator) {
    const AllReduceAlgorithm& direct = all_reduce_algorithm("direct");
    if (communicator.rank() == 1) {
      std::vector<float> zeros(model.elements());
      return communicator.all_reduce_by(direct, zeros);
    }
    DenseStep step(communicator, model, 0, direct, DenseStep::Exchange::kAfterwards);
    step.run();
    wrong = step.count_wrong();
  });
  EXPECT_GT(wrong, 4000u);
}

TEST(RankRun, ThrowsWhatARankThrewRatherThanItsConsequences) {
  const auto links = make_bucket_links(1e10);
  EXPECT_EQ(message_of([&] {
              run_ranks(*links, 3, 60s, [](ExchangeCommunicator& communicator) {
                if (communicator.rank() == 2) fail(Code::kData, "rank 2 is ill");
                communicator.barrier();
              });
            }),
            "3 rank 2 is ill");
}

class ClosedLinks final : public RankLinks {
 public:
  std::string name() const override { return "closed"; }
  std::string description() const override { return "links that nobody may enter"; }
  void enter(int rank) const override {
    if (rank == 0) fail(Code::kUsage, "rank 0 may not enter");
  }
  std::string host(int) const override { return "127.0.0.1"; }
  LinkShape shape() const override { return {}; }
};

TEST(RankRun, OthersDoNotWaitForARankZeroThatNeverListens) {
  EXPECT_EQ(message_of([] { run_ranks(ClosedLinks(), 3, 60s, [](ExchangeCommunicator&) {}); }),
            "2 rank 0 may not enter");
}

TEST(LinkBars, SayHowARowStands) {
  Json row = {{"suite", "dgc"},   {"model", "faster-rcnn"},    {"ranks", 2},
              {"bandwidth", 1e9}, {"measured_bandwidth", 9e8}, {"fewer_bytes", 404.0}};
  for (const auto& [speed_up, verdict] : {std::pair(5.9, "missed"), {6.1, "met"}, {6.7, "as wanted"}}) {
    row["speed_up"] = speed_up;
    EXPECT_STREQ(link_bars({row}).at(0).verdict(), verdict);
  }
  row["measured_bandwidth"] = 7e8;
  EXPECT_THAT(link_bars({row}).at(0).verdict(), HasSubstr("the link carried less"));
  row["bandwidth"] = 2e9;
  EXPECT_TRUE(link_bars({row}).empty());
}

// An index takes 1 or 2 bytes as a varint, and 2 as a run of 16 bits.
TEST(LinkMeasurements, DgcSendsTheFormulasBytesInTheEncodingThatIsNamed) {
  LinkRequest wanted = request(2048, 2, 1e10);
  double run16 = 0;
  for (const char* encoding : {"run16", "index32", "varint"}) {
    wanted.encoding = encoding;
    const Json row = measure_dgc(wanted, quiet()).at(0);
    EXPECT_EQ(row["encoding"], encoding);
    EXPECT_EQ(row["wrong_values"], 0) << row;
    EXPECT_NEAR(row["dgc_bytes_off"].get<double>(), 0, 1) << row;
    if (run16 == 0) run16 = row["dgc_bytes"].get<double>();
    const double of_run16 = row["dgc_bytes"].get<double>() / run16;
    if (wanted.encoding == "index32") {
      EXPECT_GT(of_run16, 1.15);
    } else if (wanted.encoding == "varint") {
      EXPECT_LT(of_run16, 0.995);
    }
  }
}

TEST(LinkBars, BytesOfDgcCountWhateverTheLinkCarries) {
  Json row = {{"suite", "dgc"},    {"model", "resnet50"},       {"ranks", 2},
              {"bandwidth", 1e10}, {"measured_bandwidth", 1e9}, {"fewer_bytes", 276.6}};
  EXPECT_STREQ(link_bars({row}).at(0).verdict(), "missed");
  row["fewer_bytes"] = 277.2;
  EXPECT_STREQ(link_bars({row}).at(0).verdict(), "as wanted");
  row["model"] = "alexnet";
  row["fewer_bytes"] = 592;
  EXPECT_STREQ(link_bars({row}).at(0).verdict(), "met");
  row["ranks"] = 4;
  EXPECT_TRUE(link_bars({row}).empty());
}

TEST(LinkSuites, DgcIsOneOnlyWithABandwidth) {
  const auto find = [](std::vector<const char*> words) { return find_link_suite(words); };
  EXPECT_EQ(find({"dgc"}), std::nullopt);
  EXPECT_EQ(find({"codec", "--bandwidth", "1G"}), std::nullopt);
  EXPECT_EQ(find({"dgc", "--model", "lenet", "--bandwidth=1G"}), LinkSuite::kDgc);
  EXPECT_EQ(find({"scaling"}), LinkSuite::kScaling);
}

TEST(Columns, RatesAreReadAndWritten) {
  EXPECT_EQ(parse_decimal_rate("1.5G"), 1.5e9);
  EXPECT_EQ(parse_decimal_rate("20k"), 2e4);
  for (const char* text : {"", "G", "fast", "-1G", "1e30", "0"})
    EXPECT_EQ(parse_decimal_rate(text), std::nullopt);
  EXPECT_EQ(decimal_rate_text(2.5e9), "2.5G");
  EXPECT_EQ(quantity_text(9.58e8, "bit/s"), "958 Mbit/s");
}

// ---- rows of plan-check

// A run that is resumed takes no row of another kind of link for its own, unless any kind will do.
TEST(PlanCheck, RowsOfAnotherKindOfLinkAreNotThoseWanted) {
  LinkRequest link = request(10, 2, 1e9);
  const CheckedStrategy strategy{.name = "ring"};
  const Json row = {{"model", "small"}, {"ranks", 2},         {"link", "bucket"},        {"bandwidth", 1e9},
                    {"servers", 0},     {"strategy", "ring"}, {"compute_seconds", 0.001}};
  EXPECT_TRUE(is_plan_row(row, link, strategy));
  link.link = "namespaces";
  EXPECT_FALSE(is_plan_row(row, link, strategy));
  link.link = "auto";
  EXPECT_TRUE(is_plan_row(row, link, strategy));
  link.ranks = 3;
  EXPECT_FALSE(is_plan_row(row, link, strategy));
}

}  // namespace
}  // namespace ps::link_test
