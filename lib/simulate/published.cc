#include "simulate/published.h"

#include "base/error.h"
#include "collective/cost_model.h"

namespace ps {

namespace {

constexpr double kImages = 1281167;  // training images of ImageNet, which make an epoch
constexpr double kHour = 3600, kDay = 24 * kHour;

// Returns the seconds of a step, given those of all epochs.
double step_seconds(double seconds, double epochs, double batch) {
  return seconds / (epochs * kImages / batch);
}

struct FireCaffeRow {
  const char* net;
  int ranks;
  double batch, epochs, hours;
  double one_days, one_epochs;  // of the same net on one GPU
  double weights_mb;
};

// The model shares out the compute of the step on one GPU among the ranks and adds an exchange by a tree.
// Weights are in MB, times in hours or days, as the paper has them.
PublishedTable firecaffe() {
  static constexpr FireCaffeRow kRows[] = {{"NiN", 32, 256, 47, 11, 5.8, 47, 30.4},
                                           {"NiN", 32, 1024, 47, 6, 5.8, 47, 30.4},
                                           {"NiN", 128, 1024, 47, 3.6, 5.8, 47, 30.4},
                                           {"GoogLeNet", 32, 1024, 72, 23.4, 21, 64, 53.5},
                                           {"GoogLeNet", 128, 1024, 72, 10.5, 21, 64, 53.5}};
  PublishedTable table{
      .name = "FireCaffe",
      .unit = "s a step",
      .source = "Iandola et al., FireCaffe, arXiv 1511.00175, tables 2 and 3",
      .model = "compute of one GPU shared out, a tree at 2.8 GB/s (one bandwidth fitted to all rows)",
      .tolerance = 0.065,
      .figures = {}};
  for (const FireCaffeRow& row : kRows) {
    ClusterParameters cluster;
    cluster.ranks = row.ranks;
    cluster.bandwidth = 2.8e9;
    cluster.chunk_bytes = row.weights_mb * 1e6;  // FireCaffe sends a gradient whole
    const StepBytes payload{.dense_bytes = row.weights_mb * 1e6};
    const double compute = step_seconds(row.one_days * kDay, row.one_epochs, row.batch) / row.ranks;
    table.figures.push_back({cat(row.net, ", ", row.ranks, " GPUs, batch ", row.batch),
                             step_seconds(row.hours * kHour, row.epochs, row.batch),
                             compute + exchange_cost(ExchangeKind::kTree, cluster, payload).total()});
  }
  return table;
}

// DGC sends one value of 1000, each as 6 bytes instead of 4 (a float and its run length).
PublishedTable paddle_dgc() {
  struct Row {
    const char* link;
    double bits, momentum, dgc;
  };
  static constexpr Row kRows[] = {
      {"100G", 1e11, 0.3725, 0.375}, {"10G", 1e10, 0.55, 0.375}, {"1G", 1e9, 2.45, 0.375}};
  constexpr double kCompute = 0.339, kBytes = 264e6, kPacking = 0.036;
  PublishedTable table{.name = "PaddlePaddle DGC",
                       .unit = "s a step, or times faster",
                       .source = "PaddlePaddle Fleet, communication frequency: FasterRCNN, 2 x P40",
                       .model = "264 MB and 339 ms of compute (from the rows of 1G and 10G), 36 ms to pack",
                       .tolerance = 0.04,
                       .figures = {}};
  for (const Row& row : kRows) {
    ClusterParameters cluster;
    cluster.bandwidth = row.bits / 8;
    cluster.encode_rate = kBytes / kPacking;
    const StepBytes payload{.dense_bytes = kBytes, .packed_bytes = kBytes * 0.001 * 6 / 4};
    const double momentum = kCompute + exchange_cost(ExchangeKind::kDirect, cluster, payload).total();
    const double dgc = kCompute + exchange_cost(ExchangeKind::kDgc, cluster, payload).total();
    table.figures.push_back({cat(row.link, ", momentum"), row.momentum, momentum});
    table.figures.push_back({cat(row.link, ", DGC"), row.dgc, dgc});
    table.figures.push_back({cat(row.link, ", speed-up"), row.momentum / row.dgc, momentum / dgc});
  }
  return table;
}

// A step takes kCompute + kExchange / k seconds; kBatch counts the images of all 32 GPUs.
PublishedTable fleet_local_sgd() {
  struct Row {
    int period;
    double images;
  };
  static constexpr Row kRows[] = {{1, 8270.91}, {2, 8715.67}, {4, 8762.66}, {8, 9184.62}, {16, 9431.46}};
  constexpr double kCompute = 0.4302, kExchange = 0.0650, kBatch = 4096;
  PublishedTable table{.name = "Fleet local SGD",
                       .unit = "images/s",
                       .source = "PaddlePaddle Fleet, communication frequency: ResNet-50, 4 x 8 V100",
                       .model = "430.2 ms of compute and 65.0 ms of exchange (from k = 1 and 16)",
                       .tolerance = 0.05,
                       .figures = {}};
  for (const Row& row : kRows)
    table.figures.push_back(
        {cat("k = ", row.period), row.images, kBatch / (kCompute + kExchange / row.period)});
  return table;
}

}  // namespace

std::vector<PublishedTable> published_tables() {
  return {firecaffe(), paddle_dgc(), fleet_local_sgd()};
}

}  // namespace ps
