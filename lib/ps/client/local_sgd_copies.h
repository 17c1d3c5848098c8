// LocalSgdCopies: the state of a trainer in local SGD: its own tables and optimizers, and for each row its base, the weights
// that the servers had when the row was last read.  Used by LocalSgdStore, and by RemoteStore, which has the servers write
// this state into their checkpoints.
//
// A process that restores this state goes on with the same bits as the earlier process would have.
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

// The base of one parameter: the rows that batches have used, or the whole parameter, as the servers had it
// when it was last read.  A mark after the floats of a row holds the round in which it was read, and two flags:
// this round has trained it, and its difference is on its way.  If the servers' table has a row policy, the counts of the key
// in the batches of this round follow the mark.
struct LocalSgdCopy {
  LocalSgdCopy(const ParameterSpec& spec, CpuLevel level)
      : cpu(level),
        counted(spec.row_policy.has_value()),
        rows(std::make_unique<KeyedRows>(spec.cols + 1 + (counted ? kCountFloats : 0))),
        cols(static_cast<size_t>(spec.cols)) {}

  static constexpr uint32_t kTrained = 1u << 31, kSent = 1u << 30;
  uint32_t mark(const float* row) const {
    uint32_t mark;
    std::memcpy(&mark, row + cols, sizeof mark);
    return mark;
  }
  void set_mark(float* row, uint32_t mark) const { std::memcpy(row + cols, &mark, sizeof mark); }

  void add_count(float* row, const KeyCount& more) const;

  // Returns the count of a row, which begins anew.
  KeyCount end_count(float* row) const;

  // Returns the base of a row.  A row that was never read gets its initial weights, which every process draws
  // alike.
  float* find_or_start(const ParameterSpec& spec, uint64_t key);

  static constexpr int64_t kCountFloats = 2;  // shows and clicks, as bits

  CpuLevel cpu;  // level of the loops that draw initial weights
  bool counted;
  std::unique_ptr<KeyedRows> rows;
  size_t cols;
  std::vector<float> whole;       // empty if it has not been read yet
  std::vector<float*> current;    // the rows of the batch that was pulled
  std::vector<uint64_t> trained;  // keys that this round has trained
};

// The batches that a trainer has trained.
struct LocalSgdProgress {
  int64_t pass = 0, pass_batches = 0;  // number of batches in this pass
  int64_t batches = 0;                 // number of batches in all passes
};

inline constexpr uint8_t kLocalSgdBase = 1, kLocalSgdSent = 2;  // on disk: never renumber

// One owner thread.
class LocalSgdCopies final : public TrainerState {
 public:
  // `local` has the job's optimizers, all rows that it is asked for, whatever policy the specs have, holds nothing yet,
  // and must outlive this; batches are exchanged `period` at a time.
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

  // Return the number of rows of a parameter that are sent, and the keys of some of them.
  uint64_t num_rows(size_t p) const;
  void list_keys(size_t p, uint64_t first, uint64_t count, std::vector<uint64_t>& keys) const;

  // Returns the base of a row, or null if it is not known.  Sets `sent` to true if the difference to the base is
  // on its way.
  const float* base_of(size_t p, uint64_t key, bool& sent) const;

  struct Restoring;  // the state of restoring, with the chunks that have come
  void restore_schedule(ByteReader& in);
  void restore_steps(ByteReader& in);
  void restore_rows(ByteReader& in);
  void restore_row(size_t p, const TableLayout& layout, ByteReader& in, RowBlock& block);
  bool note_row(size_t p, uint64_t key);
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
