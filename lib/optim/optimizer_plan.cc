#include "optim/optimizer_plan.h"

#include <memory>
#include <utility>

#include "config/catalog.h"
#include "optim/options.h"
#include "optim/schedule.h"

namespace ps {

namespace {

// A schedule with all rates multiplied by a factor, including those of warm-up and the lowest rate.  Constant
// after construction.
class ScaledSchedule final : public Schedule {
 public:
  ScaledSchedule(std::unique_ptr<Schedule> schedule, double factor)
      : schedule_(std::move(schedule)), factor_(factor) {}

  double rate(const TrainingProgress& progress) const override { return factor_ * schedule_->rate(progress); }
  bool counts_steps() const override { return schedule_->counts_steps(); }

 private:
  const std::unique_ptr<Schedule> schedule_;
  const double factor_;
};

std::unique_ptr<Schedule> job_schedule(const OptimizerOptions& options, int64_t examples) {
  std::unique_ptr<Schedule> schedule =
      make_schedule(options.schedule, options.learning_rate, "optimizer.schedule");
  if (!options.scale_rate || examples == 0) return schedule;
  return std::make_unique<ScaledSchedule>(std::move(schedule), options.scale_rate->factor(examples));
}

}  // namespace

OptimizerPlan make_optimizer_plan(const Json& optimizer, std::string_view gradient, CpuLevel cpu,
                                  int64_t examples) {
  const OptimizerEntry& entry = find_entry(optimizer_catalog(), optimizer, "optimizer", "optimizer");
  OptimizerOptions common = parse_optimizer_options(optimizer, "optimizer");
  auto make = [&entry, cpu, numbers = without_type(optimizer)](const ParameterTuning& tuning) {
    return entry.make_float(numbers, tuning, cpu);
  };
  return {cpu,
          make,
          job_schedule(common, examples),
          gradient == "mean",
          common.clip_norm,
          common.clip_global_norm,
          common.average};
}

}  // namespace ps
