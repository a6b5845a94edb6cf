// The acquires of a connection that wait by a tag, so that others of it go on meanwhile.
//
// The thread of its loop. Destroying it forgets them: what they asked is their owner's to take back. Not for:
// asking, and how an answer is told (asking.hpp).
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "service/question.hpp"

namespace weir::inline v0_1::service {

class TaggedWaits {
 public:
  bool has(std::string_view tag) const { return all_.count(tag) != 0; }
  std::size_t size() const { return all_.size(); }
  std::size_t kept() const { return kept_; }  // bytes
  bool has_answered() const { return !answered_.empty(); }

  // It is submitted, by its tag, which no other has.
  void add(std::unique_ptr<Question> question);
  // One has its answer; false: it is none of them.
  bool note_answer(Question& question);
  // The one that was answered first, of those that are still here.
  std::unique_ptr<Question> take_answered();
  // Null: there is none.
  std::unique_ptr<Question> take(std::string_view tag);
  // Any of them; null: it is empty.
  std::unique_ptr<Question> take_any() { return all_.empty() ? nullptr : take(all_.begin()->first); }

 private:
  struct Wait {
    std::unique_ptr<Question> question;
    std::size_t kept = 0;
  };

  // About what its place takes besides.
  static constexpr std::size_t kPlace = 64;

  std::unordered_map<std::string_view, Wait> all_;  // by the tags that they have
  std::deque<Question*> answered_;
  std::size_t kept_ = 0;
};

}  // namespace weir::service
