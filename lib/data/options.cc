#include "data/options.h"

#include "base/error.h"
#include "config/spec.h"

namespace ps {

namespace {

void check_slot_options(const SlotOptions& slot, std::string_view path) {
  if (slot.name.empty()) fail(Code::kUsage, path, ".name: empty");
  if (slot.type != "dense") return;
  if (slot.dim < 1)
    fail(Code::kUsage, path, ".dim: missing (how many values dense slot ", quote(slot.name), " has)");
  if (slot.dim > kMaxDenseWidth)
    fail(Code::kUsage, path, ".dim: ", slot.dim, " is too large for a dense slot");
}

}  // namespace

const ObjectSpec<SlotOptions>& SlotOptions::spec() {
  static const ObjectSpec<SlotOptions> spec = [] {
    ObjectSpec<SlotOptions> s;
    s.field("name", &SlotOptions::name, "what layers call the slot").must();
    s.field("type", &SlotOptions::type, "ids, or a fixed number of values").one_of({"sparse", "dense"});
    s.field("dim", &SlotOptions::dim, "dense: number of values; sparse: ids are below it, 0: any")
        .at_least(0)
        .at_most(kMaxDim);
    s.check(check_slot_options);
    return s;
  }();
  return spec;
}

static constexpr int kMaxContext = 64;  // words on each side

const ObjectSpec<TextOptions>& TextOptions::spec() {
  static const ObjectSpec<TextOptions> spec = [] {
    ObjectSpec<TextOptions> s;
    s.field("context", &TextOptions::context, "words before the target that are its features")
        .at_least(1)
        .at_most(kMaxContext);
    s.field("context_after", &TextOptions::context_after,
            "words behind the target that are its features too, behind those before it: 0 to predict the "
            "next word, as many as context for vectors of words")
        .at_least(0)
        .at_most(kMaxContext);
    s.field("shrink_windows", &TextOptions::shrink_windows,
            "training data: the context of each word reaches as far as is drawn for it by the seed, from 1 "
            "word to all, so that words count more the nearer they are");
    s.field("subsample", &TextOptions::subsample,
            "training data: a word that is a larger share f of all words is left out by the seed, as target "
            "and in contexts, but with probability sqrt(subsample / f) + subsample / f; 0: none is, 1e-3 is "
            "word2vec's")
        .at_least(0)
        .at_most(1);
    s.field("vocabulary_size", &TextOptions::vocabulary_size,
            "ids: the most frequent words, and id 0 for all others")
        .at_least(2)
        .at_most(1 << 24);
    s.field("vocabulary", &TextOptions::vocabulary, "file of words; empty: counted from the training files");
    return s;
  }();
  return spec;
}

const ObjectSpec<FastTextOptions>& FastTextOptions::spec() {
  static const ObjectSpec<FastTextOptions> spec = [] {
    ObjectSpec<FastTextOptions> s;
    s.include(TextFeatureOptions::spec());
    s.field("label_prefix", &FastTextOptions::label_prefix, "a word that begins so is the label");
    s.field(
        "classes", &FastTextOptions::classes,
        "words that labels are, in the order of the classes 0, 1, ...; learnt, sorted, where other values "
        "are auto; empty: labels are numbers");
    return s;
  }();
  return spec;
}

}  // namespace ps
