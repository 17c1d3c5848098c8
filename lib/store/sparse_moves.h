// SparseMoves: computes the mean of the trainers' moves.  Each trainer sends only the largest values, with
// few bits each, and keeps the rest for the next time (Sarfi et al., "Communication efficient LLM
// pre-training with SparseLoCo", 2025).  Used by AveragingStore for the strategy sparse_diloco.
//
// For each parameter with more than one row and column, let d be the trainer's share of the mean move:
//
//   e <- b e + d        sent: the values of e that are largest in size, rounded as the encoding has them
//   e <- e - sent       mean move: the sum of what all have sent
#ifndef PS_STORE_SPARSE_MOVES_H_
#define PS_STORE_SPARSE_MOVES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/selection.h"
#include "codec/sparse_exchange.h"
#include "codec/sparse_vector.h"
#include "collective/communicator.h"
#include "optim/parameter.h"

namespace ps {

struct SparseMovesOptions {
  double density = 0.02;  // share of the values that are sent
  double decay = 0.95;    // b
  SparseEncoding encoding = SparseEncoding::kVarintInt8;
  std::optional<SparseExchange> exchange = std::nullopt;  // nothing: the exchange that moves the fewest bytes
};

// One owner thread, that of the communicator.
class SparseMoves {
 public:
  // This trainer's share of the mean move of one parameter; after the exchange, the mean move.
  struct Move {
    size_t parameter = 0;
    std::span<float> values;
  };

  // All arguments by reference outlive this.  `cpu` is the level of its loops.
  SparseMoves(const SparseMovesOptions& options, std::span<const ParameterSpec> specs,
              Communicator& communicator, CpuLevel cpu);

  bool compresses(size_t parameter) const;

  // Called by all trainers with moves of the same parameters, in the same order; all of these must be
  // compressed.  Throws kData if a move is not finite, and what the communicator throws.
  void exchange(std::span<const Move> moves);

  // Save and load the residuals e, for checkpoints. load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  uint64_t num_selected(uint64_t elements) const;

  const SparseMovesOptions options_;
  const std::span<const ParameterSpec> specs_;
  Communicator& communicator_;
  const VectorKernels& kernels_;
  Selector selector_;
  std::vector<std::vector<float>> residuals_;  // by parameter; empty: nothing is left
};

}  // namespace ps

#endif  // PS_STORE_SPARSE_MOVES_H_
