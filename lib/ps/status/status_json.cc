#include "config/json.h"
#include "ps/status/status_service.h"

namespace ps {

namespace {

// Returns the JSON of one shard, which the page at / shows.
Json shard_json(const ShardStatus& shard, Time now) {
  Json json = {{"port", shard.port},
               {"age_seconds", to_seconds(now - shard.published)},
               {"clock", shard.clock},
               {"steps", shard.counters.steps},
               {"rows", shard.rows()},
               {"table_bytes", shard.table_bytes()},
               {"message_bytes", shard.message_bytes},
               {"pulls_per_second", shard.pulls_per_second},
               {"pushes_per_second", shard.pushes_per_second},
               {"connections", shard.connections},
               {"peers_refused", shard.peers_refused},
               {"held", Json::object()},
               {"tables", Json::array()},
               {"trainers", Json::array()}};
  for (const HeldStatus& held : shard.held) json["held"][held.kind] = held.bytes;
  for (const TableStatus& table : shard.tables) {
    json["tables"].push_back(
        {{"name", table.name}, {"sparse", table.sparse}, {"rows", table.rows}, {"bytes", table.bytes}});
  }
  for (const TrainerStatus& trainer : shard.trainers) {
    json["trainers"].push_back({{"rank", trainer.rank},
                                {"connections", trainer.connections},
                                {"clock", trainer.clock},
                                {"lag", trainer.lag},
                                {"held_bytes", trainer.held_bytes}});
  }
  return json;
}

}  // namespace

std::string status_json(const ServerStatus& server) {
  Json json = {{"job", server.job},
               {"exposure", server.exposure},
               {"uptime_seconds", server.uptime_seconds},
               {"memory_bytes", server.resident_bytes},
               {"memory_limit_bytes", server.memory_limit},
               {"status_refused", server.status_refused},
               {"shards", Json::array()}};
  for (const ShardStatus& shard : server.shards) json["shards"].push_back(shard_json(shard, server.now));
  return json.dump();
}

}  // namespace ps
