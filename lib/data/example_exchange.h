// ExampleExchange: the exchange of examples between the trainers of a job.  Used by MovedExamples; implemented
// by the job, over connections of its own.
#ifndef PS_DATA_EXAMPLE_EXCHANGE_H_
#define PS_DATA_EXAMPLE_EXCHANGE_H_

#include <string>
#include <vector>

namespace ps {

class ExampleExchange {
 public:
  virtual ~ExampleExchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Gives bytes[r] to trainer r, and returns the bytes that each trainer gave this one, in rank order.  All
  // trainers must call it the same number of times.  One thread at a time.  Throws kUnavailable if another
  // trainer is gone, and after stop().
  virtual std::vector<std::string> exchange(std::vector<std::string> bytes) = 0;

  // Ends the running exchange, and all later ones.  Any thread may call it.
  virtual void stop() = 0;
};

}  // namespace ps

#endif  // PS_DATA_EXAMPLE_EXCHANGE_H_
