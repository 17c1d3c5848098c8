// The kernels of products between vectors on a device give the bits of the processor, over random shapes, batches without
// examples among them.
#include "math/interaction_kernels.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "on_both_devices.h"
#include "test_device.h"

namespace ps {

namespace {

int64_t draw_examples(Random& random, uint64_t seed) {
  return seed == 0 ? 0 : draw_size(random, seed % 10 == 1 ? 200 : 8);
}

}  // namespace

TEST(InteractionKernels, Products) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 0);
    const int64_t rows = draw_examples(random, seed), cols = 1 + draw_size(random, 12);
    const size_t count = seed % 2 == 0 ? 2 : 3;
    std::vector<std::vector<float>> vectors;
    for (size_t i = 0; i < count; ++i) vectors.push_back(draw(random, rows * cols));
    if (seed % 5 == 0) vectors[0].assign(vectors[0].size(), 0);  // of length 0
    const std::vector<float> outs = draw(random, rows);
    expect_same_bits(seed, [&](Desk& desk) {
      Device& device = desk.device;
      std::vector<Matrix<const float>> inputs;
      for (const std::vector<float>& values : vectors) inputs.push_back({desk.put(values), rows, cols});
      const float* const above = desk.put(outs);
      const auto below = [&] { return Matrix<float>{desk.put_result(vectors[0]), rows, cols}; };
      dot_products<float>(device, inputs, desk.put_result(outs));
      for (size_t i = 0; i < count; ++i) add_dot_gradients<float>(device, inputs, i, above, below());
      float* const unit = below().data;
      scale_to_unit<float>(device, inputs[0], unit);
      add_unit_gradients<float>(device, inputs[0], unit, inputs[1].data, below());
    });
    if (HasFatalFailure()) return;
  }
}

TEST(InteractionKernels, Translations) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 1);
    const int64_t rows = draw_examples(random, seed), cols = 1 + draw_size(random, 12);
    // With whole numbers some errors are 0, where the absolute value has no slope.
    const auto numbers = [&] {
      return seed % 2 == 0 ? draw(random, rows * cols) : draw_whole(random, rows * cols);
    };
    const std::vector<float> head = numbers(), relation = numbers(), tail = numbers();
    const std::vector<float> outs = draw(random, rows);
    for (const bool squares : {false, true}) {
      expect_same_bits(seed, [&](Desk& desk) {
        const auto input = [&](const std::vector<float>& values) {
          return Matrix<const float>{desk.put(values), rows, cols};
        };
        const Translation<float> of{input(head), input(relation), input(tail), squares};
        float* const scores = desk.put_result(outs);
        translation_scores(desk.device, of, scores);
        for (const float sign : {1.0f, -1.0f}) {
          add_translation_gradients(desk.device, of, scores, desk.put(outs), sign,
                                    {desk.put_result(head), rows, cols});
        }
      });
      if (HasFatalFailure()) return;
    }
  }
}

TEST(InteractionKernels, PairsOfVectorsAndOfFields) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 2);
    const int64_t rows = draw_examples(random, seed), width = 1 + draw_size(random, 6);
    const FieldShape shape{2 + draw_size(random, 3), width};
    const int64_t cols = shape.row(), field_cols = shape.fields * cols;
    const std::vector<float> vectors = draw(random, rows * cols), outs = draw(random, rows * width);
    const std::vector<float> fields = draw(random, rows * field_cols), costs = draw(random, rows);
    expect_same_bits(seed, [&](Desk& desk) {
      Device& device = desk.device;
      const Matrix<const float> in{desk.put(vectors), rows, cols}, above{desk.put(outs), rows, width};
      pair_products<float>(device, in, {desk.put_result(outs), rows, width});
      add_pair_gradients<float>(device, in, above, {desk.put_result(vectors), rows, cols});
      const Matrix<const float> facing{desk.put(fields), rows, field_cols};
      field_products<float>(device, shape, facing, desk.put_result(costs));
      field_gradients<float>(device, shape, facing, desk.put(costs), desk.put_result(fields));
    });
    if (HasFatalFailure()) return;
  }
}

TEST(InteractionKernels, OwnItemsAmongThoseOfTheBatch) {
  for (uint64_t seed = 0; seed < kShapes; ++seed) {
    Random random(seed, 3);
    const int64_t rows = seed == 0 ? 0 : draw_size(random, seed % 10 == 1 ? 60 : 8);
    std::vector<float> scores = draw(random, rows * rows), costs = draw(random, rows);
    for (float& score : scores) score *= seed % 4 == 0 ? 40.0f : 2.0f;
    std::vector<float> labels(costs.size());
    for (float& label : labels) label = static_cast<float>(random.below(2));
    std::vector<uint64_t> numbers(costs.size());
    for (uint64_t& number : numbers) number = random.below(5);
    expect_same_functions(seed, [&](Desk& desk) {
      for (const uint64_t* given : {static_cast<const uint64_t*>(nullptr), std::as_const(numbers).data()}) {
        const Matrix<float> square{desk.put_result(scores), rows, rows};
        in_batch_softmax(desk.device, square, labels.data(), given, desk.put_result(costs));
        const Matrix<float> slopes{desk.put_result(scores), rows, rows};
        in_batch_gradients<float>(desk.device, slopes, labels.data(), desk.put(costs));
      }
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace ps
