package weirgrpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
	"example.com/weir/go/weirtest"
)

// serve is gRPC's health service, limited; and a client of it.
func serve(t *testing.T, client *weir.Client, options ...Option) healthpb.HealthClient {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(UnaryServerInterceptor(client, options...)),
		grpc.StreamInterceptor(StreamServerInterceptor(client, options...)))
	healthpb.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return healthpb.NewHealthClient(connection)
}

func retryDelay(err error) time.Duration {
	for _, each := range status.Convert(err).Details() {
		if info, ok := each.(*errdetails.RetryInfo); ok {
			return info.RetryDelay.AsDuration()
		}
	}
	return -1
}

const limits = `
version: 1
limits:
  checks: { by: [ip], rate: 2/min }
  watches: { by: [ip], rate: 1/h }
routes:
  - { when: { path: /grpc.health.v1.Health/Check }, limits: [checks] }
  - { when: { path: /grpc.health.v1.Health/Watch }, limits: [watches] }
`

func TestCallsAreLimitedByTheLimitsFile(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t, weirtest.Limits(limits))
	service := serve(t, s.Client)
	ctx := context.Background()
	var header metadata.MD
	for i, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		_, err := service.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header))
		if status.Code(err) != want {
			t.Errorf("%d: %v, expected %s", i, err, want)
		}
		if policy := header.Get("ratelimit-policy"); len(policy) != 1 || policy[0] != `"checks";q=2;w=60` {
			t.Errorf("%d: %v", i, header)
		}
		if want == codes.ResourceExhausted && retryDelay(err) != 30*time.Second {
			t.Errorf("retry after %s", retryDelay(err))
		}
	}
	s.Advance(30 * time.Second)
	if _, err := service.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	for i, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		watch, err := service.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err == nil {
			_, err = watch.Recv()
		}
		if status.Code(err) != want || want == codes.ResourceExhausted && retryDelay(err) != time.Hour {
			t.Errorf("%d: %v, expected %s", i, err, want)
		}
	}
}

func TestADelayIsNeverNone(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	service := serve(t, s.Client, WithName("quick"), WithRules("1000/s burst 1"))
	service.Check(context.Background(), &healthpb.HealthCheckRequest{})
	if _, err := service.Check(context.Background(), &healthpb.HealthCheckRequest{}); retryDelay(err) != time.Millisecond {
		t.Errorf("%v: %s", err, retryDelay(err))
	}
}

func TestCallsAreLimitedByARule(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	service := serve(t, s.Client, WithName("checks"), WithRules("1/min"))
	for i, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		if _, err := service.Check(context.Background(), &healthpb.HealthCheckRequest{}); status.Code(err) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	free := serve(t, s.Client, WithAttributes(func(context.Context, string) map[string]string { return nil }))
	if _, err := free.Check(context.Background(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
}

func TestAWeirThatCannotBeAskedIsUnavailable(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	service := serve(t, s.Client)
	_, err := service.Check(context.Background(), &healthpb.HealthCheckRequest{})
	if status.Code(err) != codes.Unavailable || strings.Contains(err.Error(), "limits file") {
		t.Errorf("no limits file: %v", err)
	}
	s = weirtest.Start(t, weirtest.Limits("version: 1\nattributes: [user]\nlimits: { u: { by: [user], rate: 1/s, required: true } }\n"))
	_, err = serve(t, s.Client).Check(context.Background(), &healthpb.HealthCheckRequest{})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "the request has no attribute 'user'") {
		t.Errorf("an attribute is lacking: %v", err)
	}
}

func TestALimitOfCallsIsOneOfStreamsToo(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	ctx := context.Background()
	service := serve(t, s.Client, WithName("all"), WithRules("3/min", "100/h"), WithCostOf(func(_ context.Context, method string) int64 {
		if strings.HasSuffix(method, "/List") {
			return 0
		}
		return 1
	}), WithExempt(func(ctx context.Context, _ string) bool {
		told, _ := metadata.FromIncomingContext(ctx)
		return len(told.Get("probe")) > 0
	}))
	var got []codes.Code
	for i := 0; i < 2; i++ {
		_, err := service.Check(metadata.AppendToOutgoingContext(ctx, "probe", "1"), &healthpb.HealthCheckRequest{})
		got = append(got, status.Code(err))
	}
	for i := 0; i < 2; i++ {
		_, err := service.Check(ctx, &healthpb.HealthCheckRequest{})
		got = append(got, status.Code(err))
		watch, err := service.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err == nil {
			_, err = watch.Recv()
		}
		got = append(got, status.Code(err))
	}
	if want := "[OK OK OK OK OK ResourceExhausted]"; fmt.Sprint(got) != want {
		t.Errorf("%v, expected %s", got, want)
	}
}

func TestInterceptorsInAChainChargeOnce(t *testing.T) {
	needs.Program(t)
	s := weirtest.Start(t)
	one := UnaryServerInterceptor(s.Client, WithRules("1/min"), WithKey(func(context.Context, string) string { return "all" }))
	ctx := context.Background()
	call := func() error {
		info := &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}
		_, err := one(ctx, nil, info, func(ctx context.Context, message any) (any, error) {
			return one(ctx, message, info, func(context.Context, any) (any, error) { return nil, nil })
		})
		return err
	}
	if first, second := call(), call(); first != nil || status.Code(second) != codes.ResourceExhausted {
		t.Errorf("%v, %v", first, second)
	}
	quiet := UnaryServerInterceptor(s.Client, WithName("quiet"), WithRules("1/h"), WithKey(func(context.Context, string) string { return "all" }),
		WithOnDenied(func(context.Context, string, weir.Decision) error { return nil }))
	for i, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		_, err := quiet(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, func(context.Context, any) (any, error) { return nil, nil })
		if status.Code(err) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
}
