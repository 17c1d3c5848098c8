// OwnedRows: the sparse parameters of several trainers, each of whose rows is trained by one trainer alone, its owner
// (ps/wire/row_owner.h), on the owner's device.  Used by HybridStore.
//
// In a pull, each trainer sends the keys of its batch to their owners; an owner pulls the union of what it is asked
// for from its own store, and sends the weights back.  Then the gradients go the same way: the owner adds those of a
// row in the order of ranks, as servers do, and makes one step of it.  So the bits are those of servers that train the
// rows.
//
// With the keys of its batch a trainer sends those of all later batches that it has been told of.  An owner that has
// heard of a later batch of every trainer tells its store of their union.
#ifndef PS_STRATEGY_OWNED_ROWS_H_
#define PS_STRATEGY_OWNED_ROWS_H_

#include <array>
#include <cstdint>
#include <deque>
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

  // look_ahead tells of a batch of this trainer that is to be pulled, in the order of batches; end_looking_ahead, that
  // none comes after it in this pass.  A batch that was not told of is told of by its pull.
  void look_ahead(std::span<const KeyPlan> plans);
  void end_looking_ahead() { has_all_ = true; }

  // All trainers call pull, sum_up and step in turn, in each step.  A step that no trainer has a batch for needs no
  // call of step, and ends the pass.
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
    bool counted;                             // keys travel with their counts
    std::vector<std::vector<uint32_t>> sent;  // by owner: positions in the plan of the keys that it got
    std::vector<float> weights, gradients;    // [keys, cols] of this trainer's batch
    std::vector<float*> pointers;             // to the rows of `weights`

    // The memory of a key, its counts and its weights.
    uint64_t bytes_of_row() const {
      return sizeof(uint64_t) + (counted ? sizeof(KeyCount) : 0) + cols * sizeof(float);
    }
  };

  // The keys of one parameter in a batch of a trainer that this trainer owns.
  struct AskedKeys {
    std::vector<uint64_t> keys;
    std::vector<KeyCount> counts;  // if keys are counted
  };

  // A batch of this trainer, by owner: its keys as they are sent, and the bytes of their rows.
  struct Unsent {
    ByRank keys;
    std::vector<uint64_t> bytes;
  };

  // The batches of a trainer that this one has heard of and that are not pulled: each has its keys in the order of rows_.
  struct Coming {
    std::deque<std::vector<AskedKeys>> batches;
    bool has_all = false;  // no other comes in this pass
  };

  int num_ranks() const { return communicator_.size(); }
  ByRank exchange(ByRank bytes);
  std::vector<std::vector<uint32_t>> split(const KeyPlan& plan) const;
  void add_keys(const Rows& rows, const KeyPlan& plan, Unsent& batch) const;
  ByRank told_keys();
  void read_batches(ByteReader& in, size_t rank);
  AskedKeys read_keys(ByteReader& in, size_t rank, const Rows& rows, uint64_t& bytes_left) const;
  size_t known_steps() const;
  void unite_known();
  std::vector<KeyPlan> unite(size_t step);
  void begin_step();
  void bind(Rows& rows, size_t keys, ParameterView<float>& view);
  void check_finite(const Rows& rows, const float* gradients) const;
  void add_gradients(const Rows& rows, ByteReader& in, size_t rank, std::vector<bool>& seen);

  const std::vector<ParameterSpec>& specs_;
  Communicator& communicator_;
  ParameterStore& own_;
  KeyPlanner planner_{KeyOrder::kAscending};
  std::vector<Rows> rows_;

  // The batches of this trainer: how many it knows of that are not pulled, and those that the others do not know of.
  size_t num_told_ = 0;
  std::deque<Unsent> unsent_;
  bool has_all_ = false;  // it knows of all that are left in this pass

  std::vector<Coming> coming_;                   // by rank
  std::deque<std::vector<KeyPlan>> united_;      // by step to come of which own_ was told: as plans_
  std::vector<KeyPlan> plans_;                   // by parameter: the union of the keys that ranks ask for
  std::vector<ParameterView<float>> own_views_;  // of these
  StepInfo total_;                               // of all trainers
  double exchange_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_STRATEGY_OWNED_ROWS_H_
