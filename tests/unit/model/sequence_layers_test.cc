// Layers over sequences against plain loops over the equations that math/recurrent.h and math/attention.h give.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "config/json.h"
#include "network_bench.h"

namespace ps::sequence_layers_test {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

constexpr size_t kWidth = 3;  // of an embedding

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// A matrix [rows, cols] in an array.
struct Weights {
  const std::vector<double>& values;
  size_t cols;

  // sum over i of x[i] * row i, + what is in `sum`
  Row times(const Row& x, Row sum) const {
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t c = 0; c < cols; ++c) sum[c] += x[i] * values[i * cols + c];
    }
    return sum;
  }
};

class SequenceLayers : public testing::Test {
 protected:
  // A model of these layers over "rows", the sequences of the embeddings of "ids"; "out" is measured.
  void build(const std::string& layers) {
    const Json model = {
        {"layers",
         Json::parse(
             cat(R"([{"type": "embedding", "name": "rows", "input": "ids", "size": 3, "pooling": "none"}, )",
                 layers, "]"))},
        {"cost", {{"type", "sum"}, {"input", "out"}}}};
    bench_ = std::make_unique<NetworkBench<double>>(model, schema_);
    load({{2, 7, 7}, {}, {1}, {4, 0, 2, 8, 5}, {3, 3, 6}, {}});
  }

  void load(const std::vector<std::vector<Key>>& examples) {
    batch_.clear(schema_);
    examples_ = examples;
    for (const std::vector<Key>& ids : examples) {
      SlotData& slot = batch_.slots[0];
      slot.keys.insert(slot.keys.end(), ids.begin(), ids.end());
      slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
      batch_.labels.push_back(0);
    }
    bench_->load(batch_);
  }

  Rows predictions() {
    bench_->forward();
    const Matrix<const float> found = bench_->network().predictions();
    Rows rows;
    for (int64_t b = 0; b < found.rows; ++b) rows.emplace_back(found.row(b), found.row(b) + found.cols);
    return rows;
  }

  const std::vector<double>& weights(const std::string& name) { return bench_->weights(bench_->find(name)); }

  Rows embeddings(size_t example) {
    Rows rows;
    for (Key id : examples_[example]) {
      const std::span<double> row = bench_->row(bench_->find("rows.weight"), id);
      rows.emplace_back(row.begin(), row.end());
    }
    return rows;
  }

  // Expects each example's prediction to be expected(its embeddings).
  template <class Expected>
  void expect_each(Expected&& expected) {
    const Rows found = predictions();
    ASSERT_EQ(found.size(), examples_.size());
    for (size_t b = 0; b < found.size(); ++b) {
      const Row row = expected(embeddings(b));
      ASSERT_EQ(found[b].size(), row.size());
      for (size_t c = 0; c < row.size(); ++c)
        EXPECT_NEAR(found[b][c], row[c], 2e-6 * (1 + std::fabs(row[c]))) << b << ", " << c;
    }
  }

  // The states [n][size] of a layer after each row.
  Rows gru_states(const Rows& rows, size_t size, const std::string& end) {
    const Weights input{weights("r.weight" + end), 3 * size},
        state{weights("r.weight_recurrent" + end), 3 * size};
    Rows states;
    Row h(size);
    for (const Row& x : rows) {
      const Row a = input.times(x, weights("r.bias" + end));
      Row u(3 * size);
      std::copy_n(weights("r.bias_recurrent" + end).begin(), size,
                  u.begin() + static_cast<ptrdiff_t>(2 * size));
      u = state.times(h, u);
      for (size_t j = 0; j < size; ++j) {
        const double r = sigmoid(a[j] + u[j]), z = sigmoid(a[size + j] + u[size + j]);
        h[j] = (1 - z) * std::tanh(a[2 * size + j] + r * u[2 * size + j]) + z * h[j];
      }
      states.push_back(h);
    }
    return states;
  }

  Rows lstm_states(const Rows& rows, size_t size, const std::string& end) {
    const Weights input{weights("r.weight" + end), 4 * size},
        state{weights("r.weight_recurrent" + end), 4 * size};
    Rows states;
    Row h(size), c(size);
    for (const Row& x : rows) {
      const Row a = state.times(h, input.times(x, weights("r.bias" + end)));
      for (size_t j = 0; j < size; ++j) {
        c[j] = sigmoid(a[size + j]) * c[j] + sigmoid(a[j]) * std::tanh(a[2 * size + j]);
        h[j] = sigmoid(a[3 * size + j]) * std::tanh(c[j]);
      }
      states.push_back(h);
    }
    return states;
  }

