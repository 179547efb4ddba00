//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled says whether this program has failpoints.
const Enabled = true

// plan is the moment that the environment chose.
type plan struct {
	name   string // empty: any
	number int64  // counted from 1; 0: never
	signal syscall.Signal
}

var (
	chosen = readPlan()
	hits   atomic.Int64
)

func readPlan() plan {
	p := plan{signal: syscall.SIGKILL}
	text := os.Getenv("FAILPOINT")
	if text == "" {
		return p
	}
	if name, number, named := strings.Cut(text, ":"); named {
		p.name, text = name, number
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("FAILPOINT=%q is not a number from 1, or name:number", os.Getenv("FAILPOINT")))
	}
	p.number = n
	if os.Getenv("FAILPOINT_SIGNAL") == "TERM" {
		p.signal = syscall.SIGTERM
	}
	return p
}

// Hit marks a moment. At the chosen one the process gets its signal; it does not
// return from SIGKILL.
func Hit(name string) {
	if chosen.number == 0 || chosen.name != "" && chosen.name != name {
		return
	}
	if hits.Add(1) != chosen.number {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint: %s at %s\n", chosen.signal, name)
	if err := syscall.Kill(os.Getpid(), chosen.signal); err != nil {
		panic(err)
	}
	if chosen.signal == syscall.SIGKILL {
		select {} // the kernel takes a moment
	}
}
