// Which of two processes is in charge: a word in memory that both see, and that is said once.
//
// A message could be sent and not read, or read by one that ends before it acts. Here the first who says it
// has said it, whatever becomes of either: the next process that it takes over, or the one in charge that it
// stays.
//
// Any thread of either process.
#pragma once

#include <atomic>
#include <cstdint>

#include "net/owned_descriptor.hpp"

namespace weir::inline v0_1::server {

class TakeoverWord {
 public:
  TakeoverWord();                                          // unsaid; throws std::system_error
  explicit TakeoverWord(net::OwnedDescriptor descriptor);  // another process's; throws std::system_error
  ~TakeoverWord();
  TakeoverWord(const TakeoverWord&) = delete;
  TakeoverWord& operator=(const TakeoverWord&) = delete;

  int descriptor() const { return descriptor_.get(); }
  // Each says whether that is so from now on.
  bool stay() { return say(kStays); }
  bool take_over() { return say(kTaken); }
  bool is_taken() const { return word_->load() == kTaken; }
  bool is_said() const { return word_->load() != kUnsaid; }

 private:
  static constexpr std::uint32_t kUnsaid = 0;
  static constexpr std::uint32_t kStays = 1;
  static constexpr std::uint32_t kTaken = 2;

  void map();
  bool say(std::uint32_t what);

  using Word = std::atomic<std::uint32_t>;
  static_assert(Word::is_always_lock_free);

  net::OwnedDescriptor descriptor_;
  Word* word_ = nullptr;
};

}  // namespace weir::server
