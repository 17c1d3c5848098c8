// Lists all catalogues, and writes the generated part of ps-job(5).
#include <algorithm>

#include "base/file.h"
#include "cli/manual.h"
#include "codec/codec.h"
#include "config/spec.h"
#include "data/format.h"
#include "job/job.h"
#include "model/activation.h"
#include "model/cost.h"
#include "model/evaluator.h"
#include "model/layer.h"
#include "optim/optimizer.h"
#include "optim/options.h"
#include "optim/schedule.h"
#include "strategy/exchange_codec.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

// One catalogue, for any type of entries.
struct Listing {
  std::string kind;   // "optimizers"
  std::string title;  // heading in the manual
  std::string where;  // key in the job file
  std::vector<const CatalogEntry*> entries;
};

template <class Entry>
Listing listing(std::string kind, std::string title, std::string where,
                std::span<const Entry* const> catalog) {
  return {std::move(kind), std::move(title), std::move(where), {catalog.begin(), catalog.end()}};
}

std::vector<Listing> listings() {
  return {listing("formats", "Data formats", "data.format", format_catalog()),
          listing("layers", "Layers", "model.layers", layer_catalog()),
          listing("costs", "Costs", "model.cost", cost_catalog()),
          listing("evaluators", "Evaluators", "model.evaluators", evaluator_catalog()),
          listing("optimizers", "Optimizers", "optimizer", optimizer_catalog()),
          listing("schedules", "Learning-rate schedules", "optimizer.schedule", schedule_catalog()),
          listing("codecs", "Codecs", "train.strategy.codec", codec_catalog()),
          listing("strategies", "Strategies", "train.strategy", strategy_catalog())};
}

// Returns a paragraph of the manual.  Sentences there end in two spaces, while help texts have one.
std::string paragraph(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    bool ends = text[i] == '.' && i + 2 < text.size() && text[i + 1] == ' ' && text[i + 2] >= 'A' &&
                text[i + 2] <= 'Z';
    if (ends) out += ' ';
  }
  if (!out.ends_with('.')) out += '.';
  return manual_text(out);
}

// Escapes the characters that mdoc would change: a backslash, and a minus, which would become a hyphen.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

// ", default 0.9, at least 0, one of a, b"
std::string facts(const FieldSpec& field) {
  std::string out;
  if (field.required) out += ", required";
  bool says_default = !field.required && !field.default_value.is_null() &&
                      !field.default_value.is_structured() && field.default_value != "";
  if (says_default)
    out += cat(", default ", field.default_value.is_string() ? field.default_value.get<std::string>()
                                                             : field.default_value.dump());
  if (field.minimum > -1e300)
    out += cat(field.exclusive_minimum ? ", more than " : ", at least ", field.minimum);
  if (field.maximum < 1e300) out += cat(", at most ", field.maximum);
  if (field.open) out += ", or auto";
  if (!field.choices.empty()) out += cat(", one of ", join(field.choices, " "));
  return out;
}

// Returns "string", or "string or object" if there are several types.
std::string type_name(const Json& schema) {
  if (schema.contains("type")) return schema["type"].get<std::string>();
  if (!schema.contains("anyOf")) return "value";
  std::vector<std::string> names;
  for (const Json& one : schema["anyOf"]) names.push_back(type_name(one));
  return join(names, " or ");
}

// Returns the keys of one object as a list, without those in `seen`, which were listed before.
std::string key_list(const AnySpec& spec, const std::vector<std::string>& seen) {
  std::string items;
  for (const auto& field : spec.fields()) {
    if (std::find(seen.begin(), seen.end(), field->name) != seen.end()) continue;
    items += cat(".It Cm ", field->name, "\n",
                 paragraph(cat(field->help, " (", type_name(field->type()), facts(*field), ")")));
  }
  if (items.empty()) return "";
  return cat(".Bl -tag -width Ds -compact\n", items, ".El\n");
}

// Returns the names of the keys that every entry of a catalogue has, which are listed once.
std::vector<std::string> common_keys(const Listing& list) {
  std::vector<std::string> common;
  for (const auto& field : list.entries.front()->spec().fields()) {
    bool everywhere = list.entries.size() > 1;
    for (const CatalogEntry* entry : list.entries) {
      bool here = false;
      for (const auto& other : entry->spec().fields()) here |= other->name == field->name;
      everywhere &= here;
    }
    if (everywhere) common.push_back(field->name);
  }
  return common;
}

// Appends "a.b=" for each key of a schema, and for those of all entries of a catalogue together.
void collect_keys(const Json& schema, const std::string& path, std::vector<std::string>& keys) {
  for (const char* choice : {"oneOf", "anyOf"}) {
    if (!schema.contains(choice)) continue;
    for (const Json& one : schema[choice]) collect_keys(one, path, keys);
  }
  if (!schema.contains("properties")) return;
  for (const auto& [name, value] : schema["properties"].items()) {
    const std::string key = json_path(path, name);
    keys.push_back(key + "=");
    collect_keys(value, key, keys);
  }
}

