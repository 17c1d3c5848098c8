// Top-k sparsification with error feedback: Aji and Heafield, "Sparse communication for distributed gradient
// descent", EMNLP 2017; Stich et al., "Sparsified SGD with memory", NeurIPS 2018.
//
//   bytes := a sparse vector (codec/sparse_vector.h)
#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "codec/entries.h"
#include "codec/selection.h"

namespace ps {

namespace {

struct TopKOptions : FeedbackOptions {
  double density = 0.01;
  std::string selection = "sampled";
  std::string encoding = "run16";

  static const ObjectSpec<TopKOptions>& spec() {
    static const ObjectSpec<TopKOptions> spec = [] {
      ObjectSpec<TopKOptions> s;
      s.field("density", &TopKOptions::density, "share of the values that is sent").above(0).at_most(1);
      s.field("selection", &TopKOptions::selection,
              "the largest values exactly, or at least 80 % as many by a threshold from a sample")
          .one_of({"sampled", "exact"});
      s.field("encoding", &TopKOptions::encoding, "of indices and values").one_of(sparse_encoding_names());
      add_feedback_field(s);
      return s;
    }();
    return spec;
  }
};

class TopKCodec final : public Codec {
 public:
  TopKCodec(const TopKOptions& options, const CodecTarget& target)
      : Codec(target, options.error_feedback),
        density_(options.density),
        encoding_(find_sparse_encoding(options.encoding)),
        selection_(options.selection == "exact" ? Selection::kExact : Selection::kSampled),
        selector_(selection_, target.cpu),
        seed_(hash_key(target.seed) ^ hash_key(~target.key)) {}

  // Values that were not sent are zeros.
  void decode(std::string_view bytes, std::span<float> values) const override {
    SparseVector sparse;
    decode_sparse(encoding_, bytes, values.size(), sparse);
    std::fill(values.begin(), values.end(), 0.0f);
    for (size_t i = 0; i < sparse.size(); ++i) values[sparse.index[i]] = sparse.value[i];
  }

  std::optional<CodecFormat> format_there() const override {
    return CodecFormat{.kind = CodecFormat::Kind::kLargest,
                       .seed = seed_,
                       .count = count_of(static_cast<uint64_t>(target().rows * target().cols)),
                       .selection = selection_,
                       .encoding = encoding_};
  }

 private:
  // Values are rounded before they are taken out of the residual, which so keeps the rounding errors too.
  void encode_values(const Encoding& in, std::string& bytes) override {
    PS_CHECK(in.values.size() <= kMaxSparseSize);
    const std::span<const float> sums = add_residual(in);
    selector_.select(sums, count_of(sums.size()), seed_ + hash_key(in.step), part_);
    round_values(encoding_, part_.value);
    bytes.clear();
    encode_sparse(encoding_, part_, bytes);
    if (in.residual == nullptr) return;
    for (size_t i = 0; i < part_.size(); ++i) in.residual[part_.index[i]] -= part_.value[i];
  }

  uint64_t count_of(uint64_t size) const {
    const double share = density_ * static_cast<double>(size);
    return std::min(size, std::max<uint64_t>(1, static_cast<uint64_t>(share)));
  }

  const double density_;
  const SparseEncoding encoding_;
  const Selection selection_;
  Selector selector_;
  const uint64_t seed_;
  SparseVector part_;
};

}  // namespace

constinit const CodecEntry kTopKCodec = codec_entry<TopKCodec, TopKOptions>(
    "top_k", "The values that are largest in size, with their indices. It needs error feedback to converge.");

}  // namespace ps
