#include "resp/transaction.hpp"

namespace weir::inline v0_1::resp {

bool Transaction::queue(std::string_view command) {
  if (queued_.size() + command.size() > Bounds{}.command_bytes) return false;
  queued_ += command;
  ++commands_;
  return true;
}

std::size_t Transaction::run(bool silent) {
  open_ = false;
  running_ = true;
  silent_ = silent;
  parser_ = std::make_unique<CommandParser>();
  return commands_;
}

bool Transaction::next() {
  return at_ < queued_.size() &&
         parser_->next(std::string_view(queued_).substr(at_), Bounds{}) == CommandParser::Status::complete;
}

}  // namespace weir::resp
