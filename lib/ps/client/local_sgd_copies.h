// LocalSgdCopies: the state of a trainer in local SGD: its own tables and optimizers, and for each row its base, the weights
// that the servers had when the row was last read.  Used by LocalSgdStore, and by RemoteStore, which has the servers write
// this state into their checkpoints.
//
// A process that restores this state goes on with the same bits as the process before would have.
#ifndef PS_PS_CLIENT_LOCAL_SGD_COPIES_H_
#define PS_PS_CLIENT_LOCAL_SGD_COPIES_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/keyed_rows.h"
#include "ps/wire/trainer_state_chunks.h"
#include "store/local_store.h"

namespace ps {

// The base of one parameter: the rows that batches have used, or the whole parameter, as the servers had it when
// it was last read.
// Behind a row's floats stands a mark: the round in which it was read, whether this round has trained it, and
// whether its difference is on its way.
struct LocalSgdCopy {
  LocalSgdCopy(const ParameterSpec& spec, CpuLevel level)
      : cpu(level), rows(std::make_unique<KeyedRows>(spec.cols + 1)), cols(static_cast<size_t>(spec.cols)) {}

  static constexpr uint32_t kTrained = 1u << 31, kSent = 1u << 30;
  uint32_t mark(const float* row) const {
    uint32_t mark;
    std::memcpy(&mark, row + cols, sizeof mark);
    return mark;
  }
  void set_mark(float* row, uint32_t mark) const { std::memcpy(row + cols, &mark, sizeof mark); }

  // A row that was never read is what rows begin with, as it is everywhere.
  float* find_or_start(const ParameterSpec& spec, uint64_t key);

  CpuLevel cpu;  // of the loops that draw initial weights
  std::unique_ptr<KeyedRows> rows;
  size_t cols;
  std::vector<float> whole;       // empty: not read yet
  std::vector<float*> current;    // the rows of the batch that was pulled
  std::vector<uint64_t> trained;  // keys that this round has trained
};

// The batches that a trainer has trained.
struct LocalSgdProgress {
  int64_t pass = 0, pass_batches = 0;  // in this pass
  int64_t batches = 0;                 // in all
};

// One owner thread.
class LocalSgdCopies final : public TrainerState {
 public:
  // `local` has the job's optimizers, holds nothing yet, and must outlive this; batches are exchanged
  // `period` at a time.
  LocalSgdCopies(std::vector<ParameterSpec> specs, int64_t period, LocalStore& local);
  ~LocalSgdCopies() override;

  const std::vector<ParameterSpec>& specs() const { return specs_; }
  LocalSgdCopy& operator[](size_t p) { return copies_[p]; }
  const LocalSgdCopy& operator[](size_t p) const { return copies_[p]; }
  LocalStore& local() { return local_; }
  std::vector<LocalSgdCopy>::iterator begin() { return copies_.begin(); }
  std::vector<LocalSgdCopy>::iterator end() { return copies_.end(); }

  LocalSgdProgress progress;
  bool whole_is_sent = false;  // the differences of parameters that batches use whole are on their way

  // Returns true when all state was restored from chunks.
  bool resumed() const { return resumed_; }

  // Returns the keys of all rows whose differences were on their way when the state was sent.
  std::vector<KeyPlan> sent_keys() const;

  std::unique_ptr<StateChunkSource> chunks(uint64_t most_bytes) const override;
  void restore(std::string_view chunk) override;
  void end_restoring(uint64_t batches) override;
  bool matters() const override { return local_.remembers_steps(); }

 private:
  friend class LocalSgdChunks;

  // Rows of a table, or of a parameter without one: how many there are, and the keys of some of them.
  uint64_t num_rows(size_t p) const;
  void list_keys(size_t p, uint64_t first, uint64_t count, std::vector<uint64_t>& keys) const;

  // The row as the servers had it, null when that is not known; `sent` says that the difference to it is on its
  // way.
  const float* base_of(size_t p, uint64_t key, bool& sent) const;

  struct Restoring;  // the chunks so far
  void restore_schedule(ByteReader& in);
  void restore_steps(ByteReader& in);
  void restore_rows(ByteReader& in);
  void restore_row(size_t p, const TableLayout& layout, ByteReader& in, RowBlock& block);
  void restore_base(size_t p, uint64_t key, uint8_t flags, ByteReader& in);
  void end_known(ByteReader& in, uint64_t rows, uint64_t batches);

  const std::vector<ParameterSpec> specs_;
  const int64_t period_;
  LocalStore& local_;
  std::vector<LocalSgdCopy> copies_;
  std::unique_ptr<Restoring> restoring_;  // null: no more chunks are restored
  bool resumed_ = false;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_LOCAL_SGD_COPIES_H_
