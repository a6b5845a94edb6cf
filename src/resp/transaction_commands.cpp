// MULTI, EXEC and DISCARD. What EXEC runs, the conversation runs, as far as its output allows.
#include "resp/commands.hpp"

namespace weir::inline v0_1::resp {

void run_multi(RunningCommand& call) {
  if (call.transaction.open()) return call.fail("ERR MULTI calls can not be nested");
  call.transaction.begin();
  call.reply().simple("OK");
}

void run_exec(RunningCommand& call) {
  Transaction& transaction = call.transaction;
  if (!transaction.open()) return call.fail("ERR EXEC without MULTI");
  if (transaction.broken()) {
    transaction.discard();
    return call.fail("EXECABORT Transaction discarded because of previous errors.");
  }
  call.reply().array(transaction.run(call.caller.silent()));
}

void run_discard(RunningCommand& call) {
  if (!call.transaction.open()) return call.fail("ERR DISCARD without MULTI");
  call.transaction.discard();
  call.reply().simple("OK");
}

}  // namespace weir::resp
