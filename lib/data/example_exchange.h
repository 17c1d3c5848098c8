// ExampleExchange: how the trainers of a job give each other examples.  Used by MovedExamples; implemented by the job,
// over connections of its own.
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

  // Gives bytes[r] to trainer r, and returns the bytes that each trainer gave this one, in rank order.  All trainers call it
  // equally often.  One thread at a time.  Throws kUnavailable when another trainer is gone, and after stop().
  virtual std::vector<std::string> exchange(std::vector<std::string> bytes) = 0;

  // Ends the exchange that runs, and all later ones.  Any thread.
  virtual void stop() = 0;
};

}  // namespace ps

#endif  // PS_DATA_EXAMPLE_EXCHANGE_H_