  const DataSchema schema_ = {{{.name = "ids", .dim = 9}, {.name = "x", .dense = true, .dim = 2}}};
  Batch batch_;
  std::vector<std::vector<Key>> examples_;
  std::unique_ptr<NetworkBench<double>> bench_;
};

Row last_or_zeros(const Rows& states, size_t size) {
  return states.empty() ? Row(size) : states.back();
}

Rows reversed(Rows rows) {
  std::reverse(rows.begin(), rows.end());
  return rows;
}

Row sum_of(const Rows& rows, size_t size) {
  Row sum(size);
  for (const Row& row : rows) {
    for (size_t c = 0; c < size; ++c) sum[c] += row[c];
  }
  return sum;
}

Row joined(Row a, const Row& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(SequenceLayers, GruGivesItsLastStateAndZerosOfAnEmptySequence) {
  build(
      R"({"type": "gru", "name": "r", "input": "rows", "size": 4}, {"type": "add", "name": "out", "input": "r"})");
  expect_each([&](const Rows& rows) { return last_or_zeros(gru_states(rows, 4, ""), 4); });
}

TEST_F(SequenceLayers, LstmGivesItsLastStateAndZerosOfAnEmptySequence) {
  build(
      R"({"type": "lstm", "name": "r", "input": "rows", "size": 4}, {"type": "add", "name": "out", "input": "r"})");
  expect_each([&](const Rows& rows) { return last_or_zeros(lstm_states(rows, 4, ""), 4); });
}

TEST_F(SequenceLayers, BothDirectionsEndAtTheLastIdAndAtTheFirst) {
  build(R"({"type": "gru", "name": "r", "input": "rows", "size": 2, "direction": "both"},
           {"type": "add", "name": "out", "input": "r"})");
  expect_each([&](const Rows& rows) {
    return joined(last_or_zeros(gru_states(rows, 2, ""), 2),
                  last_or_zeros(gru_states(reversed(rows), 2, "_reverse"), 2));
  });
}

// Another layer reads the states in the order of the ids, so that one at another's place would show.
TEST_F(SequenceLayers, AllStatesStandAtTheirIds) {
  build(R"({"type": "lstm", "name": "r", "input": "rows", "size": 2, "direction": "both", "output": "all"},
           {"type": "gru", "name": "out", "input": "r", "size": 2})");
  expect_each([&](const Rows& rows) {
    const Rows forward = lstm_states(rows, 2, ""),
               backward = reversed(lstm_states(reversed(rows), 2, "_reverse"));
    Row h(2);
    const Weights input{weights("out.weight"), 6}, state{weights("out.weight_recurrent"), 6};
    for (size_t t = 0; t < rows.size(); ++t) {
      const Row a = input.times(joined(forward[t], backward[t]), weights("out.bias"));
      Row u(6);
      std::copy_n(weights("out.bias_recurrent").begin(), 2, u.begin() + 4);
      u = state.times(h, u);
      for (size_t j = 0; j < 2; ++j) {
        const double r = sigmoid(a[j] + u[j]), z = sigmoid(a[2 + j] + u[2 + j]);
        h[j] = (1 - z) * std::tanh(a[4 + j] + r * u[4 + j]) + z * h[j];
      }
    }
    return h;
  });
}

// The rows of one example attended in heads of width 2, summed.
Row attended(const Rows& rows, const Rows& projected, bool causal, const Weights& out, const Row& bias) {
  Rows outputs;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t seen = causal ? i + 1 : rows.size();
    Row heads(4);
    for (size_t first = 0; first < 4; first += 2) {
      Row weights;
      double total = 0;
      for (size_t j = 0; j < seen; ++j) {
        const double product = projected[i][first] * projected[j][4 + first] +
                               projected[i][first + 1] * projected[j][4 + first + 1];
        total += weights.emplace_back(std::exp(product / std::sqrt(2.0)));
      }
      for (size_t j = 0; j < seen; ++j) {
        for (size_t d = first; d < first + 2; ++d) heads[d] += weights[j] / total * projected[j][8 + d];
      }
    }
    outputs.push_back(out.times(heads, bias));
  }
  return sum_of(outputs, 4);
}

