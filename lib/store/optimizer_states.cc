#include "store/optimizer_states.h"

#include "base/error.h"

namespace ps {

namespace {

// Appends size:u64 bytes[size], the state of one optimizer; nothing for a statistic, which has none.
void save_one(const Optimizer<float>* optimizer, std::string& out) {
  if (optimizer == nullptr) return;
  std::string state;
  optimizer->save(state);
  put(out, static_cast<uint64_t>(state.size()));
  out += state;
}

}  // namespace

int64_t optimizer_steps(const ParameterTables& tables) {
  for (size_t p = 0; p < tables.size(); ++p) {
    if (const Optimizer<float>* optimizer = tables.optimizer(p)) return optimizer->steps();
  }
  return 0;
}

void save_optimizers(const ParameterTables& tables, std::string& out) {
  for (size_t p = 0; p < tables.size(); ++p) save_one(tables.optimizer(p), out);
}

void save_optimizers(const ParameterTables& tables, bool sparse, std::string& out) {
  for (size_t p = 0; p < tables.size(); ++p) {
    if (tables.spec(p).sparse == sparse) save_one(tables.optimizer(p), out);
  }
}

// Each state begins with its number of steps.  This number is checked first, since the time to load a state
// grows with it.
void load_optimizers(const ParameterTables& tables, ByteReader& in, int64_t steps) {
  for (size_t p = 0; p < tables.size(); ++p) {
    if (tables.optimizer(p) == nullptr) continue;
    const uint64_t size = in.get<uint64_t>();
    const std::string_view bytes = in.get_bytes(size);
    ByteReader state(bytes), first(bytes);
    const bool matches = first.get<int64_t>() == steps && first.ok();
    if (matches) tables.optimizer(p)->load(state);
    if (!matches || !state.ok() || state.remaining() > 0) {
      fail(Code::kCorrupt, "the optimizer of ", quote(tables.spec(p).name), " is not as it is after ", steps,
           " steps");
    }
  }
}

// An optimizer such as Adam corrects by the number of steps, which must be the same on all trainers.
void count_idle_steps(const ParameterTables& tables, double learning_rate, int64_t steps) {
  for (size_t p = 0; p < tables.size(); ++p) {
    Optimizer<float>* optimizer = tables.optimizer(p);
    for (int64_t step = 0; optimizer != nullptr && step < steps; ++step) optimizer->begin_step(learning_rate);
  }
}

bool optimizers_remember_steps(const ParameterTables& tables) {
  for (size_t p = 0; p < tables.size(); ++p) {
    const Optimizer<float>* optimizer = tables.optimizer(p);
    if (optimizer != nullptr && (optimizer->state_arrays() > 0 || !optimizer->idle_is_identity()))
      return true;
  }
  return false;
}

}  // namespace ps
