#include "store/split_columns.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "collective/parts.h"

namespace ps {

// Every trainer measures its own columns alone, so the norms for clipping have to be completed over all
// trainers.
SplitColumns::SplitColumns(std::span<const ParameterSpec> specs, LocalStore& local,
                           Communicator& communicator)
    : specs_(specs), local_(local), communicator_(communicator) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (has(p)) parameters_.push_back(p);
  }
  if (any()) local_.scales().complete_squares([this](std::span<double> squares) { add_squares(squares); });
}

// squares <- those of all columns; every trainer gets the same bits.
void SplitColumns::add_squares(std::span<double> squares) {
  std::vector<double> split;
  for (const size_t p : parameters_) split.push_back(squares[p]);
  communicator_.all_reduce(split);
  for (size_t i = 0; i < parameters_.size(); ++i) squares[parameters_[i]] = split[i];
}

void SplitColumns::gather() {
  for (const size_t p : parameters_) gather(p);
}

// A trainer's message has its columns of every row: first of the weights, then of each state array.  The
// messages of all trainers, put back row by row, make the whole arrays.
void SplitColumns::gather(size_t parameter) {
  const size_t cols = static_cast<size_t>(specs_[parameter].cols);
  const std::vector<ElementRange> parts = even_parts(cols, communicator_.size());
  std::vector<float> floats;
  local_.copy_stored(static_cast<int>(parameter), floats);
  const size_t rows = floats.size() / cols;  // rows of all arrays
  std::string message;
  // Calls body(values, offset, bytes) for each row's columns of `rank`; `offset` is their place in the
  // message of that rank.
  const auto each_row = [&](size_t rank, auto&& body) {
    const size_t bytes = parts[rank].count() * sizeof(float);
    for (size_t row = 0; row < rows && bytes > 0; ++row)
      body(reinterpret_cast<char*>(floats.data() + row * cols + parts[rank].begin), row * bytes, bytes);
  };
  each_row(static_cast<size_t>(communicator_.rank()),
           [&](const char* values, size_t, size_t bytes) { message.append(values, bytes); });
  const std::vector<std::string> messages = communicator_.gather(std::move(message));
  for (size_t rank = 0; rank < messages.size(); ++rank) {
    const size_t expected = rows * parts[rank].count() * sizeof(float);
    if (messages[rank].size() != expected) {
      fail(Code::kData, "trainer ", rank, " has ", messages[rank].size(), " bytes of ",
           quote(specs_[parameter].name), ", expected ", expected);
    }
    each_row(rank, [&](char* values, size_t offset, size_t bytes) {
      std::memcpy(values, messages[rank].data() + offset, bytes);
    });
  }
  local_.set_stored(static_cast<int>(parameter), floats);
}

}  // namespace ps