TEST_F(SequenceLayers, AttentionIsThatOfVaswaniAndOthers) {
  for (const bool causal : {false, true}) {
    build(cat(R"({"type": "attention", "name": "a", "input": "rows", "size": 4, "heads": 2, "causal": )",
              causal ? "true" : "false", R"(}, {"type": "sequence_pool", "name": "out", "input": "a",
              "pooling": "sum"})"));
    expect_each([&](const Rows& rows) {
      Rows projected;
      for (const Row& x : rows)
        projected.push_back(Weights{weights("a.weight"), 12}.times(x, weights("a.bias")));
      return attended(rows, projected, causal, {weights("a.weight_out"), 4}, weights("a.bias_out"));
    });
  }
}

TEST_F(SequenceLayers, PositionsAreSinesAndCosines) {
  build(R"({"type": "position_encoding", "name": "p", "input": "rows"},
           {"type": "sequence_pool", "name": "out", "input": "p", "pooling": "sum"})");
  expect_each([&](Rows rows) {
    for (size_t t = 0; t < rows.size(); ++t) {
      const double position = static_cast<double>(t);
      rows[t][0] += std::sin(position);
      rows[t][1] += std::cos(position);
      rows[t][2] += std::sin(position / std::pow(1e4, 2.0 / 3));
    }
    return sum_of(rows, kWidth);
  });
}

TEST_F(SequenceLayers, PoolsGiveZerosOfAnEmptySequence) {
  build(R"({"type": "sequence_pool", "name": "out", "input": "rows"})");
  expect_each([&](const Rows& rows) {
    Row mean = sum_of(rows, kWidth);
    for (double& value : mean) value /= std::max(1.0, static_cast<double>(rows.size()));
    return mean;
  });
  build(R"({"type": "sequence_pool", "name": "out", "input": "rows", "pooling": "max"})");
  expect_each([&](const Rows& rows) {
    Row largest = rows.empty() ? Row(kWidth) : rows.front();
    for (const Row& row : rows) {
      for (size_t c = 0; c < kWidth; ++c) largest[c] = std::max(largest[c], row[c]);
    }
    return largest;
  });
}

TEST_F(SequenceLayers, AttendedPoolScoresRowsByTheSecondInput) {
  build(R"({"type": "fc", "name": "b", "input": "rows", "size": 2, "activation": "tanh"},
           {"type": "sequence_pool", "name": "out", "input": ["rows", "b"], "pooling": "attention"})");
  expect_each([&](const Rows& rows) {
    Row mean(kWidth);
    double total = 0;
    for (const Row& x : rows) {
      const Row y = Weights{weights("b.weight"), 2}.times(x, weights("b.bias"));
      const std::vector<double>& query = weights("out.weight");
      const double weight = std::exp(std::tanh(y[0]) * query[0] + std::tanh(y[1]) * query[1]);
      total += weight;
      for (size_t c = 0; c < kWidth; ++c) mean[c] += weight * x[c];
    }
    for (double& value : mean) value = total > 0 ? value / total : 0;
    return mean;
  });
}

TEST_F(SequenceLayers, ABatchOfEmptySequencesAloneGivesZeros) {
  for (const char* layer :
       {R"("gru", "size": 3)", R"("lstm", "size": 3)", R"("sequence_pool")",
        R"("sequence_pool", "pooling": "attention")", R"("sequence_pool", "pooling": "max")"}) {
    build(cat(R"({"name": "out", "input": "rows", "type": )", layer, "}"));
    load({{}, {}});
    EXPECT_EQ(predictions(), Rows(2, Row(3))) << layer;
    bench_->backward();
    for (size_t p = 0; p < bench_->network().parameters().size(); ++p)
      EXPECT_THAT(bench_->gradient(p), testing::Each(0)) << layer;
  }
}

