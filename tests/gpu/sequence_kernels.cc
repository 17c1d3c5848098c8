// The kernels of sequences on a device give the bits of the processor, over random lengths, empty sequences among them;
// those of attention are within a bound.
#include <gtest/gtest.h>

#include <vector>

#include "math/attention.h"
#include "math/recurrent.h"
#include "math/sequences.h"
#include "on_both_devices.h"
#include "test_device.h"

namespace ps {

namespace {

// The sequences of a seed: of the first there are none, and in some batches all are empty.
std::vector<uint32_t> draw_offsets(Random& random, uint64_t seed) {
  std::vector<uint32_t> offsets = {0};
  const int64_t examples = seed == 0 ? 0 : 1 + draw_size(random, seed % 10 == 1 ? 40 : 5);
  for (int64_t b = 0; b < examples; ++b) {
    const int64_t length = seed % 20 == 3 ? 0 : draw_size(random, 6);
    offsets.push_back(offsets.back() + static_cast<uint32_t>(length));
  }
  return offsets;
}

}  // namespace

TEST(SequenceKernels, PackedRows) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 0);
    const std::vector<uint32_t> offsets = draw_offsets(random, seed);
    PackedSequences packed;
    pack_sequences(offsets, seed % 2 == 1, packed);
    const int64_t examples = std::ssize(offsets) - 1, rows = offsets.back(), width = 1 + draw_size(random, 9);
    const int64_t cols = width + draw_size(random, 3), first = cols - width;
    const std::vector<float> all = draw(random, rows * cols), some = draw(random, rows * width);
    const std::vector<float> each = draw(random, examples * cols);
    expect_same_bits(seed, [&](Desk& desk) {
      Device& device = desk.device;
      const auto wide = [&] {
        return columns(Matrix<float>{desk.put_result(all), rows, cols}, first, width);
      };
      const auto of_each = [&] {
        return columns(Matrix<float>{desk.put_result(each), examples, cols}, first, width);
      };
      const auto narrow = [&] { return Matrix<float>{desk.put_result(some), rows, width}; };
      pack_rows<float>(device, packed, wide(), narrow());
      unpack_rows<float>(device, packed, narrow(), wide());
      add_unpacked_rows<float>(device, packed, narrow(), wide());
      copy_last_rows<float>(device, packed, narrow(), of_each());
      add_last_gradients<float>(device, packed, of_each(), narrow());
    });
    if (HasFatalFailure()) return;
  }
}

TEST(SequenceKernels, SumsAndLargestRows) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 1);
    const std::vector<uint32_t> offsets = draw_offsets(random, seed);
    const int64_t examples = std::ssize(offsets) - 1, rows = offsets.back(), cols = 1 + draw_size(random, 9);
    // Some whole numbers are equal: the first of them counts as the largest.
    const std::vector<float> in = seed % 2 == 0 ? draw(random, rows * cols) : draw_whole(random, rows * cols);
    const std::vector<float> weights = draw(random, rows), outs = draw(random, examples * cols);
    expect_same_functions(seed, [&](Desk& desk) {
      Device& device = desk.device;
      const Matrix<const float> x{desk.put(in), rows, cols}, above{desk.put(outs), examples, cols};
      const auto out = [&] { return Matrix<float>{desk.put_result(outs), examples, cols}; };
      const auto below = [&] { return Matrix<float>{desk.put_result(in), rows, cols}; };
      const auto of_rows = [&] { return desk.put_result(weights); };
      uint32_t* const argmax = desk.put(std::vector<uint32_t>(outs.size()));
      copy_largest(device, offsets, x, out(), argmax);
      add_largest_gradients(device, offsets, above, argmax, below());
      float* const scores = of_rows();
      softmax_of_sequences(device, offsets, scores);
      sum_weighted_rows<float>(device, offsets, scores, x, out());
      float* const slopes = of_rows();
      add_weighted_gradients<float>(device, offsets, scores, x, above, slopes, below());
      add_weighted_gradients<float>(device, offsets, scores, x, above, nullptr, below());
      add_weighted_gradients<float>(device, offsets, scores, x, above, of_rows(), {});
      softmax_of_sequences_backward<float>(device, offsets, scores, slopes);
      for (const bool mean : {false, true}) set_equal_weights(device, offsets, mean, of_rows());
    });
    if (HasFatalFailure()) return;
  }
}

