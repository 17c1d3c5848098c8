// Learning-rate schedules: they compute the rate of a step from the progress of training.  Used by the
// training loop.
#ifndef PS_OPTIM_SCHEDULE_H_
#define PS_OPTIM_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "config/fwd.h"

namespace ps {

// The progress of training when a step begins: counts of samples, steps and passes before it.
struct TrainingProgress {
  int64_t samples;
  int64_t step;
  int64_t pass;
};

// Constant after construction; any thread may use it.
class Schedule {
 public:
  virtual ~Schedule() = default;

  // Returns the rate of the step that begins at `progress`.
  virtual double rate(const TrainingProgress& progress) const = 0;

  // Returns true if the rate depends on samples or steps, false if it depends on the pass alone or is
  // constant.
  virtual bool counts_steps() const = 0;
};

struct ScheduleEntry : CatalogEntry {
  std::unique_ptr<Schedule> (*make)(const Json& object, double learning_rate, std::string_view path);
};

// Every schedule, in the order of the manual.
std::span<const ScheduleEntry* const> schedule_catalog();

// The keys of "warmup", which every schedule has.
const AnySpec& warmup_spec();

// Makes the schedule that `object` (with its "type") describes; a constant one if it is null.  Throws kUsage.
std::unique_ptr<Schedule> make_schedule(const Json& object, double learning_rate, std::string_view path);

}  // namespace ps

#endif  // PS_OPTIM_SCHEDULE_H_
