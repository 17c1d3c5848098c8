// RemoteGroup: the trainers of a job, which meet at its first shard.  Used by RemoteStore.
#ifndef PS_PS_CLIENT_REMOTE_GROUP_H_
#define PS_PS_CLIENT_REMOTE_GROUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ps/client/shard_links.h"
#include "store/trainer_group.h"

namespace ps {

// One owner thread.
class RemoteGroup final : public TrainerGroup {
 public:
  // `links` outlives this.
  RemoteGroup(ShardLinks& links, int rank, int size) : links_(links), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int leader() const override { return leader_; }
  std::vector<std::string> gather(std::string bytes) override;

  // The last gathering of a run, after which trainers may end.
  void gather_at_end();

  // Sets the number of gatherings of the run in which earlier processes of this rank have taken part.
  void set_num_gathered(uint64_t count) { num_gathered_ = count; }

 private:
  std::vector<std::string> gather(char marker, std::string bytes);
  std::string give(uint64_t number, std::string bytes);
  void fetch_rest(uint64_t number, std::string& gathered);

  ShardLinks& links_;
  const int rank_, size_;
  uint64_t num_gathered_ = 0;
  int leader_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_GROUP_H_
