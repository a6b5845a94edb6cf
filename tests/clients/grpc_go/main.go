// Asks a server by Go's gRPC: the calls of its input, one JSON object a line, one after the other, and what each came to
// as one of its output. Messages are bytes, in hexadecimal. `main ADDRESS`.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

type asked struct {
	Path    string
	Message string
	Timeout float64 // seconds
	Gzip    bool
	Streams bool // until its first message
}

type told struct {
	Code    int    `json:"code"`
	Details string `json:"details"`
	Message string `json:"message"`
}

// Messages go as they are.
type verbatim struct{}

func (verbatim) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (verbatim) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (verbatim) Name() string { return "proto" }

func ask(connection *grpc.ClientConn, call asked) (answer []byte, err error) {
	message, err := hex.DecodeString(call.Message)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(call.Timeout*float64(time.Second)))
	defer cancel()
	options := []grpc.CallOption{grpc.ForceCodec(verbatim{})}
	if call.Gzip {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	if !call.Streams {
		err = connection.Invoke(ctx, call.Path, &message, &answer, options...)
		return answer, err
	}
	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, call.Path, options...)
	if err != nil {
		return nil, err
	}
	if err = stream.SendMsg(&message); err == nil {
		err = stream.CloseSend()
	}
	if err == nil {
		err = stream.RecvMsg(&answer)
	}
	return answer, err
}

func main() {
	connection, err := grpc.NewClient("passthrough:///"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer connection.Close()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var call asked
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answer, err := ask(connection, call)
		said := status.Convert(err)
		line, _ := json.Marshal(told{int(said.Code()), said.Message(), hex.EncodeToString(answer)})
		fmt.Println(string(line))
	}
}