// Returns the error for these layers, of which the last is "out".
std::string refusal(const std::string& layers) {
  const DataSchema schema = {
      {{.name = "ids", .dim = 9}, {.name = "more", .dim = 9}, {.name = "x", .dense = true, .dim = 2}}};
  const Json model = {{"layers", Json::parse(cat("[", layers, "]"))},
                      {"cost", {{"type", "sum"}, {"input", "out"}}}};
  try {
    Network<float> network(ModelOptions::spec().parse(model, "model"), schema, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "accepted";
}

TEST(SequenceRefusals, SayWhichLayerHasTheWrongRows) {
  const std::string rows =
      R"({"type": "embedding", "name": "rows", "input": "ids", "size": 3, "pooling": "none"},)";
  const std::string more =
      R"({"type": "embedding", "name": "more_rows", "input": "more", "size": 3, "pooling": "none"},)";
  EXPECT_EQ(refusal(rows + R"({"type": "add", "name": "out", "input": "rows"})"),
            "model.cost.input: 'out' has a row for each id, expected one an example (sequence_pool makes one "
            "row of "
            "them)");
  EXPECT_EQ(
      refusal(rows + R"({"type": "batch_norm", "name": "out", "input": "rows"})"),
      "model.layers.1.input: batch_norm takes one row an example, found 'rows', which has one for each id "
      "(sequence_pool makes one row of them)");
  EXPECT_EQ(
      refusal(rows + R"({"type": "fc", "name": "out", "input": ["rows", "x"], "size": 2})"),
      "model.layers.1.input: 'rows' has a row for each id, and 'x' one an example: expected inputs with the "
      "same rows (sequence_pool makes one row an example)");
  EXPECT_EQ(refusal(rows + more + R"({"type": "concat", "name": "out", "input": ["rows", "more_rows"]})"),
            "model.layers.2.input: 'rows' has a row for each id, and 'more_rows' for each id of another "
            "slot: expected "
            "inputs with the same rows (sequence_pool makes one row an example)");
  EXPECT_EQ(refusal(R"({"type": "gru", "name": "out", "input": "ids", "size": 2})"),
            "model.layers.0.input: gru takes sequences, found 'ids', a slot (an embedding with pooling "
            "\"none\" makes "
            "sequences of a sparse slot)");
  EXPECT_EQ(refusal(R"({"type": "fc", "name": "a", "input": "x", "size": 2},
                       {"type": "lstm", "name": "out", "input": "a", "size": 2})"),
            "model.layers.1.input: lstm takes sequences, found 'a', a layer of one row an example (an "
            "embedding with "
            "pooling \"none\" makes sequences of a sparse slot)");
  EXPECT_EQ(refusal(rows + R"({"type": "attention", "name": "out", "input": "rows", "size": 5, "heads": 2})"),
            "model.layers.1.heads: 2 does not divide the size, 5");
  EXPECT_EQ(
      refusal(rows + R"({"type": "sequence_pool", "name": "out", "input": "rows", "weight": {"l2": 1}})"),
      "model.layers.1.weight: only pooling 'attention' has weights");
  EXPECT_EQ(
      refusal(
          R"({"type": "embedding", "name": "out", "input": ["ids", "more"], "size": 3, "pooling": "none"})"),
      "model.layers.0.input: embedding with pooling \"none\" takes one input, found 2");
}

TEST(SequenceSizes, CountEveryIdAndEveryPairOfThem) {
  const DataSchema schema = {{{.name = "ids", .dim = 9}}};
  const Json model = Json::parse(R"({"layers": [
    {"type": "embedding", "name": "rows", "input": "ids", "size": 3, "pooling": "none", "sparse_update": true},
    {"type": "attention", "name": "a", "input": "rows", "size": 4, "heads": 2, "bias": false},
    {"type": "gru", "name": "out", "input": "a", "size": 5, "bias": false}],
    "cost": {"type": "sum", "input": "out"}})");
  Network<float> network(ModelOptions::spec().parse(model, "model"), schema, 1);
  EXPECT_EQ(network.describe(),
            "rows: embedding 9 -> 3 per id, sparse update, 27 weights\n"
            "a: attention 3 per id -> 4 per id, 52 weights\n"
            "out: gru 4 per id -> 5, 135 weights\n");
  const std::vector<LayerSize> sizes = network.layer_sizes(/*ids=*/10);
  EXPECT_EQ(sizes[0].outputs, 30);
  EXPECT_EQ(sizes[1].inputs, 30);
  EXPECT_EQ(sizes[1].outputs, 40);
  EXPECT_EQ(sizes[1].weights, 52);
  EXPECT_EQ(sizes[1].multiply_adds, 10 * 52 + 100 * 2 * 4);
  EXPECT_EQ(sizes[2].inputs, 40);
  EXPECT_EQ(sizes[2].outputs, 5);
  EXPECT_EQ(sizes[2].multiply_adds, 10 * 135);
}

}  // namespace
}  // namespace ps::sequence_layers_test
