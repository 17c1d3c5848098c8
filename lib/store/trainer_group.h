// TrainerGroup: the trainers of a job, as one of them sees them.  Used by the training loop to bring figures
// together, and wherever one trainer speaks for all.
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

  // The bytes that every trainer gave, in rank order, and nothing from those whom the job goes on without.
  // Returns when all have called it, each as often as the others.
  virtual std::vector<std::string> gather(std::string bytes) = 0;

  // The lowest rank that took part in the last gathering: it speaks for all.
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
