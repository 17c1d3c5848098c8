// Shared by the benchmarks of a served table: sets of random keys, ascending as in a trainer's plans, the
// times of both sides, and the same table in this process to compare with.  Used by the suite `pull-push`.
#ifndef PS_BENCH_PULL_PUSH_TABLE_WORKLOAD_H_
#define PS_BENCH_PULL_PUSH_TABLE_WORKLOAD_H_

#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/pull_push/served_table.h"

namespace ps {

struct TableCase {
  const char *name, *help;
  int64_t width = 16;
  double rows = 4e6;  // of the table
  double keys = 1e4;  // of a set
  int sets = 32;      // different ones, one after the other in a run
  int ports = 1;
  const char* optimizer = "sgd";
  RowType type = RowType::kF32;  // of rows and gradients on their way
  LinkShape link = {};
  bool local = false;            // over Unix sockets
  bool tls = false;              // encrypted
  std::string checkpoints = {};  // as in ServedTableSettings
};

// One owner thread.
class TableWorkload : public Workload {
 public:
  TableWorkload(const BenchSettings& settings, const TableCase& task);

  void prepare() override;
  Work work() const override;
  std::optional<double> seconds() const override { return seconds_; }

  // The servers' weights of all sets, as they travel, are those of the table in this process, which took the
  // same steps.
  void check() override;

  // The share of 8 + 4 x width bytes a key that went over the connections, and the processor time of either
  // side for each key.
  std::vector<Figure> figures() const override;

 protected:
  // Times what it is given, and takes notes for figures().
  class Section {
   public:
    explicit Section(TableWorkload& workload);
    ~Section();

   private:
    TableWorkload& workload_;
    const uint64_t wire_start_;
    const double server_start_, client_start_, start_;  // asked for in this order, the clock last
  };

  void begin_run();
  uint64_t num_rows() const { return num_rows_; }  // of the table
  std::span<const KeyPlan> plan(size_t set) const { return {&plans_[set], 1}; }
  void set_gradients(size_t set);
  void push(size_t set);

  // Gives the table in this process the first `count` of the steps that it was not given yet.
  void take_local_steps(size_t count);
  size_t num_local_steps() const { return num_local_steps_; }  // that it was given

  const TableCase task_;
  const Clock clock_;
  const uint64_t num_rows_;
  ServedTable table_;
  std::vector<KeyPlan> plans_;
  std::vector<ParameterView<float>> views_;  // of the last pull
  uint64_t done_ = 0;                        // keys of the last run

 private:
  void expect_local_weights(size_t set);

  const std::vector<float> pattern_;  // of gradients
  const uint64_t warm_bytes_;
  double seconds_ = 0, client_seconds_ = 0, server_seconds_ = 0;
  uint64_t wire_bytes_ = 0;
  std::vector<size_t> local_steps_;  // sets pushed that the table in this process was not given yet
  size_t num_local_steps_ = 0;
};

}  // namespace ps

#endif  // PS_BENCH_PULL_PUSH_TABLE_WORKLOAD_H_
