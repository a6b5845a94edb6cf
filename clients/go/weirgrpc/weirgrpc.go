// Package weirgrpc limits the calls of a gRPC server by weir:
//
//	grpc.NewServer(
//		grpc.UnaryInterceptor(weirgrpc.UnaryServerInterceptor(client)),
//		grpc.StreamInterceptor(weirgrpc.StreamServerInterceptor(client)))
//
// A call that is denied ends with ResourceExhausted, and where waiting helps with RetryInfo. The server's fields are in
// the header of every call.
package weirgrpc

import (
	"context"
	"errors"
	"net"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/limited"
)

// An Option is a setting of the interceptors.
type Option func(*settings)

type settings struct {
	limited.Limit[call]
	denied func(ctx context.Context, method string, d weir.Decision) error
}

// call is what a call is asked about by.
type call struct {
	ctx    context.Context
	method string
}

// of is a function of a call.
func of[T any](said func(ctx context.Context, method string) T) func(call) T {
	return func(c call) T { return said(c.ctx, c.method) }
}

// WithRules limits by rules instead of the server's limits file, as in "10/min" or "10/min;100/h": each client's address
// has a count for each, and a call needs all.
func WithRules(rules ...string) Option {
	return func(s *settings) { s.Rules = append(s.Rules, rules...) }
}

// WithKey says what WithRules counts by in the place of the client's address. Calls of one key, an empty one too, share a
// count.
func WithKey(said func(ctx context.Context, method string) string) Option {
	return func(s *settings) { s.Key = of(said) }
}

// WithName names what WithRules makes; its rules are the name unless it is given. A second limit of the same rules needs
// one. Two of one name and the same rules share their counts: the interceptors for one message and for streams, for example.
func WithName(name string) Option { return func(s *settings) { s.Name = name } }

// WithAttributes says by which attributes a call is asked about; Attributes unless given. A call of which it says nil
// passes without being asked about.
func WithAttributes(said func(ctx context.Context, method string) map[string]string) Option {
	return func(s *settings) { s.Attributes = of(said) }
}

// WithExempt lets the calls pass of which it says true.
func WithExempt(is func(ctx context.Context, method string) bool) Option {
	return func(s *settings) { s.Exempt = of(is) }
}

// WithCost is what a call costs: 1, or what the limits file says, unless it is given. WithCostOf says it of each.
func WithCost(units int64) Option {
	return WithCostOf(func(context.Context, string) int64 { return units })
}

// WithCostOf says what a call costs. One that costs 0 passes without being asked about.
func WithCostOf(said func(ctx context.Context, method string) int64) Option {
	return func(s *settings) { s.Cost = of(said) }
}

// WithOnDenied is the error of a call that is denied, in the place of ResourceExhausted with RetryInfo.
func WithOnDenied(answer func(ctx context.Context, method string, d weir.Decision) error) Option {
	return func(s *settings) { s.denied = answer }
}

// Attributes are ip, and as path the method's full name, as HTTP/2 has it: /package.Service/Method.
func Attributes(ctx context.Context, method string) map[string]string {
	attributes := map[string]string{"path": method}
	if ip := ClientIP(ctx, method); ip != "" {
		attributes["ip"] = ip
	}
	return attributes
}

// ClientIP is the address that the connection comes from; it is empty where that is a Unix socket.
func ClientIP(ctx context.Context, _ string) string {
	remote := address(ctx)
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

func address(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil || from.Addr.Network() == "unix" {
		return ""
	}
	return from.Addr.String()
}

// UnaryServerInterceptor limits calls of one message. As weirhttp.Middleware does, it panics on a rule that is none, and on
// a second limit of the same name.
func UnaryServerInterceptor(client *weir.Client, options ...Option) grpc.UnaryServerInterceptor {
	set := made(client, options)
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		ctx, err := set.pass(ctx, info.FullMethod, func(fields metadata.MD) { grpc.SetHeader(ctx, fields) })
		if err != nil {
			return nil, err
		}
		return handler(ctx, message)
	}
}

// StreamServerInterceptor limits the beginnings of streams, and panics as UnaryServerInterceptor does.
func StreamServerInterceptor(client *weir.Client, options ...Option) grpc.StreamServerInterceptor {
	set := made(client, options)
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, err := set.pass(stream.Context(), info.FullMethod, func(fields metadata.MD) { stream.SetHeader(fields) })
		if err != nil {
			return err
		}
		return handler(server, asked{stream, ctx})
	}
}

// asked is a stream whose context says that it has been asked about.
type asked struct {
	grpc.ServerStream
	ctx context.Context
}

func (a asked) Context() context.Context { return a.ctx }

func made(client *weir.Client, options []Option) *settings {
	set := &settings{limited.Limit[call]{Client: client, Peer: from}, exhausted}
	for _, each := range options {
		each(set)
	}
	if err := set.Complete(of(Attributes)); err != nil {
		panic(err)
	}
	return set
}

func from(c call) (string, []string) {
	return address(c.ctx), metadata.ValueFromIncomingContext(c.ctx, "x-forwarded-for")
}

// pass is the context that a call goes on with, or the error that ends it.
func (s *settings) pass(ctx context.Context, method string, tell func(metadata.MD)) (context.Context, error) {
	ctx, d, err := s.Ask(ctx, call{ctx, method})
	if err != nil {
		return ctx, cannotAsk(s.Client, err)
	}
	if len(d.Fields) > 0 {
		fields := metadata.MD{}
		for _, each := range d.Fields {
			fields.Set(each.Name, each.Value)
		}
		tell(fields)
	}
	if d.Allowed {
		return ctx, nil
	}
	if err := s.denied(ctx, method, d); err != nil {
		return ctx, err
	}
	return ctx, exhausted(ctx, method, d) // nil lets nobody pass
}

func exhausted(_ context.Context, _ string, d weir.Decision) error {
	denied := status.New(codes.ResourceExhausted, "too many requests") // By may be a key, which is nobody's business
	if d.Never {
		return denied.Err()
	}
	if detailed, err := denied.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)}); err == nil {
		denied = detailed
	}
	return denied.Err()
}

func cannotAsk(client *weir.Client, err error) error {
	var refused *weir.Refused
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	case errors.As(err, &refused) && strings.Contains(refused.Text, "the request has no attribute"):
		return status.Error(codes.InvalidArgument, refused.Text)
	}
	client.Misconfigured(err)
	return status.Error(codes.Unavailable, "the rate limiter cannot be asked")
}
