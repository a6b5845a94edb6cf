// MULTI's queue, and what EXEC runs of it. One connection's, one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::resp {

class Transaction {
 public:
  using Arguments = std::span<const std::string_view>;

  // Between MULTI and EXEC or DISCARD.
  bool open() const { return open_; }
  // A command was refused meanwhile: EXEC will run nothing.
  bool broken() const { return broken_; }

  void begin() {
    open_ = true;
    broken_ = false;
    bytes_ = 0;
  }
  void refuse() { broken_ = true; }
  // False when the queue would be larger than `most_bytes`.
  bool queue(Arguments words, std::size_t most_bytes) {
    for (const std::string_view word : words) bytes_ += word.size() + sizeof(std::string);
    if (bytes_ > most_bytes) return false;
    queued_.emplace_back(words.begin(), words.end());
    return true;
  }
  void discard() {
    open_ = false;
    queued_.clear();
  }

  // EXEC. `silent`: nothing of it is replied to.
  std::size_t run(bool silent) {
    open_ = false;
    silent_ = silent;
    at_ = 0;
    running_ = std::exchange(queued_, {});
    return running_.size();
  }
  bool running() const { return !running_.empty(); }
  bool silent() const { return silent_ && running(); }
  // The next command to run, whose words stay where they are until end(); null after the last.
  const std::vector<std::string>* next() const { return at_ < running_.size() ? &running_[at_] : nullptr; }
  void advance() { ++at_; }
  void end() { std::vector<std::vector<std::string>>().swap(running_); }

 private:
  bool open_ = false;
  bool broken_ = false;
  bool silent_ = false;
  std::size_t bytes_ = 0;
  std::vector<std::vector<std::string>> queued_;
  std::vector<std::vector<std::string>> running_;
  std::size_t at_ = 0;
};

}  // namespace weir::resp
