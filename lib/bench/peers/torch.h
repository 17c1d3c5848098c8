// python3-torch on the same examples, in a process of its own.  Used by the suite `train`.
#ifndef PS_BENCH_PEERS_TORCH_H_
#define PS_BENCH_PEERS_TORCH_H_

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

namespace ps {

// Sums of rows of an EmbeddingBag and a linear layer on top, logistic loss, AdaGrad: what train/embedding-16
// trains.  Everything is in the child's memory before the first pass.
struct TorchTask {
  int64_t dim, width;
  int64_t ids;  // of each example
  int64_t batch_size;
  int threads;
  double learning_rate;
};

// A Python that runs a script whose standard input and output are ours.  One owner thread; ends with it.
class PythonProcess {
 public:
  // Throws kUnavailable when Python is not installed.
  explicit PythonProcess(const std::string& script);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  // Throws kUnavailable when it is gone.
  void send_all(const void* bytes, size_t size);

  // A line of its output without its end; empty when it ended, or said nothing within the deadline.
  std::string receive_line();

 private:
  int socket_;
  pid_t process_;
};

// One owner thread.
class TorchTraining {
 public:
  // Hands over the examples: keys [B, ids], labels [B].  Throws kUnavailable when torch is not installed.
  TorchTraining(const TorchTask& task, std::span<const uint64_t> keys, std::span<const float> labels);

  // Trains on all examples once more; returns the average loss.
  double train_pass();

 private:
  PythonProcess python_;
};

}  // namespace ps

#endif  // PS_BENCH_PEERS_TORCH_H_
