// Gathered: what the trainers of a run gave to a gathering, and the answers that have it, in pieces.  Used by Gathering.
#ifndef PS_PS_SERVER_GATHERED_H_
#define PS_PS_SERVER_GATHERED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/frame.h"

namespace ps {

// Never changes.  Answers point into it, and keep it.
class Gathered : public std::enable_shared_from_this<Gathered> {
 public:
  explicit Gathered(std::vector<std::string> all);

  const std::vector<std::string>& all() const { return all_; }  // by rank

  // The answer to those who have given: the sizes, and the first bytes of what all gave.
  Payload beginning() const;

  // Some of the bytes of all, one after the other, from `first` on.  Throws kData when there are none.
  Payload piece(uint64_t first) const;

 private:
  void append(uint64_t first, Payload& out) const;

  const std::vector<std::string> all_;
  const std::string sizes_;
};

}  // namespace ps

#endif  // PS_PS_SERVER_GATHERED_H_
