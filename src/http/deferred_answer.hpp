// An answer that needs another thread: one that reads a file, writes one, or asks the store for something
// other than a decision. What is awaited is what writes it.
#pragma once

#include <functional>

#include "http/awaited.hpp"
#include "http/writer.hpp"

namespace weir::inline v0_1::http {

using DeferredAnswer = Awaited<std::function<void(Reply&)>>;

}  // namespace weir::http
