// RemoteStore: the parameters on servers.  A batch's rows are pulled from the shards that have them, and used
// where the answers put them; gradients are pushed to the same shards, which apply them.
#ifndef PS_PS_CLIENT_REMOTE_STORE_H_
#define PS_PS_CLIENT_REMOTE_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/row_types.h"
#include "ps/client/shard_links.h"
#include "ps/wire/batch_router.h"
#include "ps/wire/consistency.h"
#include "ps/wire/trainer_state_chunks.h"
#include "store/group.h"
#include "store/parameter_store.h"

namespace ps {

enum class ErrorRows : uint8_t;

// One owner thread, which also drives the network, while it waits.  All throw kUnavailable when a server or
// another trainer is gone for longer than the job allows.
//
// push returns when the gradients are on their way: the next pull waits for what it needs.  Steps are
// numbered from 0 from the beginning of the run; a process that takes a rank's part in it up begins where
// that is.
class RemoteStore final : public ParameterStore, public Group {
 public:
  // Throws kUsage when the servers have another job; StateLost when the process before this one has not left
  // what it takes to do the same as that.  `own`, where there is one, must outlive this: what it has is in
  // the servers' checkpoints, with what is pushed, and it takes that up here.
  RemoteStore(Transport& transport, const RemoteOptions& options, const Consistency& consistency,
              std::vector<ParameterSpec> specs, const RowTypes& types = {}, TrainerState* own = nullptr);
  ~RemoteStore() override;

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  void begin_pull(std::span<const KeyPlan> plans) override;

  // For stores that keep copies (LocalSgdStore): a pull of rows alone, or of all parameters, after which
  // nothing is pushed; and, instead of a pull, views whose gradients are to be filled and pushed.
  enum class Scope { kAll, kRows };
  void pull(std::span<const KeyPlan> plans, PullMode mode, Scope scope,
            std::vector<ParameterView<float>>& views);
  void prepare_push(std::span<const KeyPlan> plans, Scope scope, std::vector<ParameterView<float>>& views);

  // Waits until all pushes are applied.
  void finish_pushes();

  // To be called by a process that ends before its run does: what it has pushed is applied when this returns,
  // unless that takes longer, as others have ended too.  Then models are read as if it had not been pushed.
  void settle(double seconds);

  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  StoreTimes times() const override { return {waited_seconds_, step_seconds_ - waited_seconds_}; }
  bool may_wait() const override { return true; }
  KeyOrder key_order() const override { return KeyOrder::kAscending; }
  double learning_rate() const override { return last_done_.learning_rate; }
  void end_pass(int64_t pass) override;
  std::vector<uint64_t> keys(int parameter) override;
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override;
  void read_all(int parameter, float* weights) override;
  RowReport row_report(int parameter) override;
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override;
  void load_all(int parameter, const float* weights) override;

  // The level of the kernels of the trainer that came first to the servers.
  const std::string& first_cpu() const { return links_.welcome(0).cpu; }

  uint64_t run() const override { return run_status().run; }
  int rank() const override { return rank_; }
  int size() const override { return trainers_; }
  std::vector<std::string> gather(std::string bytes) override;
  bool finished() const override { return links_.finished(); }
  RunPosition position() const override { return position_; }
  Saver elect_saver(SaveStage stage, const std::string& name) override;
  bool ask_checkpoint(int64_t pass, std::function<void(const AskedCheckpoint&)> done) override;
  int64_t checkpoint_pass() const override { return run_status().gives_parts ? cut_pass_ : -1; }
  void take_checkpoint(const AskedCheckpoint& checkpoint, const std::string& directory,
                       std::function<void(const std::optional<Error>&)> done) override;
  void wait(const std::function<bool()>& done, double seconds) override;
  void on_checkpoint(std::function<void(std::string&)> save) override { save_state_ = std::move(save); }
  std::vector<std::string> restored_states() override;
  int leader() const override { return leader_; }
  void end_run() override;

  // Gradients that came too late, of all pushes of this trainer, each counted once a shard.
  int64_t pushes_dropped() const { return pushes_dropped_; }

  // Rows whose rounding errors were dropped, for want of memory.
  uint64_t errors_dropped() const;

 private:
  struct Held;  // what one parameter has of the last pull
  struct Arrived;
  struct Exchange;
  struct ArrivedRows;
  struct Errors;    // of one parameter's gradients
  struct Source;    // of the rows of a message
  struct Outgoing;  // the memory of a message that is on its way
  struct Told;      // beside gradients, for checkpoints

  // A step that not all shards have applied.
  struct Unanswered {
    size_t shards = 0, pushed = 0;      // that have not applied it; that have answered its push
    std::vector<size_t> measured;       // that wait for the squares of the whole gradient
    std::vector<ExactSquares> squares;  // of these, by parameter
  };

