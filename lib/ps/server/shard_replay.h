// ShardReplay: makes a shard again from a snapshot and the events of its log.  Used by ShardHost, and by tests.
#ifndef PS_PS_SERVER_SHARD_REPLAY_H_
#define PS_PS_SERVER_SHARD_REPLAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/buffer_pool.h"
#include "ps/log/shard_event.h"
#include "ps/server/shard.h"

namespace ps {

// The shard, which must outlive this, makes the same changes again, begins the same checkpoints, and answers
// nobody.  The decisions on checkpoints that were made while an event was handled follow it in the log: so an
// event is held until the next one comes.  One owner thread.
class ShardReplay {
 public:
  explicit ShardReplay(Shard& shard) : shard_(shard) { shard_.begin_replay(); }

  // Before the first event, perhaps: the shard as it was when a checkpoint began, its tables being as they
  // then were.  Throws kCorrupt.
  void load_snapshot(std::string_view snapshot);

  // Throws kCorrupt when the event makes no sense.
  void add(ShardEvent event, int rank, std::string_view body, Time now);

  // All is done after it; the shard may serve.
  void end(Time now);

 private:
  struct HeldEvent {
    ShardEvent event;  // kCheckpoint: the steps that followed the snapshot at once
    int rank;
    std::string body;
    std::vector<uint64_t> checkpoints;  // that were decided on with it
  };

  void make_held(Time now);
  void make(ShardEvent event, int rank, std::string_view body, Time now);
  void begin_run(std::string_view body, Time now);
  void gather(int rank, std::string_view body);
  void pull(int rank, std::string_view body);

  Shard& shard_;
  BufferPool pool_;  // of bodies of pushes and loads
  std::optional<HeldEvent> held_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_REPLAY_H_
