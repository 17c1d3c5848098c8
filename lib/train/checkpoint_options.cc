#include "train/checkpoint_options.h"

#include "base/error.h"
#include "config/spec.h"

namespace ps {

namespace {

// Returns the value of a number, or of a text with a unit; nullopt if the value is neither.
std::optional<double> bytes_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  auto parsed = parse_bytes(value.get<std::string>());
  return parsed ? std::optional(static_cast<double>(*parsed)) : std::nullopt;
}

}  // namespace

// Describes the keys of the section, with the help texts that the manual shows, their limits, and a check of
// the whole.
const ObjectSpec<CheckpointOptions>& CheckpointOptions::spec() {
  static const ObjectSpec<CheckpointOptions> spec = [] {
    const auto number_or_text = []() -> Json {
      return {{"anyOf", Json::array({{{"type", "number"}}, {{"type", "string"}}})}};
    };
    ObjectSpec<CheckpointOptions> s;
    s.field("directory", &CheckpointOptions::directory,
            "folder in which step-000000100 and so on are written, empty: no checkpoints");
    s.field("period", &CheckpointOptions::period,
            "time between two checkpoints, as \"5m\" or in seconds, 0: not by time")
        .type = number_or_text;
    s.field("steps", &CheckpointOptions::steps, "steps between two checkpoints, 0: not by steps").at_least(0);
    s.field("keep", &CheckpointOptions::keep, "newest checkpoints that are kept").at_least(1);
    s.field("full_every", &CheckpointOptions::full_every,
            "every so many checkpoints one holds all rows; those between hold what changed since then")
        .at_least(1);
    s.field("compression", &CheckpointOptions::compression, "of the files").one_of({"zstd", "none"});
    s.field("bandwidth", &CheckpointOptions::bandwidth,
            "bytes a second that are written at most, as \"100M\", 0: no limit")
        .type = number_or_text;
    s.field(
         "memory", &CheckpointOptions::memory,
         "bytes that a server may use while it writes one, as \"512M\": half for rows as they were, of which "
         "training has changed others, half for those that wait to be written; its shards have equal parts")
        .type = number_or_text;
    s.check([](const CheckpointOptions& options, std::string_view) {
      options.period_seconds();
      options.bytes_per_second();
      options.memory_bytes();
    });
    return s;
  }();
  return spec;
}

double CheckpointOptions::period_seconds() const {
  std::optional<double> seconds;
  if (period.is_number()) seconds = period.get<double>();
  if (period.is_string()) seconds = parse_seconds(period.get<std::string>());
  if (seconds && *seconds >= 0) return *seconds;
  fail(Code::kUsage, "checkpoint.period: ", period.dump(),
       " is not a time; expected \"5m\", \"30s\" or seconds");
}

double CheckpointOptions::bytes_per_second() const {
  std::optional<double> bytes = bytes_of(bandwidth);
  if (bytes && *bytes >= 0) return *bytes;
  fail(Code::kUsage, "checkpoint.bandwidth: ", bandwidth.dump(),
       " is not a number of bytes; expected \"100M\" or bytes");
}

uint64_t CheckpointOptions::memory_bytes() const {
  constexpr double kLeast = 1 << 20, kMost = 1e18;
  std::optional<double> bytes = bytes_of(memory);
  if (bytes && *bytes >= kLeast && *bytes <= kMost) return static_cast<uint64_t>(*bytes);
  fail(Code::kUsage, "checkpoint.memory: ", memory.dump(),
       " is not a number of bytes, of 1M at least; expected \"512M\" or bytes");
}

}  // namespace ps
