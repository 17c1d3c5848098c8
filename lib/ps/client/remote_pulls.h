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

// The parameters of a pull or of a push: all; those alone that batches use by keys; sparse ones alone, or all but these;
// in heterogeneous training, those of readers, or those of compute trainers.
enum class PullScope { kAll, kRows, kSparse, kNotSparse, kReaders, kCompute };

// Adds what a push has of the parameters of this scope: the rows of the plans, and the others whole.
void add_pushed(std::span<const ParameterSpec> specs, std::span<const KeyPlan> plans, PullScope scope,
                BatchRouter& router);

// One owner thread.  The rows of a batch are good until the next batch is pulled; while it is in use, the next
// one may be on its way.
class RemotePulls {
 public:
  // Both outlive this.
  RemotePulls(ShardLinks& links, const std::vector<ParameterSpec>& specs, const RowTypes& types);

  struct Request {
    PullMode mode;
    uint64_t step;
    PullScope scope = PullScope::kAll;
    bool push_follows = true;  // with what was pulled, after a pull to train
  };

  // Asks for the rows; for kCompute, which may not know the batch yet, for whole tables.  A batch that was begun and is not
  // wanted any more is waited for, and dropped.
  PullTicket begin(std::span<const KeyPlan> plans, const Request& request);

  // Waits for the rows of the batch that was begun last, and shows them.
  void finish(const PullTicket& ticket, std::span<const KeyPlan> plans,
              std::vector<ParameterView<float>>& views);

  // The same of the last ticket.
  void finish_last(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
    finish({num_begun_}, plans, views);
  }

  // True when all rows of the batch that was begun last are here.
  bool arrived() const { return next_->arrived(); }

  // Messages get numbers from `base` on: for a process that is not the only one of its rank.
  void number_from(uint64_t base) { num_messages_ = base; }

  // Views whose gradients are to be filled and pushed, without a pull: for stores that have copies.
  void prepare(std::span<const KeyPlan> plans, PullScope scope, std::vector<ParameterView<float>>& views);

  // The messages and the gradients of the batch in use.
  BatchRouter& router() { return current_->router(); }
  const GradientBuffers& gradients() const { return gradients_; }

 private:
  // One parameter of the batch in use.
  struct Held {
    std::vector<float*> rows;     // by position in the plan, in the frames
    std::vector<float> whole;     // put together from the shards' blocks
    float* in_frame = nullptr;    // the whole parameter in one piece, where the frame put it
    std::vector<Buffer> decoded;  // rows that the frames have in another type
  };

  RowExchange::AddRowSlices pushed_slices(std::span<const KeyPlan> plans, PullScope scope) const;
  RowExchange::AddRowSlices pulled_slices(std::span<const KeyPlan> plans, PullScope scope) const;
  void find_in_whole(size_t p, const KeyPlan& plan);
  void put_rows(size_t shard, const RoutedRows& routed, const ArrivedRows& rows);
  void show(size_t p, const KeyPlan& plan, const Request& request, ParameterView<float>& view);

  ShardLinks& links_;
  const std::vector<ParameterSpec>& specs_;
  const RowTypes types_;
  std::unique_ptr<RowExchange> current_, next_;  // of the batch in use, and of the one that was begun
  Request asked_{PullMode::kTrain, 0};           // the last
  std::vector<Held> held_;                       // by parameter
  GradientBuffers gradients_;                    // by parameter; they live on while a push needs them
  uint64_t num_begun_ = 0;                       // the number of the last ticket
  uint64_t num_messages_ = 0;                    // the number of the last message that a push may follow
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_PULLS_H_
