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

// A pull and its memory in the ledger, which is freed with the last owner of this.
struct RememberedPull {
  PullRequest request;
  HeldBytes held;
};

struct AnsweredPull {
  // Part of a RememberedPull.  A push that names the pull shares its row slices.
  std::shared_ptr<const PullRequest> request;
  std::shared_ptr<const Payload> rows;  // the answer, if it may have to be sent again; else null
  std::shared_ptr<const PulledRows> pulled = nullptr;  // where the tables have its rows; null: unknown
};

// A push may give the number of a pull in place of its keys; therefore the pulls of a step are kept until the
// trainer has pushed that step.  In a synchronous job with several shards, a shard also keeps the pulls of
// the last step that it has applied, with their answers, until it knows that all shards have applied the
// step.  One owner thread.
class PullHistory {
 public:
  // Pulls of number 0 are not kept.
  void add(AnsweredPull&& pull);

  // Returns null when no such pull is kept.
  const AnsweredPull* find(uint64_t number) const;

  // Returns the answer to an equal pull of this process or an earlier process of the rank; null if none is
  // kept.
  std::shared_ptr<const Payload> answer_to(const PullRequest& request) const;

  // Forgets the pulls of earlier steps.
  void forget_before(uint64_t step);

  // To be called when another process takes the rank over, which numbers its pulls anew.  Keeps the pulls
  // that have answers, and frees all other pulls.
  void take_over();

  // Save and load the pulls whose answers may have to be sent again.  load allocates the answers in `pool`,
  // and takes the memory of the pulls from the account of trainer `rank`.
  void save(std::string& out) const;
  void load(ByteReader& in, BufferPool& pool, HeldMemory& held, int rank);

 private:
  std::map<uint64_t, AnsweredPull> pulls_;  // by number
  std::vector<AnsweredPull> former_pulls_;  // of earlier processes of the rank; all have answers
};

}  // namespace ps

#endif  // PS_PS_SERVER_PULL_HISTORY_H_
