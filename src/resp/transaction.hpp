// MULTI's queue, and what EXEC runs of it. One connection's, one thread at a time.
//
// The commands are kept as they came, so that what a client may queue is measured in the bytes that it sends,
// and are parsed a second time when they run.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "resp/parser.hpp"

namespace weir::inline v0_1::resp {

class Transaction {
 public:
  // Between MULTI and EXEC or DISCARD.
  bool open() const { return open_; }
  // A command was refused meanwhile: EXEC will run nothing.
  bool broken() const { return broken_; }

  void begin() {
    discard();
    open_ = true;
  }
  void refuse() { broken_ = true; }
  // One whole command, in its bytes. False when the queue would be larger than a command may be.
  bool queue(std::string_view command);
  void discard() { *this = Transaction(); }

  // EXEC; how many commands it will run. `silent`: nothing of it is replied to.
  std::size_t run(bool silent);
  bool running() const { return running_; }
  bool silent() const { return silent_; }
  // The next command to run, whose words stay where they are until advance(); nothing after the last.
  bool next();
  CommandParser& parser() { return *parser_; }
  void advance() { at_ += parser_->consumed(); }
  void end() { *this = Transaction(); }

  std::size_t queued() const { return commands_; }
  // The memory that it keeps.
  std::size_t kept() const { return queued_.capacity(); }

 private:
  bool open_ = false;
  bool broken_ = false;
  bool running_ = false;
  bool silent_ = false;
  std::string queued_;
  std::size_t commands_ = 0;
  std::size_t at_ = 0;
  std::unique_ptr<CommandParser> parser_;  // while it runs
};

}  // namespace weir::resp
