// Writes the numbers of a model as bytes of a type.  Used by the formats.
#ifndef PS_CHECKPOINT_MODEL_NUMBERS_H_
#define PS_CHECKPOINT_MODEL_NUMBERS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "checkpoint/model/model_format.h"
#include "table/row_layout.h"

namespace ps {

int bytes_of(NumberType type);

// Appends `values`; as 8-bit integers they are multiples of their row's scale.
void append_numbers(NumberType type, std::span<const float> values, std::string& out);

// Each makes one pass over a table and writes to a file, a block of rows at a time.
void write_table_keys(ModelSource& source, size_t table, ByteSink& out);
void write_table_scales(ModelSource& source, size_t table, ByteSink& out);

// An array of counts of a table whose rows have them.
struct CountArray {
  const char* suffix;  // of its name, after that of the table
  const char *tensor_type, *npy_type;
  int bytes;  // of a number
};

// The occurrences of a row's key, those in positive examples, both decayed, and the shrinks since the last.
inline constexpr CountArray kCountArrays[] = {
    {".shows", "F64", "<f8", 8}, {".clicks", "F64", "<f8", 8}, {".unseen", "U32", "<u4", 4}};

// Writes array number `array` of kCountArrays.
void write_table_counts(ModelSource& source, size_t table, size_t array, ByteSink& out);

// The history of row `index` of a block of a table that counts.
RowHistory counts_of(const RowBlock& rows, size_t index);

// Array 0 is the weights, in type `type`; the arrays after it are the optimizer's state, in 32 bits.
void write_table_array(ModelSource& source, size_t table, int array, NumberType type, ByteSink& out);

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_NUMBERS_H_
