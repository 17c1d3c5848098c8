#include "device/options.h"

#include <optional>

#include "base/error.h"
#include "device/device_type.h"

namespace ps {

// Describes the keys of the section, with the help texts that the manual shows, their limits, and a check of
// the whole.
const ObjectSpec<DeviceOptions>& DeviceOptions::spec() {
  constexpr double kMostRows = 4e9, kMostWindow = 1000;
  static const ObjectSpec<DeviceOptions> spec = [] {
    ObjectSpec<DeviceOptions> s;
    s.field("type", &DeviceOptions::type,
            "where rows with sparse update are trained, or the model: cpu; emulated, a GPU that is emulated "
            "on the processor, which is slow; a GPU, as cuda:0; or several, as cuda:0,cuda:1, which divide "
            "the rows among them. A device has a cache of these rows, in front of those of the process or of "
            "its servers, ps-gpu(7)");
    s.field("trains", &DeviceOptions::trains,
            "what the device trains: rows, those with sparse update; model, which computes layers and costs "
            "there, and has the dense parameters; or all of both. Of several devices the first computes the "
            "model")
        .one_of({"rows", "model", "all"});
    s.field("rows", &DeviceOptions::rows,
            "rows of each sparse parameter that the device has room for, 0: as many as `bytes` says")
        .at_least(0)
        .at_most(kMostRows);
    s.field("bytes", &DeviceOptions::bytes,
            "memory of the device for rows, as \"64M\", which sparse parameters share in equal parts")
        .type = []() -> Json {
      return {{"anyOf", Json::array({{{"type", "number"}}, {{"type", "string"}}})}};
    };
    s.field(
         "values", &DeviceOptions::values,
         "the weights of rows as they lie on the device: f32; or f16 or bf16, floats of 16 bits, which take "
         "half the room and are rounded after each step, beside state of 32 bits")
        .one_of({"f32", "f16", "bf16"});
    s.field(
         "rounding", &DeviceOptions::rounding,
         "how weights of 16 bits are rounded: stochastic, to one of the two values beside a weight such that "
         "the mean is the weight, by the job's seed; or nearest, by which moves of less than half the "
         "distance of two values are lost")
        .one_of({"stochastic", "nearest"});
    s.field("window", &DeviceOptions::window,
            "with servers: coming batches whose rows are fetched while the present one is "
            "trained, with the same bits; 0: a batch waits for its rows")
        .at_least(0)
        .at_most(kMostWindow);
    s.check([](const DeviceOptions& options, std::string_view) {
      check_device_type(options.type);
      options.memory_bytes();
    });
    return s;
  }();
  return spec;
}

uint64_t DeviceOptions::memory_bytes() const {
  constexpr double kLeast = 1, kMost = 1e15;
  std::optional<double> parsed;
  if (bytes.is_number()) parsed = bytes.get<double>();
  if (bytes.is_string()) {
    if (const auto number = parse_bytes(bytes.get<std::string>())) parsed = static_cast<double>(*number);
  }
  if (parsed && *parsed >= kLeast && *parsed <= kMost) return static_cast<uint64_t>(*parsed);
  fail(Code::kUsage, "device.bytes: ", bytes.dump(), " is not a number of bytes; expected \"64M\" or bytes");
}

}  // namespace ps
