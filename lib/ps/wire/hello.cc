#include "ps/wire/hello.h"

#include <set>

#include "checkpoint/checkpoint_directory.h"
#include "config/spec.h"

namespace ps {

namespace {

struct SlotText {
  std::string name;
  bool dense = false;
  int64_t dim = 0;

  static const ObjectSpec<SlotText>& spec() {
    static const ObjectSpec<SlotText> spec = [] {
      ObjectSpec<SlotText> s;
      s.field("name", &SlotText::name, "name of the slot");
      s.field("dense", &SlotText::dense, "whether it has a value for every column");
      s.field("dim", &SlotText::dim, "columns, or ids are below it").at_least(0);
      return s;
    }();
    return spec;
  }
};

struct SchemaText {
  std::vector<SlotText> slots;

  static const ObjectSpec<SchemaText>& spec() {
    static const ObjectSpec<SchemaText> spec = [] {
      ObjectSpec<SchemaText> s;
      s.field("slots", &SchemaText::slots, "fields of an example");
      return s;
    }();
    return spec;
  }
};

const ObjectSpec<ShardPlace>& place_spec() {
  static const ObjectSpec<ShardPlace> spec = [] {
    constexpr double kMostShards = 1 << 16;
    ObjectSpec<ShardPlace> s;
    s.field("num_dense", &ShardPlace::num_dense, "shards with dense parameters")
        .at_least(1)
        .at_most(kMostShards);
    s.field("dense", &ShardPlace::dense, "number among them, or -1").at_least(-1);
    s.field("num_sparse", &ShardPlace::num_sparse, "shards with sparse parameters")
        .at_least(1)
        .at_most(kMostShards);
    s.field("sparse", &ShardPlace::sparse, "number among them, or -1").at_least(-1);
    s.check([](const ShardPlace& place, std::string_view path) {
      if (place.dense < place.num_dense && place.sparse < place.num_sparse) return;
      fail(Code::kUsage, path, ": a shard's number is not below the number of shards");
    });
    return s;
  }();
  return spec;
}

// Compares two objects key by key, in the order of the keys' names.  A key that one of them lacks counts as
// null there, which the message shows as absent.
std::optional<std::string> first_difference_inside(const Json& found, const Json& expected,
                                                   const std::string& path) {
  std::set<std::string> keys;
  for (const auto& [key, value] : expected.items()) keys.insert(key);
  for (const auto& [key, value] : found.items()) keys.insert(key);
  for (const std::string& key : keys) {
    Json none;
    const Json& ours = expected.contains(key) ? expected.at(key) : none;
    const Json& theirs = found.contains(key) ? found.at(key) : none;
    if (auto difference = first_difference(theirs, ours, json_path(path, key))) return difference;
  }
  return std::nullopt;
}

// Returns a value as messages show it, cut off after kLongest bytes.  Invalid UTF-8, which a peer may send,
// is replaced.
std::string shown(const Json& value) {
  constexpr size_t kLongest = 80;
  std::string text = value.is_null() ? "absent" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

}  // namespace

// A peer's text becomes no path: it is a folder's name as step_folder makes them, or empty.
static void check_checkpoint(const std::string& name, std::string_view path) {
  if (name.empty() || step_of_folder(name)) return;
  fail(Code::kUsage, json_path(path, "checkpoint"), ": ", quote(name),
       " is not the name of a checkpoint's folder");
}

const ObjectSpec<Hello>& Hello::spec() {
  static const ObjectSpec<Hello> spec = [] {
    ObjectSpec<Hello> s;
    s.field("protocol", &Hello::protocol, "version that the trainer speaks").must();
    s.field("role", &Hello::role, "what it wants").one_of({"train", "read"});
    s.field("rank", &Hello::rank, "of the trainer").at_least(0);
    s.field("trainers", &Hello::trainers, "how many there are").at_least(1).at_most(1 << 16);
    s.field("max_trainers", &Hello::max_trainers, "ranks of the run in all, 0: as many as trainers")
        .at_least(0)
        .at_most(1 << 16);
    s.field("generation", &Hello::generation, "of its process").at_least(1);
    s.field("known", &Hello::known, "this shard has welcomed it before");
    s.field("server", &Hello::server, "number of the server among those of the job").at_least(0);
    s.field("run", &Hello::run, "that the job's first shard told it");
    s.field("resume", &Hello::resume, "who begins a run goes on from the newest checkpoint");
    s.field("passes", &Hello::passes, "that it trains").at_least(0);
    s.field("lost", &Hello::lost, "a run some of which is lost, so that another has to begin");
    s.field("going", &Hello::going, "some trainer has been welcomed by all shards");
    s.field("recovers", &Hello::recovers, "the run began with what a checkpoint has, or anew");
    s.field("checkpoint", &Hello::checkpoint, "folder of that checkpoint, empty: there was none");
    s.field("cpu", &Hello::cpu, "level of its kernels");
    s.field("job", &Hello::job, "what must be equal to the server's").must();
    s.field("schema", &Hello::schema, "of the data").must();
    s.field("place", &Hello::place, "of the shard among those of the job").must();
    s.check([](const Hello& hello, std::string_view path) {
      check_checkpoint(hello.checkpoint, path);
      if (hello.max_trainers != 0 && hello.max_trainers < hello.trainers) {
        fail(Code::kUsage, json_path(path, "max_trainers"), ": ", hello.max_trainers, " is less than ",
             hello.trainers, " trainers");
      }
      if (hello.rank < hello.ranks()) return;
      fail(Code::kUsage, json_path(path, "rank"), ": ", hello.rank, " is not below ", hello.ranks(),
           " trainers");
    });
    return s;
  }();
  return spec;
}

const ObjectSpec<RunStatus>& RunStatus::spec() {
  static const ObjectSpec<RunStatus> spec = [] {
    constexpr double kMostSteps = 1e15, kMostPasses = INT32_MAX;  // a trainer goes on counting from these
    ObjectSpec<RunStatus> s;
    s.field("run", &RunStatus::run, "which it is");
    s.field("step", &RunStatus::step, "the trainer's first that was not applied, and is not held")
        .at_most(kMostSteps);
    s.field("held", &RunStatus::held, "steps before that which are held, and will be applied")
        .at_most(kMostSteps);
    s.field("pass", &RunStatus::pass, "passes that have ended").at_most(kMostPasses);
    s.field("batches", &RunStatus::batches, "of the trainer that were applied").at_most(kMostSteps);
    s.field("pass_batches", &RunStatus::pass_batches, "and in this pass").at_most(kMostSteps);
    s.field("pass_begun", &RunStatus::pass_begun, "some trainer's were, or this one has pushed");
    s.field("gathered", &RunStatus::gathered, "gatherings that are complete").at_most(kMostSteps);
    s.field("dealings", &RunStatus::dealings, "how often the rest of the pass was dealt").at_most(kMostSteps);
    s.field("deals", &RunStatus::deals, "what lost trainers leave is dealt, to those who ask");
    s.field("going", &RunStatus::going, "some trainer has been welcomed by all shards");
    s.field("recovers", &RunStatus::recovers, "the run began with what a checkpoint has, or anew");
    s.field("checkpoint", &RunStatus::checkpoint, "folder of that checkpoint, empty: there was none");
    s.field("checkpointed", &RunStatus::checkpointed, "servers write checkpoints");
    s.field("logged", &RunStatus::logged, "pushes are logged, and come with their keys");
    s.field("finished", &RunStatus::finished, "passes of a run of which everything is done")
        .at_most(kMostPasses);
    s.field("ended_early", &RunStatus::ended_early, "that run needs no more passes, though this is not all");
    s.field("gives_shards", &RunStatus::gives_shards, "servers give out their shards of checkpoints");
    s.field("checkpoint_at", &RunStatus::checkpoint_at, "steps after which the next checkpoint begins");
    s.field("checkpoint_number", &RunStatus::checkpoint_number, "of that checkpoint, if asynchronous");
    s.field("has_rows", &RunStatus::has_rows, "the trainer has rows that it trains itself");
    s.field("was_given_up", &RunStatus::was_given_up, "the others went on without the trainer until now");
    s.check([](const RunStatus& status, std::string_view path) {
      check_checkpoint(status.checkpoint, path);
      if (status.held <= status.step) return;
      fail(Code::kUsage, json_path(path, "held"), ": ", status.held, " of ", status.step, " steps");
    });
    return s;
  }();
  return spec;
}

const ObjectSpec<Welcome>& Welcome::spec() {
  static const ObjectSpec<Welcome> spec = [] {
    ObjectSpec<Welcome> s;
    s.field("protocol", &Welcome::protocol, "version that the server speaks").must();
    s.field("cpu", &Welcome::cpu, "level of the kernels of the trainer that came first");
    s.field("max_trainers", &Welcome::max_trainers, "ranks of the run in all").at_least(0).at_most(1 << 16);
    s.field("run_status", &Welcome::run_status, "where the run is");
    return s;
  }();
  return spec;
}

const ObjectSpec<ServerPorts>& ServerPorts::spec() {
  static const ObjectSpec<ServerPorts> spec = [] {
    ObjectSpec<ServerPorts> s;
    s.field("ports", &ServerPorts::ports, "of the shards").at_least(1).at_most(65535);
    s.field("dense", &ServerPorts::dense, "how many, from the first on, have dense parameters").at_least(1);
    s.field("sparse", &ServerPorts::sparse, "how many, up to the last, have sparse ones").at_least(1);
    s.check([](const ServerPorts& server, std::string_view path) {
      int count = static_cast<int>(server.ports.size());
      if (server.dense <= count && server.sparse <= count) return;
      fail(Code::kUsage, path, ": ", count, " ports are too few");
    });
    return s;
  }();
  return spec;
}

Json to_json(const DataSchema& schema) {
  SchemaText text;
  for (const SlotSchema& slot : schema.slots) text.slots.push_back({slot.name, slot.dense, slot.dim});
  return SchemaText::spec().to_json(text);
}

DataSchema schema_from_json(const Json& json) {
  DataSchema schema;
  for (const SlotText& slot : SchemaText::spec().parse(json, "schema").slots) {
    schema.slots.push_back({slot.name, slot.dense, slot.dim});
  }
  return schema;
}

Json to_json(const ShardPlace& place) {
  return place_spec().to_json(place);
}

ShardPlace place_from_json(const Json& json) {
  return place_spec().parse(json, "place");
}

std::optional<std::string> first_difference(const Json& found, const Json& expected,
                                            const std::string& path) {
  if (found == expected) return std::nullopt;
  if (found.is_object() && expected.is_object()) return first_difference_inside(found, expected, path);
  if (found.is_array() && expected.is_array() && found.size() == expected.size()) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (auto difference = first_difference(found[i], expected[i], json_path(path, std::to_string(i))))
        return difference;
    }
    return std::nullopt;
  }
  return cat(path, " is ", shown(found), ", not ", shown(expected));
}

}  // namespace ps
