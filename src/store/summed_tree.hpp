// An ordered row of members that knows the sum of any part of it, for a hundred thousand of them: a tree
// whose leaves are rows of up to kMost that lie side by side, since a tree of single nodes misses the cache
// at each of its levels. Sums need not commute; each node keeps that of what lies under it.
//
// T has a `key`, by which no two are equal, and sum(); a Sum{} changes nothing, and first.then(second) is
// both. Where two neighbours can be one, `joins(first, second)` makes the first both and says so; it is asked
// of neighbours in one row after each change, so that what joins takes little room.
//
// Each call costs kMost times the logarithm of what is kept, a copy as many as there are. A value without a
// lock; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace weir::inline v0_1::store {

template <class T, class Key, class Sum>
class SummedTree {
 public:
  static constexpr std::size_t kMost = 32;

  bool empty() const { return root_.is_empty(); }
  const T& front() const {
    const Node* node = &root_;
    while (!node->is_row()) node = node->parts.front().node.get();
    return node->row.front();
  }
  const T& back() const {
    const Node* node = &root_;
    while (!node->is_row()) node = node->parts.back().node.get();
    return node->row.back();
  }
  Sum sum() const { return root_.sum(); }

  template <class Joins>
  void insert(const T& member, const Joins& joins) {
    auto more = insert(root_, member, joins);
    if (!more) return;
    Node top;
    top.parts.push_back(part_of(std::make_unique<Node>(std::move(root_))));
    top.parts.push_back(part_of(std::move(more)));
    root_ = std::move(top);
  }
  // Does something to the member of that key, which stays; false: there is none.
  template <class Do, class Joins>
  bool change(const Key& key, const Do& change, const Joins& joins) {
    const auto edit_row = [&](std::vector<T>& row, std::size_t at) {
      change(row[at]);
      tidy(row, at, joins);
    };
    return edit(key, edit_row, joins);
  }
  template <class Joins>
  bool erase(const Key& key, const Joins& joins) {
    const auto edit_row = [&](std::vector<T>& row, std::size_t at) {
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
      if (at > 0 && at < row.size()) tidy(row, at, joins);
    };
    return edit(key, edit_row, joins);
  }
  const T* find(const Key& key) const {
    const Node* node = &root_;
    while (!node->is_row()) node = node->parts[node->index_of(key)].node.get();
    const auto at = node->find(key);
    return at != node->row.end() && at->key == key ? &*at : nullptr;
  }

  // Tells each(sum) of parts that together are all members with from <= key < to, in order. A null bounds
  // nothing.
  template <class Each>
  void each_sum(const Key* from, const Key* to, const Each& each) const {
    if (!empty()) each_sum(root_, from, to, each);
  }
  // The last member from that key on, or of all, of which is_it(entering, sum) is true, where what enters is
  // `value` after the sums of all from there up to it. is_it() of a part is true where that of one in it is.
  template <class Value, class Enter, class Is>
  const T* find_last(const Key* from, Value value, const Enter& enter, const Is& is_it) const {
    return empty() ? nullptr : find_last(root_, from, value, enter, is_it);
  }
  template <class Each>
  void each(const Each& tell) const {
    each(root_, tell);
  }

 private:
  struct Node;
  // What a node says of one under it, so that looking for the one to go to touches few cache lines.
  struct Part {
    Key first{};
    Sum sum{};
    std::unique_ptr<Node> node;

    explicit Part(std::unique_ptr<Node> its) : first(its->first()), sum(its->sum()), node(std::move(its)) {}
    Part(const Part& other) : Part(std::make_unique<Node>(*other.node)) {}
    Part(Part&&) noexcept = default;
    Part& operator=(const Part& other) { return *this = Part(other); }
    Part& operator=(Part&&) noexcept = default;
    ~Part() = default;
  };
  struct Node {
    std::vector<T> row;       // of a leaf
    std::vector<Part> parts;  // of any other; none empty

    bool is_row() const { return parts.empty(); }
    bool is_empty() const { return row.empty() && parts.empty(); }
    std::size_t size() const { return is_row() ? row.size() : parts.size(); }
    // The last part that begins no later; the first where all begin later.
    std::size_t index_of(const Key& key) const {
      std::size_t part = parts.size() - 1;
      while (part > 0 && key < parts[part].first) --part;
      return part;
    }
    typename std::vector<T>::const_iterator find(const Key& key) const {
      return std::lower_bound(row.begin(), row.end(), key,
                              [](const T& member, const Key& than) { return member.key < than; });
    }
    Sum sum() const {
      Sum all{};
      for (const T& member : row) all = all.then(member.sum());
      for (const Part& part : parts) all = all.then(part.sum);
      return all;
    }
    const Key& first() const { return is_row() ? row.front().key : parts.front().first; }
  };
  using Owned = std::unique_ptr<Node>;

  static Part part_of(Owned node) { return Part(std::move(node)); }
  static void refresh(Part& part) {
    part.first = part.node->first();
    part.sum = part.node->sum();
  }

  template <class Joins>
  static void tidy(std::vector<T>& row, std::size_t at, const Joins& joins) {
    const auto join = [&](std::size_t first) {
      if (first + 1 >= row.size() || !joins(row[first], row[first + 1])) return;
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    };
    join(at);
    if (at > 0) join(at - 1);
  }

  // What of `items` goes to a node of its own, so that both have room.
  template <class Item>
  static std::vector<Item> split_off(std::vector<Item>& items, bool at_end) {
    const auto from =
        items.begin() + static_cast<std::ptrdiff_t>(at_end ? items.size() - 1 : items.size() / 2);
    std::vector<Item> rest(std::make_move_iterator(from), std::make_move_iterator(items.end()));
    items.erase(from, items.end());
    return rest;
  }

