#include "limits/steered.hpp"

#include <algorithm>

#include "core/siphash.hpp"

namespace weir::inline v0_1::limits {
namespace {

bool is_single(const ListEntry& entry) {
  if (entry.kind == ListEntry::Kind::network)
    return entry.network.bits == (entry.network.first.v4 ? 32 : 128);
  return entry.kind == ListEntry::Kind::text;
}

bool is_address(const Condition& condition) {
  return condition.entries.front().kind == ListEntry::Kind::network;
}

// Nobody who asks adds to what is hashed, so that the hash needs no secret.
constexpr core::HashKey kNoSecret{};

std::uint64_t hash_of(std::string_view text, std::uint64_t before) {
  return core::siphash<1, 3>(kNoSecret, text, before | 1);
}

std::uint64_t hash_of(const core::Address& address, std::uint64_t before) {
  const std::string_view bytes(reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size());
  return hash_of(bytes, before ^ (address.v4 ? 4 : 6));
}

std::uint64_t first_hash(Index limit, std::size_t attributes) {
  return limit * 0x9e3779b97f4a7c15U + attributes;
}

// More names of attributes that no override has any longer are too many to be carried along.
constexpr std::size_t kManyNames = 256;

}  // namespace

bool is_exact(const When& when) {
  return std::all_of(when.begin(), when.end(),
                     [](const Condition& each) { return is_single(each.entries.front()); });
}

Steered::Steered(std::shared_ptr<const Set> set, std::span<const Ptr> all)
    : set_(std::move(set)), limits_(set_->limits().size()), shards_(kShards) {
  auto names = std::make_shared<Names>();
  names->all = set_->names();
  names_ = std::move(names);
  std::vector<bool> owned(kShards);
  name(all);
  std::vector<std::vector<Ptr>> searched(limits_.size());
  for (const Ptr& each : all) {
    if (is_exact(each->when)) {
      add(each, owned);
    } else {
      searched[each->limit].push_back(each);
    }
  }
  for (Index i = 0; i < searched.size(); ++i)
    if (!searched[i].empty()) search(i, std::move(searched[i]));
  size_ = all.size();
}

std::shared_ptr<const Steered> Steered::with(std::span<const Ptr> more, std::span<const Ptr> less) const {
  std::shared_ptr<Steered> next(new Steered(*this));
  std::vector<bool> owned(kShards);
  next->name(more);
  std::vector<Index> searched;
  next->size_ += more.size() - less.size();
  for (const Ptr& each : less)
    is_exact(each->when) ? next->remove(each, owned) : searched.push_back(each->limit);
  for (const Ptr& each : more)
    is_exact(each->when) ? next->add(each, owned) : searched.push_back(each->limit);
  std::sort(searched.begin(), searched.end());
  searched.erase(std::unique(searched.begin(), searched.end()), searched.end());
  for (const Index limit : searched) {
    std::vector<Ptr> those;
    if (limits_[limit].searched) those = limits_[limit].searched->all;
    std::erase_if(those,
                  [&](const Ptr& each) { return std::find(less.begin(), less.end(), each) != less.end(); });
    for (const Ptr& each : more)
      if (each->limit == limit && !is_exact(each->when)) those.push_back(each);
    next->search(limit, std::move(those));
  }
  if (next->names_->own.size() > kManyNames && next->names_->own.size() > 2 * next->size_)
    return std::make_shared<const Steered>(set_, next->all());
  return next;
}

std::vector<Steered::Ptr> Steered::all() const {
  std::vector<Ptr> found;
  for (const OfLimit& each : limits_) {
    found.insert(found.end(), each.everybody.begin(), each.everybody.end());
    if (each.searched) found.insert(found.end(), each.searched->all.begin(), each.searched->all.end());
  }
  for (const auto& shard : shards_) {
    if (!shard) continue;
    for (const Shard::One& each : shard->all) found.push_back(each.which);
  }
  return found;
}

bool Steered::has_room(Index limit, const When& when) const {
  const std::vector<Shape>& shapes = limits_[limit].shapes;
  if (when.empty() || !is_exact(when) || shapes.size() < kMostShapes) return true;
  // A name that is new to it makes another shape.
  for (const Condition& each : when)
    if (names().find(each.attribute) == kNone) return false;
  const std::vector<Index> attributes = attributes_of(when);
  return std::any_of(shapes.begin(), shapes.end(),
                     [&](const Shape& each) { return each.attributes == attributes; });
}

void Steered::name(std::span<const Ptr> more) {
  std::shared_ptr<Names> next;
  for (const Ptr& each : more) {
    for (const Condition& condition : each->when) {
      if (names().find(condition.attribute) != kNone) continue;
      if (!next) {
        // Views of texts are taken again, for they are the other one's.
        next = std::make_shared<Names>();
        next->all = set_->names();
        for (const std::string& own : names_->own) next->all.add(next->own.emplace_back(own));
      }
      const std::size_t known = next->all.size();
      if (next->all.add(condition.attribute) == known) {
        // It was added with a view of the override's.
        next->own.push_back(condition.attribute);
      }
    }
  }
  if (!next) return;
  next->all = set_->names();
  for (const std::string& own : next->own) next->all.add(own);
  next->all.seal();
  names_ = std::move(next);
}

void Steered::add(const Ptr& which, Owned& owned) {
  OfLimit& of = limits_[which->limit];
  if (which->when.empty()) {
    of.everybody.push_back(which);
    return;
  }
  const std::vector<Index> attributes = attributes_of(which->when);
  auto shape = std::find_if(of.shapes.begin(), of.shapes.end(),
                            [&](const Shape& each) { return each.attributes == attributes; });
  if (shape == of.shapes.end()) shape = of.shapes.insert(shape, Shape{attributes, 0, 0});
  ++shape->count;
  for (std::size_t i = 0; i < attributes.size(); ++i)
    if (is_address(condition_of(which->when, attributes[i]))) shape->addresses |= std::uint64_t{1} << i;
  const std::uint64_t hash = hash_of(*which, *shape);
  std::vector<Shard::One>& all = own_shard(hash, owned).all;
  const auto place =
      std::upper_bound(all.begin(), all.end(), hash,
                       [](std::uint64_t wanted, const Shard::One& each) { return wanted < each.hash; });
  all.insert(place, {hash, which});
}

void Steered::remove(const Ptr& which, Owned& owned) {
  OfLimit& of = limits_[which->limit];
  if (which->when.empty()) {
    std::erase(of.everybody, which);
    return;
  }
  const std::vector<Index> attributes = attributes_of(which->when);
  const auto shape = std::find_if(of.shapes.begin(), of.shapes.end(),
                                  [&](const Shape& each) { return each.attributes == attributes; });
  std::erase_if(own_shard(hash_of(*which, *shape), owned).all,
                [&](const Shard::One& each) { return each.which == which; });
  if (--shape->count == 0) of.shapes.erase(shape);
}

Steered::Shard& Steered::own_shard(std::uint64_t hash, Owned& owned) {
  const std::size_t number = hash % kShards;
  std::shared_ptr<Shard>& shard = shards_[number];
  if (!owned[number]) {
    shard = shard ? std::make_shared<Shard>(*shard) : std::make_shared<Shard>();
    owned[number] = true;
  }
  return *shard;
}

void Steered::search(Index limit, std::vector<Ptr> those) {
  limits_[limit].searched =
      those.empty() ? nullptr : std::make_shared<const Searched>(std::move(those), names());
}

Steered::Searched::Searched(std::vector<Ptr> those, const AttributeNames& names) : all(std::move(those)) {
  AttributeNames known = names;  // all that is said is in it
  std::vector<const When*> whens;
  for (const Ptr& each : all) {
    conditions.emplace_back(each->when, known, std::span<const ValueSet>());
    whens.push_back(&each->when);
  }
  candidates.fill(whens, known, {});
}

std::vector<Index> Steered::attributes_of(const When& when) const {
  std::vector<Index> attributes;
  for (const Condition& each : when) attributes.push_back(names().find(each.attribute));
  std::sort(attributes.begin(), attributes.end());
  return attributes;
}

const Condition& Steered::condition_of(const When& when, Index attribute) const {
  return *std::find_if(when.begin(), when.end(),
                       [&](const Condition& each) { return each.attribute == names()[attribute]; });
}

std::optional<std::uint64_t> Steered::hash_of(Index limit, const Shape& shape, AttributeValues values) {
  std::uint64_t hash = first_hash(limit, shape.attributes.size());
  for (std::size_t i = 0; i < shape.attributes.size(); ++i) {
    const AttributeValue& value = values[shape.attributes[i]];
    if (!value.present()) return std::nullopt;
    hash += shape.attributes[i];
    const core::Address* const address = (shape.addresses >> i & 1U) != 0 ? value.address() : nullptr;
    hash = address != nullptr ? limits::hash_of(*address, hash) : limits::hash_of(value.text(), hash);
  }
  return hash;
}

std::uint64_t Steered::hash_of(const SteeredOverride& which, const Shape& shape) const {
  std::uint64_t hash = first_hash(which.limit, shape.attributes.size());
  for (const Index attribute : shape.attributes) {
    const ListEntry& entry = condition_of(which.when, attribute).entries.front();
    hash += attribute;
    hash = entry.kind == ListEntry::Kind::network ? limits::hash_of(entry.network.first, hash)
                                                  : limits::hash_of(entry.text, hash);
  }
  return hash;
}

bool Steered::is_of(const SteeredOverride& which, const Shape& shape, AttributeValues values) const {
  if (which.when.size() != shape.attributes.size()) return false;
  return std::all_of(which.when.begin(), which.when.end(), [&](const Condition& each) {
    const auto said = std::find_if(shape.attributes.begin(), shape.attributes.end(),
                                   [&](Index number) { return names()[number] == each.attribute; });
    if (said == shape.attributes.end()) return false;
    const ListEntry& entry = each.entries.front();
    const AttributeValue& value = values[*said];
    if (entry.kind == ListEntry::Kind::text) return value.text() == entry.text;
    const core::Address* const address = value.address();
    return address != nullptr && *address == entry.network.first;
  });
}

}  // namespace weir::limits
