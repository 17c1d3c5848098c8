// RemotePulls: the rows of batches, pulled from the shards that have them and used where the answers put them,
// and the buffers for their gradients.  Used by RemoteStore.
#ifndef PS_PS_CLIENT_REMOTE_PULLS_H_
#define PS_PS_CLIENT_REMOTE_PULLS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/row_types.h"
#include "ps/client/row_exchange.h"
#include "ps/client/row_message.h"
#include "ps/client/shard_links.h"
#include "store/parameter_store.h"

namespace ps {

// The parameters of a pull or of a push. kRows has only those that batches use by keys. kSparse has only the
// sparse ones, kNotSparse all others, and kNone none.  In heterogeneous training, kReaders has those of readers, and
// kCompute those of compute trainers.
enum class PullScope { kAll, kRows, kSparse, kNotSparse, kNone, kReaders, kCompute };

// Adds the parameters of this scope to the router: the rows of the plans, and the other parameters whole.
void add_pushed(std::span<const ParameterSpec> specs, std::span<const KeyPlan> plans, PullScope scope,
                BatchRouter& router);

// One owner thread.  The rows of a batch are valid until the next batch is pulled.  The pull of the next batch
// may be on its way while a batch is in use.
class RemotePulls {
 public:
  // Both outlive this.
  RemotePulls(ShardLinks& links, const std::vector<ParameterSpec>& specs, const RowTypes& types);

  struct Request {
    PullMode mode;
    uint64_t step;
    PullScope scope = PullScope::kAll;
    bool push_follows = true;  // after a pull to train, a push of the same rows follows
  };

  // Asks for the rows of a batch.  For kCompute, where the batch may not be known yet, it asks for whole tables.
  // If another pull was begun before and not finished, this waits for its answers and drops them.
  PullTicket begin(std::span<const KeyPlan> plans, const Request& request);

  // Waits for the rows of the batch that was begun last, and sets the views.
  void finish(const PullTicket& ticket, std::span<const KeyPlan> plans,
              std::vector<ParameterView<float>>& views);

  // The same, with the last ticket.
  void finish_last(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
    finish({num_begun_}, plans, views);
  }

  // Returns true if all rows of the batch that was begun last are here.
  bool arrived() const { return next_->arrived(); }

  // From now on messages get numbers from `base` on.  For a process that is not the only one of its rank.
  void number_from(uint64_t base) { num_messages_ = base; }

  // Sets views with buffers for the gradients, which the caller fills and pushes, without a pull.  For stores
  // that have copies of the weights.
  void prepare(std::span<const KeyPlan> plans, PullScope scope, std::vector<ParameterView<float>>& views);

  // The messages and the gradients of the batch in use.
  BatchRouter& router() { return current_->router(); }
  const GradientBuffers& gradients() const { return gradients_; }

 private:
  // One parameter of the batch in use.
  struct Held {
    std::vector<float*> rows;     // by position in the plan: the row in its frame
    std::vector<float> whole;     // the parameter, joined from the shards' blocks
    float* in_frame = nullptr;    // the whole parameter in its frame, if one shard has it
    std::vector<Buffer> decoded;  // rows that were decoded from another type
  };

  RowExchange::AddRowSlices pushed_slices(std::span<const KeyPlan> plans, PullScope scope) const;
  RowExchange::AddRowSlices pulled_slices(std::span<const KeyPlan> plans, PullScope scope) const;
  void find_in_whole(size_t p, const KeyPlan& plan);
  void put_rows(size_t shard, const RoutedRows& routed, const ArrivedRows& rows);
  void bind(size_t p, const KeyPlan& plan, const Request& request, ParameterView<float>& view);

  ShardLinks& links_;
  const std::vector<ParameterSpec>& specs_;
  const RowTypes types_;
  std::unique_ptr<RowExchange> current_, next_;  // of the batch in use, and of the one that was begun
  Request asked_{PullMode::kTrain, 0};           // the last request
  std::vector<Held> held_;                       // by parameter
  GradientBuffers gradients_;                    // by parameter; a push that is on its way shares them
  uint64_t num_begun_ = 0;                       // the number of the last ticket
  uint64_t num_messages_ = 0;                    // the number of the last message that a push may follow
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_PULLS_H_
