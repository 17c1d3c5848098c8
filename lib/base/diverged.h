// Diverged: the error of training whose numbers are not finite any more.  A sweep catches it, and goes on with its other
// trainings.
#ifndef PS_BASE_DIVERGED_H_
#define PS_BASE_DIVERGED_H_

#include <string>
#include <utility>

#include "base/error.h"

namespace ps {

class Diverged final : public Error {
 public:
  explicit Diverged(std::string message) : Error(Code::kData, std::move(message)) {}
};

}  // namespace ps

#endif  // PS_BASE_DIVERGED_H_
