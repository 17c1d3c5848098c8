// python3-torch on the same examples and gradients, in a process of its own.  Used by the suites `train` and
// `dgc`.
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

// Selection of the values that are largest in size.  One owner thread.
class TorchSelection {
 public:
  // Hands over the values.  With `sampled`, the threshold is taken from every hundredth value, as the authors
  // of DGC do it; else by torch.topk of all.  Throws kUnavailable when torch is not installed.
  TorchSelection(std::span<const float> values, size_t count, bool sampled);

  // Selects once more, with one thread; returns how many values there are.
  uint64_t select();

 private:
  PythonProcess python_;
};

}  // namespace ps

#endif  // PS_BENCH_PEERS_TORCH_H_
