// DeviceStore: the parameters of another store, whose sparse rows are trained in the memory of a device.  It
// has a RowCache for each sparse parameter.  Results are those of the other store, bit for bit.  Used by jobs.
//
// With a store that looks ahead, batches are computed on a thread of their own.  Meanwhile the owner thread
// receives rows of coming batches from the network, puts those of the next one on the device, and returns those
// that make room for it.  When it knows all batches that are left of a pass, it also returns the changed rows that
// none of them uses, so that few are left when the pass ends.
//
// A model on the device that has all rows reads them where they lie in the table, by pointers that the look-up has set, if
// the batch is one round of its cache and the weights are floats; else it gets copies.  From pull to push such rows must
// stay where they are, with their values.  This store guarantees it: it loads no rows meanwhile, since a store whose rows a
// model uses in place looks at no batch ahead (the constructor checks it), and begin_push asks for none, as the rows of one
// round are all there.  The step goes to the same places, with a further look-up for means of weights alone.  Whatever else
// may load, clear or step rows is a call of the owner thread, which makes none between pull and push but run_beside.  All of
// it is queued on the stream of the model, behind the kernels that read the rows.
#ifndef PS_DEVICE_DEVICE_STORE_H_
#define PS_DEVICE_DEVICE_STORE_H_

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/json.h"
#include "device/cache_plan.h"
#include "device/compute_thread.h"
#include "device/row_cache.h"
#include "math/device_buffer.h"
#include "model/model_device.h"
#include "store/row_lender.h"
#include "store/store_in_front.h"

namespace ps {

// A model on the same device as the rows; row_device_of made the RowDevice.
struct ModelBesideRows {
  std::shared_ptr<ModelDevice> kernels;
  Device* host;                   // outlives the store
  const std::vector<bool>* used;  // by parameter: true if layers on the device use it
};

// One owner thread.  The other store makes the caches put back the rows that it needs for models.
class DeviceStore final : public StoreInFront {
 public:
  // `inner` and `lender` are one store, in which nothing was trained yet.  It outlives this one, and is not
  // used after it.  Without `own_thread`, batches are computed before the work for coming ones, for tests on
  // simulated time.  Throws kExhausted if the device has too little memory.
  //
  // With a model on the same device, weights and gradients of the parameters that it uses stay in memory of the
  // device, except for parameters whose gradients the lender reads.
  DeviceStore(ParameterStore& inner, RowLender& lender, std::shared_ptr<RowDevice> device,
              const CachePlan& plan, bool own_thread = true, std::optional<ModelBesideRows> model = {});

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  PullTicket begin_pull(std::span<const KeyPlan> plans) override { return inner().begin_pull(plans); }
  void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) override;
  size_t looks_ahead() const override { return inner().looks_ahead(); }
  void look_ahead(std::span<const KeyPlan> plans) override;
  void end_looking_ahead() override { pass_ends_ = true; }
  void run_beside(const std::function<void()>& compute) override;

  // Called by the function that run_beside runs, on whichever thread that is: from then on, until the function has ended, the
  // owner thread does nothing, and the function may use what belongs to it.
  void hold_work();

  // Puts trained rows back first, unless the lender does that when it needs them.
  void end_pass(int64_t pass) override;

  // Returns the number of parameters whose weights and gradients stay on the device, and the counts and the seconds of all
  // caches together: {"row_parameters_there": ..., "rows_asked": ..., "rows_fetched": ...}.
  Json counters() const;

 private:
  // A cache, and the weights of its last pull.
  struct Cached {
    std::unique_ptr<RowCache> cache;
    size_t width = 1;
    std::vector<float> weights;  // [N, width]
    std::vector<float*> rows;    // [N]

    // The same in memory of the device, and the gradients there.  In place, rows_there points into the table, and
    // weights_there is not used.
    bool there = false;
    bool may_be_in_place = false, in_place = false;  // of all batches; of the present one
    float* copies = nullptr;  // the memory for weights of the present batch; null: in place
    DeviceBuffer<float> weights_there, gradients_there;
    DeviceBuffer<float*> rows_there;
  };

  void work_until_ended();
  void load_next();
  void put_back_unused(const std::function<bool()>& stop);
  RowsLookUp begin_look_up(Cached& cached, std::span<const uint64_t> keys, ParameterView<float>& view);
  std::optional<RowsRead> begin_read(Cached& cached, std::span<const uint64_t> keys);
  float* make_view(Cached& cached, size_t keys, ParameterView<float>& view);
  void pull_cached(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views);

  RowLender& lender_;
  const std::shared_ptr<RowDevice> device_;
  const bool own_thread_;
  std::unique_ptr<Device> model_;  // null: the model is not on this device
  std::vector<Cached> caches_;
  // By batch that was announced and is not trained: its keys, by cache.
  std::deque<std::vector<std::vector<uint64_t>>> batches_;
  bool pass_ends_ = false;                 // no batch of the pass comes after batches_
  double late_seconds_ = 0;                // seconds of work that took longer than its batch
  std::unique_ptr<ComputeThread> thread_;  // null: no batch was computed on it yet
  bool beside_ = false;                    // a batch is computed there; set before it begins
  uint64_t rows_in_place_ = 0;             // rows of pulls that the model has read in place
};

}  // namespace ps

#endif  // PS_DEVICE_DEVICE_STORE_H_
