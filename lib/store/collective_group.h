// The trainers of a job as the ranks of a communicator.  Used by strategies without servers.
#ifndef PS_STORE_COLLECTIVE_GROUP_H_
#define PS_STORE_COLLECTIVE_GROUP_H_

#include <string>
#include <utility>
#include <vector>

#include "collective/communicator.h"
#include "store/trainer_group.h"

namespace ps {

// One owner thread, that of the communicator, which outlives this.
class CollectiveGroup final : public TrainerGroup {
 public:
  explicit CollectiveGroup(Communicator& communicator) : communicator_(communicator) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  std::vector<std::string> gather(std::string bytes) override {
    return communicator_.gather(std::move(bytes));
  }
  int leader() const override { return 0; }

 private:
  Communicator& communicator_;
};

}  // namespace ps

#endif  // PS_STORE_COLLECTIVE_GROUP_H_
