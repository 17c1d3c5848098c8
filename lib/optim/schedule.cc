// The schedules.  Each is a struct of options with `rate(learning_rate, n)`, where n counts samples, steps or
// passes.
#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "config/catalog.h"

namespace ps {

namespace {

const std::vector<std::string> kUnits = {"samples", "steps", "passes"};

double count(const TrainingProgress& progress, const std::string& unit) {
  return static_cast<double>(unit == "samples" ? progress.samples
                             : unit == "steps" ? progress.step
                                               : progress.pass);
}

// Warm-up: multiplies the schedule's own rate by a factor that grows linearly from `start` to 1 over the
// first `length` units.
struct WarmupOptions {
  double length = 0;
  double start = 0;
  std::string unit = "samples";

  double factor(const TrainingProgress& progress) const {
    double done = count(progress, unit) / length;
    return done < 1 ? start + (1 - start) * done : 1;
  }

  static const ObjectSpec<WarmupOptions>& spec() {
    static const ObjectSpec<WarmupOptions> spec = [] {
      ObjectSpec<WarmupOptions> s;
      s.field("length", &WarmupOptions::length, "how long the rate grows").above(0).must();
      s.field("start", &WarmupOptions::start, "factor of the rate at the first step").at_least(0).at_most(1);
      s.field("unit", &WarmupOptions::unit, "what length counts").one_of(kUnits);
      return s;
    }();
    return spec;
  }
};

struct Common {
  std::string unit = "samples";
  std::optional<WarmupOptions> warmup;
};

struct Constant : Common {
  double rate(double lr, double) const { return lr; }
  static void add_fields(ObjectSpec<Constant>&) {}
};

struct Poly : Common {
  double a = 0, b = 0;
  double rate(double lr, double n) const { return lr * std::pow(1 + a * n, -b); }
  static void add_fields(ObjectSpec<Poly>& s) {
    s.field("a", &Poly::a, "growth of the base per unit").at_least(0).must();
    s.field("b", &Poly::b, "exponent").at_least(0).must();
  }
};

struct CaffePoly : Common {
  double a = 0, b = 0.5;
  double rate(double lr, double n) const { return n < a ? lr * std::pow(1 - n / a, b) : 0; }
  static void add_fields(ObjectSpec<CaffePoly>& s) {
    s.field("a", &CaffePoly::a, "length of training, after which the rate is zero").above(0).must();
    s.field("b", &CaffePoly::b, "exponent").at_least(0);
  }
};

struct Exp : Common {
  double a = 0, b = 0;
  double rate(double lr, double n) const { return lr * std::pow(a, n / b); }
  static void add_fields(ObjectSpec<Exp>& s) {
    s.field("a", &Exp::a, "factor for every b").above(0).must();
    s.field("b", &Exp::b, "how many units for one factor").above(0).must();
  }
};

struct DiscreteExp : Common {
  double a = 0, b = 0;
  double rate(double lr, double n) const { return lr * std::pow(a, std::floor(n / b)); }
  static void add_fields(ObjectSpec<DiscreteExp>& s) {
    s.field("a", &DiscreteExp::a, "factor after every b").above(0).must();
    s.field("b", &DiscreteExp::b, "length of a stair").above(0).must();
  }
};

struct Linear : Common {
  double a = 0, b = 0;
  double rate(double lr, double n) const { return std::max(lr - a * n, b); }
  static void add_fields(ObjectSpec<Linear>& s) {
    s.field("a", &Linear::a, "what the rate loses per unit").at_least(0).must();
    s.field("b", &Linear::b, "lowest rate").at_least(0).must();
  }
};

struct Cosine : Common {
  double period = 0, floor = 0;
  double rate(double lr, double n) const {
    double wave = n < period ? (1 + std::cos(std::numbers::pi * n / period)) / 2 : 0;
    return lr * (floor + (1 - floor) * wave);
  }
  static void add_fields(ObjectSpec<Cosine>& s) {
    s.field("period", &Cosine::period, "length of the half wave; auto: all passes, with the unit passes")
        .above(0)
        .must()
        .or_auto();
    s.field("floor", &Cosine::floor, "factor of the rate at its end and after").at_least(0).at_most(1);
  }
};

// Factors listed by the user: segments [[end, factor], …].  A factor holds while n < end, the last one for
// ever.
struct Manual : Common {
  std::vector<std::vector<double>> segments;

  double rate(double lr, double n) const {
    for (const auto& segment : segments) {
      if (n < segment[0]) return lr * segment[1];
    }
    return lr * segments.back()[1];
  }

  static void add_fields(ObjectSpec<Manual>& s) {
    s.field("segments", &Manual::segments,
            "[[end, factor], ...]: factor holds before end; the last one for ever")
        .must();
    s.check([](const Manual& options, std::string_view path) {
      check(options.segments, json_path(path, "segments"));
    });
  }

