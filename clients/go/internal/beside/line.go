// Package beside has what a test tells a weir besides its calls: time, and limits.
package beside

import "time"

// A Line is a connection for words that are no call, of one goroutine at a time.
type Line interface {
	// Tell is the values of the reply, or what the server refuses.
	Tell(words ...string) ([]string, error)
	// End returns when the server knows that it has ended.
	End()
}

// Dial connects as weir.Connect does, to one place. Each step may take that long. The client sets it, which this package
// could not import.
var Dial func(url string, patience time.Duration) (Line, error)
