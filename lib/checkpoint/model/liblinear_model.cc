// Models of liblinear (Fan et al., JMLR 2008), which liblinear-predict reads.  The model must be linear: one
// table whose rows belong to the features, and optionally a bias.
//
//   solver_type L2R_LR
//   nr_class C
//   label …
//   nr_feature n
//   bias b                       1 with a bias, else -1
//   w
//   a line for each feature, and one for the bias: its weight for the first label, or for each of three and
//   more
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "checkpoint/model/model_format.h"
#include "data/row_text.h"

namespace ps {

namespace {

struct Linear {
  size_t weights = 0;
  std::optional<size_t> bias;
  int64_t outputs = 1;
};

// Finds the table whose rows belong to features, and the table of one row, which is the bias.
Linear find_tables(const std::vector<ModelTable>& tables) {
  Linear linear;
  std::vector<size_t> weights;
  for (size_t t = 0; t < tables.size(); ++t) {
    if (!tables[t].sparse && tables[t].rows == 1) {
      linear.bias = t;
    } else {
      weights.push_back(t);
    }
  }
  if (weights.size() != 1 || tables.size() > 2) {
    fail(Code::kUsage, "format liblinear holds one linear layer: weights and a bias, not ", tables.size(),
         " tables; choose them with --tables");
  }
  linear.weights = weights[0];
  linear.outputs = tables[linear.weights].width;
  if (linear.bias && tables[*linear.bias].width != linear.outputs) {
    fail(Code::kUsage, "format liblinear: the bias has ", tables[*linear.bias].width,
         " columns, the weights ", linear.outputs);
  }
  if (tables[linear.weights].rows == 0) {
    fail(Code::kUsage, "format liblinear needs a bound of the ids of ", quote(tables[linear.weights].name),
         ": set data.dim");
  }
  return linear;
}

// A single output is the score of the first label; of two outputs, the difference is the score.
std::vector<std::string> labels_of(const Linear& linear, const ModelSettings& settings) {
  const size_t classes = static_cast<size_t>(std::max<int64_t>(2, linear.outputs));
  if (!settings.labels.empty()) {
    if (settings.labels.size() == classes) return settings.labels;
    fail(Code::kUsage, "--labels: ", settings.labels.size(), " labels for ", classes, " classes");
  }
  if (linear.outputs == 1) return {"1", "-1"};
  std::vector<std::string> labels;
  for (size_t c = 0; c < classes; ++c) labels.push_back(std::to_string(c));
  return labels;
}

// Writes a line for each row of weights, through a buffer.  A line has the difference of two outputs, which
// is the score of the first label against the second.
class LineWriter {
 public:
  LineWriter(int64_t outputs, ByteSink& out) : outputs_(outputs), out_(out) {}

  // The inner block ends the life of `line`, whose destructor shortens text_ to the end of the line, before
  // the size of text_ is read.
  void add(const float* weights) {
    constexpr size_t kBufferBytes = 1 << 20;
    {
      RowText line(text_, 0, static_cast<size_t>(outputs_));
      if (outputs_ == 2) {
        line.add_float(weights[0] - weights[1]);
        line.add(' ');
      } else {
        for (int64_t c = 0; c < outputs_; ++c) {
          line.add_float(weights[c]);
          line.add(' ');
        }
      }
      line.add('\n');
    }
    if (text_.size() < kBufferBytes) return;
    finish();
  }

  void finish() {
    out_.write(text_);
    text_.clear();
  }

 private:
  const int64_t outputs_;
  ByteSink& out_;
  std::string text_;
};

[[noreturn]] void refuse_first_row(const std::string& table) {
  fail(Code::kUsage, "format liblinear begins with feature 1, and ", quote(table),
       " has weights of id 0, which would be lost: use another format, or train on ids from 1 on");
}

// Writes the lines of ids from 1 on.  Throws kUsage if id 0 was trained.
void write_weights(ModelSource& source, const Linear& linear, LineWriter& lines, const ByteSink& out) {
  // Ids of liblinear begin at 1, so id 0 of a model whose ids begin at 0 has no line.  A dense table has its row
  // whether the data have that id or not; a sparse one only if they do, and then it would be lost.  `next` is the
  // first id that has no line yet; ids without a row get lines of initial weights.
  const ModelTable& table = source.tables()[linear.weights];
  uint64_t next = source.index_base() == 0 ? 1 : 0;
  std::vector<float> row(static_cast<size_t>(table.width));
  auto fill_up_to = [&](uint64_t key) {
    for (; next < key && out.open(); ++next) {
      source.untrained_row(linear.weights, next, row.data());
      lines.add(row.data());
    }
  };
  auto cursor = source.rows(linear.weights);
  while (const RowBlock* rows = out.open() ? cursor->next() : nullptr) {
    for (size_t i = 0; i < rows->size(); ++i) {
      fill_up_to(rows->keys[i]);
      if (rows->keys[i] != next && table.sparse) refuse_first_row(table.name);
      if (rows->keys[i] != next) continue;
      lines.add(rows->values.data() + static_cast<int64_t>(i) * table.values());
      ++next;
    }
  }
  fill_up_to(table.rows);
}

// The bias comes last, as the weights of a feature n + 1 whose value is 1.
void write_liblinear(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  const Linear linear = find_tables(source.tables());
  const uint64_t rows = source.tables()[linear.weights].rows;
  const std::vector<std::string> labels = labels_of(linear, settings);
  out.write(cat("solver_type L2R_LR\nnr_class ", labels.size(), "\nlabel ", join(labels, " "),
                "\nnr_feature ", source.index_base() == 0 ? rows - 1 : rows, "\nbias ",
                linear.bias ? "1" : "-1", "\nw\n"));
  LineWriter lines(linear.outputs, out);
  write_weights(source, linear, lines, out);
  if (linear.bias) {
    auto cursor = source.rows(*linear.bias);
    if (const RowBlock* bias = cursor->next()) lines.add(bias->values.data());
  }
  lines.finish();
}

}  // namespace

constinit const ModelFormat kLiblinearModel = {
    .name = "liblinear", .help = "a linear model, for liblinear-predict", .write = write_liblinear};

}  // namespace ps
