// What a server in virtual time lets tests do with it. All are null where time is real.
//
// The program fills this in before its threads start.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::inline v0_1::service {

struct Testing {
  // Lets time go on, with all that falls due meanwhile, and then calls `done`. Any thread; `done` is called
  // by the loop's, later.
  std::function<void(std::chrono::nanoseconds by, std::function<void()> done)> pass_time;
  // The same: forgets every state, and time is again what it was at the start.
  std::function<void(std::function<void()> done)> start_again;
  // Makes the text the limits file that is in force, or says what is wrong with it, in lines. The loop's
  // thread.
  std::function<std::vector<std::string>(std::string text)> set_limits;
  // Which connection last asked for one of the first two: others may not, while it is open.
  std::weak_ptr<const void> tester;
};

}  // namespace weir::service
