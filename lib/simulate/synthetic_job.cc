#include "simulate/synthetic_job.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "device/device_store.h"
#include "device/device_type.h"
#include "math/device.h"
#include "ps/client/ahead_store.h"
#include "ps/client/remote_lender.h"
#include "store/local_store.h"

namespace ps {

std::vector<ParameterSpec> synthetic_parameters(bool small) {
  return {synthetic_parameter("table", ParameterKind::kRows, true, 0, 3),
          synthetic_parameter("embedding", ParameterKind::kRows, false, 400, small ? 4 : 130),
          synthetic_parameter("matrix", ParameterKind::kMatrix, false, 40, small ? 5 : 1000),
          synthetic_parameter("bias", ParameterKind::kMatrix, false, 1, 5),
          synthetic_parameter("running", ParameterKind::kStatistic, false, 1, 4)};
}

// ---- batches

// The ids below 300 are rows of the embedding, plans[1].  Spread over 64 bits they are keys of the table,
// plans[0].  The other parameters are pulled whole, and their plans stay empty.
SyntheticBatch::SyntheticBatch(int rank, int64_t step, bool counted)
    : samples(10 + rank), random_(1000 + static_cast<uint64_t>(rank), static_cast<uint64_t>(step)) {
  std::vector<uint64_t> ids(40);
  for (uint64_t& id : ids) id = random_.below(300);
  const std::vector<uint32_t> offsets = {0, 10, 40};  // two examples
  const std::vector<float> labels = {1, 0};
  KeyList list{offsets, ids};
  plans.resize(5);
  KeyPlanner(KeyOrder::kAscending).plan({&list, 1}, plans[1]);
  for (uint64_t& id : ids) id = id * 0x9e3779b97f4a7c15;  // spread over 64 bits
  KeyPlanner(KeyOrder::kAscending).plan({&list, 1}, plans[0]);
  if (counted) count_keys(labels, plans[0]);
  for (KeyPlan& plan : plans) plan.uses.clear();
}

float SyntheticBatch::gradient(int rank, int64_t step, uint64_t position, float weight) {
  Random noise(position, static_cast<uint64_t>(step) * 16 + static_cast<uint64_t>(rank));
  return 0.5f * weight + static_cast<float>(noise.uniform()) - 0.5f;
}

// The position of weight j of a row is 1000 row + j, where the row is known by its key, if it has one.
void SyntheticBatch::fill(int rank, int64_t step, std::span<const ParameterSpec> specs,
                          std::span<const ParameterView<float>> views) const {
  for (size_t p = 0; p < specs.size(); ++p) {
    const int64_t cols = specs[p].cols;
    const bool by_keys = specs[p].kind == ParameterKind::kRows;
    const int64_t rows = by_keys ? static_cast<int64_t>(plans[p].keys.size()) : specs[p].rows;
    for (int64_t i = 0; i < rows * cols; ++i) {
      const uint64_t row =
          by_keys ? plans[p].keys[static_cast<size_t>(i / cols)] : static_cast<uint64_t>(i / cols);
      const uint64_t position = row * 1000 + static_cast<uint64_t>(i % cols);
      if (by_keys) {
        views[p].row_gradients[i] = gradient(rank, step, position, views[p].rows[i / cols][i % cols]);
      } else if (specs[p].kind == ParameterKind::kMatrix) {
        views[p].gradient[i] = gradient(rank, step, position, views[p].value[i]);
      } else {
        views[p].value[i] = 0.9f * views[p].value[i] + gradient(rank, step, position, 0);
      }
    }
  }
}

// ---- the job

std::vector<ParameterSpec> SyntheticJob::parameters() const {
  std::vector<ParameterSpec> specs = synthetic_parameters(small);
  specs[0].row_policy = rows;
  if (dense) specs.erase(specs.begin());
  return specs;
}

SyntheticBatch SyntheticJob::batch(int rank, int64_t step) const {
  SyntheticBatch batch(rank, step, rows.has_value());
  if (dense) batch.plans.erase(batch.plans.begin());
  return batch;
}

int64_t SyntheticJob::batches_before(int rank, int64_t pass) const {
  const std::vector<int>& batches = steps[static_cast<size_t>(rank)];
  return std::accumulate(batches.begin(), batches.begin() + pass, int64_t{0});
}

std::vector<float> all_weights(ParameterStore& store, bool small) {
  return all_weights(store, synthetic_parameters(small));
}

// Parameter by parameter: the rows of sparse ones in the order of store.keys(), the others whole.
std::vector<float> all_weights(ParameterStore& store, const std::vector<ParameterSpec>& specs) {
  std::vector<float> all;
  for (size_t p = 0; p < specs.size(); ++p) {
    const size_t cols = static_cast<size_t>(specs[p].cols), begin = all.size();
    const int parameter = static_cast<int>(p);
    if (specs[p].sparse) {
      const std::vector<uint64_t> keys = store.keys(parameter);
      all.resize(begin + keys.size() * cols);
      store.read_rows(parameter, keys, all.data() + begin);
    } else {
      all.resize(begin + static_cast<size_t>(specs[p].rows) * cols);
      store.read_all(parameter, all.data() + begin);
    }
  }
  return all;
}

void train_pass(ParameterStore& store, const SyntheticJob& job, int rank, int64_t pass, int64_t done,
                int64_t& step) {
  const uint32_t share = static_cast<uint32_t>(rank);
  train_strand(store, job, {{share, share + 1, 0, 1}, done, step - done}, pass);
  step += std::max<int64_t>(0, job.steps[share][static_cast<size_t>(pass)] - done);
  store.end_pass(pass);
}

// Two pulls of three are begun while the batch before is trained, so that both ways are run.
void train_strand(ParameterStore& store, const SyntheticJob& job, const SyntheticWork& work, int64_t pass) {
  const auto& [strand, done, first_step] = work;
  const std::vector<ParameterSpec> specs = job.parameters();
  const int rank = static_cast<int>(strand.share);
  const int64_t first = static_cast<int64_t>(strand.first), stride = static_cast<int64_t>(strand.stride);
  const int64_t in_share = job.steps[strand.share][static_cast<size_t>(pass)];
  const int64_t count = in_share <= first ? 0 : (in_share - first + stride - 1) / stride;
  const auto number = [&](int64_t i) { return first + i * stride; };  // within the share
  const auto step = [&, base = first_step](int64_t i) { return base + number(i); };
  // Batch i of the strand has number(i) within its share, and step(i) over all passes.  The loop keeps:
  //  batch  the batch i, which is trained now
  //  begun  the pull of batch i, if it was begun while batch i - 1 was trained
  //  told   the first batch that look_ahead has not heard of: at most `ahead` batches after the present one
  std::vector<ParameterView<float>> views;
  const int64_t ahead = static_cast<int64_t>(store.looks_ahead());
  int64_t told = done;  // a store that looks ahead has been told of the batches before this one
  PullTicket begun;     // the pull of the next batch
  auto batch = std::make_unique<SyntheticBatch>(job.batch(rank, step(done)));
  std::unique_ptr<SyntheticBatch> next;
  for (int64_t i = done; i < count; ++i, batch = std::move(next)) {
    for (; ahead > 0 && told < std::min(count, i + 1 + ahead); ++told) {
      store.look_ahead(job.batch(rank, step(told)).plans);
    }
    if (ahead > 0 && told == count) store.end_looking_ahead();
    begun ? store.finish_pull(begun, batch->plans, views) : store.pull(batch->plans, PullMode::kTrain, views);
    next = std::make_unique<SyntheticBatch>(job.batch(rank, step(i + 1)));
    begun = i + 1 < count && i % 3 != 2 ? store.begin_pull(next->plans) : PullTicket{};
    store.run_beside([&] { batch->fill(rank, step(i), specs, views); });
    store.push(batch->plans, views, {batch->samples, pass, job.shrinks(rank, step(i))});
    if (job.on_push) job.on_push(strand.share, pass, number(i));
  }
}

// The first pass begins behind the `done` batches that the run knows, with the strand that was dealt to
// this rank, if one was; later passes begin with the whole share.  Then the trainer takes what lost
// trainers left, until nothing is left. `step` counts the batches of the own share over all passes.  A
// strand of another share, or any strand of a run that goes on without lost trainers, is numbered by its
// share instead, so that its gradients do not depend on who trains it.
void run_trainer(ParameterStore& store, TrainerGroup& group, RunControl& run, const SyntheticJob& job,
                 int rank, const AfterPass& after_pass) {
  const RunPosition start = run.position();
  if (!start.resumed) group.barrier();
  const uint32_t share = static_cast<uint32_t>(rank), shares = static_cast<uint32_t>(group.size());
  int64_t step = start.batches;
  for (int64_t pass = start.pass; pass < static_cast<int64_t>(job.steps[0].size()); ++pass) {
    const bool first = pass == start.pass;
    const int64_t done = first ? start.pass_batches - start.before_strand : 0;
    std::optional<DataStrand> strand = DataStrand{share, shares, 0, 1};
    if (first && start.dealt) strand = start.strand;
    const auto train = [&](int64_t number) {
      const int64_t before = job.batches_before(static_cast<int>(strand->share), pass);
      const bool numbered = !job.on_loss.go_on && strand->share == share;
      train_strand(store, job, {*strand, number, numbered ? step - number : before}, pass);
    };
    if (!first || !start.pass_ended) {
      if (strand) train(done);
      while ((strand = run.next_strand(pass))) train(0);
      store.end_pass(pass);
      step += std::max<int64_t>(0, job.steps[share][static_cast<size_t>(pass)] - done);
    }
    after_pass(pass);
    // Trainers meet here between passes, as those of a real job do to gather their figures.
    group.gather("figures");
  }
}

// A store on a device borrows the rows of the servers from a RemoteLender.  `ahead` counts steps, two for
// each batch that an AheadStore pulls ahead.
void with_store(RemoteStore& remote, const SyntheticJob& job,
                const std::function<void(ParameterStore&)>& body) {
  const std::vector<ParameterSpec> specs = job.parameters();
  Device device(1, best_cpu_level());
  if (job.device) {
    LocalStore local(sparse_parameters(specs), job.plan(), UINT64_MAX, device);
    RemoteLender lender(specs, job.plan(), remote, local, static_cast<size_t>(job.device->window));
    const std::shared_ptr<RowDevice> rows = open_row_device(job.device->type);
    DeviceStore store(lender, lender, rows, plan_caches(*rows, *job.device, specs, job.plan()),
                      /*own_thread=*/false);
    return body(store);
  }
  if (job.consistency.ahead == 0) return body(remote);
  LocalStore local(specs, job.plan(), UINT64_MAX, device);
  AheadStore store(specs, static_cast<size_t>(job.consistency.ahead) / 2, remote, local);
  body(store);
}

std::vector<std::vector<float>> train_passes_locally(const SyntheticJob& job) {
  Device device(1, best_cpu_level());
  LocalStore store(job.parameters(), job.plan(), UINT64_MAX, device);
  LocalGroup group;
  LocalRun run;
  std::vector<std::vector<float>> weights;
  run_trainer(store, group, run, job, 0,
              [&](int64_t) { weights.push_back(all_weights(store, job.parameters())); });
  return weights;
}

std::vector<float> train_locally(const SyntheticJob& job) {
  return train_passes_locally(job).back();
}

}  // namespace ps
