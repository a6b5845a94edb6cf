package weir

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"example.com/weir/go/internal/needs"
)

// Where the program does not run, a command is told that starts the image: its words are run here as the image would.
func TestTheCommandOfTheContainerStartsAWeir(t *testing.T) {
	needs.Program(t)
	text, err := os.ReadFile("../../packaging/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	var entry []string
	if err := json.Unmarshal(regexp.MustCompile(`(?m)^ENTRYPOINT (.*)$`).FindSubmatch(text)[1], &entry); err != nil || entry[0] != "weir" {
		t.Fatal(entry, err)
	}
	_, words, _ := strings.Cut(container, "weir:"+Version+" ")
	path, _ := program()
	command := exec.Command(path, append(entry[1:], strings.Fields(strings.Replace(words, ":6390", ":0", 1))...)...)
	command.Stderr = os.Stderr
	out, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	command.Process.Kill()
	command.Wait()
	if !strings.Contains(line, "0.0.0.0:") {
		t.Errorf("%s says %q", command, line)
	}
}
