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
  std::vector<Address> compute;  // addresses of all compute trainers; the same list on all readers
  ReaderHello hello;
  FigureSizes sizes;  // of the network
  // In an asynchronous job, shards do not make a pull wait for the trainer's own earlier steps.  So the reader
  // waits until its pushes are applied before it sends a batch.
  bool asynchronous = false;
  // How long compute trainers are tried in total without an answer.
  Duration timeout = std::chrono::seconds(60);
  // A connection without a sign of life for so long is made anew.
  Duration request_timeout = std::chrono::seconds(15);
  std::function<void(const std::string&)> on_message;  // messages for people
};

// Tells all compute trainers of a reader that it takes no part in the run any more, over connections of its own.  For
// a reader that finds that the run has ended: the process before it may have been killed before it told them.  Throws
// nothing, and takes a second at most.
void tell_end_of_run(Transport& transport, const ComputeLinkOptions& options);

// A reader begins with the compute trainer whose index is its rank modulo their number.  It goes on to the next
// one if that one cannot be reached, or cannot reach the servers.  This is safe because compute trainers keep
// nothing from batch to batch, and because a batch that two of them have computed is pushed once.  One owner
// thread, that of the store.
class ComputeLink final : public Computation {
 public:
  // Connects.  The store, which leaves its dense part to the compute trainers, and `specs` outlive it.  Throws
  // kUnavailable if no compute trainer can be reached, kUsage if one has another job, and as the store's waits
  // do.
  ComputeLink(Transport& transport, RemoteStore& store, const std::vector<ParameterSpec>& specs,
              ComputeLinkOptions options);

  // Throws as the constructor does, and StateLost if the servers of the compute trainer have lost the run.
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;
  Matrix<const float> predictions() const override;
  std::span<const double> task_costs() const override { return result_.task_costs; }
  std::span<const float> log_losses() const override { return result_.log_losses; }

  // For a reader with several batches on their way (ReaderAhead). request calls on_answer in a wait of the
  // store.  After an answer that is an error, reconnect goes on with another compute trainer, and earlier
  // requests are never answered; it throws as run does.  The caller calls note_success after each answer
  // without an error.
  void request(ComputeFrame type, const std::shared_ptr<const std::string>& body,
               std::function<void(Answer)> on_answer);
  void reconnect(const Error& error);
  void note_success();

  // Tells all compute trainers that can be reached at once that this process takes no further part in the run.
  // Busy ones read the message later.  Throws nothing, and takes a second at most.  Only the first call has an
  // effect.
  void end_run();

 private:
  void open();
  void go_to_next(const Error& error);
  Duration time_lost(const Error& error);
  Frame ask(const std::shared_ptr<const std::string>& body);
  void check_welcome(const Frame& frame);
  std::string name() const;

  Transport& transport_;
  RemoteStore& store_;
  const std::vector<ParameterSpec>& specs_;
  const ComputeLinkOptions options_;
  const Duration patience_;   // how long one compute trainer that cannot be reached is tried
  size_t current_;            // index in options_.compute
  Duration tried_{};          // time without success since the last answer
  size_t num_tried_ = 0;      // number of compute trainers left since the last answer
  Time asked_at_{};           // time of the last request to the current compute trainer
  std::string reported_cpu_;  // the last kernel level that was reported by on_message
  BatchResult result_;        // result of the last batch
  // The answer that ask() waits for.
  std::optional<Answer> answer_;
  bool ended_ = false;  // true after end_run
  // The error with which the channel has given up.
  std::optional<Error> given_up_;
  BufferPool pool_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace ps

#endif  // PS_HETER_COMPUTE_LINK_H_
