// A module of its own, so that nobody who takes the client takes golang.org/x/time along.
module example.com/weir/go/swaptest

go 1.21

require (
	example.com/weir/go v0.1.0
	golang.org/x/time v0.9.0
)

replace example.com/weir/go => ../
