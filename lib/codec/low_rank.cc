// Low rank: PowerSGD (Vogels et al., NeurIPS 2019), one step of power iteration that starts from the last
// factor:
//
//   M [rows, cols]: values + residual
//   P <- M Q          P <- Gram-Schmidt(P)          Q <- M^T P          decoded: P Q^T
//
//   bytes := P:f32[rank, rows] Q:f32[rank, cols]     a vector after the other
//          | f32[rows, cols]                         where that is no more bytes
//
// Each vector of Q is normalised before it is used again.  A vector that has become zero, as happens for a
// matrix of lower rank, is replaced by a random one from (seed, key of the parameter, step, index).  Sums run
// in a fixed order.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "codec/entries.h"
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

 private:
  void encode_values(const Encoding& in, std::string& bytes) override;
  void save_state(std::string& out) const override { put_array<float>(out, q_); }
  void load_state(ByteReader& in) override { in.get_array<float>(q_); }

  int64_t cols() const { return target().cols; }
  bool factored(int64_t rows) const { return rank_ * (rows + cols()) < rows * cols(); }
  void warm_start(uint64_t step);
  void factor(std::span<const float> matrix, int64_t rows);
  void multiply_row(const float* p, const float* q, int64_t rows, int64_t row, float* out) const;

  const int64_t rank_;
  Floats q_;        // Q of the last step [rank, cols]; zeros before the first
  Floats p_;        // [rank, rows]
  Floats product_;  // [cols], a row of P Q^T
};

// Divides a vector by its norm.  Returns false and sets it to zero when the norm is negligible.
bool normalise(float* vector, int64_t n) {
  const double norm = std::sqrt(vector_kernels().sum_of_squares(vector, n));
  const bool any = norm > 1e-30;
  for (int64_t i = 0; i < n; ++i)
    vector[i] = any ? static_cast<float>(static_cast<double>(vector[i]) / norm) : 0;
  return any;
}

void LowRankCodec::warm_start(uint64_t step) {
  for (int64_t k = 0; k < rank_; ++k) {
    float* q = &q_[static_cast<size_t>(k * cols())];
    if (normalise(q, cols())) continue;
    Random random(hash_key(target().seed) ^ target().key, hash_key(step) + static_cast<uint64_t>(k));
    for (int64_t j = 0; j < cols(); ++j) q[j] = static_cast<float>(random.normal());
    normalise(q, cols());
  }
}

void LowRankCodec::factor(std::span<const float> matrix, int64_t rows) {
  const VectorKernels& kernels = vector_kernels();
  p_.resize(static_cast<size_t>(rank_ * rows));
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = &matrix[static_cast<size_t>(i * cols())];
    for (int64_t k = 0; k < rank_; ++k)
      p_[static_cast<size_t>(k * rows + i)] = kernels.dot(row, &q_[static_cast<size_t>(k * cols())], cols());
  }
  // Orthogonalising twice is enough (Giraud et al., 2005).  The remainder of a vector that depends linearly
  // on the vectors before it is noise.
  for (int64_t k = 0; k < rank_; ++k) {
    float* p = &p_[static_cast<size_t>(k * rows)];
    normalise(p, rows);
    for (int64_t other = 0; other < 2 * k; ++other) {
      const float* before = &p_[static_cast<size_t>(other % k * rows)];
      kernels.add_scaled(before, -kernels.dot(before, p, rows), rows, p);
    }
    normalise(p, rows);
  }
  std::fill(q_.begin(), q_.end(), 0.0f);
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = &matrix[static_cast<size_t>(i * cols())];
    for (int64_t k = 0; k < rank_; ++k) {
      kernels.add_scaled(row, p_[static_cast<size_t>(k * rows + i)], cols(),
                         &q_[static_cast<size_t>(k * cols())]);
    }
  }
}

// out [cols] <- row `row` of P Q^T
void LowRankCodec::multiply_row(const float* p, const float* q, int64_t rows, int64_t row, float* out) const {
  std::fill_n(out, cols(), 0.0f);
  for (int64_t k = 0; k < rank_; ++k)
    vector_kernels().add_scaled(q + k * cols(), p[k * rows + row], cols(), out);
}

void LowRankCodec::encode_values(const Encoding& in, std::string& bytes) {
  const std::span<const float> sums = add_residual(in);
  const int64_t rows = static_cast<int64_t>(sums.size()) / cols();
  bytes.clear();
  if (!factored(rows)) {
    put_array<float>(bytes, sums);
    if (in.residual != nullptr) std::fill_n(in.residual, sums.size(), 0.0f);
    return;
  }
  warm_start(in.step);
  factor(sums, rows);
  if (vector_kernels().largest_size(q_.data(), static_cast<int64_t>(q_.size())) >= kInfiniteSize) {
    fail(Code::kData, "a gradient of ", rows, " rows has values that are too large for low_rank");
  }
  put_array<float>(bytes, p_);
  put_array<float>(bytes, q_);
  if (in.residual == nullptr) return;
  product_.resize(static_cast<size_t>(cols()));
  for (int64_t i = 0; i < rows; ++i) {
    multiply_row(p_.data(), q_.data(), rows, i, product_.data());
    vector_kernels().subtract(product_.data(), cols(), in.residual + i * cols());
  }
}

void LowRankCodec::decode(std::string_view bytes, std::span<float> values) const {
  PS_CHECK(values.size() % static_cast<size_t>(cols()) == 0);
  const int64_t rows = static_cast<int64_t>(values.size()) / cols();
  const size_t floats = factored(rows) ? static_cast<size_t>(rank_ * (rows + cols())) : values.size();
  if (bytes.size() != floats * sizeof(float)) {
    fail(Code::kCorrupt, "encoded gradient: ", bytes.size(), " bytes, expected ", floats * sizeof(float));
  }
  Floats factors(floats);
  ByteReader(bytes).get_array<float>(factors);
  if (vector_kernels().largest_size(factors.data(), static_cast<int64_t>(floats)) >= kInfiniteSize) {
    fail(Code::kCorrupt, "encoded gradient: a value that is no number");
  }
  if (!factored(rows)) {
    std::copy(factors.begin(), factors.end(), values.begin());
    return;
  }
  const float* q = factors.data() + rank_ * rows;
  for (int64_t i = 0; i < rows; ++i) multiply_row(factors.data(), q, rows, i, values.data() + i * cols());
}

}  // namespace

constinit const CodecEntry kLowRankCodec = codec_entry<LowRankCodec, LowRankOptions>(
    "low_rank",
    "A matrix as the product of two narrow ones, by a step of power iteration that starts from the last "
    "one's. It needs error feedback to converge.");

}  // namespace ps
