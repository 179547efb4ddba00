package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/internal/config"
)

func TestSystemdHasNothingToSayAboutTheUnit(t *testing.T) {
	if said := verify(t, unit(t)); said != "" {
		t.Errorf("systemd-analyze verify says:\n%s", said)
	}
}

// systemd-analyze ends with 0 on most of these, so only its output tells.
func TestSystemdTellsOfABrokenUnit(t *testing.T) {
	for _, tt := range []struct{ name, old, broken string }{
		{"an unknown key", "RestartSec=", "RestartSecs="},
		{"an unknown section", "[Service]", "[Srvice]"},
		{"a value that is none", "WatchdogSec=60s", "WatchdogSec=soon"},
		{"an unknown group of system calls", "@system-service", "@systemservice"},
		{"a program that is not there", "/bin/kill", "/bin/kil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			broken := strings.Replace(unit(t), tt.old, tt.broken, 1)
			if broken == unit(t) {
				t.Fatalf("the unit has no %q to break", tt.old)
			}
			if verify(t, broken) == "" {
				t.Error("systemd-analyze verify says nothing")
			}
		})
	}
}

func TestTheUnitIsClosedToWhatHeraldDoesNotNeed(t *testing.T) {
	if rating, ok := exposure(t, unit(t)); !ok {
		t.Errorf("the exposure is over 2.0: %s", rating)
	}
	open := strings.ReplaceAll(unit(t), "SystemCallFilter=", "#")
	if rating, ok := exposure(t, open); ok {
		t.Errorf("the unit passes without its filter of system calls: %s", rating)
	}
}

// A newer systemd's verify passes keys that the oldest one does not know.
func TestTheUnitKeepsToTheKeysOfTheOldestSystemd(t *testing.T) {
	known := map[string]bool{}
	for _, s := range settings(read(t, "testdata/systemd-252.keys")) {
		for key := range strings.FieldsSeq(s.key) {
			known[s.section+key] = true
		}
	}
	unknown := func(text string) []string {
		var keys []string
		for _, s := range settings(text) {
			if !known[s.section+s.key] {
				keys = append(keys, s.section+s.key)
			}
		}
		return keys
	}
	if keys := unknown(unit(t)); len(keys) > 0 {
		t.Errorf("systemd 252 does not know %v", keys)
	}
	newer := strings.Replace(unit(t), "[Service]", "[Service]\nRestartSteps=5", 1) // systemd 254
	if got, want := unknown(newer), []string{"[Service]RestartSteps"}; !slices.Equal(got, want) {
		t.Errorf("unknown keys: got %v, want %v", got, want)
	}
}

func TestAStopIsGivenLongerThanTheGrace(t *testing.T) {
	cfg, err := config.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	stop, err := time.ParseDuration(setting(t, "TimeoutStopSec"))
	if err != nil {
		t.Fatal(err)
	}
	if least := cfg.Grace + 10*time.Second; stop < least {
		t.Errorf("TimeoutStopSec: got %v, want at least %v, the grace and time to close the store", stop, least)
	}
}

// unit returns the unit with a program that is there in the place of herald.
func unit(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "herald.service")
	if !strings.Contains(text, "ExecStart=/usr/bin/herald ") {
		t.Fatal("the unit does not start /usr/bin/herald")
	}
	return strings.Replace(text, "/usr/bin/herald", self, 1)
}

// verify returns all that systemd-analyze says about a unit.
func verify(t *testing.T, text string) string {
	t.Helper()
	cmd := analyze(t, text, "verify", "--recursive-errors=no")
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("%v: %v", cmd, err)
	}
	return string(out)
}

// exposure returns systemd's rating of a unit, and whether it is at most 2.0 of 10.
func exposure(t *testing.T, text string) (rating string, ok bool) {
	t.Helper()
	out, err := analyze(t, text, "security", "--offline=true", "--threshold=20").CombinedOutput()
	_, rating, found := strings.Cut(string(out), "Overall exposure level")
	if !found {
		t.Fatalf("no rating in:\n%s", out)
	}
	return strings.TrimSpace(rating), err == nil
}

// analyze makes a call of systemd-analyze on a unit.
func analyze(t *testing.T, text string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "herald.service")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), tool(t, "systemd-analyze"), append(args, path)...)
}

// tool returns the path of a program, or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keyValue is one line of a unit.
type keyValue struct{ section, key, value string }

// settings returns the lines of a unit that are neither empty nor comments.
func settings(text string) []keyValue {
	var all []keyValue
	var section string
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = line
		default:
			key, value, _ := strings.Cut(line, "=")
			all = append(all, keyValue{section, key, value})
		}
	}
	return all
}

// setting returns the value of a key of the unit.
func setting(t *testing.T, key string) string {
	t.Helper()
	for _, s := range settings(read(t, "herald.service")) {
		if s.key == key {
			return s.value
		}
	}
	t.Fatalf("the unit has no %s", key)
	return ""
}