  // A new node for what has no room after `node`, if any.
  template <class Joins>
  Owned insert(Node& node, const T& member, const Joins& joins) {
    bool at_end = false;
    if (node.is_row()) {
      const auto index = static_cast<std::size_t>(node.find(member.key) - node.row.begin());
      node.row.insert(node.row.begin() + static_cast<std::ptrdiff_t>(index), member);
      at_end = index + 1 == node.row.size();
      tidy(node.row, index, joins);
    } else {
      const std::size_t index = node.index_of(member.key);
      auto more = insert(*node.parts[index].node, member, joins);
      refresh(node.parts[index]);
      if (more)
        node.parts.insert(node.parts.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                          part_of(std::move(more)));
      at_end = index + 2 >= node.parts.size();
    }
    if (node.size() <= kMost) return nullptr;
    auto rest = std::make_unique<Node>();
    if (node.is_row()) {
      rest->row = split_off(node.row, at_end);
    } else {
      rest->parts = split_off(node.parts, at_end);
    }
    return rest;
  }

  template <class Do, class Joins>
  bool edit(const Key& key, const Do& edit_row, const Joins& joins) {
    if (empty() || !edit(root_, key, edit_row, joins)) return false;
    while (root_.parts.size() == 1) {
      Node only = std::move(*root_.parts.front().node);
      root_ = std::move(only);
    }
    return true;
  }
  template <class Do, class Joins>
  bool edit(Node& node, const Key& key, const Do& edit_row, const Joins& joins) {
    if (node.is_row()) {
      const auto at = node.find(key);
      if (at == node.row.end() || at->key != key) return false;
      edit_row(node.row, static_cast<std::size_t>(at - node.row.begin()));
      return true;
    }
    const std::size_t index = node.index_of(key);
    if (!edit(*node.parts[index].node, key, edit_row, joins)) return false;
    mend(node, index, joins);
    return true;
  }
  // One part has changed, and may have become smaller.
  template <class Joins>
  static void mend(Node& node, std::size_t index, const Joins& joins) {
    auto& parts = node.parts;
    const auto drop = [&](std::size_t which) {
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(which));
    };
    if (parts[index].node->is_empty()) return drop(index);
    refresh(parts[index]);
    if (parts[index].node->size() >= kMost / 4 || parts.size() == 1) return;
    const std::size_t left = index > 0 ? index - 1 : index;
    Node& first = *parts[left].node;
    Node& second = *parts[left + 1].node;
    if (first.size() + second.size() > kMost * 3 / 4) return;
    const std::size_t seam = first.row.size();
    std::move(second.row.begin(), second.row.end(), std::back_inserter(first.row));
    std::move(second.parts.begin(), second.parts.end(), std::back_inserter(first.parts));
    if (seam > 0) tidy(first.row, seam, joins);
    refresh(parts[left]);
    drop(left + 1);
  }

  // Calls visit(part, its from, its to) for those in which something lies between.
  template <class Visit>
  static void each_part(const Node& node, const Key* from, const Key* to, const Visit& visit) {
    const std::size_t count = node.parts.size();
    for (std::size_t i = from != nullptr ? node.index_of(*from) : 0; i < count; ++i) {
      const Part& part = node.parts[i];
      if (to != nullptr && !(part.first < *to)) return;
      const bool ends_inside = to != nullptr && (i + 1 == count || *to < node.parts[i + 1].first);
      visit(part, from != nullptr && part.first < *from ? from : nullptr, ends_inside ? to : nullptr);
    }
  }
  template <class Each>
  static void each_sum(const Node& node, const Key* from, const Key* to, const Each& each) {
    if (node.is_row()) {
      auto at = from != nullptr ? node.find(*from) : node.row.begin();
      for (; at != node.row.end() && (to == nullptr || at->key < *to); ++at) each(at->sum());
      return;
    }
    each_part(node, from, to, [&](const Part& part, const Key* begins, const Key* ends) {
      each_sum(part, begins, ends, each);
    });
  }
  template <class Each>
  static void each_sum(const Part& part, const Key* from, const Key* to, const Each& each) {
    if (from == nullptr && to == nullptr) {
      each(part.sum);
    } else {
      each_sum(*part.node, from, to, each);
    }
  }

  template <class Value, class Enter, class Is>
  static const T* find_last(const Node& node, const Key* from, Value value, const Enter& enter,
                            const Is& is_it) {
    if (node.is_row()) {
      const T* last = nullptr;
      for (auto at = from != nullptr ? node.find(*from) : node.row.begin(); at != node.row.end(); ++at) {
        if (is_it(value, at->sum())) last = &*at;
        value = enter(value, at->sum());
      }
      return last;
    }
    struct Entered {
      const Part* part;
      const Key* from;
      Value value;
    };
    std::array<Entered, kMost> all;
    std::size_t count = 0;
    each_part(node, from, nullptr, [&](const Part& part, const Key* begins, const Key*) {
      all[count++] = {&part, begins, value};
      each_sum(part, begins, nullptr, [&](const Sum& sum) { value = enter(value, sum); });
    });
    while (count-- > 0) {
      const Entered& each = all[count];
      if (each.from == nullptr && !is_it(each.value, each.part->sum)) continue;
      if (const T* const found = find_last(*each.part->node, each.from, each.value, enter, is_it))
        return found;
    }
    return nullptr;
  }

  template <class Each>
  static void each(const Node& node, const Each& tell) {
    for (const T& member : node.row) tell(member);
    for (const Part& part : node.parts) each(*part.node, tell);
  }

  Node root_;
};

}  // namespace weir::store
