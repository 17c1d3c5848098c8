// TableWorkload: the base of benchmarks of a served table.  It has sets of random keys, which ascend as in a
// trainer's plans, the processor times of both sides, and the same table in this process to compare with.
// Used by the suites `pull-push` and `checkpoint`.
#ifndef PS_BENCH_PULL_PUSH_TABLE_WORKLOAD_H_
#define PS_BENCH_PULL_PUSH_TABLE_WORKLOAD_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/pull_push/served_table.h"

namespace ps {

// A table, and the sets of its keys that a run takes one after the other.
struct TableCase {
  const char *name, *help;
  int64_t width = 16;
  double rows = 4e6;  // number of rows of the table
  double keys = 1e4;  // number of keys of a set
  int sets = 32;      // number of different sets
  int ports = 1;
  const char* optimizer = "sgd";
  RowType type = RowType::kF32;  // type of rows and gradients in messages
  LinkShape link = {};
  bool local = false;            // connections are Unix sockets
  bool tls = false;              // connections are encrypted
  std::string checkpoints = {};  // folder of checkpoints; see ServedTableSettings
};

// Sets of keys on a served table; a subclass pulls or pushes them in run().  One owner thread.
class TableWorkload : public Workload {
 public:
  TableWorkload(const BenchSettings& settings, const TableCase& task);

  void prepare() override;
  Work work() const override;
  std::optional<double> seconds() const override { return seconds_; }

  // Checks that the servers' weights of all sets, as messages carry them, are those of the table in this
  // process after the same steps.
  void check() override;

  // Returns the bytes that the connections carried, as a share of 8 + 4 x width bytes for each key, and the
  // processor time of either side for each key.
  std::vector<Figure> figures() const override;

 protected:
  // Adds the time, the processor time and the bytes of its lifetime to the results of the run.  One owner
  // thread.
  class Section {
   public:
    explicit Section(TableWorkload& workload);
    ~Section();

   private:
    TableWorkload& workload_;
    const uint64_t wire_start_;
    const double server_start_, client_start_, start_;  // read in this order, the clock last
  };

  void begin_run();
  uint64_t num_rows() const { return num_rows_; }  // number of rows of the table
  std::span<const KeyPlan> plan(size_t set) const { return {&plans_[set], 1}; }
  void set_gradients(size_t set);
  void push(size_t set);

  // Gives the next steps, at most `count`, to the table in this process.
  void apply_local_steps(size_t count);
  // Returns the number of steps that the table in this process has taken.
  size_t num_local_steps() const { return num_local_steps_; }

  const TableCase task_;
  const Clock clock_;
  const uint64_t num_rows_;
  ServedTable table_;
  std::vector<KeyPlan> plans_;
  std::vector<ParameterView<float>> views_;  // rows of the last pull
  uint64_t done_ = 0;                        // number of keys of the last run

 private:
  void expect_local_weights(size_t set);

  const std::vector<float> pattern_;  // gradients of 16 kinds
  const uint64_t warm_bytes_;
  double seconds_ = 0, client_seconds_ = 0, server_seconds_ = 0;
  uint64_t wire_bytes_ = 0;
  std::vector<size_t> local_steps_;  // sets pushed whose steps the table in this process has not taken yet
  size_t num_local_steps_ = 0;
};

}  // namespace ps

#endif  // PS_BENCH_PULL_PUSH_TABLE_WORKLOAD_H_
