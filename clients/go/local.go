package weir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	container     = "docker run --rm -p 127.0.0.1:6390:6390 weir --resp 0.0.0.0:6390 --insecure"
	startPatience = 20 * time.Second
)

// program is the weir program: that of WEIR_PROGRAM, or the one in PATH.
func program() (string, error) {
	if named := os.Getenv("WEIR_PROGRAM"); named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			return "", refuse("the weir program is missing: WEIR_PROGRAM=%s is not a program", named)
		}
		return found, nil
	}
	if found, err := exec.LookPath("weir"); err == nil {
		return found, nil
	}
	if runtime.GOOS != "linux" {
		return "", refuse("the weir program runs on Linux; here start its image, `%s`, and connect to weir://127.0.0.1", container)
	}
	return "", refuse("the weir program is missing, since `go get` brings none along: put bin/weir of a release's %s into PATH, or name it in WEIR_PROGRAM; or connect to a URL",
		archive())
}

// archive is the release's file that has the program for this machine.
func archive() string {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return "weir-linux-" + orElse(machine, runtime.GOARCH) + ".tar.gz"
}

// startLocal has the program start a weir of this machine, or find the one that runs: it says where. Errors of the
// limits file are in lint's words.
func startLocal(ctx context.Context, limits string) (address, error) {
	path, err := program()
	if err != nil {
		return address{}, err
	}
	arguments := []string{"local"}
	if limits != "" {
		absolute, err := filepath.Abs(limits)
		if err != nil {
			return address{}, refuse("the limits file: %s", err)
		}
		arguments = append(arguments, "--limits", absolute)
	}
	var told, wrong bytes.Buffer
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	command := exec.CommandContext(ctx, path, arguments...)
	command.Stdout, command.Stderr = &told, &wrong
	if err := command.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			return address{}, refuse("%s", orElse(strings.TrimPrefix(strings.TrimSpace(wrong.String()), "weir: "), fmt.Sprintf("weir local: exit code %d", exit.ExitCode())))
		}
		return address{}, &Unavailable{Server: "weir local", Reason: err.Error(), cause: err}
	}
	where := strings.TrimPrefix(strings.TrimSpace(told.String()), "unix:")
	if !filepath.IsAbs(where) {
		return address{}, refuse("%s does not know `weir local`: it says %q", path, where)
	}
	return address{network: "unix", text: where}, nil
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
