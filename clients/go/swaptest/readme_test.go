package swaptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/weir/go/internal/needs"
)

var programs = regexp.MustCompile("(?s)```go\n(package .*?)```")

// What README.md shows is vetted, and its test is run.
func TestTheProgramsOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := programs.FindAllSubmatch(text, -1)
	if len(found) != 2 {
		t.Fatalf("%d programs", len(found))
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for i, each := range found {
		folder := t.TempDir()
		os.WriteFile(filepath.Join(folder, "go.mod"), []byte(fmt.Sprintf("module shop\n\ngo 1.21\n\nrequire example.com/weir/go v0.1.0\n\n"+
			"replace example.com/weir/go => %s\n", root)), 0o600)
		os.WriteFile(filepath.Join(folder, fmt.Sprintf("shown%d_test.go", i)), each[1], 0o600)
		for _, command := range [][]string{{"vet", "."}, {"test", "-vet=off", "."}} {
			if command[0] == "test" && !needs.HasProgram() {
				continue
			}
			run := exec.Command("go", command...)
			run.Dir = folder
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("go %s: %s\n%s", strings.Join(command, " "), err, out)
			}
		}
	}
}
