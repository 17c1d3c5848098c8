// Runs torch for Python on the same examples and gradients, in a process of its own.  Used by the suites
// `train` and `dgc`.
#ifndef PS_BENCH_PEERS_TORCH_H_
#define PS_BENCH_PEERS_TORCH_H_

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

namespace ps {

// The sizes of the model of train/embedding-16: sums of rows of an EmbeddingBag and a linear layer on
// top, with logistic loss and AdaGrad.  All examples are in the child's memory before the first pass.
struct TorchTask {
  int64_t dim, width;
  int64_t ids;  // number of ids of each example
  int64_t batch_size;
  int threads;
  double learning_rate;
};

// A Python process that runs a script whose standard input and output are connected to this process.  One
// owner thread; the process ends when this is destroyed.
class PythonProcess {
 public:
  // Throws kUnavailable when Python is not installed.
  explicit PythonProcess(const std::string& script);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  // Sends bytes to the script.  Throws kUnavailable when the script has ended.
  void send_all(const void* bytes, size_t size);

  // Returns a line of the script's output without its line feed; empty when the script has ended, or printed
  // nothing within the deadline.
  std::string receive_line();

 private:
  int socket_;
  pid_t process_;
};

// Trains with torch.  One owner thread.
class TorchTraining {
 public:
  // Sends the examples to the script: keys [B, ids], labels [B].  Throws kUnavailable when torch is not
  // installed.
  TorchTraining(const TorchTask& task, std::span<const uint64_t> keys, std::span<const float> labels);

  // Trains on all examples once more; returns the average loss.
  double train_pass();

 private:
  PythonProcess python_;
};

// Selection of the values that are largest in size.  One owner thread.
class TorchSelection {
 public:
  // Sends the values to the script.  With `sampled`, the threshold is taken from every hundredth value, as
  // the authors of DGC take it; else torch.topk selects from all.  Throws kUnavailable when torch is not
  // installed.
  TorchSelection(std::span<const float> values, size_t count, bool sampled);

  // Selects once more, with one thread; returns the number of values that were selected.
  uint64_t select();

 private:
  PythonProcess python_;
};

}  // namespace ps

#endif  // PS_BENCH_PEERS_TORCH_H_
