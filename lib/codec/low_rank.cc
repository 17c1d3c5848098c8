// Low rank: PowerSGD (Vogels et al., NeurIPS 2019), one step of power iteration that starts from the last
// factor (codec/power_iteration.h):
//
//   M [rows, cols]: values + residual        decoded: P Q^T
//
//   bytes := P:f32[rank, rows] Q:f32[rank, cols]     a vector after the other
//          | f32[rows, cols]                         if that takes no more bytes
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "codec/entries.h"
#include "codec/power_iteration.h"
#include "codec/vector_kernels.h"

namespace ps {

namespace {

struct LowRankOptions : FeedbackOptions {
  int64_t rank = 4;

  static const ObjectSpec<LowRankOptions>& spec() {
    static const ObjectSpec<LowRankOptions> spec = [] {
      ObjectSpec<LowRankOptions> s;
      s.field("rank", &LowRankOptions::rank, "pairs of vectors that stand for a matrix")
          .at_least(1)
          .at_most(256);
      add_feedback_field(s);
      return s;
    }();
    return spec;
  }
};

using Floats = std::vector<float>;

class LowRankCodec final : public Codec {
 public:
  LowRankCodec(const LowRankOptions& options, const CodecTarget& target)
      : Codec(target, options.error_feedback),
        rank_(options.rank),
        q_(static_cast<size_t>(rank_ * target.cols)) {}

  void decode(std::string_view bytes, std::span<float> values) const override;

  std::optional<CodecFormat> format_there() const override {
    return CodecFormat{.kind = CodecFormat::Kind::kLowRank,
                       .seed = target().seed,
                       .key = target().key,
                       .shape = shape(static_cast<size_t>(target().rows * target().cols))};
  }

 private:
  int64_t bytes_of(int64_t n) const override {
    return static_cast<int64_t>(floats_of(shape(static_cast<size_t>(n))) * sizeof(float));
  }
  void check_encoded(std::string_view bytes, int64_t n) const override;
  void check(std::string_view bytes, int64_t n) const override {
    read_factors(bytes, shape(static_cast<size_t>(n)));
  }
  void encode_values(const Encoding& in, std::string& bytes) override;
  // The residual is saved by Codec; Q is the start of the next step, without which it would begin at
  // random.
  void save_state(std::string& out) const override {
    put_array<float>(out, there() != nullptr ? there()->factor() : std::span<const float>(q_));
  }
  void load_state(ByteReader& in) override {
    in.get_array<float>(there() != nullptr ? there()->factor() : std::span(q_));
  }
  void check_factor(const FactorShape& shape, std::span<const float> q) const;
  Floats read_factors(std::string_view bytes, const FactorShape& shape) const;

  static size_t floats_of(const FactorShape& shape) {
    return shape.pays() ? shape.p_values() + shape.q_values() : static_cast<size_t>(shape.rows * shape.cols);
  }

  FactorShape shape(size_t values) const {
    return {.rank = rank_, .rows = static_cast<int64_t>(values) / target().cols, .cols = target().cols};
  }

  const int64_t rank_;
  Floats q_;        // Q of the last step [rank, cols]; zeros before the first
  Floats p_;        // [rank, rows]
  Floats product_;  // [cols], a row of P Q^T
};

// One step of power iteration from the last Q: P = orthogonalise(M Q), Q = Mᵀ P. The residual is M - P Qᵀ,
// computed row by row so that the product is never whole in memory.  A matrix too small for factors to pay is
// sent whole.
void LowRankCodec::encode_values(const Encoding& in, std::string& bytes) {
  const std::span<const float> sums = add_residual(in);
  const FactorShape shape = this->shape(sums.size());
  bytes.clear();
  if (!shape.pays()) {
    put_array<float>(bytes, sums);
    if (in.residual != nullptr) std::fill_n(in.residual, sums.size(), 0.0f);
    return;
  }
  p_.resize(shape.p_values());
  warm_start(kernels(), shape, target().seed, target().key, in.step, q_);
  multiply(kernels(), shape, sums, q_, p_);
  orthogonalise(kernels(), shape, p_);
  multiply_transposed(kernels(), shape, sums, p_, q_);
  check_factor(shape, q_);
  put_array<float>(bytes, p_);
  put_array<float>(bytes, q_);
  if (in.residual == nullptr) return;
  product_.resize(static_cast<size_t>(shape.cols));
  for (int64_t i = 0; i < shape.rows; ++i) {
    product_row(kernels(), shape, p_, q_, i, product_.data());
    kernels().subtract(product_.data(), shape.cols, in.residual + i * shape.cols);
  }
}

void LowRankCodec::check_factor(const FactorShape& shape, std::span<const float> q) const {
  if (kernels().largest_size(q.data(), static_cast<int64_t>(q.size())) < kInfiniteSize) return;
  fail(Code::kData, "a gradient of ", shape.rows, " rows has values that are too large for low_rank");
}

// Bytes that a device has made were not seen by encode_values, so Q is looked at here: it has infinities if
// the sums were too large.
void LowRankCodec::check_encoded(std::string_view bytes, int64_t n) const {
  const FactorShape shape = this->shape(static_cast<size_t>(n));
  if (!shape.pays()) return;
  Floats q(shape.q_values());
  ByteReader(bytes.substr(shape.p_values() * sizeof(float))).get_array<float>(q);
  check_factor(shape, q);
}

// Returns P and Q, or the whole matrix if factors do not pay.  Throws kCorrupt.
Floats LowRankCodec::read_factors(std::string_view bytes, const FactorShape& shape) const {
  const size_t floats = floats_of(shape);
  if (bytes.size() != floats * sizeof(float)) {
    fail(Code::kCorrupt, "encoded gradient: ", bytes.size(), " bytes, expected ", floats * sizeof(float));
  }
  Floats factors(floats);
  ByteReader(bytes).get_array<float>(factors);
  if (kernels().largest_size(factors.data(), static_cast<int64_t>(floats)) >= kInfiniteSize) {
    fail(Code::kCorrupt, "encoded gradient: a value that is no number");
  }
  return factors;
}

// Writes P^T Q row by row straight to `values`; a matrix that was sent whole is copied.
void LowRankCodec::decode(std::string_view bytes, std::span<float> values) const {
  PS_CHECK(values.size() % static_cast<size_t>(target().cols) == 0);
  const FactorShape shape = this->shape(values.size());
  const Floats factors = read_factors(bytes, shape);
  if (!shape.pays()) {
    std::copy(factors.begin(), factors.end(), values.begin());
    return;
  }
  const std::span<const float> all(factors), p = all.first(shape.p_values()), q = all.subspan(p.size());
  for (int64_t i = 0; i < shape.rows; ++i)
    product_row(kernels(), shape, p, q, i, values.data() + i * shape.cols);
}

}  // namespace

constinit const CodecEntry kLowRankCodec = codec_entry<LowRankCodec, LowRankOptions>(
    "low_rank",
    "A matrix as the product of two narrow ones, by a step of power iteration that starts from the last "
    "one's. It needs error feedback to converge.");

}  // namespace ps
