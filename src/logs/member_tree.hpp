// Where in a JSON object the wanted values are: the names as a tree, so that each member costs one look.
//
// Built once for a file; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

class MemberTree {
 public:
  // A value here is that of `slot`, under the name of this rank; the least rank counts.
  struct Target {
    std::size_t slot;
    std::size_t rank;
  };
  struct Element {
    int index;  // negative: from the end
    std::unique_ptr<MemberTree> tree;
  };

  // "request.headers.X-Api-Key[0]"; a dot may also be part of a member's name.
  void add(std::string_view name, Target target);

  const MemberTree* member(std::string_view name) const;  // null: nothing that is wanted
  const std::vector<Element>& elements() const { return elements_; }
  const std::vector<Target>& targets() const { return targets_; }
  bool has_members() const { return !members_.empty(); }

 private:
  struct Member {
    std::string name;
    std::unique_ptr<MemberTree> tree;
  };
  static constexpr std::size_t kLongest = 64;

  MemberTree& make_member(std::string_view name);
  MemberTree& make_element(int index);
  void add(std::string_view name, Target target, bool all_ways);

  std::vector<Member> members_;                      // by length of name
  std::array<std::uint16_t, kLongest + 2> begin_{};  // of each length; the last is all longer ones
  std::vector<Element> elements_;
  std::vector<Target> targets_;
};

}  // namespace weir::logs
