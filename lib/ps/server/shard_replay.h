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

// The shard must outlive this.  It makes the same changes again, and begins the same checkpoints, but answers
// no peer.  The decisions on checkpoints that were made during an event follow the event in the log, so an
// event is held until the next one comes.  One owner thread.
class ShardReplay {
 public:
  explicit ShardReplay(Shard& shard) : shard_(shard) { shard_.begin_replay(); }

  // May be called once, before the first event: restores the shard as it was when a checkpoint began.  Its
  // tables must be as they were then.  Throws kCorrupt.
  void load_snapshot(std::string_view snapshot);

  // Throws kCorrupt if the event makes no sense.
  void add(ShardEvent event, int rank, std::string_view body, Time now);

  // Ends the replay.  The shard may serve requests afterwards.
  void end(Time now);

 private:
  struct HeldEvent {
    ShardEvent event;  // kCheckpoint stands for the steps that followed the snapshot at once
    int rank;
    std::string body;
    std::vector<uint64_t> checkpoints;  // numbers of the checkpoints that were decided on during it
  };

  void make_held(Time now);
  void make(ShardEvent event, int rank, std::string_view body, Time now);
  void begin_run(std::string_view body, Time now);
  void gather(int rank, std::string_view body);
  void pull(int rank, std::string_view body);

  Shard& shard_;
  BufferPool pool_;                // memory for the bodies of pushes and loads
  std::optional<HeldEvent> held_;  // the event that waits for its decisions
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_REPLAY_H_
