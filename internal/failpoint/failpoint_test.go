package failpoint_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"herald/internal/failpoint"
)

func TestAnOrdinaryProgramHasNoFailpoints(t *testing.T) {
	if failpoint.Enabled {
		t.Skip("built with -tags failpoint")
	}
	t.Setenv("FAILPOINT", "1")
	failpoint.Hit("anything")
	if n := testing.AllocsPerRun(100, func() { failpoint.Hit("anything") }); n != 0 {
		t.Errorf("a hit costs %v allocations", n)
	}
}

func TestAProgramEndsAtTheChosenHit(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "failpoint", "-o", bin, "./testdata/program").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, tt := range []struct {
		failpoint, signal string
		out, end          string
	}{
		{"", "", "aba", "exit status 0"},
		{"1", "", "", "signal: killed"},
		{"3", "KILL", "ab", "signal: killed"},
		{"4", "", "aba", "exit status 0"},
		{"a:2", "", "ab", "signal: killed"},
		{"b:1", "", "a", "signal: killed"},
		{"c:1", "", "aba", "exit status 0"},
		{"first", "", "", "exit status 2"},
	} {
		t.Run(fmt.Sprintf("at %q", tt.failpoint), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), bin)
			cmd.Env = append(os.Environ(), "FAILPOINT="+tt.failpoint, "FAILPOINT_SIGNAL="+tt.signal)
			var out bytes.Buffer
			cmd.Stdout = &out
			_ = cmd.Run() // how it ended is in ProcessState
			if end := cmd.ProcessState.String(); out.String() != tt.out || end != tt.end {
				t.Errorf("got %q, %s; want %q, %s", strings.TrimSpace(out.String()), end, tt.out, tt.end)
			}
		})
	}
}
