// ComputeLink: a reader's connection to the compute trainers, one of which computes its batches.  Used by
// ps-train --role reader.
#ifndef PS_HETER_COMPUTE_LINK_H_
#define PS_HETER_COMPUTE_LINK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heter/messages.h"
#include "model/computation.h"
#include "net/channel.h"
#include "ps/client/remote_store.h"

namespace ps {

struct ComputeLinkOptions {
  std::vector<Address> compute;  // of all compute trainers, the same list on all readers
  ReaderHello hello;
  int64_t prediction_cols = 1;  // of the network
  // Shards do not make a pull wait for the steps before its own: so the reader waits for them before it sends a batch.
  bool asynchronous = false;
  Duration timeout = std::chrono::seconds(60);          // how long to try to reach one
  Duration request_timeout = std::chrono::seconds(15);  // without a sign of life it is connected to anew
  std::function<void(const std::string&)> on_message;   // for people
};

// A reader begins with the compute trainer of its rank, modulo their number, and goes on to the next when that cannot be
// reached any more, or cannot reach the servers: compute trainers keep nothing from batch to batch, and a batch that two of them have computed is
// pushed once.  One owner thread, which is the store's.
class ComputeLink final : public Computation {
 public:
  // Connects.  The store, which leaves its dense part to the compute trainers, and `specs` outlive it.  Throws kUnavailable
  // when none can be reached, kUsage when one has another job, and as the store's waits.
  ComputeLink(Transport& transport, RemoteStore& store, const std::vector<ParameterSpec>& specs,
              ComputeLinkOptions options);

  // Throws as the constructor, and StateLost when the servers of the compute trainer have lost the run.
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;
  Matrix<const float> predictions() const override;
  std::span<const float> log_losses() const override { return result_.log_losses; }

  // For a reader with several batches on their way (ReaderAhead). request is answered in a wait of the store.
  // After an answer that is an error, reconnect goes on with another compute trainer, and no request from
  // before is answered any more; it throws as run.  note_success is told of every answer that is none.
  void request(ComputeFrame type, const std::shared_ptr<const std::string>& body,
               std::function<void(Answer)> on_answer);
  void reconnect(const Error& error);
  void note_success();

  // This process takes no further part in the run: all compute trainers hear it that can be reached at once, also those
  // that are busy and read it later.  Throws nothing, and takes a second at most.  Only the first call does it.
  void end_run();

 private:
  void open();
  ChannelOptions channel_options(Duration give_up_after, bool ends = false);
  void go_to_next(const Error& error);
  Duration time_lost(const Error& error);
  Frame ask(const std::shared_ptr<const std::string>& body);
  void check_welcome(const Frame& frame);
  std::string name() const;

  Transport& transport_;
  RemoteStore& store_;
  const std::vector<ParameterSpec>& specs_;
  const ComputeLinkOptions options_;
  const Duration patience_;   // with one compute trainer that cannot be reached
  size_t current_;            // of options_.compute
  Duration tried_{};          // without success, since the last answer
  size_t num_tried_ = 0;      // compute trainers, since then
  Time asked_at_{};           // when the current one was sent a batch last
  std::string reported_cpu_;  // level of kernels of which people were told
  BatchResult result_;        // of the last batch
  std::optional<Answer> answer_;
  bool ended_ = false;  // end_run was called
  std::optional<Error> given_up_;
  BufferPool pool_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace ps

#endif  // PS_HETER_COMPUTE_LINK_H_
