#include "bench/plan/hetero_flags.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/plan/columns.h"
#include "config/json.h"

namespace ps {

namespace {

constexpr int64_t kMostMachines = 1000;
constexpr double kLongest = 1e6;  // seconds

// Seconds a batch of a plain trainer with one thread, by phase.
struct Measured {
  double reading = 0, computing = 0;
};

double number_of(const Json& pass, const char* key, const std::string& path) {
  if (!pass.is_object() || !pass.contains(key) || !pass[key].is_number()) {
    fail(Code::kUsage, path, ": a pass has no ", key, ": not what ps-train --json printed");
  }
  return pass[key].get<double>();
}

// Reads the times of the last pass, since earlier passes fill memory.
std::optional<Measured> measured(const Flags& flags) {
  const std::optional<std::string> path = flags.text("measured");
  if (!path) return std::nullopt;
  const Json result = parse_json(read_file(*path), *path);
  if (!result.is_object() || !result.contains("passes") || !result["passes"].is_array() ||
      result["passes"].empty()) {
    fail(Code::kUsage, *path, ": it has no passes: not what ps-train --json printed");
  }
  const Json& pass = result["passes"].back();
  const double batches = number_of(pass, "batches", *path);
  if (batches < 1) fail(Code::kUsage, *path, ": its last pass has no batches");
  return Measured{number_of(pass, "reading_seconds", *path) / batches,
                  number_of(pass, "computing_seconds", *path) / batches};
}

constexpr double kKey = 8, kNumber = 4;  // bytes

// Returns how often a batch uses rows of the parameter, which it uses by keys.
double uses_in_batch(const Network<float>& network, size_t parameter, double batch, double ids) {
  return batch * ids * static_cast<double>(network.row_slots(parameter).size());
}

// Returns the bytes of a batch and its rows on their way to a compute trainer: for each parameter that is
// used by keys, its unique keys, 8 bytes each, with their rows, and 4 bytes for every use; and the numbers of
// dense slots and labels.  Gradients on their way back are fewer bytes.
double bytes_of_batch(const Network<float>& network, double batch, double ids, double unique) {
  double bytes = kNumber * batch;
  for (const SlotSchema& slot : network.schema().slots) {
    if (slot.dense) bytes += kNumber * batch * static_cast<double>(slot.dim);
  }
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    const ParameterSpec& spec = network.parameters()[p];
    if (spec.kind != ParameterKind::kRows) continue;
    const double uses = uses_in_batch(network, p, batch, ids);
    const double row = with_readers(spec) ? kNumber * static_cast<double>(spec.cols) : 0;
    bytes += uses * kNumber + unique * uses * (kKey + row);
  }
  return bytes;
}

// Returns the bytes of the rows that a reader exchanges with servers for a batch: unique keys with their
// gradients go, and rows come.
double bytes_of_rows(const Network<float>& network, double batch, double ids, double unique) {
  double bytes = 0;
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    const ParameterSpec& spec = network.parameters()[p];
    if (!with_readers(spec)) continue;
    bytes +=
        unique * uses_in_batch(network, p, batch, ids) * (kKey + kNumber * static_cast<double>(spec.cols));
  }
  return bytes;
}

// Returns the bytes of the parameters that a compute trainer exchanges with servers for a batch: all of
// those that are used whole, and the rows that it has to itself.
double bytes_of_dense(const Network<float>& network, double batch, double ids, double unique) {
  double bytes = 0;
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    const ParameterSpec& spec = network.parameters()[p];
    if (with_readers(spec)) continue;
    const double row = kNumber * static_cast<double>(spec.cols);
    bytes += spec.kind == ParameterKind::kRows ? unique * uses_in_batch(network, p, batch, ids) * (kKey + row)
                                               : row * static_cast<double>(spec.rows);
  }
  return bytes;
}

double seconds_of(const Flags& flags, const char* name, const std::optional<double>& otherwise) {
  const std::optional<double> seconds = flags.seconds(name, 0, kLongest);
  if (seconds) return *seconds;
  if (!otherwise) flags.refuse(name, "give it, or --measured FILE");
  return *otherwise;
}

}  // namespace

