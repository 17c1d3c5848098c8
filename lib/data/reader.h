// BatchReader: reads files or standard input into batches.  Used by training, testing, prediction,
// conversion.
//
//   BatchReader reader(options, paths, settings);
//   Network network(…, reader.schema(), …);
//   for (int pass = 0; pass < passes; ++pass) {
//     reader.begin_pass(pass);
//     while (reader.next(batch)) …;
//   }
//
// The batches depend on the options, the bytes of the data, the seed and the pass alone: not on the number of
// threads, nor on how the bytes arrive.  All batches have batch_size examples, except the last of a pass.
#ifndef PS_DATA_READER_H_
#define PS_DATA_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "data/batch.h"
#include "data/example_exchange.h"
#include "data/options.h"
#include "data/vocabulary.h"

namespace ps {

struct ReaderSettings {
  int threads = 1;           // threads that read and parse, the owner's included: 1 starts none
  int passes = 1;            // number of passes: with more than one, examples are kept in memory, see
                             // DataOptions::cache
  uint64_t seed = 1;         // seed of shuffles
  int stdin_descriptor = 0;  // the descriptor of "-"
  std::shared_ptr<const std::string> stdin_head = nullptr;  // bytes of "-" that were read before; null: none
  Log* log = nullptr;                                       // gets a warning for each of the first bad lines
  // vocabulary of text; null: it is made from these paths
  std::shared_ptr<const Vocabulary> vocabulary = nullptr;

  // The share of one of several trainers.  If there are at least as many files as trainers, each trainer
  // reads every num_shares-th file.  Otherwise all trainers read all files, and each uses every num_shares-th
  // batch: num_shares batches that follow each other in the data go to shares 0, 1, ….
  int share = 0, num_shares = 1;

  // The reader gives the batches first, first + stride and so on of the share alone.
  int64_t first = 0, stride = 1;
};

struct ReaderProgress {
  uint64_t bytes_read = 0;      // stored bytes read in this pass, read-ahead included
  uint64_t total_bytes = 0;     // stored bytes of a pass; 0: a stream, or a pass served from memory
  uint64_t examples = 0;        // examples given in this pass
  uint64_t total_examples = 0;  // examples of a pass served from memory; else 0
};

// One owner thread, except for interrupt.
class BatchReader {
 public:
  // Finds the files.  Blocks until the first line has arrived if format or slots depend on it.  `options` are
  // copied.  Throws kUsage for paths and options, kData or kCorrupt for a first line or header that cannot be
  // understood.
  BatchReader(const DataOptions& options, const std::vector<std::string>& paths,
              const ReaderSettings& settings);

  // Joins its threads promptly, also while they wait for a stream.
  ~BatchReader();

  const DataSchema& schema() const;                      // schema of the batches
  std::string_view format() const;                       // never "auto"
  std::shared_ptr<const Vocabulary> vocabulary() const;  // for plain text, else null

  bool may_wait() const;  // next() may block until a stream has more data

  // For shuffle "global": the trainers of all shares each hold a part of the examples, and exchange them.
  // Every one of them calls it before the first pass.
  void exchange_through(std::shared_ptr<ExampleExchange> exchange);

  // Lines whose label `check` refuses by throwing kData count as bad lines too.  `check` is called on any
  // thread.  Must be called before the first pass.
  void check_labels(std::function<void(float label)> check);

  // Bytes of memory in which the caller may keep results computed from the batches of the current pass,
  // because the next passes will have the same batches. 0 if they will not, or may not, or if memory is
  // short.
  uint64_t spare_bytes() const;

  // Starts a pass.  Throws kUsage for a second pass over a stream when settings.passes is 1.
  void begin_pass(int pass);

  // Replaces `batch` by the next one.  Returns false at the end of the pass, and once interrupted.  Throws
  //   kData "file:line: reason"  for the first bad line beyond max_bad_lines, after all batches before it
  //   kCorrupt "file: …"         for damaged compressed data and records
  //   kExhausted                 when examples that must be kept do not fit into memory
  bool next(Batch& batch);

  int64_t bad_lines() const;  // skipped in this pass, or in the one that filled the memory it comes from
  ReaderProgress progress() const;

  // Makes next() return false soon, also while it blocks.  Any thread may call it.  A signal handler may not, since
  // the exchange of shuffle "global" takes a lock to stop.
  void interrupt();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ps

#endif  // PS_DATA_READER_H_
