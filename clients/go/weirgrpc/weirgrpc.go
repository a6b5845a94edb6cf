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
)

// An Option is a setting of the interceptors.
type Option func(*settings)

type settings struct {
	question func(ctx context.Context, method string) weir.Question
}

// WithAttributes says by which attributes a call is asked about; Attributes unless given. A call of which it says none
// passes without being asked about.
func WithAttributes(of func(ctx context.Context, method string) map[string]string) Option {
	return func(s *settings) {
		s.question = func(ctx context.Context, method string) weir.Question {
			return weir.Question{Attributes: of(ctx, method)}
		}
	}
}

// WithRule limits by a rule instead of the server's limits file: each key has its own count. An empty one passes without
// being asked about.
func WithRule(rule string, key func(ctx context.Context, method string) string) Option {
	return func(s *settings) {
		s.question = func(ctx context.Context, method string) weir.Question {
			if k := key(ctx, method); k != "" {
				return weir.Question{Key: k, Rule: rule}
			}
			return weir.Question{}
		}
	}
}

// Attributes are ip, and as path the method's full name, as HTTP/2 has it: /package.Service/Method.
func Attributes(ctx context.Context, method string) map[string]string {
	attributes := map[string]string{"path": method}
	if ip := ClientIP(ctx, method); ip != "" {
		attributes["ip"] = ip
	}
	return attributes
}

// ClientIP is the address that the connection comes from; it is a key for WithRule.
func ClientIP(ctx context.Context, _ string) string {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return ""
	}
	if host, _, err := net.SplitHostPort(from.Addr.String()); err == nil {
		return host
	}
	return from.Addr.String()
}

// UnaryServerInterceptor limits calls of one message.
func UnaryServerInterceptor(client *weir.Client, options ...Option) grpc.UnaryServerInterceptor {
	set := made(options)
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := set.ask(ctx, client, info.FullMethod, func(fields metadata.MD) { grpc.SetHeader(ctx, fields) }); err != nil {
			return nil, err
		}
		return handler(ctx, message)
	}
}

// StreamServerInterceptor limits the beginnings of streams.
func StreamServerInterceptor(client *weir.Client, options ...Option) grpc.StreamServerInterceptor {
	set := made(options)
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if err := set.ask(stream.Context(), client, info.FullMethod, func(fields metadata.MD) { stream.SetHeader(fields) }); err != nil {
			return err
		}
		return handler(server, stream)
	}
}

func made(options []Option) *settings {
	set := &settings{}
	WithAttributes(Attributes)(set)
	for _, each := range options {
		each(set)
	}
	return set
}

// ask is nil for a call that passes.
func (s *settings) ask(ctx context.Context, client *weir.Client, method string, tell func(metadata.MD)) error {
	q := s.question(ctx, method)
	if len(q.Attributes) == 0 && q.Rule == "" {
		return nil
	}
	q.Fields = true
	d, err := client.Check(ctx, q)
	if err != nil {
		return cannotAsk(client, err)
	}
	if len(d.Fields) > 0 {
		fields := metadata.MD{}
		for _, each := range d.Fields {
			fields.Set(each.Name, each.Value)
		}
		tell(fields)
	}
	if d.Allowed {
		return nil
	}
	return exhausted(d)
}

func exhausted(d weir.Decision) error {
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
