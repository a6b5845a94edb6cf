// Package needs says what a test cannot do without.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Program skips a test where there is no weir program.
func Program(t testing.TB) {
	t.Helper()
	if !HasProgram() {
		t.Skip("there is no weir program: WEIR_PROGRAM is not set, and it is not in PATH")
	}
}

// HasProgram says whether there is one.
func HasProgram() bool {
	_, err := exec.LookPath("weir")
	return err == nil || os.Getenv("WEIR_PROGRAM") != ""
}