std::vector<Flag> hetero_flags() {
  return {
      {.name = "hetero",
       .help = "say where to cut between processors and accelerators, and how many of each to use",
       .details = "It uses --bandwidth, --servers, --compute or --flops, and --ids too."},
      {.name = "measured",
       .argument = "FILE",
       .help = "take --read and --cpu-compute from what ps-train --json --threads 1 printed",
       .details = "Of a plain trainer without servers, of its last pass."},
      {.name = "read", .argument = "TIME", .help = "of a processor to read a batch and to find its rows"},
      {.name = "cpu-compute",
       .argument = "TIME",
       .help = "of a processor for forward and backward of a batch"},
      {.name = "batch-bytes",
       .argument = "BYTES",
       .help = "of a batch with its rows, each way; default: by the job",
       .details = "By its slots, --ids of each in an example, and --unique."},
      {.name = "unique",
       .argument = "SHARE",
       .help = "unique ids among those of a batch",
       .default_text = "1"},
      {.name = "processors", .argument = "N", .help = "machines for readers", .default_text = "16"},
      {.name = "accelerators", .argument = "N", .help = "machines for compute trainers", .default_text = "4"},
      {.name = "prices",
       .argument = "P,A",
       .help = "of a machine of each kind, for the same time",
       .default_text = "1,4"},
  };
}

// Each time comes from its own flag, else from the measured job; compute on an accelerator, which the
// measured trainer did not have, from --flops.  Bytes follow from the network and --unique, unless
// --batch-bytes is given.
HeteroRequest read_hetero(const Flags& flags, const Job& job) {
  const std::optional<Measured> costs = measured(flags);
  const Network<float> network = planned_network(job);
  const int64_t ids = *flags.integer("ids", 1, 1 << 20);
  const double by_flops =
      operations(network.layer_sizes(ids), job.data.batch_size) / decimal_rate(flags, "flops");
  HeteroRequest request;
  request.read_seconds =
      seconds_of(flags, "read", costs ? std::optional<double>(costs->reading) : std::nullopt);
  request.cpu_seconds =
      seconds_of(flags, "cpu-compute", costs ? std::optional<double>(costs->computing) : std::nullopt);
  request.compute_seconds = flags.seconds("compute", 0, kLongest).value_or(by_flops);
  const auto batch = static_cast<double>(job.data.batch_size);
  const double unique = *flags.number("unique", 0, 1);
  request.batch_bytes = flags.given("batch-bytes")
                            ? static_cast<double>(*flags.bytes("batch-bytes"))
                            : bytes_of_batch(network, batch, static_cast<double>(ids), unique);
  request.row_bytes = bytes_of_rows(network, batch, static_cast<double>(ids), unique);
  request.dense_bytes = bytes_of_dense(network, batch, static_cast<double>(ids), unique);
  request.servers = *flags.integer("servers", 1, kMostMachines);
  request.bandwidth = decimal_rate(flags, "bandwidth") / 8;
  request.most_processors = *flags.integer("processors", 1, kMostMachines);
  request.most_accelerators = *flags.integer("accelerators", 1, kMostMachines);
  const std::vector<std::string> prices = flags.list("prices");
  const std::optional<double> first = prices.size() == 2 ? parse_double(prices[0]) : std::nullopt;
  const std::optional<double> second = prices.size() == 2 ? parse_double(prices[1]) : std::nullopt;
  if (!first || !second || !(*first > 0) || !(*second > 0)) {
    flags.refuse("prices", "not two prices above 0, such as 1,4");
  }
  request.processor_price = *first, request.accelerator_price = *second;
  if (request.read_seconds <= 0) flags.refuse("read", "a batch takes no time");
  return request;
}

double decimal_rate(const Flags& flags, std::string_view name) {
  const std::optional<double> rate = parse_decimal_rate(*flags.text(name));
  if (!rate) flags.refuse(name, cat(quote(*flags.text(name)), " is not a rate, such as 100M, 10G or 1.5T"));
  return *rate;
}

Network<float> planned_network(const Job& job) {
  if (job.data.format == "auto") {
    fail(Code::kUsage, "data.format: 'auto' needs data to look at; say which with --set data.format=…");
  }
  return Network<float>(job.model, job.data.schema(job.data.format), job.job.seed);
}

// A multiplication and an addition count as two operations in the forward pass, and the backward pass does
// twice as much, for the gradients of inputs and of weights.
double operations(const std::vector<LayerSize>& layers, int64_t batch) {
  constexpr double kOperations = 6;
  double multiply_adds = 0;
  for (const LayerSize& layer : layers) multiply_adds += static_cast<double>(layer.multiply_adds);
  return kOperations * multiply_adds * static_cast<double>(batch);
}

}  // namespace ps
