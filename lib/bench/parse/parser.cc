// Times parsers on blocks of text in memory, which is the cost of batches once their bytes are there.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/thread_pool.h"
#include "bench/parse/suite.h"
#include "bench/parse/text.h"
#include "data/format.h"
#include "data/splitter.h"

namespace ps {

namespace {

// Divides `text` at ends of lines into blocks of the size that the reader makes.  Each block ends in
// kPadding zeros behind its text, because parsers read some bytes further than they need.
std::vector<Block> cut(const std::string& text) {
  auto name = std::make_shared<const std::string>("synthetic");
  std::vector<Block> blocks;
  for (size_t begin = 0, line = 1; begin < text.size();) {
    size_t end = std::min(begin + LineSplitter::kBlockBytes, text.size());
    end = text.find('\n', end - 1) + 1;  // every line has a line feed
    Block& block = blocks.emplace_back();
    block.file = name;
    block.position = line;
    block.bytes.assign(text, begin, end - begin);
    block.size = block.bytes.size();
    block.bytes.append(Block::kPadding, '\0');
    line += static_cast<size_t>(std::count(block.bytes.begin(), block.bytes.end(), '\n'));
    begin = end;
  }
  return blocks;
}

// A parser on all threads.  A parser is made once from the first block, as a reader makes it from the head
// of its file; all threads use it.  The text is in memory and longer than the caches, and the rate stands
// beside that of reading memory.  One owner thread, which the threads of pool_ help.
class Parse final : public Workload {
 public:
  Parse(const BenchSettings& settings, SyntheticData data, bool keeps_ids)
      : data_(std::move(data)),
        keeps_ids_(keeps_ids),
        blocks_(cut(data_.bytes)),
        pool_(settings.threads),
        shares_(settings.threads) {
    const FormatEntry& entry = find_format(data_.options.format);
    std::string_view head = blocks_.front().text();
    schema_ = entry.schema(data_.options, head);
    parser_ = entry.make({data_.options, schema_, head, nullptr});
  }

  void run() override {
    parse_all([](const Batch& batch, Digest& found) {
      found.examples += static_cast<uint64_t>(batch.size());
      for (const SlotData& slot : batch.slots) found.keys += slot.keys.size();
    });
  }

  // The runs count examples and ids, which costs nothing; the check parses the same text once more and looks
  // at every id.
  void check() override {
    Digest counted = total();
    expect_equal("examples parsed", counted.examples, data_.digest.examples);
    expect_equal("ids parsed", counted.keys, data_.digest.keys);
    parse_all([](const Batch& batch, Digest& found) { found.add(batch); });
    total().expect(data_.digest, keeps_ids_);
  }

  Work work() const override { return data_.parsing(); }

 private:
  // Parses all blocks.  Each thread takes the next block, and parses it into examples that stay in its cache.
  template <class Look>
  void parse_all(Look look) {
    std::atomic<size_t> next{0};
    pool_.run(pool_.threads(), [&](int64_t index) {
      Share& share = shares_[index];
      share.found = {};
      for (size_t block; (block = next.fetch_add(1)) < blocks_.size();) {
        parser_->parse(blocks_[block], share.parsed);
        look(share.parsed.batch, share.found);
      }
    });
  }

  Digest total() const {
    Digest sum;
    for (const Share& share : shares_) {
      const Digest& part = share.found;
      sum.examples += part.examples, sum.keys += part.keys, sum.key_sum += part.key_sum;
      sum.label_sum += part.label_sum, sum.value_sum += part.value_sum;
    }
    return sum;
  }

  // The output of one thread.  The outputs of two threads share no cache line, since every example changes
  // the ends of its arrays.
  struct alignas(64) Share {
    Parsed parsed;
    Digest found;
  };

  const SyntheticData data_;
  const bool keeps_ids_;
  const std::vector<Block> blocks_;
  DataSchema schema_;
  std::unique_ptr<Parser> parser_;
  ThreadPool pool_;
  std::vector<Share> shares_;  // one for each thread
};

// Returns a benchmark of a parser, beside the rate at which memory is read.  The functions below make its
// data; they tell Parse that ids are not kept where the parser hashes ids or words.
Benchmark parse_as(const std::string& name, const std::string& help,
                   std::function<std::unique_ptr<Workload>(const BenchSettings&)> make,
                   const std::vector<std::string>& peers = {}) {
  return {.name = cat("parse/", name),
          .help = help,
          .unit = "B",
          .make = std::move(make),
          .threaded = true,
          .limit = "limits/read",
          .peers = peers};
}

Benchmark parse(const std::string& name, const std::string& help, const SyntheticKind& kind,
                const std::vector<std::string>& peers = {}) {
  auto make = [kind](const BenchSettings& settings) {
    SyntheticData data = make_synthetic(kind, settings.scale, kParsedExamples);
    return std::make_unique<Parse>(settings, std::move(data), kind.format != "criteo");
  };
  return parse_as(name, help, make, peers);
}

Benchmark parse_table(const std::string& format, const std::string& help) {
  return parse_as(format, help, [format](const BenchSettings& settings) {
    return std::make_unique<Parse>(settings, make_table(format, settings.scale, kParsedExamples), false);
  });
}

Benchmark parse_numbers(const std::string& name, const std::string& help, int decimals) {
  return parse_as(name, help, [decimals](const BenchSettings& settings) {
    SyntheticData data = make_number_table(decimals, settings.scale, kParsedExamples);
    return std::make_unique<Parse>(settings, std::move(data), false);
  });
}

Benchmark parse_census(const std::string& name, const std::string& help, bool quoted) {
  return parse_as(name, help, [quoted](const BenchSettings& settings) {
    SyntheticData data = make_census_table(quoted, settings.scale, kParsedExamples);
    return std::make_unique<Parse>(settings, std::move(data), false);
  });
}

}  // namespace

// The formats with sparse ids come first: with all values 1, and with values to be read.  Tables of numbers
// have few decimals or more than a double holds, since the two take different ways through the parser of
// numbers; words in quotes take another way than plain ones.
std::vector<Benchmark> parser_benchmarks() {
  return {
      parse("libsvm-binary", "libsvm, every value 1", kLibsvmBinary, {"parse/libsvm-binary/strtod"}),
      parse("libsvm-values", "libsvm, values of 4 digits", kLibsvmValues, {"parse/libsvm-values/strtod"}),
      parse("paddle-binary", "paddle_sparse_binary", {"sparse-binary", "paddle_sparse_binary", forty_ids()}),
      parse("paddle-float", "paddle_sparse_float",
            {"sparse-float", "paddle_sparse_float", forty_ids(), true}),
      parse("multislot", "multislot, 20 slots of an id", {"ctr", "multislot"}),
      parse("criteo", "criteo, 13 integers and 26 categories", {"criteo", "criteo"}),
      parse_table("csv", "csv, the same 13 integers and 26 categories"),
      parse_numbers("csv-numbers", "csv, 28 numbers of 6 decimals", 6),
      parse_numbers("csv-digits", "csv, 28 numbers of 18 decimals", 18),
      parse_census("csv-census", "csv, 13 words and integers, as in a census", false),
      parse_census("csv-quoted", "the same, words in quotes", true),
      parse_table("jsonl", "lines of JSON with the same, by name"),
  };
}

}  // namespace ps
