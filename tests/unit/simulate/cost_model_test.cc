// Formulas of exchanges by hand, and published measurements beside them.
#include "collective/cost_model.h"

#include <gtest/gtest.h>

#include "plain_cluster.h"
#include "simulate/published.h"

namespace ps::cost_model_test {
namespace {

TEST(CostModel, BytesThroughTheBusiestLinkAreThoseOfTheTextbooks) {
  const ClusterParameters four = plain_cluster(4);
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kServer, four), 0.08) << "4 MB there and back";
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kDirect, four), 0.015) << "2 (p - 1) / p";
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kRing, four), 0.015);
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kHalvingDoubling, four), 0.015);
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kTree, four), 0.04) << "2 log2(p)";
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kDgc, four), 3e-5) << "(p - 1) packed gradients";
  ClusterParameters chunks = four;
  chunks.chunk_bytes = 1e4;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kChain, chunks), 2 * (100 + 3 - 1) * 1e-4, 1e-12);
  chunks.ranks = 2;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kChain, chunks), (100 + 1) * 1e-4, 1e-12)
      << "sums of two ranks go back over the other direction of the link";
  chunks.ranks = 4;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kTree, chunks), (2 * 100 + 2) * 1e-4, 1e-12)
      << "two children of the root, whose sums go down while others come up, and two levels";
}

// Rank 4 of six has one child, as rank 2 has, and the root adds their sums and that of rank 1: the first chunk takes two
// levels and waits for one message of another child.
TEST(CostModel, ATreeOfSixRanksIsAsDeepAsOneOfFourAndHasAChildMore) {
  ClusterParameters cluster = plain_cluster(6);
  cluster.chunk_bytes = 1e4;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kTree, cluster), (3 + 3 * 99 + 3) * 1e-4, 1e-12);
  EXPECT_EQ(exchange_messages(ExchangeKind::kTree, cluster, kMegabyte), 2 * 5 * 100);
}

// FireCaffe's parameter server: its link carries the gradients of all others, each way.  Sums of one chunk go out
// while the next comes in.
TEST(CostModel, ARankThatIsTheServerCarriesTheGradientsOfAllOthers) {
  ClusterParameters cluster = plain_cluster(5);
  cluster.servers = 0;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kServer, cluster), 0.08, 1e-12) << "4 MB in, then 4 MB out";
  cluster.chunk_bytes = 1e4;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kServer, cluster), 0.0404, 1e-12)
      << "4 MB in, and a chunk for each";
  EXPECT_EQ(exchange_messages(ExchangeKind::kServer, cluster, kMegabyte), 2 * 4 * 100);
  cluster.sum_rate = 5e7;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kServer, cluster), 0.0805, 1e-12)
      << "adding takes twice as long as receiving";
  cluster = plain_cluster(2);
  cluster.servers = 0;
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kServer, cluster),
                   formula_seconds(ExchangeKind::kChain, cluster))
      << "of two ranks, each is the other's neighbour";
}

// A machine that carries what two full links do: one server's link is full alone, four trainers' links get half each.
TEST(CostModel, LinksOfOneMachineShareWhatItCarries) {
  ClusterParameters cluster = plain_cluster(4);
  const auto slower = [&](ExchangeKind exchange) {
    ClusterParameters shared = cluster;
    shared.machine_rate = 2 * cluster.bandwidth;
    return formula_seconds(exchange, shared) / formula_seconds(exchange, cluster);
  };
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer), 1);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kDirect), 2);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kRing), 2);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kChain), 1.5) << "three messages for two on the busiest link";
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kTree), 1.5);
  cluster.servers = 4;
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer), 2);
  cluster.servers = 0;
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer), 1) << "rank 0 receives and sends";
}

// A connection carries a quarter of a link: of four trainers each has three others, a ring has one neighbour.
TEST(CostModel, ALinkCarriesNoMoreThanTheConnectionsThatUseItAtOnce) {
  ClusterParameters cluster = plain_cluster(4);
  const auto slower = [&](ExchangeKind exchange, int64_t connections) {
    ClusterParameters held = cluster;
    held.flow_bandwidth = cluster.bandwidth / 4;
    held.connections = connections;
    return formula_seconds(exchange, held) / formula_seconds(exchange, cluster);
  };
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kDirect, 1), 4.0 / 3);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kDirect, 2), 1) << "six connections are more than four";
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kRing, 1), 4);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kRing, 3), 4.0 / 3);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kHalvingDoubling, 4), 1);
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kTree, 1), 2) << "two children of the root";
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kChain, 1), 2) << "up and down";
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer, 1), 1) << "four trainers, one server";
  cluster.ranks = 2, cluster.servers = 1;
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer, 4), 2)
      << "clients of servers have one connection to each port";
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kChain, 1), 4);
  cluster.ports = 2;
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer, 1), 1);
  cluster.servers = 0;
  EXPECT_DOUBLE_EQ(slower(ExchangeKind::kServer, 2), 2) << "rank 0 has one other";
}

