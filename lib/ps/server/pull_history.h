// PullHistory: the numbered pulls of one trainer.  Used by PullService.
#ifndef PS_PS_SERVER_PULL_HISTORY_H_
#define PS_PS_SERVER_PULL_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "net/frame.h"
#include "ps/server/held_memory.h"
#include "ps/server/shard_tables.h"
#include "ps/wire/protocol.h"

namespace ps {

// A pull and the memory that it has, which goes with the last that shares it.
struct RememberedPull {
  PullRequest request;
  HeldBytes held;
};

struct AnsweredPull {
  std::shared_ptr<const PullRequest>
      request;                          // of a RememberedPull; the push that names it shares its row slices
  std::shared_ptr<const Payload> rows;  // the answer, should it have to be given again; or null
  std::shared_ptr<const PulledRows> pulled = nullptr;  // where the tables have its rows; null: not known
};

// A push may give the number of a pull in place of its keys: so pulls for steps that the trainer has not
// pushed are kept.  A synchronous shard beside others keeps those for the last step that it has applied too,
// with their answers, until the step is known to be applied everywhere.  One owner thread.
class PullHistory {
 public:
  // Pulls of number 0 are not kept.
  void add(AnsweredPull&& pull);

  // Null when there is none.
  const AnsweredPull* find(uint64_t number) const;

  // The answer to an equal pull of this process or one before it; null when none is kept.
  std::shared_ptr<const Payload> answer_to(const PullRequest& request) const;

  void forget_before(uint64_t step);

  // Another process takes the rank over: it gives numbers of its own.  Only pulls with answers are kept, and the memory
  // of the others goes back.
  void take_over();

  // The pulls whose answers may have to be given again.  load puts the answers into `pool`, and takes memory for
  // the pulls of trainer `rank`.
  void save(std::string& out) const;
  void load(ByteReader& in, BufferPool& pool, HeldMemory& held, int rank);

 private:
  std::map<uint64_t, AnsweredPull> pulls_;  // by number
  std::vector<AnsweredPull> former_pulls_;  // of the processes before this one; all have rows
};

}  // namespace ps

#endif  // PS_PS_SERVER_PULL_HISTORY_H_
