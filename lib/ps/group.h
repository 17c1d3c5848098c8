// Group: the trainers of a job, as one of them sees them.  Used by the training loop to bring figures
// together.
#ifndef PS_PS_GROUP_H_
#define PS_PS_GROUP_H_

#include <string>
#include <utility>
#include <vector>

namespace ps {

// One owner thread.
class Group {
 public:
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // What every trainer gave, in rank order; returns when all have called it, each as often as the others.
  virtual std::vector<std::string> gather(std::string bytes) = 0;

  void barrier() { gather(""); }
};

// A trainer alone.
class LocalGroup final : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> gather(std::string bytes) override { return {std::move(bytes)}; }
};

}  // namespace ps

#endif  // PS_PS_GROUP_H_
