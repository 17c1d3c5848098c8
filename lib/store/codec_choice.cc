#include "store/codec_choice.h"

#include "base/error.h"

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

// Encoded gradients have an exchange of their own, and need the number of examples ahead: there are three
// exchanges instead of one.
double mixed_seconds(const ClusterParameters& cluster, std::span<const MatrixTrials> matrices,
                     double other_bytes, std::span<const std::optional<size_t>> codecs) {
  double whole = other_bytes, encoded = 0, seconds = direct_seconds(cluster, 0);
  for (size_t m = 0; m < matrices.size(); ++m) {
    if (!codecs[m]) {
      whole += matrices[m].values * sizeof(float);
      continue;
    }
    encoded += encoded_bytes(cluster, matrices[m].trials[*codecs[m]]);
    seconds += codec_seconds(cluster, matrices[m].trials[*codecs[m]]);
  }
  return seconds + direct_seconds(cluster, whole) + direct_seconds(cluster, encoded);
}

}  // namespace

// Chooses the cheapest codec of each matrix by itself.  The further exchanges that any compression needs
// are not in that comparison, so the sum of all is compared at the end: unless it is shorter by
// kLeastExchangeGain, nothing is compressed.
CodecChoice choose_codecs(const ClusterParameters& cluster, std::span<const MatrixTrials> matrices,
                          double other_bytes) {
  CodecChoice choice;
  double bytes = other_bytes;
  for (const MatrixTrials& matrix : matrices) {
    bytes += matrix.values * sizeof(float);
    choice.codecs.push_back(cheapest_codec(cluster, matrix));
  }
  choice.whole_seconds = direct_seconds(cluster, bytes);
  choice.seconds = mixed_seconds(cluster, matrices, other_bytes, choice.codecs);
  if (choice.seconds <= (1 - kLeastExchangeGain) * choice.whole_seconds) return choice;
  choice.codecs.assign(matrices.size(), std::nullopt);
  choice.seconds = choice.whole_seconds;
  return choice;
}

}  // namespace ps
