// OwnedRows: the sparse parameters of several trainers, each of whose rows is trained by one trainer alone, its owner
// (ps/wire/row_owner.h), on the owner's device.  Used by HybridStore.
//
// In a pull, each trainer sends the keys of its batch to their owners; an owner pulls the union of what it is asked
// for from its own store, and sends the weights back.  Then the gradients go the same way: the owner adds those of a
// row in the order of ranks, as servers do, and makes one step of it.  So the bits are those of servers that train the
// rows.
#ifndef PS_STRATEGY_OWNED_ROWS_H_
#define PS_STRATEGY_OWNED_ROWS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "collective/communicator.h"
#include "math/key_plan.h"
#include "optim/parameter.h"
#include "store/parameter_store.h"

namespace ps {

// One owner thread, that of the communicator.  Calls throw what `own` and the communicator throw, and kData for what
// no trainer of the same job sends.
class OwnedRows {
 public:
  // `own` trains the rows of which this trainer is the owner; its keys must ascend.  All arguments outlive this.
  OwnedRows(const std::vector<ParameterSpec>& specs, ParameterStore& own, Communicator& communicator);

  // All trainers call pull, sum_up and step in turn, in each step.  A step that no trainer has a batch for needs no
  // call of step.
  //
  // views[p] <- the weights of the batch's rows of each sparse parameter p, with buffers for the gradients; they are
  // valid until the next pull.  The views of other parameters are empty. `plans` are empty if this trainer has no
  // batch.
  void pull(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views);

  // Sends the gradients views[p].row_gradients of the rows that were pulled, sums over info.samples examples, to their
  // owners.  They are not read if this trainer has no batch.  Throws kData if some are not finite: then nothing was sent.
  void sum_up(std::span<const ParameterView<float>> views, const StepInfo& info);

  // Returns the sum of the squares of each sparse parameter's whole gradient, by parameter; 0 for others.  All trainers
  // call it, after sum_up.
  std::vector<double> squares();

  // Makes the step of the rows of this trainer.
  void step() { own_.push(plans_, own_views_, total_); }

  // Returns the seconds that were spent in exchanges with other trainers.
  double exchange_seconds() const { return exchange_seconds_; }

 private:
  using ByRank = std::vector<std::string>;

  // One sparse parameter.
  struct Rows {
    size_t parameter;
    size_t cols;
    bool counted;                                // keys travel with their counts
    std::vector<std::vector<uint32_t>> sent;     // by owner: positions in the plan of the keys that it got
    std::vector<std::vector<uint64_t>> asked;    // by rank: the keys that it asks for
    std::vector<std::vector<KeyCount>> counts;   // the same: their counts
    std::vector<std::array<uint32_t, 2>> whole;  // the same: the offsets of a list of one example
    std::vector<float> weights, gradients;       // [keys, cols] of this trainer's batch
    std::vector<float*> pointers;                // to the rows of `weights`

    // The memory of a key, its counts and its weights.
    uint64_t bytes_of_row() const {
      return sizeof(uint64_t) + (counted ? sizeof(KeyCount) : 0) + cols * sizeof(float);
    }
  };

  int num_ranks() const { return communicator_.size(); }
  ByRank exchange(ByRank bytes);
  void split(Rows& rows, const KeyPlan* plan);
  void add_keys(const Rows& rows, const KeyPlan* plan, ByRank& out) const;
  void read_keys(ByteReader& in, size_t rank, Rows& rows, uint64_t& bytes_left) const;
  void unite(Rows& rows);
  void bind(Rows& rows, size_t keys, ParameterView<float>& view);
  void check_finite(const Rows& rows, const float* gradients) const;
  void add_gradients(const Rows& rows, ByteReader& in, size_t rank, std::vector<bool>& seen);

  const std::vector<ParameterSpec>& specs_;
  Communicator& communicator_;
  ParameterStore& own_;
  KeyPlanner planner_{KeyOrder::kAscending};
  std::vector<Rows> rows_;
  std::vector<KeyPlan> plans_;                   // by parameter: the union of the keys that ranks ask for
  std::vector<ParameterView<float>> own_views_;  // of these
  StepInfo total_;                               // of all trainers
  double exchange_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_STRATEGY_OWNED_ROWS_H_
