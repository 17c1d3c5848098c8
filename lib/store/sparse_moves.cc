#include "store/sparse_moves.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "store/sparse_all_reduce.h"

namespace ps {

SparseMoves::SparseMoves(const SparseMovesOptions& options, std::span<const ParameterSpec> specs,
                         Communicator& communicator, CpuLevel cpu)
    : options_(options),
      specs_(specs),
      communicator_(communicator),
      kernels_(vector_kernels(cpu)),
      selector_(Selection::kExact, cpu),
      residuals_(specs.size()) {}

bool SparseMoves::compresses(size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  const uint64_t values = static_cast<uint64_t>(spec.rows) * static_cast<uint64_t>(spec.cols);
  return spec.kind != ParameterKind::kStatistic && spec.rows > 1 && spec.cols > 1 && values <= kMaxSparseSize;
}

// At least one value is sent, so that small matrices are not left behind.
uint64_t SparseMoves::num_selected(uint64_t elements) const {
  const double share = options_.density * static_cast<double>(elements);
  return std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, elements);
}

// First adds each move to its residual, and selects and rounds the values to send; then adds up the values of
// all trainers, in the order of SparseExchange and, within one exchange, of the model; then writes the sums
// as moves.
void SparseMoves::exchange(std::span<const Move> moves) {
  std::vector<SparseShare> shares(moves.size());
  const float decay = static_cast<float>(options_.decay);
  for (size_t n = 0; n < moves.size(); ++n) {
    const std::span<const float> own = moves[n].values;
    std::vector<float>& residual = residuals_[moves[n].parameter];
    residual.resize(own.size());
    for (size_t i = 0; i < own.size(); ++i) residual[i] = decay * residual[i] + own[i];
    if (kernels_.largest_size(residual.data(), static_cast<int64_t>(residual.size())) >= kInfiniteSize) {
      fail(Code::kData, "a move of ", quote(specs_[moves[n].parameter].name),
           " is no number: training has diverged");
    }
    SparseShare& share = shares[n];
    share.elements = own.size(), share.selected = num_selected(own.size());
    selector_.select(residual, share.selected, /*draw=*/0, share.vector);
    round_values(options_.encoding, share.vector.value);
    for (size_t i = 0; i < share.vector.size(); ++i) residual[share.vector.index[i]] -= share.vector.value[i];
  }
  sparse_all_reduce(communicator_, options_.exchange, options_.encoding, shares);
  for (size_t n = 0; n < moves.size(); ++n) {
    std::ranges::fill(moves[n].values, 0.0f);
    const SparseVector& sum = shares[n].vector;
    for (size_t i = 0; i < sum.size(); ++i) moves[n].values[sum.index[i]] = sum.value[i];
  }
}

// state := ( residual:f32[values] )[parameters that are compressed]
void SparseMoves::save(std::string& out) const {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!compresses(p)) continue;
    std::vector<float> residual = residuals_[p];
    residual.resize(static_cast<size_t>(specs_[p].rows * specs_[p].cols));
    put_array<float>(out, residual);
  }
}

void SparseMoves::load(ByteReader& in) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!compresses(p)) continue;
    residuals_[p].resize(static_cast<size_t>(specs_[p].rows * specs_[p].cols));
    in.get_array(std::span(residuals_[p]));
  }
  if (!in.ok()) fail(Code::kCorrupt, "what was left of moves is cut short");
}

}  // namespace ps
