#include "store/codec_choice.h"

#include <numeric>

#include "collective/fused.h"

namespace ps {

namespace {

double direct_seconds(const ClusterParameters& cluster, double bytes) {
  return exchange_cost(ExchangeKind::kDirect, cluster, {.dense_bytes = bytes}).total();
}

// A trainer encodes the part of each owner.  As an owner it decodes one part from each trainer, and encodes
// their sum.  Then it decodes the sums of all parts.
double codec_seconds(const ClusterParameters& cluster, const CodecTrial& trial) {
  const double parts = static_cast<double>(cluster.ranks);
  return cluster.contention() * ((parts + 1) * trial.encode_seconds + 2 * parts * trial.decode_seconds);
}

// Returns the seconds by which these bytes prolong an exchange that takes place anyway.
double further_seconds(const ClusterParameters& cluster, double bytes) {
  return direct_seconds(cluster, bytes) - direct_seconds(cluster, 0);
}

double encoded_bytes(const ClusterParameters& cluster, const CodecTrial& trial) {
  return trial.bytes * static_cast<double>(cluster.ranks);
}

size_t whole_bytes(const MatrixTrials& matrix) {
  return static_cast<size_t>(matrix.values * sizeof(float));
}

// Returns the codec that makes the exchange of this matrix fastest; nothing if it is fastest without a codec.
std::optional<size_t> cheapest_codec(const ClusterParameters& cluster, const MatrixTrials& matrix) {
  std::optional<size_t> best;
  double least = further_seconds(cluster, matrix.values * sizeof(float));
  for (size_t c = 0; c < matrix.trials.size(); ++c) {
    const CodecTrial& trial = matrix.trials[c];
    const double seconds =
        further_seconds(cluster, encoded_bytes(cluster, trial)) + codec_seconds(cluster, trial);
    if (seconds < least) best = c, least = seconds;
  }
  return best;
}

// Returns the seconds of the exchanges of arrays of these bytes, which are grouped as they are in a step.
double whole_seconds(const ClusterParameters& cluster, std::span<const size_t> bytes) {
  double seconds = 0;
  for (const size_t count : fused_groups(bytes)) {
    seconds += direct_seconds(
        cluster, std::accumulate(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count), 0.0));
    bytes = bytes.subspan(count);
  }
  return seconds;
}

// Encoded gradients have exchanges of their own, one for each of their groups, and need the number of examples ahead, which
// is one exchange more.  All that is exchanged whole in any case counts as one array, the last.
double mixed_seconds(const ClusterParameters& cluster, std::span<const MatrixTrials> matrices,
                     double other_bytes, std::span<const std::optional<size_t>> codecs,
                     CompressedGroups groups) {
  double seconds = direct_seconds(cluster, 0);
  std::vector<size_t> whole, compressed;
  std::vector<double> encoded;  // bytes, by compressed matrix
  for (size_t m = 0; m < matrices.size(); ++m) {
    (codecs[m] ? compressed : whole).push_back(whole_bytes(matrices[m]));
    if (!codecs[m]) continue;
    encoded.push_back(encoded_bytes(cluster, matrices[m].trials[*codecs[m]]));
    seconds += codec_seconds(cluster, matrices[m].trials[*codecs[m]]);
  }
  if (other_bytes > 0) whole.push_back(static_cast<size_t>(other_bytes));
  auto end = encoded.end();
  for (const size_t count : compressed_groups(compressed, groups)) {
    const auto begin = end - static_cast<ptrdiff_t>(count);
    seconds += direct_seconds(cluster, std::accumulate(begin, end, 0.0));
    end = begin;
  }
  return seconds + whole_seconds(cluster, whole);
}

}  // namespace

// Chooses the cheapest codec of each matrix by itself.  The further exchanges that any compression needs
// are not in that comparison, so the sum of all is compared at the end: unless it is shorter by
// kLeastExchangeGain, nothing is compressed.
CodecChoice choose_codecs(const ClusterParameters& cluster, std::span<const MatrixTrials> matrices,
                          double other_bytes, CompressedGroups groups) {
  CodecChoice choice;
  std::vector<size_t> bytes;
  for (const MatrixTrials& matrix : matrices) {
    bytes.push_back(whole_bytes(matrix));
    choice.codecs.push_back(cheapest_codec(cluster, matrix));
  }
  bytes.push_back(static_cast<size_t>(other_bytes));  // with the header, which is there in any case
  choice.whole_seconds = whole_seconds(cluster, bytes);
  choice.seconds = mixed_seconds(cluster, matrices, other_bytes, choice.codecs, groups);
  if (choice.seconds <= (1 - kLeastExchangeGain) * choice.whole_seconds) return choice;
  choice.codecs.assign(matrices.size(), std::nullopt);
  choice.seconds = choice.whole_seconds;
  return choice;
}

}  // namespace ps