std::string section(const std::string& title, const std::string& name, const AnySpec& spec) {
  return cat(".Ss ", title, "\nKeys of\n.Cm ", name, " :\n.Pp\n", key_list(spec, {}));
}

// Returns the section of a catalogue.  Keys that all entries have are listed once, at its head, from the
// first entry; `others` are its remaining keys, which key_list leaves out there.  Then each entry follows
// with the keys of its own.
std::string catalog_section(const Listing& list) {
  std::string out = cat(".Ss ", list.title, "\nValues of\n.Cm type\nin\n.Cm ", list.where, " .\n");
  std::vector<std::string> common = common_keys(list);
  if (!common.empty()) {
    const AnySpec& first = list.entries.front()->spec();
    std::vector<std::string> others;
    for (const auto& field : first.fields()) {
      if (std::find(common.begin(), common.end(), field->name) == common.end()) others.push_back(field->name);
    }
    out += cat("All have these keys:\n.Pp\n", key_list(first, others));
  }
  out += ".Bl -tag -width Ds\n";
  for (const CatalogEntry* entry : list.entries) {
    out +=
        cat(".It Cm ", escaped(entry->name), "\n", paragraph(entry->help), key_list(entry->spec(), common));
  }
  return out + ".El\n";
}

}  // namespace

std::vector<std::string> catalog_kinds() {
  std::vector<std::string> kinds = {"activations", "jobs", "recipes"};
  for (const Listing& list : listings()) kinds.push_back(list.kind);
  return kinds;
}

// Jobs and recipes are files of the installation; activations have names alone; all other kinds have a help
// text each.
std::string list_catalog(const std::string& kind) {
  std::string out;
  if (kind == "activations") {
    for (const std::string& name : activation_names()) out += name + "\n";
    return out;
  }
  if (kind == "jobs" || kind == "recipes") {
    const std::string folder = kind == "jobs" ? job_folder() : recipe_folder();
    if (folder.empty()) return out;
    for (const std::string& place : {folder, join_path(folder, "nets")}) {
      for (const std::string& file : is_directory(place) ? list_directory(place) : std::vector<std::string>{})
        if (file.ends_with(".json")) out += cat(file.substr(0, file.find('.')), "\n");
    }
    return out;
  }
  for (const Listing& list : listings()) {
    if (list.kind != kind) continue;
    for (const CatalogEntry* entry : list.entries) {
      std::string name(entry->name);
      name.resize(std::max<size_t>(name.size() + 2, 24), ' ');
      out += cat(name, entry->help, "\n");
    }
  }
  return out;
}

// Writes the sections in the order in which a job file has them, then the catalogues.  Formats are left
// out, since data.format is the name of one alone, without keys beside it.
std::string job_keys_manual() {
  std::string out = section("job", "job", JobOptions::spec()) + section("data", "data", DataOptions::spec()) +
                    section("data.slots", "an element of data.slots", SlotOptions::spec()) +
                    section("data.text", "data.text", TextOptions::spec()) +
                    section("data.csv", "data.csv", CsvOptions::spec()) +
                    section("data.csv.columns", "an element of data.csv.columns", CsvColumn::spec()) +
                    section("model", "model", ModelOptions::spec()) +
                    section("weight and bias", "a layer's weight and bias; rows is of the weight alone",
                            WeightOptions::spec()) +
                    section("rows", "rows, in weight", RowPolicy::spec()) +
                    section("admission", "admission, in rows", Admission::spec()) +
                    section("score", "score, in rows", RowScore::spec()) +
                    section("expire", "expire, in rows", Expiry::spec()) +
                    section("init", "init, in weight and bias", InitOptions::spec()) +
                    section("train", "train", TrainOptions::spec()) +
                    section("cluster", "cluster", ClusterOptions::spec()) +
                    section("checkpoint", "checkpoint", CheckpointOptions::spec()) +
                    section("device", "device", DeviceOptions::spec());
  for (const Listing& list : listings()) {
    if (list.kind != "formats") out += catalog_section(list);
  }
  return out + section("average", "optimizer.average", AverageOptions::spec()) +
         section("scale_rate", "optimizer.scale_rate", RateScale::spec()) +
         section("warmup", "warmup, in optimizer.schedule", warmup_spec()) +
         section("codec", "train.strategy.codec", ExchangeCodec::spec().keys());
}

std::vector<std::string> settable_keys() {
  std::vector<std::string> keys;
  collect_keys(Job::spec().schema(), "", keys);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace ps
