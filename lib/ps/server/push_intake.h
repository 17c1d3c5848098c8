// PushIntake: checks a push that comes to a shard, finds room for it, and holds it until its step is applied.
// Used by Shard, which owns it.
#ifndef PS_PS_SERVER_PUSH_INTAKE_H_
#define PS_PS_SERVER_PUSH_INTAKE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "ps/server/step_clock.h"

namespace ps {

// Owned by the thread of the shard.  The objects that it is given belong to the shard, and outlive it.
class PushIntake {
 public:
  PushIntake(ShardTables& tables, TableMemory& memory, const PushCodecs& codecs, StepClock& clock,
             const StepContext& context)
      : tables_(tables), memory_(memory), codecs_(codecs), clock_(clock), context_(context) {}

  // A push that was admitted.
  struct Admitted {
    HeldBytes room;  // memory of all that the push makes the shard hold beside its rows
    Buffer encoded;  // the body as it came, if its rows were decoded; else empty
  };

  // Throws kData unless the push is of a step that the trainer may push now; throws kStateLost instead if the
  // shard was `resumed` from a log, whose end may be lost.
  void check_order(int rank, const PushRequest& request, bool resumed) const;

  // Gives the push the row slices of the pull that it names, checks its gradients, takes memory for it, and
  // decodes its rows.  Throws kData if the push makes no sense, kExhausted if there is no room; then nothing
  // is held.
  Admitted admit(int rank, PushRequest& request);

  // Puts the slice into the push, which holds it from now on.
  void hold(PendingPush& push, PushRequest request, HeldBytes room);

  // To be called when the steps that a push could complete are over.  If the slice that was held last still
  // waits for other trainers, moves it to the memory of waiting pushes: in the memory of connections it would
  // keep these from being read.
  void end_steps();

  // Checks weights that are loaded, and makes room for their rows.  Throws as admit does.
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
  std::optional<Held> last_;  // the slice that was held last, until end_steps
};

}  // namespace ps

#endif  // PS_PS_SERVER_PUSH_INTAKE_H_