TEST(CostModel, ServersShareTheLoadUntilTrainersLinksAreFull) {
  ClusterParameters cluster = plain_cluster(8);
  cluster.servers = 4;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kServer, cluster), 0.04, 1e-12) << "2 p / S";
  cluster.servers = 16;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kServer, cluster), 0.02, 1e-12) << "a trainer's own bytes, twice";
  cluster.servers = 4;
  cluster.ports = 4;
  EXPECT_NEAR(formula_seconds(ExchangeKind::kServer, cluster), 0.025, 1e-12)
      << "three of four ports answer meanwhile";
}

TEST(CostModel, TermsOfAMessageAreLogGPs) {
  ClusterParameters cluster = plain_cluster(2);
  cluster.latency = 1;
  cluster.overhead = 0.25;
  cluster.gap = 0.5;
  cluster.sum_rate = 1e7;
  const ExchangeCost tree = exchange_cost(ExchangeKind::kTree, cluster, kMegabyte);
  EXPECT_DOUBLE_EQ(tree.latency, 2);
  EXPECT_DOUBLE_EQ(tree.overhead, 1);
  EXPECT_DOUBLE_EQ(tree.transfer, 0.02);
  EXPECT_DOUBLE_EQ(tree.sum, 0.1);
  EXPECT_DOUBLE_EQ(tree.codec, 0);
  cluster.ranks = 4;
  // Two further messages each way wait for g, which is longer than o and than 2.5 ms of transfer.
  const ExchangeCost direct = exchange_cost(ExchangeKind::kDirect, cluster, kMegabyte);
  EXPECT_DOUBLE_EQ(direct.overhead + direct.transfer, 2 * (0.5 + 2 * 0.5 + 0.0025));
}

TEST(CostModel, DirectTakesOneRoundWhileARankSendsFewBytes) {
  ClusterParameters cluster = plain_cluster(2);
  cluster.latency = 1;
  cluster.one_round_bytes = 2e6;
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kDirect, cluster), 1.01)
      << "one latency, and all bytes once";
  EXPECT_EQ(exchange_messages(ExchangeKind::kDirect, cluster, kMegabyte), 2);
  cluster.ranks = 3;
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kDirect, cluster), 1.02) << "p - 1 times all bytes";
  cluster.ranks = 4;
  EXPECT_DOUBLE_EQ(formula_seconds(ExchangeKind::kDirect, cluster), 2.015)
      << "two rounds, for 3 MB are too many";
  EXPECT_EQ(exchange_messages(ExchangeKind::kDirect, cluster, kMegabyte), 24);
}

TEST(CostModel, ProcessesThatShareCoresWorkSlower) {
  ClusterParameters cluster = plain_cluster(2);
  cluster.sum_rate = cluster.encode_rate = cluster.decode_rate = 1e8;
  cluster.cores = 2;
  const double alone = exchange_cost(ExchangeKind::kDgc, cluster, kMegabyte).codec;
  cluster.processes = 6;
  EXPECT_DOUBLE_EQ(exchange_cost(ExchangeKind::kDgc, cluster, kMegabyte).codec, 3 * alone);
}

TEST(CostModel, OneRankExchangesNothing) {
  for (const ExchangeEntry& entry : exchange_catalog())
    EXPECT_EQ(exchange_cost(entry.exchange, plain_cluster(1), kMegabyte).total(), 0) << entry.name;
}

TEST(Published, MeasurementsAreWithinTheToleranceOfTheirTable) {
  const std::vector<PublishedTable> tables = published_tables();
  ASSERT_EQ(tables.size(), 3u);
  for (const PublishedTable& table : tables) {
    for (const PublishedFigure& figure : table.figures)
      EXPECT_NEAR(figure.modelled, figure.published, table.tolerance * figure.published)
          << table.name << ": " << figure.what;
  }
  EXPECT_EQ(tables[0].figures.size(), 5u);
  EXPECT_EQ(tables[0].tolerance, 0.065);
  EXPECT_NEAR(tables[0].figures[0].published, 0.168, 0.0005) << "seconds from the hours of all epochs";
  EXPECT_NEAR(tables[0].figures[0].modelled, 0.175, 0.0005);
  EXPECT_EQ(tables[1].tolerance, 0.04);
  EXPECT_EQ(tables[2].tolerance, 0.05);
}

}  // namespace
}  // namespace ps::cost_model_test
