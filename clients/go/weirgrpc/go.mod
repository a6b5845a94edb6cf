// A module of its own, so that nobody else who takes the client takes grpc along.
module example.com/weir/go/weirgrpc

go 1.21

require (
	example.com/weir/go v0.1.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240814211410-ddb44dafa142
	google.golang.org/grpc v1.67.3
	google.golang.org/protobuf v1.34.2
)

require (
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sys v0.28.0 // indirect
	golang.org/x/text v0.17.0 // indirect
)

replace example.com/weir/go => ../
