#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "bench/link/steps.h"
#include "codec/sparse_exchange.h"

namespace ps {

namespace {

// Returns a hash of the bytes of the indices and then of the values.
uint64_t digest_of(const SparseVector& sparse, uint64_t seed) {
  const auto bytes = [](const auto& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
  };
  return hash_bytes(bytes(sparse.value), hash_bytes(bytes(sparse.index), seed));
}

}  // namespace

DgcExchangeStep::Tensor::Tensor(const TensorShape& shape, const DgcOptions& options, int num_trainers,
                                uint64_t key)
    : dgc(options, {.shape = {shape.rows, shape.cols}, .num_trainers = num_trainers, .key = key}),
      gradient(dgc.elements()),
      weights(dgc.elements()) {}

DgcExchangeStep::DgcExchangeStep(ExchangeCommunicator& communicator, const ModelShape& model,
                                 double compute_seconds, Packing packing, const std::string& encoding)
    : communicator_(communicator),
      packing_(packing),
      encoding_(find_sparse_encoding(encoding)),
      accelerator_(compute_seconds) {
  options_.encoding = encoding;
  make_tensors(model);
  sums_.resize(whole_.size());
}

// Divides the values of the model, in the order of its tensors: tensors that DGC compresses get a state of
// their own and their part of the rank's gradient; all others are put one after the other into whole_, with
// their positions in the model in whole_index_, by which the check finds their values.  The backward pass
// begins at the end of the model, so a tensor's gradient is there once the share 1 - first / all is.
void DgcExchangeStep::make_tensors(const ModelShape& model) {
  const double all = static_cast<double>(model.elements());
  const int rank = communicator_.rank();
  uint64_t first = 0;
  for (const TensorShape& shape : model.tensors) {
    const uint64_t end = first + static_cast<uint64_t>(shape.elements());
    const std::array<int64_t, 2> dimensions = {shape.rows, shape.cols};
    if (dgc_compresses(options_, dimensions)) {
      Tensor& tensor = tensors_.emplace_back(shape, options_, communicator_.size(), tensors_.size());
      for (uint64_t i = first; i < end; ++i) tensor.gradient[i - first] = emulated_gradient(rank, i);
      tensor.first = first;
      tensor.ready_at = 1 - static_cast<double>(first) / all;
    } else {
      for (uint64_t i = first; i < end; ++i) {
        whole_.push_back(emulated_gradient(rank, i));
        whole_index_.push_back(i);
      }
    }
    first = end;
  }
}

// A step: the accelerator begins, tensors are packed while it computes or after it, the small tensors are
// summed whole, all ranks gather the packed ones of all, and each rank adds them up.  The three terms are
// timed apart; the wait for the accelerator is in none of them.
void DgcExchangeStep::run() {
  terms_ = {};
  accelerator_.begin_step();
  pack();
  accelerator_.await_gradient(1);
  std::vector<std::string> from_ranks;
  {
    ScopedSeconds seconds(terms_.exchange);
    sums_ = whole_;
    if (!sums_.empty()) communicator_.all_reduce_by(all_reduce_algorithm("direct"), sums_);
    from_ranks = communicator_.gather(packed_tensors());
  }
  ScopedSeconds seconds(terms_.apply);
  apply(from_ranks);
  first_run_ = false;
}

// Packs the last tensor first, since the backward pass computes its gradient first.
void DgcExchangeStep::pack() {
  for (size_t i = tensors_.size(); i-- > 0;) {
    Tensor& tensor = tensors_[i];
    accelerator_.await_gradient(packing_ == Packing::kBeside ? tensor.ready_at : 1);
    ScopedSeconds seconds(terms_.pack);
    tensor.packed.clear();
    tensor.dgc.step_sparse({.values = tensor.gradient, .scale = 1, .rate = 1}, tensor.weights, tensor.packed);
  }
}

// Returns the packed tensors one after the other: tensors := { length:u32 vector[length] }...
std::string DgcExchangeStep::packed_tensors() const {
  std::string all;
  for (const Tensor& tensor : tensors_) {
    put(all, static_cast<uint32_t>(tensor.packed.size()));
    all += tensor.packed;
  }
  return all;
}

// Adds the packed tensors of all ranks to the weights, tensor by tensor: rest[r] is what is left of rank
// r's bytes.  The first run also checks the sums of the tensors that were summed whole; they are exact in
// any order.
void DgcExchangeStep::apply(const std::vector<std::string>& from_ranks) {
  std::vector<std::string_view> rest(from_ranks.begin(), from_ranks.end());
  for (Tensor& tensor : tensors_) apply(tensor, rest);
  for (size_t i = 0; first_run_ && i < sums_.size(); ++i) {
    float expected = 0;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      expected += emulated_gradient(rank, whole_index_[i]);
    wrong_ += sums_[i] != expected ? 1 : 0;
  }
}

// Takes the next vector of each rank, adds the vectors up and applies the sum.  The digest covers the sums
// of all steps in order: ranks that have the same digest have made the same moves, to the bit.
void DgcExchangeStep::apply(Tensor& tensor, std::vector<std::string_view>& rest) {
  std::vector<SparseVector> vectors(rest.size());
  for (size_t rank = 0; rank < rest.size(); ++rank) {
    ByteReader reader(rest[rank]);
    const uint32_t size = reader.get<uint32_t>();
    const std::string_view packed = reader.get_bytes(size);
    if (!reader.ok()) fail(Code::kCorrupt, "the packed gradient of rank ", rank, " is cut short");
    decode_sparse(encoding_, packed, tensor.dgc.elements(), vectors[rank]);
    rest[rank].remove_prefix(sizeof size + size);
    if (first_run_) wrong_ += wrong_in(vectors[rank], static_cast<int>(rank), tensor.first);
  }
  const SparseVector sum = add_vectors(vectors);
  digest_ = digest_of(sum, digest_);
  tensor.dgc.apply(sum, tensor.weights);
}

// Counts the values of `sparse` that are not the rank's.  In the first step, at a rate of 1, a tensor's move
// is its gradient with the opposite sign.
uint64_t DgcExchangeStep::wrong_in(const SparseVector& sparse, int rank, uint64_t first) const {
  uint64_t wrong = 0;
  for (size_t i = 0; i < sparse.size(); ++i)
    wrong += sparse.value[i] != -emulated_gradient(rank, first + sparse.index[i]) ? 1 : 0;
  return wrong;
}

// Adds up the bytes of the all-reduce of whole tensors and, for each packed tensor, those of an all-gather
// of as many values as DGC selects.
double DgcExchangeStep::expected_bytes() const {
  const int ranks = communicator_.size();
  double bytes =
      all_reduce_algorithm("direct").most_sent(static_cast<double>(whole_.size() * sizeof(float)), ranks);
  for (const Tensor& tensor : tensors_) {
    bytes += exchange_bytes(SparseExchange::kAllGather, {.elements = tensor.dgc.elements(),
                                                         .selected = tensor.dgc.selected(),
                                                         .num_trainers = ranks,
                                                         .encoding = encoding_});
  }
  return bytes;
}

}  // namespace ps
