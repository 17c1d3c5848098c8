// TrainerGroup: the trainers of a job, as one of them sees them.  Used by the training loop to collect
// figures, and wherever one trainer acts for all.
#ifndef PS_STORE_TRAINER_GROUP_H_
#define PS_STORE_TRAINER_GROUP_H_

#include <string>
#include <utility>
#include <vector>

namespace ps {

// One owner thread.
class TrainerGroup {
 public:
  virtual ~TrainerGroup() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Returns the bytes that every trainer gave, in rank order; they are empty for trainers without which the
  // job goes on.  Returns when all have called it; each must call it as often as the others.
  virtual std::vector<std::string> gather(std::string bytes) = 0;

  // Returns the lowest rank that took part in the last gathering; it acts for all.
  virtual int leader() const = 0;

  void barrier() { gather(""); }
};

// A trainer alone.
class LocalGroup final : public TrainerGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> gather(std::string bytes) override { return {std::move(bytes)}; }
  int leader() const override { return 0; }
};

}  // namespace ps

#endif  // PS_STORE_TRAINER_GROUP_H_