  class StepTimer;
  using OnRows = std::function<void(size_t shard, const Piece& piece, const ArrivedRows& rows)>;

  using AddParts = std::function<void(BatchRouter&)>;
  void ask(Exchange& exchange, PullMode mode, uint64_t step, const AddParts& add_parts,
           bool push_follows = true);
  void begin_exchange(std::span<const KeyPlan> plans, PullMode mode, Scope scope, bool push_follows);
  void end_exchange(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views);
  void await(Exchange& exchange, const OnRows& on_rows);
  void show_rows(Arrived& arrived, RowType pulled_as, const OnRows& on_rows) const;
  AddParts parts_of(std::span<const KeyPlan> plans, Scope scope) const;
  void place_rows(size_t shard, const Piece& piece, const ArrivedRows& rows);
  RowType type_of(size_t p, RowType type) const;
  void show(size_t p, const KeyPlan& plan, PullMode mode, ParameterView<float>& view);

  void send_step(std::span<const ParameterView<float>> views, const StepInfo& info, bool ended);
  Told what_to_tell(bool cut, bool ended);
  Errors& errors_of(size_t p);
  void find_errors(std::span<const KeyPlan> plans);
  void put_error_back(size_t p, ErrorRows rows, uint64_t key, std::string_view error);
  std::unique_ptr<StateChunkSource> error_pieces() const;
  void tell(const Told& told, std::span<PushHeader> headers);
  void send_kept(size_t shard, PushHeader& header, std::string piece, std::function<void()> on_answer);
  void take_up_kept(bool given_up);
  bool is_known(const KeptPiece& kept) const;
  KeptPiece ask_kept(size_t shard, uint32_t number, Frame& frame);
  void take_kept_of(size_t shard);
  void take_kept(std::string_view piece);
  void send_piece(size_t shard, PushHeader header, Bundle* bundle,
                  std::span<const ParameterView<float>> views, std::function<void()> on_answer = {});
  void pushed(size_t shard, uint64_t step, const Frame& frame);
  void apply_measured(uint64_t step);
  Done take_done(uint64_t step, const Frame& frame);
  Payload with_rows(std::string head, size_t shard, const Bundle& bundle, const Source& source);
  void add_keyed(Outgoing& out, Payload& payload, const Piece& piece, const Source& source);
  void add_ranges(Outgoing& out, Payload& payload, size_t shard, const Piece& piece, const Source& source);
  void wait_for_steps_before(uint64_t step);
  const RunStatus& run_status() const { return links_.welcome(0).run_status; }
  std::vector<std::string> gather(char marker, std::string bytes);
  struct Taking;  // of a checkpoint's files
  void take_all(const std::shared_ptr<Taking>& taking, const std::string& directory, const std::string& name);
  void end_all(const std::shared_ptr<Taking>& taking);
  void take_part(std::shared_ptr<Taking> taking, size_t shard);
  void take_file(std::shared_ptr<Taking> taking, size_t shard, size_t file);
  void take_piece(std::shared_ptr<Taking> taking, size_t shard, size_t file, uint64_t offset);
  void resume_run();
  void fill_steps();
  void load(const float* weights);

  const std::vector<ParameterSpec> specs_;
  const Consistency consistency_;
  const RowTypes types_;
  TrainerState* const own_;  // null: none
  const int rank_, trainers_;
  const std::function<bool(int64_t pass)> cuts_at_end_;
  ShardLinks links_;
  std::unique_ptr<Exchange> current_, next_, reading_;  // of this step, the next one, and models
  std::vector<Held> held_;
  std::vector<Errors> errors_;
  uint64_t num_pulls_ = 0;  // messages, for their numbers

  uint64_t step_ = 0;                          // the next to be pushed
  std::map<uint64_t, Unanswered> unanswered_;  // by step
  Done last_done_;                             // of the latest step that shards have answered,
  uint64_t done_step_ = 0;                     // which is this
  uint64_t cut_at_ = 0;  // the newest checkpoint that shards have told of begins after so many steps
  std::function<void(std::string&)> save_state_;  // null: there is nothing to tell
  bool state_told_ = false;       // and the rest: with the last push, or one before it that ended too
  size_t kept_on_their_way_ = 0;  // pieces
  int64_t pushes_dropped_ = 0;
  double step_seconds_ = 0, waited_seconds_ = 0;  // in the calls of times(); of these, waiting
  RunPosition position_;                          // where this process began
  uint64_t num_gathered_ = 0;
  int64_t cut_pass_ = -1;  // the last at the end of which this process has had a checkpoint begun
  int leader_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_STORE_H_
