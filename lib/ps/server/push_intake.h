// PushIntake: checks a push that comes to a shard, finds room for it, and holds it until its step is applied.
// Used by Shard, which owns it.
#ifndef PS_PS_SERVER_PUSH_INTAKE_H_
#define PS_PS_SERVER_PUSH_INTAKE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "ps/server/step_clock.h"

namespace ps {

// The owner thread of the shard, whose objects that it is given outlive it.
class PushIntake {
 public:
  PushIntake(ShardTables& tables, TableMemory& memory, const PushCodecs& codecs, StepClock& clock,
             const StepContext& context)
      : tables_(tables), memory_(memory), codecs_(codecs), clock_(clock), context_(context) {}

  // A push that was admitted.
  struct Admitted {
    HeldBytes room;  // of all that the push makes the shard hold beside its rows
    Buffer encoded;  // the body as it came, where its rows were decoded; else empty
  };

  // Throws unless the push is of a step that the trainer may push now: kData, or kStateLost where the shard was
  // `resumed` from a log, whose end may be lost.
  void check_order(int rank, const PushRequest& request, bool resumed) const;

  // Gives the push the row slices that it has of a pull, checks its gradients, takes room for it, and decodes its
  // rows.  Throws kData when it makes no sense, kExhausted when there is no room; then nothing is held.
  Admitted admit(int rank, PushRequest& request);

  // The push holds its slice from now on.
  void hold(PendingPush& push, PushRequest request, HeldBytes room);

  // To be called when the steps that a push could complete are over.  A slice that has to wait for other trainers must not take
  // up the memory of connections, or these could not be heard: the slice that is held last is moved to the memory of what
  // waits, unless its step was applied.
  void end_steps();

  // Checks weights that are loaded, and makes room for their rows.  Throws as admit.
  void admit_weights(const PushRequest& request);

 private:
  HeldBytes make_room(int rank, const PushRequest& request);
  uint64_t body_bytes(const PushRequest& request) const;
  void copy_rows(PushRequest& request);
  void check_finite(const PushRequest& request, std::string_view what);
  uint64_t chunk_bytes() const {
    return context_.states.chunk_bytes() + pending_chunk_bytes(clock_.trainers());
  }

  ShardTables& tables_;
  TableMemory& memory_;
  const PushCodecs& codecs_;
  StepClock& clock_;
  const StepContext context_;

  struct Held {
    int rank;
    uint64_t step;
    uint32_t slice;
  };
  std::optional<Held> last_;  // the slice that is held last, until end_steps
};

}  // namespace ps

#endif  // PS_PS_SERVER_PUSH_INTAKE_H_
