// The optimizers of all tables of a process or of a shard, as bytes that servers and trainers send each
// other; checkpoints have them by table (table_checkpoint.h).  Used by trainers with copies of parameters,
// and by shards.
#ifndef PS_STORE_OPTIMIZER_STATES_H_
#define PS_STORE_OPTIMIZER_STATES_H_

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "store/parameter_tables.h"

namespace ps {

// Returns the number of steps that the optimizers have counted; 0 if there is no optimizer.
int64_t optimizer_steps(const ParameterTables& tables);

// Append the state of the optimizers: of all parameters, or of the dense or of the sparse ones.
//
//   optimizers := (size:u64 state[size])[parameters that have one]      (ps-wire(5))
void save_optimizers(const ParameterTables& tables, std::string& out);
void save_optimizers(const ParameterTables& tables, bool sparse, std::string& out);

// Loads the optimizers, after so many steps, into tables of which nothing was trained.  Throws kCorrupt.
void load_optimizers(const ParameterTables& tables, ByteReader& in, int64_t steps);

// Makes the optimizers count steps that change nothing.
void count_idle_steps(const ParameterTables& tables, double learning_rate, int64_t steps);

// Returns true if the next steps of some optimizer depend on more than the weights.
bool optimizers_remember_steps(const ParameterTables& tables);

}  // namespace ps

#endif  // PS_STORE_OPTIMIZER_STATES_H_
