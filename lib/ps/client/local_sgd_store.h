// LocalSgdStore: the strategy local_sgd on a trainer.  The trainer trains its own copy of the parameters that it uses; every
// few batches it sends the changes of its copy to the servers, and reads the weights that the servers have made of the
// changes of all trainers.
//
// This is local SGD (Stich, ICLR 2019) with servers between the trainers, as in PaddlePaddle's Geo-SGD.  No
// trainer waits for another: the servers are asynchronous, and add each difference once when it comes.  A round
// is the batches from one exchange to the next.  A row is pulled when a batch first uses it in a round, so that
// no batch uses a weight that was read before the last exchange.
//
// Rounding errors do not add up.  A server's weight s becomes s + d, where d = w - b is the difference of the
// trainer's weight w and its base b, the weight that it read last; both operations round.  If no other trainer
// has changed the weight, s was b, and the trainer knows the sum.  It then goes on with w, and the next
// difference contains the rounding error of this one.  So a job with one trainer has the same bits as without
// servers, also on the servers at the end of a pass, but for rows that come and go.
//
// Rows that come and go by a policy do so on the servers, which get the shows and clicks of a round with its differences.
// A trainer keeps its copies: of a key without a row it reads what the servers give for such a key, once a round.
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
  bool mean = true;    // servers add the mean of the trainers' differences; else their sum
};

// One owner thread.  Memory grows with the number of used rows, each of which has weights, optimizer state and
// a base.  Servers that write checkpoints store all of this for a process that resumes the rank; that process
// trains again the batches that were not sent.
class LocalSgdStore final : public ParameterStore {
 public:
  // The servers of `remote` add what is pushed, and the copies are the trainer's own state of `remote`; both
  // outlive this.  The position of its run is set to count this trainer's batches, several of which make a push.
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

  // Models contain the servers' weights.  All changes that were not sent yet are sent first.
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
  bool only_adopts(size_t p) const;
  void adopt(size_t p, std::span<const uint64_t> keys, const float* weights);
  bool find_changed();
  void find_changed_rows(size_t p);
  void find_changed_rows(size_t p, std::span<const uint64_t> keys);
  void send_rest();

  float difference(float weight, float base) const { return (weight - base) * factor_; }

  const std::vector<ParameterSpec>& specs_;
  const LocalSgdOptions options_;
  const float factor_;  // factor of differences: 1 / number of trainers, or 1
  LocalSgdCopies& copies_;
  LocalStore& local_;
  RemoteStore& remote_;

  uint32_t round_ = 1;
  int64_t batches_ = 0;        // number of batches of this round
  bool shrink_asked_ = false;  // by a batch of this round
  bool has_whole_ = false;     // this round has read the parameters that batches use whole
};

}  // namespace ps

#endif  // PS_PS_CLIENT_LOCAL_SGD_STORE_H_
