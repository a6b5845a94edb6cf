// Commands about limits, other than decisions: those are gathered (conversation.cpp).
#include "resp/commands.hpp"

namespace weir::resp {

// The answer is written by the pipeline, when it has come.
void run_del(Call& call) { call.pipeline.reset(call.words.subspan(1), call.silent()); }

// The rate limiters of many languages come as a script that they send to Redis; their users meet this text.
void refuse_script(Call& call) {
  call.transaction.refuse();
  call.fail(
      "ERR weir runs no scripts; a rate limiter that sends one needs Redis itself. Send CL.THROTTLE key "
      "max_burst count period instead: CL.THROTTLE user:42 15 30 60 allows 30 requests a minute and up to 16 "
      "at once");
}

}  // namespace weir::resp