// A step of a cell, and of one backward, with rows that go on from a step before, or begin.
template <class Cell>
void expect_same_steps(uint64_t seed) {
  Random random(seed, 2);
  const int64_t width = 1 + draw_size(random, 9), gates = Cell::kGates * width;
  const int64_t before = draw_size(random, 4), begin = before + draw_size(random, 3);
  const bool is_first = seed % 3 == 0;
  const RecurrentStep step{begin, is_first ? draw_size(random, 3) : begin - before, is_first ? -1 : before};
  const int64_t rows = begin + step.rows;
  const std::vector<float> inputs = draw(random, rows * gates), states = draw(random, rows * width);
  expect_same_functions(seed, [&](Desk& desk) {
    const auto of_gates = [&] { return desk.put_result(inputs); };
    const auto of_states = [&] { return desk.put_result(states); };
    const CellArrays<float> arrays{width, of_gates(), desk.put(inputs), of_states(), of_states()};
    Cell::step(desk.device, step, arrays);
    const CellGradients<float> gradients{of_gates(), of_gates(), of_states(), of_states()};
    Cell::step_backward(desk.device, step, arrays, gradients);
  });
}

TEST(SequenceKernels, StepsOfCells) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    expect_same_steps<GruCell>(seed);
    expect_same_steps<LstmCell>(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(SequenceKernels, HeadsAndPositions) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 3);
    const std::vector<uint32_t> offsets = draw_offsets(random, seed);
    const int64_t rows = offsets.back(), width = 1 + draw_size(random, 4);
    const int64_t cols = width * (1 + draw_size(random, 5));
    const std::vector<float> in = draw(random, rows * cols);
    DeviceBuffer<float> encodings;
    expect_same_functions(seed, [&](Desk& desk) {
      const auto all = [&] { return Matrix<float>{desk.put_result(in), rows, cols}; };
      split_heads<float>(desk.device, all(), width, all().data);
      join_heads<float>(desk.device, all().data, width, all());
      add_position_encoding<float>(desk.device, offsets, all(), encodings, all());
    });
    if (HasFatalFailure()) return;
  }
}

// Sums of at most 7 products run in another order: with u = 2^-24 they are within 7 u of the sum of the absolute products,
// which for normal numbers is below 40; the weights that a softmax makes of such scores are within twice 280 u of
// themselves, 3.4e-5, and sums of values and of gradients carry that on.  A wrong value is farther off than 1e-4 of the
// largest.
TEST(SequenceKernels, Attention) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 4);
    const std::vector<uint32_t> offsets = draw_offsets(random, seed);
    std::vector<int64_t> squares;
    count_squares(offsets, squares);
    const AttentionShape shape{1 + draw_size(random, 3), 1 + draw_size(random, 6), seed % 3 == 0};
    const std::vector<float> in = draw(random, 4 * shape.heads * offsets.back() * shape.width);
    const std::vector<float> weights(static_cast<size_t>(shape.heads * squares.back()));
    expect_close(seed, 1e-4f, [&](Desk& desk) {
      const auto arrays = [&] {
        const int64_t each = std::ssize(in) / 4;
        float* const first = desk.put_result(in);
        return AttentionArrays<float>{first, first + each, first + 2 * each, first + 3 * each,
                                      desk.put_result(weights)};
      };
      const AttentionArrays<float> values = arrays(), gradients = arrays();
      attend(desk.device, shape, offsets, squares, values);
      attend_backward(desk.device, shape, offsets, squares, values, gradients);
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace ps
