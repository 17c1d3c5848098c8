// RunParts: the parts of a shard's run, joined as a Shard joins them, but without the shard.  For tests of these parts.
#ifndef PS_TESTS_UNIT_PS_RUN_PARTS_H_
#define PS_TESTS_UNIT_PS_RUN_PARTS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/json.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/gathering.h"
#include "ps/server/pending_push.h"
#include "ps/server/pull_service.h"
#include "ps/server/shard_snapshot.h"
#include "ps/server/snapshot_fields.h"
#include "ps/server/step_clocks.h"
#include "recording_reply.h"

namespace ps {

// A table of width 1 with weights that begin at zero, and SGD of rate 1 on the sum of gradients.
struct RunParts {
  using Begun = std::pair<uint64_t, bool>;  // the number of a checkpoint, and whether it is at an end

  explicit RunParts(const Consistency& consistency, int num_trainers = 2, const Json& more = Json::object(),
                    bool keeps_answers = false)
      : optimizers(make_optimizer_plan(sgd_with(more), "sum")),
        pulls(tables, memory, held, counters, 1 << 20, keeps_answers) {
    clock = make_step_clock(consistency, {roster, applier, states, pulls, held, checkpoints, counters});
    roster.begin_run(1, num_trainers, num_trainers, Time());
    clock->restart(static_cast<size_t>(num_trainers));
    states.restart(static_cast<size_t>(num_trainers));
    pulls.restart(static_cast<size_t>(num_trainers));
    want_checkpoints(nullptr);
  }

  static Json sgd_with(const Json& more) {
    Json json = {{"type", "sgd"}, {"learning_rate", 1}};
    json.update(more);
    return json;
  }

  void want_checkpoints(CheckpointAlignment::Wanted wanted) {
    checkpoints.on_checkpoint([this](uint64_t number, bool at_end) { begun.emplace_back(number, at_end); },
                              std::move(wanted),
                              /*at_ends=*/false);
  }

  // One message of a push, as a shard holds it; the last of a step is answered with the step.
  OutcomePtr send(int rank, const PushHeader& header, float gradient, uint64_t key = 1) {
    std::string parts;
    encode_key_slice(0, std::vector{key}, parts);
    std::string body = encode_push(header, 1, parts);
    put(body, gradient);
    return send_body(rank, std::move(body));
  }
  OutcomePtr push(int rank, uint64_t step, float gradient) {
    return send(rank, {.step = step, .info = {1, 0}}, gradient);
  }
  OutcomePtr mark(int rank, uint64_t step, float gradient) {
    return send(rank, {.step = step, .info = {1, 0}, .begins_checkpoint = true}, gradient);
  }
  OutcomePtr end(int rank, uint64_t step, bool checkpoint = false, uint64_t number = 0) {
    return send_body(
        rank, encode_push(
                  {.step = step, .ended = true, .begins_checkpoint = checkpoint, .checkpoint_number = number},
                  0, ""));
  }
  OutcomePtr ask(int rank, uint64_t step) {
    return send_body(rank, encode_push({.step = step, .ended = true, .asks = true}, 0, ""));
  }
  OutcomePtr send_body(int rank, std::string body) {
    body.resize(padded(body.size()), '\0');
    PushRequest request = decode_push(to_buffer(held.pool(), body), tables.widths());
    auto outcome = std::make_shared<Outcome>();
    PendingPush& pending = clock->trainer(rank).pending_push(request);
    if (request.slice + 1 == request.num_slices) {
      pending.replies.push_back(std::make_unique<RecordingReply>(outcome));
    }
    const uint32_t slice = request.slice;
    pending.slices.try_emplace(slice, std::move(request));
    clock->advance(rank);
    return outcome;
  }

  // The sums of squares of all shards, for a step that was measured.
  OutcomePtr commit(int rank, uint64_t step, double squares) {
    PendingPush& pending = clock->waiting_push(rank, {step, {squares}});
    auto outcome = std::make_shared<Outcome>();
    pending.replies.push_back(std::make_unique<RecordingReply>(outcome));
    pending.all_hold = true;
    applier.set_whole_squares({squares});
    clock->advance(rank);
    applier.clear_whole_squares();
    return outcome;
  }

  // The word of the trainer that all shards hold the step.
  OutcomePtr hold(int rank, uint64_t step) {
    PendingPush& pending = clock->waiting_push(rank, {step, {}});
    auto outcome = std::make_shared<Outcome>();
    pending.replies.push_back(std::make_unique<RecordingReply>(outcome));
    pending.all_hold = true;
    clock->advance(rank);
    return outcome;
  }

  // The answer to a step that was applied before; nothing when it was not.
  std::optional<Done> repeated(int rank, uint64_t step) const {
    auto outcome = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome);
    return clock->trainer(rank).answer_repeated(step, reply) ? std::optional(outcome->done()) : std::nullopt;
  }

  void give_up(int rank) {
    roster.at(rank).given_up = true;
    clock->go_on_without(std::vector{rank});
  }

  float weight(uint64_t key = 1) {
    RowSlice slice;
    slice.keys = {key};
    float value = 0;
    tables.read(std::vector{slice}, PullMode::kRead, RowType::kF32, reinterpret_cast<char*>(row));
    std::memcpy(&value, row, sizeof value);
    return value;
  }

  SnapshotContext snapshot_parts() {
    return {roster, *clock, checkpoints, applier,  gathering, states,
            pulls,  held,   tables,      counters, going,     trainers_held};
  }

  std::vector<ParameterSpec> specs = [] {
    ParameterSpec table = synthetic_parameter("table", ParameterKind::kRows, true, 100, 1);
    table.initializer = {};
    return std::vector{table};
  }();
  OptimizerPlan optimizers;
  ShardCounters counters;
  TableMemory memory{std::make_shared<MemoryBudget>(), {}};
  HeldMemory held{1 << 20, memory, counters};
  ShardTables tables{specs, optimizers, ShardPlace()};
  ChangeNotifier changes;
  TrainerRoster roster{TrainerLoss()};
  StepApplier applier{specs, optimizers, tables, /*any_order=*/false, counters};
  TrainerStates states;
  PullService pulls;
  CheckpointAlignment checkpoints{changes};
  Gathering gathering;
  std::unique_ptr<StepClock> clock;
  bool going = false;
  HeldBytes trainers_held;
  std::vector<Begun> begun;  // checkpoints

 private:
  alignas(kFloatAlignment) float row[kFloatAlignment / sizeof(float)] = {};
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_PS_RUN_PARTS_H_
