// A module of its own: what it compares with is nobody's dependency.
module example.com/weir/bench/clients/go

go 1.21

require (
	example.com/weir/go v0.1.0
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/redis/go-redis/v9 v9.18.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	go.uber.org/atomic v1.11.0 // indirect
)

replace example.com/weir/go => ../../../clients/go
