//go:build !linux

package scheduler

import (
	"os"
	"time"
)

// beingWritten cannot tell here: the settle time alone decides.
func beingWritten(string) bool { return false }

// changeTime is not known here.
func changeTime(os.FileInfo) (time.Time, bool) { return time.Time{}, false }

// renameNew renames, and replaces nothing: fs.ErrExist if there is something.
func renameNew(from, to string) error { return renameUnlessThere(from, to) }
