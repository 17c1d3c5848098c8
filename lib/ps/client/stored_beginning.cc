#include "ps/client/stored_beginning.h"

#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "store/optimizer_states.h"

namespace ps {

namespace {

void put_state(std::string& out, std::string_view bytes) {
  put(out, static_cast<uint64_t>(bytes.size()));
  out += bytes;
}

// Returns the state of one optimizer with its size, in the format that servers and stores share.
std::string read_state(ByteReader& in) {
  const std::string_view state = in.get_bytes(in.get<uint64_t>());
  if (!in.ok()) fail(Code::kData, "optimizers: the body is cut short");
  std::string sized;
  put_state(sized, state);
  return sized;
}

// Sets the schedule, and returns the states of the optimizers in the order of the parameters.  Shards give those
// of dense parameters and those of sparse ones separately.
std::string read_optimizers(const StoredBeginning& beginning, const std::vector<ParameterSpec>& specs,
                            LocalStore& local) {
  ByteReader in_dense(beginning.dense_optimizers), in_sparse(beginning.sparse_optimizers);
  local.schedule().advance(in_dense);
  if (!beginning.sparse_optimizers.empty()) local.schedule().advance(in_sparse);
  std::string all;
  for (const ParameterSpec& spec : specs) {
    if (spec.kind != ParameterKind::kStatistic) all += read_state(spec.sparse ? in_sparse : in_dense);
  }
  if (in_dense.remaining() + in_sparse.remaining() > 0) {
    fail(Code::kData, "the servers' optimizers are of other parameters");
  }
  return all;
}

}  // namespace

StoredBeginning read_beginning(RemoteModel& model, const std::vector<ParameterSpec>& specs,
                               const LocalStore& local) {
  StoredBeginning beginning;
  beginning.dense.resize(specs.size());
  bool any_sparse = false;
  for (size_t p = 0; p < specs.size(); ++p) {
    const int parameter = static_cast<int>(p);
    any_sparse |= specs[p].sparse;
    if (specs[p].sparse) continue;
    model.read_stored(parameter, local.layout(parameter).state_arrays, beginning.dense[p]);
  }
  beginning.dense_optimizers = model.read_optimizers(/*sparse=*/false);
  if (any_sparse) beginning.sparse_optimizers = model.read_optimizers(/*sparse=*/true);
  return beginning;
}

// The weights come first, then the schedule, and last the optimizers, which must have made as many steps as
// the schedule has.
void begin_from(const StoredBeginning& beginning, const std::vector<ParameterSpec>& specs,
                LocalStore& local) {
  for (size_t p = 0; p < specs.size(); ++p) {
    if (specs[p].sparse) continue;
    const int parameter = static_cast<int>(p);
    const size_t arrays = 1 + static_cast<size_t>(local.layout(parameter).state_arrays);
    const size_t expected = static_cast<size_t>(specs[p].rows * specs[p].cols) * arrays;
    if (beginning.dense[p].size() != expected) {
      fail(Code::kData, "beginning: parameter ", quote(specs[p].name), " has ", beginning.dense[p].size(),
           " stored numbers, not ", expected);
    }
    local.set_stored(parameter, beginning.dense[p]);
  }
  constexpr int64_t kMostSteps = int64_t{1} << 32;
  const std::string optimizers = read_optimizers(beginning, specs, local);
  // The number of steps comes from a peer, and loading the state of an optimizer may take time for each step.
  if (local.schedule().steps() > kMostSteps) {
    fail(Code::kData, "beginning: ", local.schedule().steps(), " steps, expected ", kMostSteps, " at most");
  }
  ByteReader in(optimizers);
  load_optimizers(local.tables(), in, local.schedule().steps());
}

std::string encode_beginning(const StoredBeginning& beginning) {
  std::string out;
  put_state(out, beginning.dense_optimizers);
  put_state(out, beginning.sparse_optimizers);
  for (const std::vector<float>& floats : beginning.dense) {
    put(out, static_cast<uint64_t>(floats.size()));
    put_array(out, std::span<const float>(floats));
  }
  return out;
}

// A count is compared with the bytes that are left before memory is taken for its values.
StoredBeginning decode_beginning(std::span<const char> body, size_t num_parameters) {
  ByteReader in(std::string_view(body.data(), body.size()));
  StoredBeginning beginning;
  beginning.dense_optimizers = in.get_bytes(in.get<uint64_t>());
  beginning.sparse_optimizers = in.get_bytes(in.get<uint64_t>());
  for (size_t p = 0; p < num_parameters; ++p) {
    const uint64_t count = in.get<uint64_t>();
    if (!in.ok() || count > in.remaining() / sizeof(float)) {
      fail(Code::kData, "beginning: it is cut short");
    }
    in.get_array(std::span<float>(beginning.dense.emplace_back(count)));
  }
  if (!in.ok() || in.remaining() > 0) {
    fail(Code::kData, "beginning: it is not of ", num_parameters, " parameters");
  }
  return beginning;
}

}  // namespace ps
