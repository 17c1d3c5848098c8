// A fixed set of threads that share the blocks of one loop at a time.  Used by kernels, parsers and tables.
//
// The number of threads never changes a result: a loop is cut into blocks by its caller, at sizes that do not
// depend on the threads, and each block is computed by one thread in one order.
#ifndef PS_BASE_THREAD_POOL_H_
#define PS_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace ps {

class ThreadPool {
 public:
  // `threads` includes the caller's: 1 starts none and runs every loop in place.  Throws kExhausted when the
  // system has no more threads to give.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(block) once for every block in [0, blocks), on any threads, and returns when all are done. The
  // first exception is rethrown here, after the rest have ended.  One caller at a time; a body must not call
  // run.
  void run(int64_t blocks, const std::function<void(int64_t)>& body);

  // Calls body(begin, end) for [0, items) cut into pieces of `block` items, the last one shorter.
  template <class Body>
  void for_each(int64_t items, int64_t block, Body&& body) {
    run((items + block - 1) / block, [&](int64_t index) {
      int64_t begin = index * block;
      body(begin, begin + block < items ? begin + block : items);
    });
  }

 private:
  struct State;
  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace ps

#endif  // PS_BASE_THREAD_POOL_H_
