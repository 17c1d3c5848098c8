// MeetingPoint: where the ranks of a benchmark, which are threads of one process, learn where rank 0 listens.  Used
// by benchmarks of collectives.
#ifndef PS_BENCH_MEETING_POINT_H_
#define PS_BENCH_MEETING_POINT_H_

#include <exception>
#include <future>

#include "net/transport.h"

namespace ps {

// Tells the other ranks where rank 0 listens, or that it has failed before it listened.  Any thread may use
// it.
class MeetingPoint {
 public:
  void set(const Address& address) { promise_.set_value(address); }
  void give_up(const std::exception_ptr& why) {
    try {
      promise_.set_exception(why);
    } catch (const std::future_error&) {
      // Rank 0 has listened, so the others notice its end by their connections.
    }
  }
  Address wait() const { return where_.get(); }

 private:
  std::promise<Address> promise_;
  std::shared_future<Address> where_ = promise_.get_future().share();
};

}  // namespace ps

#endif  // PS_BENCH_MEETING_POINT_H_
