// The choice of a codec for the gradient of each matrix by the cost model (collective/cost_model.h).  Used by
// CodecExchange for the strategy auto.
#ifndef PS_STORE_CODEC_CHOICE_H_
#define PS_STORE_CODEC_CHOICE_H_

#include <optional>
#include <span>
#include <vector>

#include "collective/cost_model.h"
#include "store/compressed_groups.h"

namespace ps {

// The measurements of one codec on one owner's part of a matrix.
struct CodecTrial {
  double bytes = 0;
  double encode_seconds = 0, decode_seconds = 0;
};

struct MatrixTrials {
  double values = 0;               // of the whole matrix
  std::vector<CodecTrial> trials;  // by codec
};

// Compression must shorten the exchange of a step by at least this share, since it changes the training a
// little.
inline constexpr double kLeastExchangeGain = 0.1;

// The codec of each matrix, nothing if its gradient is exchanged whole, and the seconds of a step's exchange.
struct CodecChoice {
  std::vector<std::optional<size_t>> codecs;
  double seconds = 0;        // with these codecs
  double whole_seconds = 0;  // if all were exchanged whole
};

// Chooses a codec for each matrix; they are in the order of the model.  `other_bytes` of a step are exchanged whole in any
// case.  `groups` are those of compressed gradients.
CodecChoice choose_codecs(const ClusterParameters& cluster, std::span<const MatrixTrials> matrices,
                          double other_bytes, CompressedGroups groups = CompressedGroups::kSeveral);

}  // namespace ps

#endif  // PS_STORE_CODEC_CHOICE_H_
