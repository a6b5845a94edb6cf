// Package swaptest holds what a program for golang.org/x/time/rate may expect of ours.
package swaptest

import (
	"encoding/json"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	weir "example.com/weir/go"
	"example.com/weir/go/internal/needs"
	"example.com/weir/go/weirtest"
	"golang.org/x/time/rate"
)

// Every method of theirs is one of ours with the same signature, but for the names of the types.
func TestEveryMethodIsThere(t *testing.T) {
	sameMethods(t, reflect.TypeOf(&rate.Limiter{}), reflect.TypeOf(&weir.Limiter{}))
	sameMethods(t, reflect.TypeOf(&rate.Reservation{}), reflect.TypeOf(&weir.Booking{}))
	if float64(rate.Inf) != float64(weir.Inf) || rate.InfDuration != weir.InfDuration || float64(rate.Every(time.Minute)) != float64(weir.Every(time.Minute)) {
		t.Error("Inf, InfDuration or Every differ")
	}
}

func sameMethods(t *testing.T, theirs, ours reflect.Type) {
	for i := 0; i < theirs.NumMethod(); i++ {
		method := theirs.Method(i)
		mine, found := ours.MethodByName(method.Name)
		if !found {
			t.Errorf("%s has no %s", ours, method.Name)
			continue
		}
		if want, got := signature(method.Type), signature(mine.Type); got != want {
			t.Errorf("%s.%s is %s, expected %s", ours, method.Name, got, want)
		}
	}
}

var names = strings.NewReplacer("rate.Reservation", "weir.Booking", "rate.", "weir.")

func signature(f reflect.Type) string {
	text := ""
	for i := 1; i < f.NumIn(); i++ {
		text += f.In(i).String() + " "
	}
	text += "->"
	for i := 0; i < f.NumOut(); i++ {
		text += " " + f.Out(i).String()
	}
	return names.Replace(text)
}

// The import and the constructor are all that a program changes.
func TestAProgramCompilesAgainstOurs(t *testing.T) {
	path, err := filepath.Abs("program/program.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	swap := strings.NewReplacer(`"golang.org/x/time/rate"`, `rate "example.com/weir/go"`, "rate.NewLimiter(", `client.NewLimiter("vendor", `,
		"// A Fetcher", "var client *rate.Client\n\n// A Fetcher")
	swapped := swap.Replace(string(text))
	folder := t.TempDir()
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: filepath.Join(folder, "program.go")}})
	for name, content := range map[string]string{"program.go": swapped, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{{"build", "./program"}, {"build", "-overlay", filepath.Join(folder, "overlay.json"), "./program"}} {
		if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
			t.Errorf("go %s: %s\n%s", strings.Join(arguments, " "), err, out)
		}
	}
	broken := strings.Replace(swapped, "l.Allow()", "l.AllowAll()", 1)
	os.WriteFile(filepath.Join(folder, "program.go"), []byte(broken), 0o600)
	if err := exec.Command("go", "build", "-overlay", filepath.Join(folder, "overlay.json"), "./program").Run(); err == nil {
		t.Error("what ours does not have compiles too: this test builds something else")
	}
}

// Theirs is a token bucket, ours GCRA: the same events pass, whole tokens are the same.
func TestTheSameEventsPass(t *testing.T) {
	needs.Program(t)
	server := weirtest.Start(t)
	seed := time.Now().UnixNano()
	chance := rand.New(rand.NewSource(seed))
	now := time.Unix(1_000_000, 0)
	for _, each := range []struct {
		key   string
		every time.Duration
		burst int
	}{{"a", time.Second, 1}, {"b", 250 * time.Millisecond, 5}, {"c", 20 * time.Second, 30}} {
		theirs := rate.NewLimiter(rate.Every(each.every), each.burst)
		ours := server.Client.NewLimiter(each.key, weir.Every(each.every), each.burst)
		for i := 0; i < 300; i++ {
			n := chance.Intn(each.burst + 2)
			want, got := theirs.AllowN(now, n), ours.AllowN(now, n)
			left, mine := int(theirs.TokensAt(now)+1e-6), int(ours.Tokens())
			if want != got || left != mine {
				t.Fatalf("seed %d, %s, step %d: AllowN(%d) is %v and %d are left, expected %v and %d", seed, each.key, i, n, got, mine, want, left)
			}
			step := time.Duration(chance.Int63n(int64(3*each.every))) / time.Millisecond * time.Millisecond
			server.Advance(step)
			now = now.Add(step)
		}
	}
}
