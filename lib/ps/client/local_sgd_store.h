// LocalSgdStore: the strategy local_sgd on a trainer.  The trainer trains its own copy of the parameters that it uses; every
// few batches it sends the changes of its copy to the servers, and reads the weights that the servers have made of the
// changes of all trainers.
//
// This is local SGD (Stich, ICLR 2019) with servers between the trainers, as in PaddlePaddle's Geo-SGD.
// Nobody waits: differences are pushes of asynchronous servers, which add them, each once.  A row is asked
// for when a batch first uses it in a round, a round being the batches from one exchange to the next: no
// weight that is used was read from the servers before the last exchange.
//
// Rounding costs little: a server's weight s becomes s + d, where d = w - b is the difference of the trainer's
// weight w and of b, which it last read, and either operation rounds.  Where s was b, so that nobody else has
// changed it, the trainer knows what the sum is; it goes on with w, and what is left goes out with the next
// difference, which is then exact.  A trainer alone has so, and leaves on the servers at the end of a pass,
// the bits that it would have without servers.
#ifndef PS_PS_CLIENT_LOCAL_SGD_STORE_H_
#define PS_PS_CLIENT_LOCAL_SGD_STORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ps/client/local_sgd_copies.h"
#include "ps/client/remote_store.h"
#include "store/local_store.h"

namespace ps {

struct LocalSgdOptions {
  int64_t period = 1;  // batches between two exchanges
  bool mean = true;    // of the trainers' differences; else their sum
};

// One owner thread.  Memory grows with the rows that are used: their weights, optimizer state, and what the
// servers had of them.  Servers that write checkpoints keep all of it for the process that takes the
// trainer's rank up from one; what was not sent that trains again.
class LocalSgdStore final : public ParameterStore {
 public:
  // `remote` is of servers that add, and has the copies for its own state; both outlive this.  The position of
  // its run becomes that of this trainer's batches, of which several are a push.
  LocalSgdStore(const LocalSgdOptions& options, LocalSgdCopies& copies, RemoteStore& remote);

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  StoreTimes times() const override { return remote_.times(); }
  bool may_wait() const override { return true; }
  KeyOrder key_order() const override { return KeyOrder::kAscending; }
  double learning_rate() const override { return local_.learning_rate(); }

  // Sends all changes that are not sent yet, then waits for the other trainers.
  void end_pass(int64_t pass) override;

  // Models have the weights of the servers, which first get all changes that are not sent yet.
  std::vector<uint64_t> keys(int parameter) override;
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override;
  void read_all(int parameter, float* weights) override;
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override;
  void load_all(int parameter, const float* weights) override;
  RowReport row_report(int parameter) override { return remote_.row_report(parameter); }

  // Returns the store of the servers, which has the group of trainers and the run.
  RemoteStore& remote() { return remote_; }

 private:
  using Views = std::vector<ParameterView<float>>;

  RunPosition find_position() const;
  void begin_pass(int64_t pass);
  void refresh(std::span<const KeyPlan> plans, const Views& mine);
  bool find_missing(std::span<const KeyPlan> plans, std::vector<KeyPlan>& missing,
                    std::vector<std::vector<float*>>& rows);
  void exchange(size_t rows_at_once);
  void exchange_some(std::span<const KeyPlan> plans, PullScope scope);
  void mark_sent(std::span<const KeyPlan> plans, PullScope scope);
  void end_exchange(std::span<const KeyPlan> plans, std::span<std::vector<float>> mine);
  void end_former_exchange();
  std::vector<std::vector<float>> read_copies(std::span<const KeyPlan> plans);
  void fill_differences(std::span<const KeyPlan> plans, PullScope scope,
                        std::span<const std::vector<float>> mine, const Views& whole, Views& out) const;
  void merge_rows(std::span<const KeyPlan> plans, const Views& theirs, std::span<std::vector<float>> mine);
  void merge_whole(const Views& theirs, bool sent, const Views& mine);
  bool merge(const float* theirs, int64_t count, bool sent, float* base, float* mine) const;
  bool find_changed();
  void find_changed_rows(size_t p);
  void find_changed_rows(size_t p, std::span<const uint64_t> keys);
  void send_rest();

  float difference(float weight, float base) const { return (weight - base) * factor_; }

  const std::vector<ParameterSpec>& specs_;
  const LocalSgdOptions options_;
  const float factor_;  // of differences
  LocalSgdCopies& copies_;
  LocalStore& local_;
  RemoteStore& remote_;

  uint32_t round_ = 1;
  int64_t batches_ = 0;     // of this round
  bool has_whole_ = false;  // the parameters that batches use whole are of this round
};

}  // namespace ps

#endif  // PS_PS_CLIENT_LOCAL_SGD_STORE_H_