  static void check(const std::vector<std::vector<double>>& segments, std::string_view path) {
    if (segments.empty()) fail(Code::kUsage, path, ": empty, expected [[end, factor], ...]");
    for (size_t i = 0; i < segments.size(); ++i) {
      std::string at = json_path(path, std::to_string(i));
      if (segments[i].size() != 2) fail(Code::kUsage, at, ": expected [end, factor]");
      if (segments[i][1] < 0) fail(Code::kUsage, at, ": factor ", segments[i][1], " is negative");
      if (i == 0 || segments[i][0] > segments[i - 1][0]) continue;
      fail(Code::kUsage, at, ": end ", segments[i][0], " is not above the one before, ", segments[i - 1][0]);
    }
  }
};

struct PassManual : Manual {
  PassManual() { unit = "passes"; }
  static void add_fields(ObjectSpec<PassManual>& s) {
    s.field("segments", &PassManual::segments, "[[passes, factor], ...]: factor holds before so many passes")
        .must();
    s.check([](const PassManual& options, std::string_view path) {
      Manual::check(options.segments, json_path(path, "segments"));
    });
  }
};

// Returns the keys of a schedule: its own, the unit that n counts, and the warm-up.  A constant rate counts
// nothing, and pass_manual has its unit in the name.
template <class Options>
const ObjectSpec<Options>& spec_of() {
  static const ObjectSpec<Options> spec = [] {
    ObjectSpec<Options> s;
    Options::add_fields(s);
    constexpr bool kUnitMatters = !std::is_same_v<Options, Constant> && !std::is_same_v<Options, PassManual>;
    if (kUnitMatters) s.field("unit", &Options::unit, "what the schedule counts").one_of(kUnits);
    s.field("warmup", &Options::warmup, "grow to the schedule's rate from a fraction of it");
    return s;
  }();
  return spec;
}

// Constant after construction; any thread may use it.
template <class Options>
class OptionsSchedule : public Schedule {
 public:
  OptionsSchedule(Options options, double learning_rate)
      : options_(std::move(options)), learning_rate_(learning_rate) {}

  double rate(const TrainingProgress& progress) const override {
    double rate = options_.rate(learning_rate_, count(progress, options_.unit));
    return options_.warmup ? rate * options_.warmup->factor(progress) : rate;
  }

  bool counts_steps() const override {
    const bool constant = std::is_same_v<Options, Constant>;
    return (!constant && options_.unit != "passes") || (options_.warmup && options_.warmup->unit != "passes");
  }

 private:
  const Options options_;
  const double learning_rate_;
};

template <class Options>
constexpr ScheduleEntry entry(std::string_view name, std::string_view help) {
  return {{name, help, []() -> const AnySpec& { return spec_of<Options>(); }},
          [](const Json& object, double learning_rate, std::string_view path) -> std::unique_ptr<Schedule> {
            return std::make_unique<OptionsSchedule<Options>>(
                spec_of<Options>().parse(without_type(object), path), learning_rate);
          }};
}

constexpr ScheduleEntry kConstant = entry<Constant>("constant", "learning_rate throughout");
constexpr ScheduleEntry kPoly = entry<Poly>("poly", "learning_rate (1 + a n)^-b");
constexpr ScheduleEntry kCaffePoly = entry<CaffePoly>(
    "caffe_poly", "learning_rate (1 - n/a)^b before a, then zero; FireCaffe's rule has b = 0.5");
constexpr ScheduleEntry kExp = entry<Exp>("exp", "learning_rate a^(n/b)");
constexpr ScheduleEntry kDiscreteExp = entry<DiscreteExp>("discexp", "learning_rate a^floor(n/b)");
constexpr ScheduleEntry kLinear = entry<Linear>("linear", "max(learning_rate - a n, b)");
constexpr ScheduleEntry kManual =
    entry<Manual>("manual", "learning_rate times factors by segments of training");
constexpr ScheduleEntry kPassManual = entry<PassManual>("pass_manual", "manual, counting passes");
constexpr ScheduleEntry kCosine = entry<Cosine>(
    "cosine", "learning_rate (floor + (1 - floor) (1 + cos(pi n/period)) / 2) before period, then floor");

constexpr const ScheduleEntry* kSchedules[] = {&kConstant, &kPoly,   &kCaffePoly,  &kExp,   &kDiscreteExp,
                                               &kLinear,   &kManual, &kPassManual, &kCosine};

}  // namespace

std::span<const ScheduleEntry* const> schedule_catalog() {
  return kSchedules;
}

const AnySpec& warmup_spec() {
  return WarmupOptions::spec();
}

std::unique_ptr<Schedule> make_schedule(const Json& object, double learning_rate, std::string_view path) {
  if (object.is_null()) return kConstant.make(Json::object(), learning_rate, path);
  return find_entry(schedule_catalog(), object, path, "schedule").make(object, learning_rate, path);
}

}  // namespace ps
