// Gathered: the bytes that the trainers of a run gave to a gathering, and the answers with them, in slices.
// Used by Gathering.
#ifndef PS_PS_SERVER_GATHERED_H_
#define PS_PS_SERVER_GATHERED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/frame.h"

namespace ps {

// Constant after construction; any thread may use it.  Answers point into it, and keep it alive.
class Gathered : public std::enable_shared_from_this<Gathered> {
 public:
  explicit Gathered(std::vector<std::string> all);

  const std::vector<std::string>& all() const { return all_; }  // by rank

  // Returns the answer to trainers that have given: the sizes, and the first bytes of what all trainers gave.
  Payload beginning() const;

  // Returns some bytes, from `first` on, of what all gave, one after the other.  Throws kData if there are
  // none.
  Payload slice(uint64_t first) const;

 private:
  void append(uint64_t first, Payload& out) const;

  const std::vector<std::string> all_;
  const std::string sizes_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_GATHERED_H_
